"""The RPC functions that scripted code (see `mpigrad.jit.script`) calls: the public ones, with TorchScript's checks and errors.

Arguments and results are those of the public functions of the same name in `api.py`.
"""

from __future__ import annotations

from typing import Any

from mpigrad._core.rpc.calls import check_call
from mpigrad._core.rpc.rref import RRef, seconds_of
from mpigrad.futures import Future

from . import api
from ._agent.current import get_agent
from ._protocol import extensions
from .constants import UNSET_RPC_TIMEOUT


def rpc_async(
    to: Any, func: Any, args: tuple[Any, ...] = (), kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT
) -> Future:
    """Start a call from scripted code and return its `Future`, as `rpc.rpc_async` does; profilers show it as `rpc_async_jit`."""
    profiler = extensions.profiler
    if profiler is None:
        return api.rpc_async(to, func, args, kwargs, timeout)
    check_call(func, args, kwargs)
    agent = get_agent()
    info, seconds = agent.find(to), seconds_of(agent, timeout)
    return profiler("rpc_async_jit", info, func, args, kwargs, lambda f, a, k: agent.call(info.id, f, a, k, seconds))


def rpc_sync(
    to: Any, func: Any, args: tuple[Any, ...] = (), kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT
) -> Any:
    """Make a call from scripted code and return its result, as `rpc.rpc_sync` does."""
    if extensions.profiler is not None:
        return rpc_async(to, func, args, kwargs, timeout).wait()
    return api.rpc_sync(to, func, args, kwargs, timeout)


def remote(
    to: Any, func: Any, args: tuple[Any, ...] = (), kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT
) -> RRef:
    """Start a call from scripted code and return an `RRef` to its result, as `rpc.remote` does."""
    return api.remote(to, func, args, kwargs, timeout)


def local_value(rref: RRef) -> Any:
    """Return the value of an RRef that this worker owns; RuntimeError if another worker owns it."""
    if not rref.is_owner():
        raise RuntimeError("Can't call RRef.local_value() on a non-owner RRef.")
    return rref.local_value()


def to_here(rref: RRef, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
    """Return the scripted module of an RRef that this worker owns; RuntimeError on others: scripted modules are not sent."""
    if not rref.is_owner():
        raise RuntimeError(
            f"{rref!r} is an RRef to a ScriptModule. It can't be sent through RPC from owner, {rref.owner()}, to user, "
            f"{get_agent().info}."
        )
    return rref.to_here(timeout)
