"""The interceptor: what distributed autograd does with every message of rpc, so that the graph crosses workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mpigrad._array.device import CPU
from mpigrad._graph.grad_mode import MODE
from mpigrad._tensor import Tensor
from mpigrad.distributed.rpc._protocol import extensions

from ..future import Future, set_carry_hook
from ..rpc.agent import Agent
from ..rpc.arrays import origins_of
from .container import CURRENT
from .context import DistAutogradContext
from .nodes import RecvRpcBackward, SendRpcBackward


def _needing(tensors: Sequence[Tensor]) -> list[Tensor]:
    needing = []
    for tensor in tensors:
        if tensor._requires:
            needing.append(tensor)
    return needing


def record_send(context: DistAutogradContext, message_id: int, tensors: Sequence[Tensor]) -> SendRpcBackward | None:
    """Attach a send function to those tensors of a message that need gradients."""
    needing = _needing(tensors)
    if not needing:
        return None
    made = context.sends[message_id] = SendRpcBackward(needing)
    context.parts.add(message_id)
    return made


def record_recv(
    context: DistAutogradContext, src: int, message_id: int, tensors: list[Tensor]
) -> RecvRpcBackward | None:
    """Attach a recv function to those tensors of a message that need gradients."""
    needing = _needing(tensors)
    if not needing:
        return None
    origins = origins_of(tensors)
    if origins is not None:
        context.note_origins(message_id, [origins.get(i, CPU) for i, each in enumerate(tensors) if each._requires])
    made = context.recvs[message_id] = RecvRpcBackward(src, message_id, needing)
    return made


def _walk(context: DistAutogradContext) -> None:
    """Walk the graph below new send functions while this worker waits, so that a pass need not."""
    context.parts.catch_up()


class Running:
    """Makes a context this thread's own for the time of a `with`; None means: no context."""

    __slots__ = ("_before", "_context")

    def __init__(self, context: DistAutogradContext | None) -> None:
        self._context = context

    def __enter__(self) -> None:
        self._before = CURRENT.context
        CURRENT.context = self._context

    def __exit__(self, *error: object) -> None:
        CURRENT.context = self._before


def carried(callback: Callable[[Future], Any]) -> Callable[[Future], Any]:
    """A callback of a future that runs in the context in which it was added, whichever thread completes the future."""
    context = CURRENT.context

    def inside(fut: Future) -> Any:
        before, CURRENT.context = CURRENT.context, context
        try:
            return callback(fut)
        finally:
            CURRENT.context = before

    return inside


class _Interceptor:
    """See `rpc._protocol.extensions.Interceptor`."""

    running = Running
    current = CURRENT

    def on_send(self, agent: Agent, dst: int, tensors: list[Tensor]) -> tuple[int, int] | None:
        context = CURRENT.context
        if context is None:
            return None
        context.known_workers.add(dst)
        if context.released:  # asked after the worker is known: a release that comes now will tell it
            return None
        worker = agent.autograd
        message_id = worker.container.new_message_id()
        if tensors and MODE.enabled and record_send(context, message_id, tensors) is not None:
            agent.run_when_idle(_walk, context)
        return context.context_id, message_id

    def on_receive(
        self, agent: Agent, src: int, context_id: int, message_id: int, tensors: list[Tensor]
    ) -> DistAutogradContext | None:
        worker = agent.autograd
        context = worker.container.get_or_create(context_id)
        if context is None:  # released before this message came
            return None
        if tensors:
            record_recv(context, src, message_id, tensors)
        return context

    def on_unrecorded(self, agent: Agent, src: int, context_id: int) -> None:
        context = agent.autograd.container.contexts.get(context_id)
        if context is not None:
            context.missing = (context.missing or set()) | {src}


extensions.install_interceptor(_Interceptor())
set_carry_hook(carried)
