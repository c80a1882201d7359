"""`Progress`: everything about the threads of one agent, put together from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .idle import Idle
from .lead import Lead
from .pool import Pool
from .send_queue import SendQueue
from .waiting import Waiters

if TYPE_CHECKING:
    from .._transport.base import Transport
    from .handler import MessageHandler


class Progress:
    """The parts that move one agent's messages. Each knows only those made before it."""

    def __init__(self, transport: Transport, handler: MessageHandler, limit: int, name: str) -> None:
        self.queue = SendQueue(transport, handler)
        self.lead = Lead()
        self.idle = Idle(transport, handler, self.lead)
        self.pool = Pool(handler, self.queue, self.lead, self.idle, limit, name)
        self.waiters = Waiters(handler, self.queue, self.lead, self.idle, self.pool)
