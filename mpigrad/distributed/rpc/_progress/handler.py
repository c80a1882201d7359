"""`MessageHandler`: the interface through which progress calls the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mpigrad._core.future import Future


class MessageHandler(Protocol):
    """Handles received frames and failed sends. The agent implements it."""

    def receive(self, frame: Any, waiting_for: Future | None) -> Any:
        """Handle a received frame on this thread; if that may run user code, return the work for `serve` instead.

        `waiting_for` is the future that this thread waits for, or None for a pool thread. Never raises.
        """

    def answers(self, work: Any, fut: Future) -> bool:
        """Whether this work, returned by `receive`, decodes the answer that `fut` waits for."""

    def serve(self, work: Any) -> None:
        """Run work that `receive` returned, or a function without arguments. May run user code and may block."""

    def housekeep(self, now: float) -> None:
        """Run timers and check deadlines. Called every few milliseconds, on any thread; must not block."""

    def send_failed(self, dst: int, frame: bytes, error: Exception) -> None:
        """Fail the call of a frame that could not be sent, at once or after it had been queued. Must not block."""
