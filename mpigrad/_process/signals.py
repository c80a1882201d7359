"""Handlers of signals while RPC runs: those that arrive in a guarded section (`mpigrad/_core/guard.py`) run when it is left.

From `protect` to `unprotect` one function, `_arrived`, stands in for every Python handler of the process. `signal.signal` and
`signal.getsignal` are replaced for that time by functions that take and give the program's own handlers, so that nobody notices.
"""

from __future__ import annotations

import functools
import os
import signal
from typing import Any

from mpigrad._core import guard

_signal, _getsignal = signal.signal, signal.getsignal


def protect() -> None:
    """Have signals wait for guarded sections, from the main thread's next one on. Called by any thread."""
    guard.when_left(None)
    guard.when_entered(_install)


def unprotect() -> None:
    """Give the program its handlers back, once the main thread is in no section any more."""
    guard.when_entered(None)
    guard.when_left(_uninstall)


def _arrived(number: int, frame: Any) -> None:
    if not guard.note(number, frame):
        guard.given[number](number, frame)


@functools.wraps(signal.signal)
def _set(signalnum: Any, handler: Any) -> Any:
    before = guard.enter()
    try:
        previous = _signal(signalnum, _arrived if callable(handler) else handler)  # which raises what it always does
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
    """Stand in for all Python handlers. Repeated, if it was interrupted."""
    signal.signal, signal.getsignal = _set, _get
    for number in signal.valid_signals():
        handler = _getsignal(number)
        if callable(handler) and handler is not _arrived:
            guard.given[int(number)] = handler
            _signal(number, _arrived)


def _uninstall() -> None:
    """Give all handlers back. Repeated, if it was interrupted."""
    for number, handler in list(guard.given.items()):
        if _getsignal(number) is _arrived:
            _signal(number, handler)
    if signal.signal is _set and signal.getsignal is _get:  # else somebody has put something before them
        signal.signal, signal.getsignal = _signal, _getsignal
    guard.given.clear()


os.register_at_fork(after_in_child=guard.restart)
