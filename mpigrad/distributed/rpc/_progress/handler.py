"""`MessageHandler`: the interface through which progress calls the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mpigrad._core.future import Future


class MessageHandler(Protocol):
    """What progress needs of an agent: it handles received frames and failed sends, and does housekeeping.

    *Work* is what has to run user code: a frame, or a function without arguments.
    """

    def receive(self, frame: Any, waiting_for: Future | None) -> Any:
        """Handle a received frame, unless that may run user code: then return it as work for `serve`. Never raises.

        `waiting_for` is the future that this thread waits for, or None on a pool thread.
        """

    def answers(self, work: Any, fut: Future) -> bool:
        """Return whether `work` is the answer that completes the future `fut`."""

    def serve(self, work: Any) -> None:
        """Run work that `receive` returned. It may block, and its errors are answered to the caller."""

    def housekeep(self, now: float) -> None:
        """Run the timers that are due at `now` and fail calls that have timed out. Must not block."""

    def send_failed(self, dst: int, frame: bytes, error: Exception) -> None:
        """Fail the call of a frame that could not be sent to `dst`, neither at once nor from the queue. Must not block."""
