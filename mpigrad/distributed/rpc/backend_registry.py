"""The registry of RPC backends, by name. MPI is the only one for users; TENSORPIPE is an alias for programs written for
PyTorch.
"""

from __future__ import annotations

import enum
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from . import constants
from ._world.start import start_mpi_agent
from .options import MPIRpcBackendOptions

BackendValue = namedtuple("BackendValue", ["construct_rpc_backend_options_handler", "init_backend_handler"])
BackendValue.__doc__ = "The value of a member of `BackendType`: the two functions with which `register_backend` registered it."


def _repr(self: enum.Enum) -> str:
    return "BackendType." + self.name


def _make(values: dict[str, Any]) -> Any:
    made = enum.Enum("BackendType", values)  # type: ignore[misc]
    made.__repr__ = _repr  # type: ignore[method-assign,assignment]
    made.__doc__ = (
        "The backends that `init_rpc` knows: MPI, and TENSORPIPE, PyTorch's name, as an alias. The two FAULTY ones lose or delay "
        "messages on purpose, for tests."
    )
    return made


BackendType: Any = _make({})


def backend_registered(backend_name: str) -> bool:
    """Return whether a backend called `backend_name` has been registered.

    >>> backend_registered("MPI"), backend_registered("CARRIER_PIGEON")
    (True, False)
    """
    return backend_name in BackendType.__members__


def register_backend(
    backend_name: str, construct_rpc_backend_options_handler: Callable, init_backend_handler: Callable
) -> Any:
    """Register a backend and return its member of `BackendType`; RuntimeError if the name is taken.

    Args:
        backend_name: the name of the new member.
        construct_rpc_backend_options_handler: called as `handler(rpc_timeout, init_method, **kwargs)`; returns the
            options.
        init_backend_handler: called as `handler(name=..., rank=..., world_size=..., options=...)`; starts and returns the
            agent, the object that makes and serves calls.
    """
    global BackendType
    if backend_registered(backend_name):
        raise RuntimeError(f"RPC backend {backend_name}: already registered")
    members = {member.name: member.value for member in BackendType}
    members[backend_name] = BackendValue(construct_rpc_backend_options_handler, init_backend_handler)
    BackendType = _make(members)
    return BackendType[backend_name]


def construct_rpc_backend_options(
    backend: Any,
    rpc_timeout: float = constants.DEFAULT_RPC_TIMEOUT_SEC,
    init_method: str = constants.DEFAULT_INIT_METHOD,
    **kwargs: Any,
) -> Any:
    """Return the options of a backend, a member of `BackendType`.

    `rpc_timeout` is in seconds; `kwargs` are passed to the backend, for MPI those of `MPIRpcBackendOptions`.
    """
    return backend.value.construct_rpc_backend_options_handler(rpc_timeout, init_method, **kwargs)


def init_backend(backend: Any, *args: Any, **kwargs: Any) -> Any:
    """Start a backend, a member of `BackendType`, and return its agent, the object that makes and serves calls.

    The arguments are passed to the `init_backend_handler` with which the backend was registered.
    """
    return backend.value.init_backend_handler(*args, **kwargs)


def _mpi_options(rpc_timeout: float, init_method: str, **kwargs: Any) -> Any:
    return MPIRpcBackendOptions(rpc_timeout=rpc_timeout, init_method=init_method, **kwargs)


def _mpi_agent(name: str, rank: int, world_size: int | None, options: Any) -> Any:
    if not isinstance(options, MPIRpcBackendOptions):
        raise TypeError(f"`rpc_backend_options` must be a `TensorPipeRpcBackendOptions`, not {type(options).__name__}")
    return start_mpi_agent(name, rank, world_size, options)


# A function of its own, and a lambda below: members of an Enum with equal values would be one member with two names.
def _tensorpipe_options(rpc_timeout: float, init_method: str, **kwargs: Any) -> Any:
    return _mpi_options(rpc_timeout, init_method, **kwargs)


def _faulty_options(rpc_timeout: float, init_method: str, **kwargs: Any) -> Any:
    from . import _testing

    return _testing._options(rpc_timeout, init_method, **kwargs)


def _faulty_agent(name: str, rank: int, world_size: int | None, options: Any) -> Any:
    from . import _testing

    return _testing._agent(name, rank, world_size, options)


register_backend("MPI", _mpi_options, _mpi_agent)
register_backend("TENSORPIPE", _tensorpipe_options, _mpi_agent)
register_backend("FAULTY_MPI", _faulty_options, _faulty_agent)
register_backend("FAULTY_TENSORPIPE", lambda *a, **kw: _faulty_options(*a, **kw), _faulty_agent)
