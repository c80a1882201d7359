"""`MessageHandler`: what progress needs of the agent whose messages it moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mpigrad._core.future import Future


class MessageHandler(Protocol):
    """Takes in what the transport brings. An agent implements it."""

    def receive(self, frame: Any, waiting_for: Future | None) -> Any:
        """Do what a received frame asks for on this thread, or return it (or other work) if that may run user code.

        `waiting_for` is the future that this thread waits for, None for the leader. Never raises.
        """

    def answers(self, work: Any, fut: Future) -> bool:
        """Whether this work, which `receive` has returned, is to decode the answer that `fut` waits for."""

    def serve(self, work: Any) -> None:
        """Run work that `receive` has returned, or a function without arguments, where user code may run."""

    def housekeep(self, now: float) -> None:
        """Do what is due at this time. Called every few milliseconds, on any thread; must not block."""

    def send_failed(self, dst: int, frame: bytes, error: Exception) -> None:
        """A frame could not be sent, now or after it had been accepted. Must not block."""
