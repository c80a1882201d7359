"""`Future`: a value that another thread or worker supplies later, with callbacks, waiting threads and `await`.

Invariants
- `_state` changes once, from 0 (pending) to 1 (value) or 2 (error), after `_value` has been stored. A thread must acquire the
  right to change it: in public setters under `_CHANGE`; in the RPC agent by removing the call from its call table.
- Callbacks and sleepers are deques that are created on demand. A thread that adds an entry checks `_state` again afterwards;
  the thread that completes the future checks the deques after the change. Entries are taken out with an atomic `popleft`, so
  each is served exactly once, by one of the two threads.
- No lock and no condition is allocated for a future on which no thread blocks.
- A thread that waits while an RPC agent runs makes progress for the agent, which installs `set_wait_hook`.
- Completing is a guarded section (`mpigrad/_core/guard.py`): an interrupt comes before or after it, never between the change of
  state and the wake-up of waiting threads. Users' callbacks run outside of the section.
- Every callback is called, even if earlier ones raise.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import traceback
import types
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from mpigrad._core.guard import enter, leave, resume, suspend
from mpigrad._core.objects import Mutex

logger = logging.getLogger(__name__)

_CHANGE = Mutex()
_wait_hook: Callable[[Future, float | None], None] | None = None
_defer_hook: Callable[[Callable[[], None]], bool] | None = None
_carry_hook: Callable[[Callable[[Future], Any]], Callable[[Future], Any]] | None = None
_start_hook: Callable[[Callable[[], None]], bool] | None = None
_block_hook: Callable[[Future, float | None], bool] | None = None


def set_wait_hook(hook: Callable[[Future, float | None], None] | None) -> None:
    """Use `hook(fut, deadline)` to wait for futures; it returns when `fut` is done or the deadline has passed."""
    global _wait_hook
    _wait_hook = hook


def set_defer_hook(hook: Callable[[Callable[[], None]], bool] | None) -> None:
    """Offer users' callbacks to `hook(run)`; it returns True if it runs them on another thread, as they may block."""
    global _defer_hook
    _defer_hook = hook


def set_carry_hook(hook: Callable[[Callable[[Future], Any]], Callable[[Future], Any]] | None) -> None:
    """Wrap users' callbacks with `hook(callback)` when they are added, since they run on other threads than the adding one."""
    global _carry_hook
    _carry_hook = hook


def set_start_hook(hook: Callable[[Callable[[], None]], bool] | None) -> None:
    """Offer work given to `start` to `hook(run)`; it returns True if it runs it."""
    global _start_hook
    _start_hook = hook


def set_block_hook(hook: Callable[[Future, float | None], bool] | None) -> None:
    """Offer every sleep to `hook(fut, deadline)`; it returns True if it has waited itself (simulations, in virtual time)."""
    global _block_hook
    _block_hook = hook


def carried(callback: Callable[[Future], Any]) -> Callable[[Future], Any]:
    """The callback wrapped by the carry hook, if there is one."""
    return callback if _carry_hook is None else _carry_hook(callback)


def start(run: Callable[[], None], name: str) -> None:
    """Call `run()` on another thread: on a pool thread if there is an RPC agent, otherwise on a new thread."""
    if _start_hook is None or not _start_hook(run):
        threading.Thread(target=run, name=name, daemon=True).start()


class Future:
    """A value that is set once, by any thread, with `set_result` or `set_exception`; `wait` returns it or raises the
    error.

    `devices` is accepted as in PyTorch and checked, but not needed: results may be on any GPU.

    >>> from mpigrad.futures import Future
    >>> fut = Future()
    >>> doubled = fut.then(lambda f: 2 * f.wait())
    >>> fut.set_result(21)
    >>> doubled.wait()
    42
    """

    __slots__ = ("__weakref__", "_callbacks", "_foreign", "_given_error", "_sleepers", "_state", "_value")

    _given_error: bool  # True if `set_exception` was called; unset otherwise

    __class_getitem__ = classmethod(types.GenericAlias)  # type: ignore[var-annotated]

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._state = 0
        self._callbacks: deque[Callable[[Future], Any]] | None = None
        self._sleepers: deque[Any] | None = None
        self._foreign = False  # has users' callbacks, which may block or raise
        if devices:
            _check_devices(devices)

    def __repr__(self) -> str:
        return f"<mpigrad.futures.Future object at {id(self):#x}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("Can not pickle mpigrad.futures.Future")

    def done(self) -> bool:
        """Whether the future is completed, with a value or an error.

        >>> Future().done()
        False
        """
        return self._state != 0

    def wait(self) -> Any:
        """Wait, without a limit, until the future is completed; then return its value or raise its error.

        >>> fut = Future(); fut.set_result(5); fut.wait()
        5
        """
        if not self._state:
            self._block(None)
        if self._state == 2:
            raise self._value
        return self._value

    def value(self) -> Any:
        """Return the value without waiting, or raise the error; RuntimeError if the future is not completed.

        >>> fut = Future(); fut.set_result(5); fut.value()
        5
        """
        if not self._state:
            raise RuntimeError(
                "value() was called on a Future that is not completed; use wait(), or check done() first"
            )
        if self._state == 2:
            raise self._value
        return self._value

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Call `callback(self)` when this future is completed (at once, if it already is); returns a future of the
        callback's result.

        An error in the callback becomes the error of the returned future.

        >>> fut = Future(); fut.set_result(1)
        >>> fut.then(lambda f: f.value() + 1).wait()
        2
        """
        if not callable(callback):
            raise _not_callable("then", self, callback)
        result = Future()
        callback = carried(callback)

        def chained(fut: Future) -> None:
            try:
                value = callback(fut)
            except BaseException as error:
                result._set(2, _callback_error(error))
                if not isinstance(error, Exception):
                    raise
            else:
                result.set_result(value)

        self._foreign = True
        self._add(chained)
        return result

    def add_done_callback(self, callback: Callable[[Future], None]) -> None:
        """Call `callback(self)` when this future is completed (at once, if it already is). Errors that it raises are
        logged.

        >>> fut = Future(); fut.add_done_callback(lambda f: print(f.value())); fut.set_result("ready")
        ready
        """
        if not callable(callback):
            raise _not_callable("add_done_callback", self, callback)
        self._foreign = True
        self._add(carried(callback))

    def set_result(self, result: Any) -> None:
        """Complete this future with the value `result`; threads that wait go on, and callbacks run. RuntimeError if
        it is completed already.

        >>> fut = Future(); fut.set_result(1); fut.done()
        True
        """
        self._set(1, result)

    def set_exception(self, result: BaseException) -> None:
        """Complete this future with the exception `result`, which `wait` and `value` then raise. RuntimeError if it
        is completed already.

        >>> fut = Future(); fut.set_exception(ValueError("no")); fut.done()
        True
        """
        assert isinstance(result, Exception), f"{result} is of type {type(result)}, not an Exception."
        if not self._state:
            self._given_error = True
        self._set(2, result)

    def __await__(self) -> Generator[Any, None, Any]:
        if not self._state:
            import asyncio  # late: it loads 30 modules, which the caller has if it awaits

            loop = asyncio.get_running_loop()
            ready = loop.create_future()

            def arrived() -> None:
                if not ready.done():
                    ready.set_result(None)

            def tell(_: Future) -> None:
                with contextlib.suppress(RuntimeError):  # the event loop has been closed
                    loop.call_soon_threadsafe(arrived)

            self._add(tell)
            yield from ready.__await__()
        return self.value()

    def _set(self, state: int, value: Any) -> None:
        """Complete this future; RuntimeError if it is completed already. Wakes waiting threads and runs callbacks."""
        before = enter()
        try:
            with _CHANGE:
                self._claim()
                self._value = value
                self._state = state
            self._wake()
            self._run_callbacks()
        finally:
            leave(before)

    def _claim(self) -> None:
        if self._state:
            raise RuntimeError(
                "Attempting to mark a completed Future as complete again. "
                "Note that a Future can only be marked completed once."
            )

    def _finish(self, state: int, value: Any) -> None:
        """Complete without running the callbacks; the caller must have the sole right to complete this future."""
        self._value = value
        self._state = state
        if self._sleepers is not None:
            self._wake()

    def _add(self, callback: Callable[[Future], Any]) -> None:
        callbacks = self._callbacks
        if callbacks is None:
            with _CHANGE:
                callbacks = self._callbacks
                if callbacks is None:
                    callbacks = self._callbacks = deque()
        callbacks.append(callback)
        if self._state:
            self._run_callbacks()

    def _run_callbacks(self) -> None:
        hook = _defer_hook
        if self._callbacks and not (self._foreign and hook is not None and hook(self._call_callbacks)):
            self._call_callbacks()

    def _call_callbacks(self) -> None:
        callbacks = self._callbacks
        fatal: BaseException | None = None
        while callbacks:
            try:
                callback = callbacks.popleft()
            except IndexError:
                break
            try:
                self._call(callback)
            except Exception:
                logger.exception("Got the following error when running the callback %r", callback)
            except BaseException as error:  # an interrupt or `sys.exit`: raised in this thread after the other callbacks
                fatal = fatal or error
        if fatal is not None:
            raise fatal

    def _call(self, callback: Callable[[Future], Any]) -> None:
        if not self._foreign:
            callback(self)
            return
        before = suspend()
        try:
            callback(self)
        finally:
            resume(before)

    def _sleep(self, lock: Any) -> None:
        """Release `lock` when this future is completed (at once, if it already is)."""
        sleepers = self._sleepers
        if sleepers is None:
            with _CHANGE:
                sleepers = self._sleepers
                if sleepers is None:
                    sleepers = self._sleepers = deque()
        sleepers.append(lock)
        if self._state:
            self._wake()

    def _wake(self) -> None:
        sleepers = self._sleepers
        while sleepers:
            try:
                lock = sleepers.popleft()
            except IndexError:
                return
            release(lock)

    def _block(self, deadline: float | None) -> None:
        hook = _wait_hook
        if hook is not None:
            hook(self, deadline)
        else:
            block(self, deadline)


def block(fut: Future, deadline: float | None) -> None:
    """Sleep until `fut` is done or the deadline (of `time.monotonic`) has passed, without making progress for an agent."""
    if _block_hook is not None and _block_hook(fut, deadline):
        return
    lock = Mutex()
    lock.acquire()
    fut._sleep(lock)
    try:
        lock.acquire(True, -1 if deadline is None else min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))
    finally:
        if fut._sleepers:  # remove the entry after a timeout: repeated waits would otherwise accumulate locks
            discard(fut._sleepers, lock)


def discard(entries: deque[Any], entry: Any) -> None:
    """Remove an entry if it is still in the deque."""
    try:
        if entry in entries:  # checked first: the ValueError of `remove` formats the entry, which is slow
            entries.remove(entry)
    except (ValueError, IndexError, RuntimeError):  # another thread changed the deque meanwhile
        pass


def release(lock: Any) -> None:
    """Release the lock of a sleeping thread; releasing it twice is not an error."""
    try:
        if lock.locked():
            lock.release()
    except RuntimeError:
        pass


def _not_callable(name: str, *given: Any) -> TypeError:
    return TypeError(
        f"{name}(): incompatible function arguments. The following argument types are supported:\n"
        f"    1. (self: mpigrad.futures.Future, arg0: collections.abc.Callable)\n\nInvoked with: {given[0]!r}, {given[1]!r}"
    )


def _callback_error(error: BaseException) -> Exception:
    text = "".join(traceback.format_exception(error)).rstrip()
    wrapped = RuntimeError(
        f"Got the following error when running the callback: {type(error).__name__}: {error}\n\n{text}"
    )
    wrapped.__cause__ = error
    return wrapped


def _check_devices(devices: list[Any]) -> None:
    for device in devices:
        name = str(device)
        if name.partition(":")[0] == "cpu":
            raise ValueError(f"Expected devices to have indices, got {name}")
