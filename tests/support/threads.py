"""The leak check: a test must end the threads that it started."""

from __future__ import annotations

import sys
import threading
import time
import traceback

GRACE_SECONDS = 5.0
LISTENER = "mpigrad top"  # lives as long as its process


def leaked_threads(before: set[threading.Thread], grace: float = GRACE_SECONDS) -> list[threading.Thread]:
    """Threads that are alive now and were not before, after waiting a little for them to end."""
    end = time.monotonic() + grace
    while True:
        leaked = [thread for thread in threading.enumerate() if thread not in before and thread.name != LISTENER]
        if not leaked or time.monotonic() > end:
            return leaked
        time.sleep(0.005)


def describe(threads: list[threading.Thread]) -> str:
    """Names and stacks of threads."""
    frames = sys._current_frames()
    parts = []
    for thread in threads:
        frame = frames.get(thread.ident or 0)
        stack = "".join(traceback.format_stack(frame)) if frame else ""
        parts.append(f"thread {thread.name!r} is still running after the test:\n{stack}")
    return "\n".join(parts)
