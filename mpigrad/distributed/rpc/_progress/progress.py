"""`Progress`: constructs the parts that own and schedule the threads of one agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._core.rpc.progress import Idle, Lead, Pool, SendQueue, Waiters

if TYPE_CHECKING:
    from mpigrad._core.rpc.transport import Transport

    from .handler import MessageHandler


class Progress:
    """Send queue, lead, idling, pool and waiting threads of one agent. Each part knows only those constructed before it."""

    def __init__(self, transport: Transport, handler: MessageHandler, limit: int, name: str) -> None:
        self.queue = SendQueue(transport, handler)
        self.lead = Lead()
        self.idle = Idle(transport, handler, self.lead)
        self.pool = Pool(handler, self.queue, self.lead, self.idle, limit, name)
        self.waiters = Waiters(handler, self.queue, self.lead, self.idle, self.pool)
