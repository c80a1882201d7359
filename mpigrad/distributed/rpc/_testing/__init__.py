"""Fault injection: a backend of RPC that fails or delays messages of chosen types, for tests of programs that use RPC.

Use it with `rpc.init_rpc(..., rpc_backend_options=FaultyMPIRpcBackendOptions(...))`.
"""

from __future__ import annotations

from typing import Any

from .. import backend_registry, constants
from ..options import MPIRpcBackendOptions
from .faults import Faults, message_types

__all__ = ["FaultyMPIRpcBackendOptions", "FaultyTensorPipeRpcBackendOptions", "is_available"]


def is_available() -> bool:
    """Return True: faults can be injected wherever RPC can be used (PyTorch asks this first).

    >>> is_available()
    True
    """
    return True


class FaultyMPIRpcBackendOptions(MPIRpcBackendOptions):
    """Options of RPC over MPI with faults.

    Args:
        messages_to_fail: names of message types whose first sends fail, such as "PYTHON_CALL"; an unknown name raises a
            ValueError that lists all names.
        messages_to_delay: a dict from names of message types to the seconds by which their messages are sent later.
        num_fail_sends: how often each message of `messages_to_fail` fails before it is sent; with 0, none fails.

    The other options are those of `MPIRpcBackendOptions`.

    >>> FaultyMPIRpcBackendOptions(messages_to_fail=["RREF_FORK_REQUEST"]).num_fail_sends
    0
    """

    backend: Any = None

    def __init__(
        self,
        num_worker_threads: int = constants.DEFAULT_NUM_WORKER_THREADS,
        rpc_timeout: float = constants.DEFAULT_RPC_TIMEOUT_SEC,
        init_method: str | None = constants.DEFAULT_INIT_METHOD,
        messages_to_fail: Any = (),
        messages_to_delay: dict[str, float] | None = None,
        num_fail_sends: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            num_worker_threads=num_worker_threads, rpc_timeout=rpc_timeout, init_method=init_method, **kwargs
        )
        self.messages_to_fail = list(messages_to_fail)
        self.messages_to_delay = dict(messages_to_delay or {})
        self.num_fail_sends = num_fail_sends
        message_types(self.messages_to_fail, "messages_to_fail")
        message_types(self.messages_to_delay, "messages_to_delay")


FaultyTensorPipeRpcBackendOptions = FaultyMPIRpcBackendOptions


def _options(rpc_timeout: float, init_method: str, **kwargs: Any) -> FaultyMPIRpcBackendOptions:
    return FaultyMPIRpcBackendOptions(rpc_timeout=rpc_timeout, init_method=init_method, **kwargs)


def _agent(name: str, rank: int, world_size: int | None, options: Any) -> Any:
    agent = backend_registry.init_backend(backend_registry.BackendType.MPI, name, rank, world_size, options)
    if isinstance(options, FaultyMPIRpcBackendOptions):
        agent.sender.faults = Faults(options.messages_to_fail, options.messages_to_delay, options.num_fail_sends)
    return agent


FaultyMPIRpcBackendOptions.backend = backend_registry.BackendType.FAULTY_MPI
