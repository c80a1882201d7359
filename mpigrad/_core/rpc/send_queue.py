"""The send queue: many threads send and poll through one transport, one at a time, and none of them ever blocks.

`lock` guards the transport. It is held for each send and each poll, never while anything else runs. A thread that cannot
get it leaves its frame in `outbox`; the holder empties the outbox before or after it releases the lock.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from mpigrad._core.mutex import Mutex

from .base import Transport

if TYPE_CHECKING:
    from mpigrad.distributed.rpc._progress.handler import MessageHandler


class SendQueue:
    """Access to the transport for many threads, one at a time."""

    def __init__(self, transport: Transport, handler: MessageHandler) -> None:
        self.transport = transport
        self.lock = transport.lock or Mutex()
        self.outbox: deque[tuple[int, bytes, list[Any], int]] = deque()
        self.polls = 0  # how often any thread has polled
        self._handler = handler
        transport.report_failures_to(handler)

    def post(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        """Send a frame now, or leave it to the thread that holds the lock."""
        lock = self.lock
        if not self.outbox and lock.acquire(False):
            try:
                self.transport.send(dst, frame, follow, tag)
            except Exception as error:
                self._handler.send_failed(dst, frame, error)
            finally:
                lock.release()
        else:
            self.outbox.append((dst, frame, follow, tag))
        if self.outbox:
            self.flush()

    def flush(self) -> None:
        """Empty the outbox, unless another thread holds the lock and will do so."""
        outbox, lock = self.outbox, self.lock
        while outbox and lock.acquire(False):
            try:
                self.drain()
            finally:
                lock.release()

    def drain(self) -> None:
        """Empty the outbox; the caller holds the lock."""
        outbox = self.outbox
        while outbox:
            dst, frame, follow, tag = outbox.popleft()
            try:
                self.transport.send(dst, frame, follow, tag)
            except Exception as error:
                self._handler.send_failed(dst, frame, error)

    def poll(self, tries: int) -> Any:
        """Look for a message; None also when another thread holds the lock."""
        lock = self.lock
        if not lock.acquire(False):
            return None
        try:
            if self.outbox:
                self.drain()
            frame = self.transport.poll(tries)
        finally:
            lock.release()
        self.polls += 1
        if self.outbox:
            self.flush()
        return frame
