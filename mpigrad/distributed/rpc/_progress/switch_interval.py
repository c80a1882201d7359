"""The interpreter's switch interval while RPC runs.

A thread that serves others must take the GIL back after every MPI call. If the main thread computes in pure Python, that
takes a switch interval each time, and Python's default of 5 ms made an empty call to such a worker take 10 to 30 ms. A
millisecond is enough: switches happen only when a thread waits for the GIL.
"""

from __future__ import annotations

import sys
import threading

SECONDS = 0.001

_lock = threading.Lock()
_users = 0
_before = 0.0


def shorten() -> None:
    """An agent starts: switch between threads more often, unless the program does already."""
    global _users, _before
    with _lock:
        _users += 1
        if _users == 1:
            _before = sys.getswitchinterval()
            if _before > SECONDS:
                sys.setswitchinterval(SECONDS)


def restore() -> None:
    """An agent has stopped: after the last one, the interval is what it was (unless the program changed it meanwhile)."""
    global _users
    with _lock:
        _users -= 1
        if _users == 0 and abs(sys.getswitchinterval() - SECONDS) < 1e-6:
            sys.setswitchinterval(_before)
