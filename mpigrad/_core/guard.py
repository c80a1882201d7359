"""The guard: sections of code that no handler of a signal interrupts.

Python runs handlers of signals on the main thread, between two instructions of any Python function, also of the library's own.
A handler that raises (Ctrl-C) would leave there what is half done: a lock taken, a call that nobody completes. So RPC changes its
state only in guarded sections. A signal that arrives in one is *noted*, and its handler runs when the section is left, or at
the next `deliver`. `mpigrad/_process/signals.py` puts itself before the handlers of the program, and asks `note` each time.

    before = enter()                              before = suspend()
    try:                                          try:
        ...  # nothing here is interrupted            ...  # code of users, inside of a section: it is
    finally:                                      finally:
        leave(before)                                 resume(before)

Invariants
- A guarded section never waits longer than a few milliseconds without a look at `interrupted`, and runs no code of users. Who
  waits calls `deliver` where nothing is half done, or `rest`, which a signal ends.
- Sections nest. `leave` and `resume` bring back the depth that was there before, whatever happened in between.
- Other threads are never interrupted: for them all of this does nothing.

Compiled code is only interrupted where it calls Python; plain Python is between
any call and the next instruction. (`finally: a = b` is safe, `finally: f()` is not before `f` has begun: see `edge`.)
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
edges: set[Any] = set()  # code of functions that belong to a section before they have entered it
_noted: list[int] = []
_depth = 0
_sleeper: Any = None  # the lock on which the main thread rests
_main: Any = threading.main_thread().ident
_at_enter: Callable[[], None] | None = None
_at_leave: Callable[[], None] | None = None


def when_entered(run: Callable[[], None] | None) -> None:
    """Have the main thread call `run` before it next enters a section; until it has returned once."""
    global _at_enter
    _at_enter = run


def when_left(run: Callable[[], None] | None) -> None:
    """Have the main thread call `run` when it next leaves its last section; until it has returned once."""
    global _at_leave
    _at_leave = run


def restart() -> None:
    """Begin anew, in the child of a fork: its only thread is the main one now, in no section."""
    global _depth, _main, _sleeper
    _depth, _main, _sleeper = 0, thread_id(), None
    _noted.clear()


def enter() -> int:
    """Begin a section; what `leave` needs."""
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
    """End a section. After the last one the handlers of noted signals run, and may raise."""
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
    """`leave`, in a finaliser, where an exception would be lost: handlers of noted signals run a little later."""
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
    """Leave all sections for code of users; what `resume` needs. Handlers of noted signals run first, and may raise."""
    global _depth
    if not _depth or thread_id() != _main:
        return -1
    if _noted:
        deliver()
    before, _depth = _depth, 0
    return before


def resume(before: int) -> int:
    """Be in the same sections again."""
    global _depth
    if before >= 0:
        _depth = before
    return 0


def interrupted() -> bool:
    """Whether this is the main thread, and a signal was noted: whoever waits in a section goes where it can `deliver`."""
    return bool(_noted) and thread_id() == _main


def deliver() -> int:
    """Run the handlers of noted signals, here and now; they may raise."""
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
        if _noted and not before:  # a handler raised, and nobody comes by here again
            deliver()
    return 0


def note(number: int, frame: Any) -> bool:
    """A signal has arrived: whether it was noted. False if its handler may run now."""
    if not _depth and (frame is None or frame.f_code not in edges):
        if number in _noted:  # another of its kind, which the one that came now stands for
            _noted.remove(number)
        return False
    if number not in _noted:
        _noted.append(number)
    lock = _sleeper
    if lock is not None and lock.locked():
        lock.release()
    return True


def rest(lock: Any, seconds: float) -> int:
    """Sleep on a lock that this thread has taken, until it is released or the time is over, or a signal arrives."""
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
    """Mark a function that enters a section first of all: a signal that arrives while it is being called is noted, too."""
    edges.add(getattr(function, "__code__", None))
    return function


edge(enter)
edge(resume)
