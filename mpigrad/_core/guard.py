"""The guard: sections of code that no signal handler interrupts.

Python runs signal handlers on the main thread, between two instructions of any Python function, also inside this library. A
handler that raises (Ctrl-C) there would leave an operation half done: a lock held forever, a call that is never completed. So
RPC changes its state only in guarded sections. A signal that arrives in one is *noted*, and its handler runs at the end of the
section or at the next `deliver`. `mpigrad/_process/signals.py` replaces the program's handlers and calls `note` for each signal.

    before = enter()                              before = suspend()
    try:                                          try:
        ...  # not interrupted                        ...  # user code inside a section: may be interrupted
    finally:                                      finally:
        leave(before)                                 resume(before)

Invariants
- A guarded section runs no user code, and checks `interrupted` at least every few milliseconds while it waits. It waits with
  `rest`, which a signal ends, and calls `deliver` at points where no operation is half done.
- Sections nest. `leave` and `resume` restore the previous depth, even if inner sections were not left properly.
- Signal handlers never run on other threads, so all functions do nothing there.

Compiled code can be interrupted only where it calls Python; plain Python also between any two instructions. (`finally: a = b` is
safe; `finally: f()` can be interrupted before `f` starts: see `edge`.)
"""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from .objects import thread_id

F = TypeVar("F", bound=Callable[..., Any])

given: dict[int, Callable[[int, Any], Any]] = {}  # signal -> the program's handler
edges: set[Any] = set()  # code of functions that count as guarded from their first instruction: see `edge`
_noted: list[int] = []
_depth = 0
_sleeper: Any = None  # the lock on which the main thread sleeps in `rest`
_main: Any = threading.main_thread().ident
_at_enter: Callable[[], None] | None = None
_at_leave: Callable[[], None] | None = None


def when_entered(run: Callable[[], None] | None) -> None:
    """Call `run` on the main thread before it enters its next section; repeated until it has returned without an error."""
    global _at_enter
    _at_enter = run


def when_left(run: Callable[[], None] | None) -> None:
    """Call `run` on the main thread when it leaves its outermost section; repeated until it has returned without an error."""
    global _at_leave
    _at_leave = run


def restart() -> None:
    """Reset the state in a forked child, whose only thread becomes the main thread outside of all sections."""
    global _depth, _main, _sleeper
    _depth, _main, _sleeper = 0, thread_id(), None
    _noted.clear()


def enter() -> int:
    """Enter a section; returns the argument for `leave`."""
    global _depth
    if thread_id() != _main:
        return -1
    if _at_enter is not None:
        _at_enter()
        when_entered(None)
    before = _depth
    _depth = before + 1
    return before


def leave(before: int) -> int:
    """Leave a guarded section; `before` is the result of `enter`. After the outermost section the handlers of noted signals run,
    and may raise.
    """
    global _depth
    if before < 0:
        return 0
    _depth = before
    if not before and (_noted or _at_leave is not None):
        _left()
    return 0


def _left() -> None:
    if _at_leave is not None:
        _at_leave()
        when_left(None)
    deliver()


def leave_later(before: int) -> None:
    """`leave` for finalizers, where Python would swallow an exception: noted signals are sent again a little later."""
    global _depth
    if before >= 0:
        _depth = before
        if _noted and not before:
            _send_again()


def _send_again() -> None:
    numbers = list(_noted)
    _noted.clear()
    again = threading.Timer(0.001, _arrive, (numbers,))
    again.daemon = True
    again.start()


def _arrive(numbers: list[int]) -> None:
    for number in numbers:
        _thread.interrupt_main(signal.Signals(number))


def suspend() -> int:
    """Leave all sections to run user code; returns the argument for `resume`. Noted signals are handled first, and may raise."""
    global _depth
    if not _depth or thread_id() != _main:
        return -1
    if _noted:
        deliver()
    before, _depth = _depth, 0
    return before


def resume(before: int) -> int:
    """Return to the sections before `suspend`."""
    global _depth
    if before >= 0:
        _depth = before
    return 0


def interrupted() -> bool:
    """Whether this is the main thread and a signal has been noted; then a wait must end, so that the thread can `deliver`."""
    return bool(_noted) and thread_id() == _main


def deliver() -> int:
    """Run the handlers of noted signals now; they may raise. Returns 0 (compiled, -2 stands for an exception)."""
    global _depth
    if not _noted or thread_id() != _main:
        return 0
    before, _depth = _depth, 0
    try:
        while _noted:
            number = _noted.pop(0)
            handler = given.get(number)
            if handler is not None:
                handler(number, None)
    finally:
        _depth = before
        if _noted and not before:  # a handler raised outside of all sections, so no later `leave` would handle the rest
            deliver()
    return 0


def note(number: int, frame: Any) -> bool:
    """Called when signal `number` arrives: notes it inside a guarded section and returns True; False if its handler
    may run now.
    """
    if not _depth and (frame is None or frame.f_code not in edges):
        if number in _noted:  # the same signal was noted before: one run of the handler is enough
            _noted.remove(number)
        return False
    if number not in _noted:
        _noted.append(number)
    lock = _sleeper
    if lock is not None and lock.locked():
        lock.release()
    return True


def rest(lock: Any, seconds: float) -> int:
    """Sleep on a lock that this thread holds until another thread releases it, the time is over, or a signal arrives."""
    global _sleeper
    if thread_id() != _main:
        lock.acquire(True, seconds)
        return 0
    _sleeper = lock
    try:
        if not _noted:
            lock.acquire(True, seconds)
    finally:
        _sleeper = None
    return 0


def edge(function: F) -> F:
    """Decorate a function whose first action is to enter a guarded section: a signal that arrives while it is being called is
    noted as well.
    """
    edges.add(getattr(function, "__code__", None))
    return function


edge(enter)
edge(resume)
