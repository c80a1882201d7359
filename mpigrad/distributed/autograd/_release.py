"""Release: the end of a context on every worker it ever reached.

The worker that leaves the context forgets it and tells the workers it knows; each of them forgets it too and tells those
it knows, but for the one that told it. Every message is acknowledged, and counted until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..rpc._message import MessageType
from ..rpc._seams import RawMessage, register_handler

if TYPE_CHECKING:
    from ._context import DistAutogradContext
    from ._worker import Worker

_TYPE = int(MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ)


def release(worker: Worker, context_id: int, told_by: int | None = None) -> bool:
    """Forget a context here and have the others forget it; False if it was not here."""
    context = worker.container.drop(context_id)
    if context is None:
        return False
    for rank in list(context.known_workers):
        if rank not in (worker.worker_id, told_by):
            _tell(worker, rank, context_id)
    if context.held:
        _fail_waiting(context)
    return True


def _fail_waiting(context: DistAutogradContext) -> None:
    """Drop the parts of passes that wait for gradients: messages will not find them any more."""
    with context.lock:
        waiting = {part for held in context.held.values() for part in held.values()}
    for part in waiting:
        part.fail(RuntimeError(f"Could not find autograd context with id: {context.context_id}"))


def _tell(worker: Worker, rank: int, context_id: int) -> None:
    agent = worker.agent
    if agent is None or rank in agent.gone:
        return
    told = (rank, context_id)
    worker.releasing.add(told)
    agent.request_with_retries(rank, _TYPE, b"", context_id, 0, lambda reply: worker.releasing.discard(told))


def _handle(agent: Any, message: RawMessage) -> None:
    release(agent.autograd, message.extra, message.src)


register_handler(_TYPE, _handle)
