"""Remote procedure calls between the ranks of an MPI job: the API of `torch.distributed.rpc` on MPI messages.

`init_rpc` makes a rank a worker; `rpc_sync`, `rpc_async` and `remote` run functions on other workers; `shutdown` ends it.
docs/start.md explains a first program.

Terms (worker, agent, RRef, fork, ...) are explained in docs/glossary.md.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from mpigrad._core import guard
from mpigrad._core.rpc.agent import Agent as RpcAgent
from mpigrad._core.rpc.rref import RRef, remote
from mpigrad._process import signals
from mpigrad._process.lazy import lazily
from mpigrad._process.logs import note_ignored_addresses

from . import api, backend_registry, constants, functions, internal
from . import options as options
from . import rref_proxy as rref_proxy  # registers the proxy class with RRef when imported
from ._agent.current import set_agent
from ._protocol.errors import WorkerLostError
from ._protocol.worker_info import WorkerInfo, check_name
from ._world.start import size_of_world
from .api import PyRRef as PyRRef
from .api import (
    _delete_all_user_and_unforked_owner_rrefs,
    _get_debug_info,
    _is_current_rpc_agent_set,
    _rref_context_get_debug_info,
    _set_rpc_timeout,
    get_rpc_timeout,
    get_worker_info,
    get_worker_infos,
    on_worker_lost,
    rpc_async,
    rpc_sync,
    shutdown,
    wait_for_worker,
)
from .api import _get_current_rpc_agent as _get_current_rpc_agent
from .backend_registry import BackendType
from .constants import (
    _DEFAULT_INIT_METHOD,
    _DEFAULT_NUM_WORKER_THREADS,
    _DEFAULT_RPC_TIMEOUT_SEC,
    _UNSET_RPC_TIMEOUT,
)
from .options import MPIRpcBackendOptions, RpcBackendOptions, TensorPipeRpcBackendOptions

if TYPE_CHECKING:
    from ._agent.gil_waits import enable_gil_profiling as enable_gil_profiling
    from ._group.errors import GroupError
    from ._group.worker_group import WorkerGroup
    from ._rref.in_files import _disable_jit_rref_pickle, _enable_jit_rref_pickle
    from .server_process_global_profiler import _server_process_global_profile as _server_process_global_profile
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "BackendType",
    "GroupError",
    "MPIRpcBackendOptions",
    "RRef",
    "RpcBackendOptions",
    "TensorPipeRpcBackendOptions",
    "WorkerGroup",
    "WorkerInfo",
    "WorkerLostError",
    "get_rpc_timeout",
    "get_worker_info",
    "get_worker_infos",
    "init_rpc",
    "is_available",
    "on_worker_lost",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
    "wait_for_worker",
]


TensorPipeAgent = RpcAgent  # PyTorch's name of the class of agents


def is_available() -> bool:
    """Whether RPC can be used in this process, that is, whether mpi4py is installed.

    >>> is_available()
    True
    """
    from mpigrad.distributed import _mpi

    return _mpi.available()


def init_rpc(
    name: str,
    backend: Any = None,
    rank: int = -1,
    world_size: int | None = None,
    rpc_backend_options: RpcBackendOptions | None = None,
    *,
    dynamic: bool | None = None,
) -> None:
    """Make this rank a worker called `name`, which can call functions on other workers and serve their calls.

    It returns when all workers of the world have called it; a dynamic world does not wait for other workers. If it is
    interrupted by Ctrl-C while it waits, it can be called again with the same arguments.

    Args:
        name: a name that no other worker has, of letters, digits, `-`, `_` and `:`, shorter than 128 characters.
        backend: a member of `BackendType`; by default MPI. TENSORPIPE is an alias of it; other members come from
            `backend_registry.register_backend`.
        rank: MPI's rank of this process. It need not be given; another number raises a RuntimeError.
        world_size: the number of workers, by default all ranks of the MPI job. With a smaller number, the first ranks
            form the world, and the others must not call `init_rpc`.
        rpc_backend_options: an `MPIRpcBackendOptions` with timeouts, number of threads, device maps and communicator.
        dynamic: True starts a dynamic world, in which workers join and leave at any time; False a static one. The default
            is False, except if `rank` is given without `world_size`, which starts a dynamic world as in PyTorch. ValueError
            for True with a `world_size`.

    Raises:
        RuntimeError: RPC is already initialised, a name is not unique, or `rank` or `world_size` contradicts MPI.
        TimeoutError: other ranks have not called it within `init_timeout` of the options (300 seconds by default).

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("worker0", rank=0, world_size=1)
    >>> rpc.shutdown()
    """
    if backend is not None and not (isinstance(backend, Enum) and backend_registry.backend_registered(backend.name)):
        raise TypeError("Argument backend must be a member of BackendType")
    if rpc_backend_options is not None and not isinstance(rpc_backend_options, RpcBackendOptions):
        raise TypeError("Argument rpc_backend_options must be an instance of RpcBackendOptions")
    if rank is not None and not isinstance(rank, int):
        raise RuntimeError(f"`rank` must be an integer. {rank}")
    if world_size is not None and not isinstance(world_size, int):
        raise RuntimeError(f"`world_size` must be an integer. {world_size}")
    check_name(name)
    if _is_current_rpc_agent_set():
        raise RuntimeError("RPC is already initialized")
    if backend is None:
        backend = getattr(rpc_backend_options, "backend", None)
    if backend is None:
        own = isinstance(rpc_backend_options, MPIRpcBackendOptions)
        if not own and type(rpc_backend_options) not in (type(None), RpcBackendOptions):
            raise TypeError(f"Could not infer backend for options {rpc_backend_options}")
        backend = backend_registry.BackendType.MPI
    chosen: Any = rpc_backend_options
    if type(chosen) in (type(None), RpcBackendOptions):  # the base class lacks the options of a backend
        given: dict[str, Any] = {}
        if chosen is not None:
            given = {"rpc_timeout": chosen.rpc_timeout, "init_method": chosen.init_method}
        chosen = backend_registry.construct_rpc_backend_options(backend, **given)
    if dynamic and world_size is not None:
        raise ValueError(f"a dynamic world has no world_size (got {world_size})")
    if world_size is None and not dynamic and isinstance(chosen, MPIRpcBackendOptions):
        if dynamic is False or rank in (-1, None):
            world_size = size_of_world(chosen)
    note_ignored_addresses("rpc", chosen.init_method)
    signals.protect()
    before = guard.enter()  # Ctrl-C is raised where the code below can handle it, not in the middle of an MPI call
    try:
        set_agent(backend_registry.init_backend(backend, name=name, rank=rank, world_size=world_size, options=chosen))
    finally:
        if not _is_current_rpc_agent_set():
            signals.unprotect()
        guard.leave(before)
