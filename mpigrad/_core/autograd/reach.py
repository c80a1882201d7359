"""The reach phase: which send functions a pass will bring gradients to, on every worker.

From some sources walk down the local graph to its recv functions, and ask their senders to walk on from the matching
send functions; a worker answers when all it asked have answered. What is below given roots never changes, so the marks
stay with the context under the reach's id, and later passes from the same roots find them there.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mpigrad._core.future import Future
from mpigrad.distributed.rpc._protocol.extensions import register_handler
from mpigrad.distributed.rpc._protocol.message import MessageType

from ..rpc.raw_message import RawMessage

if TYPE_CHECKING:
    from ..rpc.agent import Agent
    from .container import Worker
    from .context import DistAutogradContext
    from .partition import Source

_TYPE = int(MessageType.REACH_AUTOGRAD_REQ)
_MESSAGE_ID = struct.Struct("<q")


class _Gather:
    """Completes `future` when `count` requests were answered."""

    def __init__(self, count: int) -> None:
        self._left, self._lock = count, threading.Lock()
        self._error: BaseException | None = None
        self.future = Future()

    def answered(self, reply: Future) -> None:
        try:
            reply.value()
        except BaseException as error:
            self._error = error
        with self._lock:
            self._left -= 1
            if self._left:
                return
        if self._error is None:
            self.future.set_result(None)
        else:
            self.future._set(2, self._error)


def reach(worker: Worker, context: DistAutogradContext, reach_id: int, sources: Iterable[Source]) -> Future | None:
    """Mark everything below `sources`, here and on other workers. None when done, else a Future."""
    elsewhere: dict[int, list[int]] = {}
    with context.lock:
        context.parts.update()
        marks = context.reached.setdefault(reach_id, set())
        todo = list(sources)
        marks.update(source.message_id for source in todo if source.message_id is not None)
        while todo:
            for recv in todo.pop().recvs():
                if recv.worker != worker.worker_id:
                    elsewhere.setdefault(recv.worker, []).append(recv.message_id)
                elif recv.message_id not in marks:
                    marks.add(recv.message_id)
                    todo.append(context.parts.source(recv.message_id))
    if not elsewhere:
        return None
    gather = _Gather(len(elsewhere))
    for rank, ids in elsewhere.items():
        body = b"".join(map(_MESSAGE_ID.pack, dict.fromkeys(ids)))
        asked = worker.agent.request(rank, _TYPE, body, extra=reach_id, context=(context.context_id, 0))
        asked._add(gather.answered)
    return gather.future


def _handle(agent: Agent, message: RawMessage) -> Future | None:
    worker: Worker = agent.autograd
    context = worker.container.retrieve(message.context_id)
    ids = [message_id for (message_id,) in _MESSAGE_ID.iter_unpack(message.body)]
    with context.lock:
        context.parts.update()
        marks = context.reached.setdefault(message.extra, set())
        new = [message_id for message_id in ids if message_id not in marks]
        marks.update(new)
        sources = [context.parts.source(message_id) for message_id in new]
    return reach(worker, context, message.extra, sources)


register_handler(_TYPE, _handle)
