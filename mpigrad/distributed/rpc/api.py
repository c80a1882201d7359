"""The public functions of RPC. They may be called from any thread; while `rpc_sync` waits, its thread receives messages."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import MethodType
from typing import Any, TypeVar, overload

from mpigrad._core import guard
from mpigrad._core.future import block
from mpigrad._core.rpc import payload
from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.calls import check_call
from mpigrad._core.rpc.rref import RRef as RRef
from mpigrad._core.rpc.rref import remote as remote
from mpigrad._core.rpc.rref import table_of
from mpigrad.futures import Future, wait_all

from ._agent import current
from ._agent.current import get_agent, set_agent
from ._protocol import extensions
from ._protocol.worker_info import Args, Kwargs, To, WorkerInfo
from ._world.gather import all_gather
from ._world.leaving import leave
from ._world.lost import Callback, callbacks_of
from .constants import DEFAULT_SHUTDOWN_TIMEOUT, UNSET_RPC_TIMEOUT
from .internal import PythonUDF as PythonUDF
from .internal import RPCExecMode as RPCExecMode
from .internal import _build_rpc_profiling_key as _build_rpc_profiling_key
from .internal import _internal_rpc_pickler

T = TypeVar("T")
PyRRef = RRef
_thread_local_var = threading.local()
_ignore_rref_leak = True  # whether `shutdown` only warns of RRefs that others still refer to
_default_pickler = _internal_rpc_pickler
_LEAKS = (
    "Detected RRef Leaks during shutdown: other workers still refer to values of this one, which are gone now. That is fine "
    "if the program is at its end; otherwise drop all RRefs, and have Python collect them, before calling shutdown()."
)
logger = logging.getLogger(__name__)

__all__ = ["get_rpc_timeout", "get_worker_info", "rpc_async", "rpc_sync", "shutdown"]


def _is_current_rpc_agent_set() -> bool:
    """Return whether RPC is initialised: `init_rpc` has been called, and `shutdown` has not ended since."""
    return current.current.agent is not None


def _get_current_rpc_agent() -> Agent:
    """Return the agent of this process; RuntimeError, with PyTorch's text, if RPC is not initialised."""
    agent = current.current.agent
    if agent is None:
        raise RuntimeError(
            "Current RPC agent is not set! Did you initialize the RPC framework (e.g. by calling `rpc.init_rpc`)?"
        )
    return agent


def _require_initialized(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function of the API so that it raises RuntimeError unless RPC is initialised."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        get_agent()
        return func(*args, **kwargs)

    return wrapper


@overload
def rpc_sync(
    to: To, func: Callable[..., Future[T]], args: Args = None, kwargs: Kwargs = None, timeout: float = UNSET_RPC_TIMEOUT,
    *, retries: int = 0, at_most_once: bool = False,
) -> T: ...  # fmt: skip
@overload
def rpc_sync(
    to: To, func: Callable[..., T], args: Args = None, kwargs: Kwargs = None, timeout: float = UNSET_RPC_TIMEOUT,
    *, retries: int = 0, at_most_once: bool = False,
) -> T: ...  # fmt: skip
def rpc_sync(
    to: Any, func: Callable[..., Any], args: Any = None, kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT,
    *, retries: int = 0, at_most_once: bool = False,
) -> Any:  # fmt: skip
    """Run `func(*args, **kwargs)` on the worker `to`, wait for it and return the result.

    If the function raises an exception, it is raised here too, with the traceback of the other worker as its cause.

    Args:
        to: a worker's name, rank or `WorkerInfo`.
        func: a function that both workers can import, or a built-in operator such as `mpigrad.add`.
        args, kwargs: its arguments, a tuple and a dict. The callee gets copies. Tensors among them are recorded if the call
            is made inside `dist_autograd.context()`, so that gradients flow back through the call.
        timeout: in seconds, 0 for no limit; by default `rpc_timeout` of the options of `init_rpc`. A call that takes longer
            raises a RuntimeError.
        retries: how often the call is repeated if its message cannot be sent, if it times out, or if the worker is lost and
            another joins under its name. By default a call is never repeated (PyTorch has no such option). The function may
            then run several times, so it must be idempotent, unless `at_most_once` is set.
        at_most_once: with retries, the worker remembers the call, so that a repeated request gets the answer of the first one
            and the function never runs twice. If the worker is lost, the call fails.

    Raises:
        RuntimeError: RPC is not initialised, the worker is unknown, or the call timed out.
        WorkerLostError: the worker's process ended, or stopped answering, before it had answered.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> rpc.rpc_sync("solo", max, args=(2, 3))
    3
    >>> rpc.shutdown()
    """
    agent = current.current.agent
    if agent is None:
        agent = get_agent()
    if not callable(func):
        raise TypeError("function should be callable.")
    if type(func) is MethodType:
        check_call(func, args, kwargs)
    # every call comes here: names and ranks are looked up without the checks of `find`, which raises the errors
    info = agent.by_name.get(to) if type(to) is str else agent.workers.get(to) if type(to) is int else None
    if info is None:
        info = agent.find(to)
    if timeout < 0:
        timeout = agent.rpc_timeout
    if retries:
        from ._agent.retries import repeated

        return repeated(agent, info, func, args, kwargs, timeout, retries, at_most_once).wait()
    profiler = extensions.profiler
    if profiler is not None:
        return profiler("rpc_sync", info, func, args, kwargs, lambda f, a, k: agent.call_sync(info.id, f, a, k, timeout))
    return agent.call_sync(info.id, func, args, kwargs, timeout)


@overload
def rpc_async(
    to: To, func: Callable[..., Future[T]], args: Args = None, kwargs: Kwargs = None, timeout: float = UNSET_RPC_TIMEOUT,
    *, retries: int = 0, at_most_once: bool = False,
) -> Future[T]: ...  # fmt: skip
@overload
def rpc_async(
    to: To, func: Callable[..., T], args: Args = None, kwargs: Kwargs = None, timeout: float = UNSET_RPC_TIMEOUT,
    *, retries: int = 0, at_most_once: bool = False,
) -> Future[T]: ...  # fmt: skip
def rpc_async(
    to: Any, func: Callable[..., Any], args: Any = None, kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT,
    *, retries: int = 0, at_most_once: bool = False,
) -> Future:  # fmt: skip
    """Start `func(*args, **kwargs)` on the worker `to` and return a `Future` of its result at once.

    The arguments are those of `rpc_sync`. `wait()` of the future returns the result, or raises the exception of the
    function or of the call (timeout, lost worker).

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> fut = rpc.rpc_async("solo", min, args=(2, 3))
    >>> fut.wait()
    2
    >>> rpc.shutdown()
    """
    agent = current.current.agent
    if agent is None:
        agent = get_agent()
    if not callable(func):
        raise TypeError("function should be callable.")
    if type(func) is MethodType:
        check_call(func, args, kwargs)
    info = agent.by_name.get(to) if type(to) is str else agent.workers.get(to) if type(to) is int else None
    if info is None:
        info = agent.find(to)
    if timeout < 0:
        timeout = agent.rpc_timeout
    profiler = extensions.profiler
    if retries:
        from ._agent.retries import repeated

        fut: Future = repeated(agent, info, func, args, kwargs, timeout, retries, at_most_once)
    elif profiler is not None:
        fut = profiler("rpc_async", info, func, args, kwargs, lambda f, a, k: agent.call(info.id, f, a, k, timeout))
    else:
        fut = agent.call(info.id, func, args, kwargs, timeout)
    collected = getattr(_thread_local_var, "future_list", None)
    if collected is not None:
        collected.append(fut)
    return fut


def get_worker_info(worker_name: str | None = None) -> WorkerInfo:
    """Return the `WorkerInfo` (name and rank) of the worker called `worker_name`; without a name, that of this worker.

    RuntimeError if no worker has this name. In a dynamic world it first waits up to 2 seconds for such a worker to join.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> rpc.get_worker_info()
    WorkerInfo(id=0, name=solo)
    >>> rpc.shutdown()
    """
    agent = get_agent()
    return agent.info if worker_name is None else agent.find(worker_name)


def wait_for_worker(worker_name: str, timeout: float = UNSET_RPC_TIMEOUT) -> WorkerInfo:
    """Wait until a worker called `worker_name` has joined this dynamic world, and return its `WorkerInfo`.

    Useful if the worker starts later, or was lost and a spare takes its place (`mpigrad run --survive --spares N`). In a
    static world, which no worker can join, an unknown name raises a RuntimeError at once.

    Args:
        worker_name: the name that the worker gives to `init_rpc`.
        timeout: in seconds, 0 for no limit; by default `rpc_timeout` of the options of `init_rpc`. After it a TimeoutError
            is raised.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> rpc.wait_for_worker("solo")
    WorkerInfo(id=0, name=solo)
    >>> rpc.shutdown()
    """
    agent = get_agent()
    seconds = agent.rpc_timeout if timeout == UNSET_RPC_TIMEOUT else timeout
    limit = time.monotonic() + seconds if seconds else None
    while worker_name not in agent.by_name:
        if agent.static:
            return agent.find(worker_name)  # raises the error: no worker can join
        if limit is not None and time.monotonic() > limit:
            raise TimeoutError(f"no worker called {worker_name!r} has joined within {seconds:g} s")
        if agent.progress.pool.stopping:
            raise RuntimeError(f"{agent.info} has shut down while it waited for {worker_name!r}")
        block(Future(), time.monotonic() + 0.002)  # a pause in which threads of the pool receive messages
        guard.deliver()
    return agent.by_name[worker_name]


def get_worker_infos() -> list[WorkerInfo]:
    """Return the `WorkerInfo` of all present workers, a list in the order of ranks, without those that have left or were lost.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> rpc.get_worker_infos()
    [WorkerInfo(id=0, name=solo)]
    >>> rpc.shutdown()
    """
    return get_agent().get_worker_infos()


def on_worker_lost(callback: Callback) -> Callback:
    """Register a function that is called when a worker is lost: its process has ended, or it no longer answers.

    Callbacks run on a thread that serves calls, one after the other, and may make calls themselves. A callback is also
    called for losses that happened before it was added. Returns `callback`, so that it can be used as a decorator. Jobs
    survive the loss of a worker if they were started with `mpigrad run --survive`.

    Args:
        callback: called as `callback(worker, incarnation, why)` with the `WorkerInfo` of the lost worker, the number of its
            incarnation (1, 2, ... in a dynamic world, 0 in a static one), and a text that says how the loss was noticed.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> @rpc.on_worker_lost
    ... def report(worker, incarnation, why):
    ...     print(f"{worker.name} is gone: {why}")
    >>> rpc.shutdown()
    """
    if not callable(callback):
        raise TypeError(f"on_worker_lost needs a function of three arguments (worker, incarnation, why), not {callback!r}")
    callbacks_of(get_agent()).add(callback)
    return callback


def get_rpc_timeout() -> float:
    """Return the default timeout of calls, in seconds: `rpc_timeout` of the options of `init_rpc`; 0 means no limit.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> rpc.get_rpc_timeout()
    60.0
    >>> rpc.shutdown()
    """
    return _get_current_rpc_agent().rpc_timeout


def _set_rpc_timeout(seconds: float) -> None:
    """Set the default timeout of calls of this worker, in seconds; 0 for no limit."""
    _get_current_rpc_agent().rpc_timeout = float(seconds)


def shutdown(graceful: bool = True, timeout: float = DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """Stop RPC on this worker, usually together with all others. Afterwards `init_rpc` may be called again.

    Args:
        graceful: if True, serve calls of other workers until all workers have called `shutdown` and no call is in flight. If
            False, stop at once; calls of other workers to this one then fail.
        timeout: how many seconds a graceful shutdown may wait (0: no limit). After that it stops RPC and raises a RuntimeError
            that names the workers that it waited for.

    Ctrl-C ends a graceful wait; RPC then still works, and `shutdown` can be called again.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> rpc.shutdown()
    """
    agent = get_agent()
    before = guard.enter()
    try:
        if graceful and not _first_to_leave(agent, timeout):
            return
        try:
            leave(agent, graceful, timeout)
        finally:
            _leaving.pop(id(agent), None)
            if agent.progress.pool.stopping:
                set_agent(None)
        _report_leaks(table_of(agent).leaks())
    finally:
        guard.leave(before)


_leaving: dict[int, int] = {}  # id of an agent -> the thread that shuts it down gracefully


def _first_to_leave(agent: Agent, timeout: float) -> bool:
    """Return whether the current thread has to shut the agent down; False if another thread has done so.

    Waits for that thread, `timeout` seconds at most (0: no limit), then raises a RuntimeError.
    """
    deadline = time.monotonic() + timeout if timeout else None
    while _leaving.setdefault(id(agent), threading.get_ident()) != threading.get_ident():  # atomic under the GIL
        if deadline is not None and time.monotonic() > deadline:
            raise RuntimeError(f"another thread has been shutting RPC down for {timeout} s")
        time.sleep(0.002)
        guard.deliver()
    if agent.progress.pool.stopping:
        _leaving.pop(id(agent), None)
        return False
    return True


def _report_leaks(leaks: str) -> None:
    """Log a warning about RRefs that other workers still hold when their owner ends.

    `leaks` describes them (see `Table.leaks`); nothing happens if it is empty. RuntimeError if `_ignore_rref_leak` is
    False.
    """
    if leaks and not _ignore_rref_leak:
        raise RuntimeError(leaks)
    if leaks:
        logger.warning("%s\n%s", _LEAKS, leaks)


@contextmanager
def _wait_all() -> Iterator[None]:
    """Collect the futures of all `rpc_async` calls of this thread inside the block, and wait for them at its end.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> with rpc.api._wait_all():
    ...     fut = rpc.rpc_async("solo", max, args=(2, 3))
    >>> fut.done()
    True
    >>> rpc.shutdown()
    """
    _thread_local_var.future_list = []
    try:
        yield
    finally:
        futures = _thread_local_var.future_list
        del _thread_local_var.future_list
        wait_all(futures)


def _all_gather(obj: Any, worker_names: Any = None, timeout: float = UNSET_RPC_TIMEOUT) -> dict[str, Any]:
    """Exchange one object each between workers; returns the dict {worker name: object} on all of them.

    `worker_names` are those that take part, by default all workers; each of them must call this with the same names. `timeout`
    is in seconds, 0 for none, by default that of calls; after it a RuntimeError names the workers that are missing.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> rpc.api._all_gather(5)
    {'solo': 5}
    >>> rpc.shutdown()
    """
    return all_gather(obj, worker_names, timeout)


def _barrier(worker_names: Any) -> None:
    """Wait until all workers in `worker_names` (strings) have called this with the same names.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> rpc.api._barrier({"solo"})
    >>> rpc.shutdown()
    """
    all_gather(None, set(worker_names))


def _wait_all_workers(timeout: float = DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """Wait until all workers have called this; RuntimeError after `timeout` seconds (0: no limit)."""
    all_gather(None, None, timeout)


def _to_worker_info(to: Any) -> WorkerInfo:
    """Return the `WorkerInfo` of a worker given by name, rank or `WorkerInfo`; RuntimeError if it is unknown."""
    return get_agent().find(to)


def _delete_all_user_and_unforked_owner_rrefs(timeoutMillis: timedelta = timedelta(seconds=100)) -> None:
    """Drop all RRefs to values of other workers, even if the program still holds them, and wait until their owners know.

    RuntimeError if an owner does not answer within `timeoutMillis` (a `timedelta`, as in PyTorch).
    """
    agent = _get_current_rpc_agent()
    agent.rrefs.delete_users()
    timeout = timeoutMillis.total_seconds()
    deadline = time.monotonic() + timeout
    while not agent.rrefs.quiet():
        if time.monotonic() > deadline:
            raise RuntimeError(f"owners of RRefs did not answer within {timeout} s")
        block(Future(), time.monotonic() + 0.002)


# looked up when it is called, so that tests may replace it in this module
extensions.before_shutdown_hooks.append(lambda agent: _delete_all_user_and_unforked_owner_rrefs())


def _get_worker_infos() -> list[WorkerInfo]:
    """Return the list of the `WorkerInfo` of all workers, in the order of ranks."""
    return get_agent().get_worker_infos()


def _rref_context_get_debug_info() -> dict[str, str]:
    """Return the numbers of RRefs, forks and pending values on this worker, as strings under PyTorch's names."""
    return _get_current_rpc_agent().rrefs.debug_info()


def _get_debug_info() -> dict[str, str]:
    """Return the counters of the agent, of RRefs and of distributed autograd on this worker: {name: value as a string}."""
    found = _rref_context_get_debug_info()
    found.update(_get_current_rpc_agent().get_debug_info())
    for counted in extensions.debug_info_hooks:
        found.update(counted())
    return found


@contextmanager
def _use_rpc_pickler(rpc_pickler: Any) -> Iterator[None]:
    """Encode arguments and results with another pickler inside the block, on all threads of this process.

    `rpc_pickler` has the methods `serialize(obj) -> (bytes, tensors)` and `deserialize(bytes, tensors) -> obj`. It is
    then used for every call, also for calls with tensors and numbers only, which are otherwise sent without pickle.
    """
    global _default_pickler
    default, _default_pickler = _default_pickler, rpc_pickler
    before = payload.use_pickler(rpc_pickler)
    try:
        yield
    finally:
        payload.use_pickler(before)
        _default_pickler = default


use_rpc_pickler = _use_rpc_pickler
