"""A deadline for every test: after it, the stacks of all threads are dumped and the whole job ends."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import threading
import time
from collections.abc import Callable

DEFAULT_SECONDS = 60.0
BACKUP_SECONDS = 10.0
PEER_GRACE_SECONDS = 5.0
LATE = "did not finish in time"
THREAD_NAME = "test-deadline"


class Deadline:
    """A thread that watches the running test. faulthandler's timer is a second one, in case no thread can take the GIL."""

    def __init__(self, rank: int, report_fd: int) -> None:
        self._rank = rank
        self._fd = report_fd
        self._lock = threading.Lock()
        self._name: str | None = None
        self._end = 0.0
        self._describe: Callable[[], str] = lambda: ""
        self._only_waits: Callable[[], bool] = lambda: False
        self._stop = threading.Event()
        self._on_tick: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
        faulthandler.enable(report_fd, all_threads=True)
        with contextlib.suppress(OSError):
            faulthandler.register(signal.SIGUSR2, report_fd, all_threads=True, chain=False)
        self._thread.start()

    def on_tick(self, action: Callable[[], None]) -> None:
        """Set a function that is called ten times a second while a test runs."""
        self._on_tick = action

    def on_expiry(self, describe: Callable[[], str], only_waits: Callable[[], bool]) -> None:
        """Set the functions that are called when a test has not finished in time.

        `describe` returns text for the report, `only_waits` whether this rank only waits for others, so that its stacks are of no
        interest.
        """
        self._describe, self._only_waits = describe, only_waits

    def start(self, name: str, seconds: float) -> None:
        """Start watching: the test `name` begins and may take this many seconds."""
        with self._lock:
            self._name, self._end = name, time.monotonic() + seconds
        # a timer in C: it works even if a thread holds the GIL and never returns
        faulthandler.dump_traceback_later(seconds + BACKUP_SECONDS, exit=True, file=self._fd)

    def finish(self) -> None:
        """Stop watching: the test has ended."""
        with self._lock:
            self._name = None
        faulthandler.cancel_dump_traceback_later()

    def stop(self) -> None:
        """End the watching thread."""
        self.finish()
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            with self._lock:
                name, end = self._name, self._end
            if name is not None:
                self._on_tick()
                if time.monotonic() > end:
                    self._expire(name)

    def _expire(self, name: str) -> None:
        self.write(f"\n!!!! rank {self._rank}: {name} {LATE}{self._describe()}\n")
        if not self._only_waits():
            faulthandler.dump_traceback(self._fd, all_threads=True)
        time.sleep(1.0)  # the launcher ends the other ranks with this one; let them dump first
        self.write(f"\nFAILED {name} - rank {self._rank} ends the job: not finished in time\n")
        # threads may hang, so no clean-up: the launcher ends the other ranks
        os._exit(1)

    def write(self, text: str) -> None:
        """Write to the terminal, past pytest's capture of output."""
        with contextlib.suppress(OSError):
            os.write(self._fd, text.encode(errors="replace"))
