"""The RPC functions that scripted code calls: the public ones, with the checks and error texts of TorchScript."""

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
    """`rpc.rpc_async` from scripted code; profilers show it as `rpc_async_jit`."""
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
    """`rpc.rpc_sync` for calls from scripted code."""
    if extensions.profiler is not None:
        return rpc_async(to, func, args, kwargs, timeout).wait()
    return api.rpc_sync(to, func, args, kwargs, timeout)


def remote(
    to: Any, func: Any, args: tuple[Any, ...] = (), kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT
) -> RRef:
    """`rpc.remote` for calls from scripted code."""
    return api.remote(to, func, args, kwargs, timeout)


def local_value(rref: RRef) -> Any:
    """The value of an RRef that this worker owns; RuntimeError if another worker owns it."""
    if not rref.is_owner():
        raise RuntimeError("Can't call RRef.local_value() on a non-owner RRef.")
    return rref.local_value()


def to_here(rref: RRef, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
    """The module of an RRef that this worker owns; RuntimeError on other workers, because scripted modules are not sent."""
    if not rref.is_owner():
        raise RuntimeError(
            f"{rref!r} is an RRef to a ScriptModule. It can't be sent through RPC from owner, {rref.owner()}, to user, "
            f"{get_agent().info}."
        )
    return rref.to_here(timeout)
