"""Signal handlers while RPC runs: handlers of signals that arrive in a guarded section (`_core/guard.py`) run at its end.

Between `protect` and `unprotect` one function, `_arrived`, replaces every Python handler of the process. `signal.signal` and
`signal.getsignal` are replaced as well, by functions that set and return the program's own handlers, so that the replacement is
invisible to the program. Handlers can only be set on the main thread, so it installs them when it next enters a section.
"""

from __future__ import annotations

import functools
import os
import signal
from typing import Any

from mpigrad._core import guard

_signal, _getsignal = signal.signal, signal.getsignal


def protect() -> None:
    """Defer signals in guarded sections, from the next section of the main thread on. Any thread may call it."""
    # an earlier `unprotect` may still be waiting for the main thread
    guard.when_left(None)
    guard.when_entered(_install)


def unprotect() -> None:
    """Restore the program's handlers when the main thread next leaves its outermost guarded section. Any thread may call it."""
    guard.when_entered(None)
    guard.when_left(_uninstall)


def _arrived(number: int, frame: Any) -> None:
    if not guard.note(number, frame):
        guard.given[number](number, frame)


@functools.wraps(signal.signal)
def _set(signalnum: Any, handler: Any) -> Any:
    before = guard.enter()
    try:
        # SIG_IGN and SIG_DFL are not called by Python, so they need no replacement
        previous = _signal(signalnum, _arrived if callable(handler) else handler)  # raises for invalid arguments
        if previous is _arrived:
            previous = guard.given.pop(int(signalnum))
        if callable(handler):
            guard.given[int(signalnum)] = handler
        return previous
    finally:
        guard.leave(before)


@functools.wraps(signal.getsignal)
def _get(signalnum: Any) -> Any:
    found = _getsignal(signalnum)
    return guard.given[int(signalnum)] if found is _arrived else found


def _install() -> None:
    """Replace all Python signal handlers. If a signal interrupts it, it is called again, so it must be idempotent."""
    signal.signal, signal.getsignal = _set, _get
    for number in signal.valid_signals():
        handler = _getsignal(number)
        if callable(handler) and handler is not _arrived:
            guard.given[int(number)] = handler
            _signal(number, _arrived)


def _uninstall() -> None:
    """Restore all signal handlers. If a signal interrupts it, it is called again, so it must be idempotent."""
    for number, handler in list(guard.given.items()):
        if _getsignal(number) is _arrived:
            _signal(number, handler)
    if signal.signal is _set and signal.getsignal is _get:  # otherwise other code has wrapped them: leave its wrappers
        signal.signal, signal.getsignal = _signal, _getsignal
    guard.given.clear()


os.register_at_fork(after_in_child=guard.restart)
