"""`Progress`: everything about the threads of one agent, put together from its parts."""

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
    """The parts that move one agent's messages. Each knows only those made before it."""

    def __init__(self, transport: Transport, handler: MessageHandler, limit: int, name: str) -> None:
        self.queue = SendQueue(transport, handler)
        self.lead = Lead()
        self.idle = Idle(transport, handler, self.lead)
        self.pool = Pool(handler, self.queue, self.lead, self.idle, limit, name)
        self.waiters = Waiters(handler, self.queue, self.lead, self.idle, self.pool)
