"""The interpreter's switch interval while RPC runs.

A thread that serves requests must reacquire the GIL after every MPI call. While the main thread computes in pure Python, each
of these takes one switch interval. With Python's default of 5 ms an empty call to such a worker took 10 to 30 ms, so RPC sets
1 ms. That costs little, because Python switches only when a thread waits for the GIL.
"""

from __future__ import annotations

import sys
import threading

SECONDS = 0.001

_lock = threading.Lock()
_users = 0
_before = 0.0


def shorten() -> None:
    """Shorten the interval for a new agent, unless the program has set a shorter one."""
    global _users, _before
    with _lock:
        _users += 1
        if _users == 1:
            _before = sys.getswitchinterval()
            if _before > SECONDS:
                sys.setswitchinterval(SECONDS)


def restore() -> None:
    """Restore the interval when the last agent stops, unless the program has changed it meanwhile."""
    global _users
    with _lock:
        _users -= 1
        if _users == 0 and abs(sys.getswitchinterval() - SECONDS) < 1e-6:
            sys.setswitchinterval(_before)
