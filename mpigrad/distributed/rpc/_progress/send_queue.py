"""Sending and polling: the one lock around the transport, and the outbox of those who did not get it.

`lock` guards the transport: held for each send and each poll, never while anything else runs. A thread that cannot get
it leaves its frame in `outbox`, which the holder empties, before it lets go of the lock or after: sending never blocks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad._mutex import Mutex

if TYPE_CHECKING:
    from .._transport.base import Transport


class Sending:
    """Access to the transport for many threads, one at a time."""

    def __init__(self, transport: Transport, send_failed: Callable[[int, bytes, Exception], None]) -> None:
        self.transport = transport
        self.lock = transport.lock or Mutex()
        self.outbox: deque[tuple[int, bytes, list[Any], int]] = deque()
        self._send_failed = send_failed
        transport.send_failed = send_failed  # type: ignore[assignment, method-assign]
        self._beat = 0  # how often anybody has polled

    def post(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        """Send, or leave it to whoever holds the lock."""
        lock = self.lock
        if not self.outbox and lock.acquire(False):
            try:
                self.transport.send(dst, frame, follow, tag)
            except Exception as error:
                self._send_failed(dst, frame, error)
            finally:
                lock.release()
        else:
            self.outbox.append((dst, frame, follow, tag))
        if self.outbox:
            self.flush()

    def flush(self) -> None:
        """Send what is in the outbox, unless somebody is about to."""
        outbox, lock = self.outbox, self.lock
        while outbox and lock.acquire(False):
            try:
                self._drain()
            finally:
                lock.release()

    def _drain(self) -> None:
        outbox, send = self.outbox, self.transport.send
        while outbox:
            item = outbox.popleft()
            try:
                send(*item)
            except Exception as error:
                self._send_failed(item[0], item[1], error)

    def _poll(self, tries: int) -> Any:
        """Look for a message; None also when another thread is inside MPI."""
        lock = self.lock
        if not lock.acquire(False):
            return None
        try:
            if self.outbox:
                self._drain()
            frame = self.transport.poll(tries)
        finally:
            lock.release()
        self._beat += 1
        if self.outbox:
            self.flush()
        return frame
