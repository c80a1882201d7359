"""`Mutex`: a lock for the way of calls and passes.

As plain Python it is `threading.Lock`. `mutex.pyx` is compiled in this module's place: compiled modules take and leave it
without going through Python, with a tenth of the steps. They write `acquire`, `try` and `finally` where a lock is taken for
every message: `with` looks for methods by name. (An interrupt whose handler raises can come between `acquire` and `try` in plain
Python, where it would leave the lock taken; compiled modules look for signals in neither place.)
"""

from __future__ import annotations

from threading import Lock as Mutex

__all__ = ["Mutex"]
