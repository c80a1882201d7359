"""`Progress`: constructs the parts that own and schedule the threads of one agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._core.rpc.progress import Idle, Lead, Pool, SendQueue, Waiters

if TYPE_CHECKING:
    from mpigrad._core.rpc.transport import Transport

    from .handler import MessageHandler


class Progress:
    """The parts that schedule the threads of one agent: send queue, lead, idling, pool and waiting threads.

    Each part knows only those constructed before it. `limit` is the number of user functions that may run at a time;
    `name` is the worker's, for the names of its threads.
    """

    def __init__(self, transport: Transport, handler: MessageHandler, limit: int, name: str) -> None:
        self.queue = SendQueue(transport, handler)
        self.lead = Lead()
        self.idle = Idle(transport, handler, self.lead)
        self.pool = Pool(handler, self.queue, self.lead, self.idle, limit, name)
        self.waiters = Waiters(handler, self.queue, self.lead, self.idle, self.pool)
