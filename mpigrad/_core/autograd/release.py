"""Release: the end of a context on every worker it ever reached.

The worker that leaves the context forgets it and tells the workers it knows; each of them forgets it too and tells those
it knows, but for the one that told it. Every message is acknowledged, and counted until then. It also says below which
id all contexts of the same maker are released (see `_core/autograd/container.py`), so that workers need not remember each one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mpigrad.distributed.rpc._protocol.extensions import register_handler
from mpigrad.distributed.rpc._protocol.message import MessageType

from ..rpc.raw_message import RawMessage
from .container import LOCAL_BITS, Worker

if TYPE_CHECKING:
    from mpigrad._core.future import Future

    from ..rpc.agent import Agent
    from .context import DistAutogradContext

_TYPE = int(MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ)
_KNOW = int(MessageType.KNOW_AUTOGRAD_CONTEXT_REQ)


def release(worker: Worker, context_id: int, told_by: int | None = None, floor: int = 0) -> bool:
    """Forget a context here and have the others forget it; False if it was not here."""
    context = worker.container.drop(context_id, floor)
    if context is None:
        return False
    for rank in list(context.known_workers):
        if rank not in (worker.worker_id, told_by):
            _tell(worker, rank, context_id)
    _fail_joined_parts(context)
    return True


def worker_left(worker: Worker, rank: int) -> None:
    """Release the contexts of a worker that is gone; re-register with makers of contexts that came to us through it."""
    for context_id in worker.container.made_by(rank):
        release(worker, context_id, rank)
    worker.container.forget_maker(rank)
    for context in list(worker.container.contexts.values()):
        maker = context.context_id >> LOCAL_BITS
        if maker != worker.worker_id and maker not in context.known_workers and maker not in worker.agent.gone:
            context.known_workers.add(maker)
            worker.agent.request_with_retries(maker, _KNOW, b"", context.context_id)


def _fail_joined_parts(context: DistAutogradContext) -> None:
    """Drop the parts of passes that wait for gradients: messages will not find them any more.

    The lock that `joined_parts` takes comes after `released` was set, so no part is made unseen.
    """
    for part in context.joined_parts():
        part.fail(RuntimeError(f"Could not find autograd context with id: {context.context_id}"))


def _tell(worker: Worker, rank: int, context_id: int) -> None:
    """Tell a worker of the release, the next time that a thread of ours waits."""
    agent = worker.agent
    if agent is None or rank in agent.gone:
        return
    worker.releasing.add((rank, context_id))
    agent.run_when_idle(_send_release, (worker, rank, context_id))


def _send_release(told: tuple[Worker, int, int]) -> None:
    worker, rank, context_id = told
    heard = partial(_acknowledged, worker.releasing, (rank, context_id))
    worker.agent.request_with_retries(rank, _TYPE, b"", context_id, worker.container.floor_of(context_id), heard)


def _acknowledged(releasing: set[tuple[int, int]], end: tuple[int, int], reply: Future) -> None:
    releasing.discard(end)


def _handle_know(agent: Agent, message: RawMessage) -> None:
    """Note that a worker has a context of ours, which came to it through a worker that is gone."""
    worker: Worker = agent.autograd
    context = worker.container.contexts.get(message.extra)
    if context is not None:
        context.known_workers.add(message.src)
    if context is None or context.released:  # asked after the worker is known, as a release may come in between
        _tell(worker, message.src, message.extra)


def _handle(agent: Agent, message: RawMessage) -> None:
    context_id, floor = message.extra, message.extra2
    if floor and floor >> LOCAL_BITS != context_id >> LOCAL_BITS:
        raise ValueError(f"malformed message: contexts below {floor} cannot end with context {context_id} of another worker")
    release(agent.autograd, context_id, message.src, floor)


register_handler(_TYPE, _handle)
register_handler(_KNOW, _handle_know)
