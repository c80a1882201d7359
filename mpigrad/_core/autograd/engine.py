"""The distributed engine: begins passes at roots on this worker, and takes part in those that others began."""

from __future__ import annotations

import itertools
import time
from _thread import get_ident
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mpigrad._array.device import array_module, guard
from mpigrad._core.engine import Captures
from mpigrad._core.future import Future
from mpigrad._core.guard import enter, leave
from mpigrad._core.node import Edge, edge_of
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor
from mpigrad.distributed.rpc._protocol.errors import as_runtime_error
from mpigrad.distributed.rpc._protocol.extensions import register_handler
from mpigrad.distributed.rpc._protocol.message import MessageType

from ..rpc.raw_message import RawMessage
from .backward_pass import Pass
from .branch import Branch
from .container import Worker, this_worker
from .coordination import report_failure
from .gradients import decode, encode
from .initiator import RootBranch
from .interceptor import Running
from .nodes import Batches, MessageGradients

if TYPE_CHECKING:
    from ..rpc.agent import Agent
    from .context import DistAutogradContext
    from .nodes import SendRpcBackward
    from .partition import Source

_numbers = itertools.count(1)  # of the passes that this worker begins
_GRACE = 1.0  # messages have the same timeout, and their own errors say more: let them come first


class DistEngine:
    """This worker's engine; PyTorch's class of the same name is one per process, and so is this."""

    @classmethod
    def get_instance(cls) -> DistEngine:
        """The engine of this process."""
        return ENGINE

    def num_backward_passes(self) -> int:
        """How many passes (or branches of others' passes) are running on this worker."""
        return len(this_worker().live)

    def execute(
        self,
        context_id: int,
        roots: Sequence[Tensor],
        retain_graph: bool = False,
        create_graph: bool = False,
        capture: Sequence[Tensor] | None = None,
    ) -> list[Any]:
        """Run a backward pass from `roots`, and return when it is over on every worker.

        With `capture` contexts keep no gradients: those of the given tensors are returned.
        """
        worker = this_worker()
        before = enter()
        try:
            if worker.agent is None or worker.agent.computing is None:
                return self._execute(worker, context_id, roots, retain_graph, create_graph, capture)
            with worker.agent.computing():  # on the streams of this worker's passes
                return self._execute(worker, context_id, roots, retain_graph, create_graph, capture)
        finally:
            leave(before)

    def _execute(
        self,
        worker: Worker,
        context_id: int,
        roots: Sequence[Tensor],
        retain_graph: bool,
        create_graph: bool,
        capture: Sequence[Tensor] | None,
    ) -> list[Any]:
        _check_types(roots)
        context = worker.container.retrieve(context_id)
        context.check_whole()
        edges = _edges_of(roots, leaves=capture is not None)
        pass_ = Pass.begin(
            worker.worker_id, next(_numbers), retain_graph or create_graph, create_graph, capture is not None
        )
        pass_.thread = get_ident()
        if capture is not None:
            pass_.captures = _captures(capture)
        grads = [_ones_like(root) for root in roots]
        if create_graph:
            grads = [wrap(grad) for grad in grads]
        branch = RootBranch(worker, context, pass_, context.source_of_roots(edges))
        seconds = worker.agent.rpc_timeout if worker.agent is not None else 0
        deadline = time.monotonic() + seconds + _GRACE if seconds else None
        reply = branch.run_roots(grads)
        while reply is not None:
            reply = branch.take_answer(reply)
        if not branch.over:
            branch.wait(deadline)
        if branch.error is not None:
            error = as_runtime_error(branch.error)
            try:
                raise error
            finally:
                del error, branch, reply  # the error's traceback has this frame: together they would be a cycle
        return [] if capture is None else [pass_.captured.get(place) for place in range(len(capture))]

    def execute_send_function_async(
        self, context: DistAutogradContext, send_function: SendRpcBackward, retain_graph: bool
    ) -> Future:
        """Pass on the gradients stored in a send function, as if they had come in a message."""
        worker = this_worker()
        grads = [grad._array for grad in send_function.apply([])]
        message_id = next((key for key, each in context._send_functions().items() if each is send_function), None)
        if message_id is None:
            raise RuntimeError(f"the send function is not one of context {context.context_id}")
        pass_ = Pass.begin(worker.worker_id, next(_numbers), retain_graph, False, False)
        with context.lock:
            source = context.parts.source(message_id)
        branch = RootBranch(worker, context, pass_, source)
        branch.run([MessageGradients(message_id, grads)])
        return branch.future()


ENGINE = DistEngine()


# -- roots ------------------------------------------------------------------------------------------------------------
def _check_types(roots: Any) -> None:
    wrong = "backward(): incompatible function arguments: "
    if not isinstance(roots, (list, tuple)):
        raise TypeError(f"{wrong}roots must be a list of Tensors, not {type(roots).__name__}")
    for place, root in enumerate(roots):
        if not isinstance(root, Tensor):
            raise TypeError(f"{wrong}element {place} of roots must be a Tensor, not {type(root).__name__}")


def _edges_of(roots: Sequence[Tensor], leaves: bool) -> list[Edge]:
    """The roots' edges, or PyTorch's errors; it allows no `leaves` as roots of backward passes."""
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    edges = []
    for root in roots:
        if not root._requires:
            raise RuntimeError("requires_grad not set on root")
        if root._array.size != 1:
            raise RuntimeError(f"{_name(root)} is not a scalar, all roots need to be scalar")
        if root._grad_fn is None and not leaves:
            raise RuntimeError(f"{_name(root)} does not have a valid gradient function.")
        edge = edge_of(root)
        assert edge is not None
        edges.append(edge)
    return edges


def _name(root: Tensor) -> str:
    return f"root of shape {list(root.shape)}"


_ONES: dict[Any, Any] = {}  # dtype -> a one to copy: five times faster than making it


def _ones_like(root: Tensor) -> Any:
    """The gradient of a root with respect to itself."""
    array = root._array
    if array.ndim or type(array) is not np.ndarray:
        with guard(array):
            return array_module(array).ones(array.shape, array.dtype)
    one = _ONES.get(array.dtype)
    if one is None:
        one = _ONES[array.dtype] = np.ones((), array.dtype)
    return one.copy()


def _captures(inputs: Sequence[Tensor]) -> Captures:
    found: Captures = {}
    for place, tensor in enumerate(inputs):
        edge = edge_of(tensor)
        if edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        found.setdefault(edge[0], []).append((edge[1], place))
    return found


# -- gradients from other workers -------------------------------------------------------------------------------------
def _handle(agent: Agent, message: RawMessage) -> Any:
    """Run send functions of this worker with the gradients of a message, and answer when all work that they started is done."""
    worker = agent.autograd
    context = worker.container.retrieve(message.context_id)
    context.check_whole()
    begun_here = worker.initiated.get(message.extra)
    pass_ = begun_here.pass_ if begun_here is not None else Pass(message.extra)
    batch = decode(message.body, message.arrays, message.src, context, pass_)
    parts = context.parts
    if parts.runs_user_code():
        branch = Branch(worker, context, pass_, message.src)
        if not branch.defer(partial(branch.run, batch)):
            with Running(context):
                branch.run(batch)
        return branch.reply()
    if len(batch) == 1:
        single = batch[0]
        source = parts.source_for(single.message_id, single.grads)
        if parts.claim_independent(source, pass_.id):
            outgoing = _run_independent(worker, context, pass_, source, single.grads)
            if not outgoing:
                return None
            if len(outgoing) == 1 and message.src in outgoing:  # no branch is needed: nothing has to be waited for
                return encode(outgoing[message.src], context, pass_)
            branch = Branch(worker, context, pass_, message.src)
            branch.finish(outgoing)
            return branch.reply()
    branch = Branch(worker, context, pass_, message.src)
    branch.run(batch)
    return branch.reply()


def _run_independent(
    worker: Worker, context: DistAutogradContext, pass_: Pass, source: Source, grads: list[Any]
) -> Batches:
    """Run an independent source, counted as a running pass meanwhile."""
    worker.live.add(pass_)
    try:
        return pass_.run(context, source, grads)
    except BaseException as error:
        report_failure(worker, pass_, error)
        raise
    finally:
        worker.live.discard(pass_)


register_handler(int(MessageType.BACKWARD_AUTOGRAD_REQ), _handle)
