"""`Progress`: constructs the parts that own and schedule the threads of one agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._core.rpc.idle import Idle
from mpigrad._core.rpc.lead import Lead
from mpigrad._core.rpc.pool import Pool
from mpigrad._core.rpc.send_queue import SendQueue
from mpigrad._core.rpc.waiting import Waiters

if TYPE_CHECKING:
    from mpigrad._core.rpc.base import Transport

    from .handler import MessageHandler


class Progress:
    """Send queue, lead, idling, pool and waiting threads of one agent. Each part knows only those constructed before it."""

    def __init__(self, transport: Transport, handler: MessageHandler, limit: int, name: str) -> None:
        self.queue = SendQueue(transport, handler)
        self.lead = Lead()
        self.idle = Idle(transport, handler, self.lead)
        self.pool = Pool(handler, self.queue, self.lead, self.idle, limit, name)
        self.waiters = Waiters(handler, self.queue, self.lead, self.idle, self.pool)
