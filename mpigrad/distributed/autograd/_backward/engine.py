"""The distributed engine: begins passes at roots on this worker, and takes part in those that others began."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mpigrad._array.device import array_module, guard
from mpigrad._graph.engine import Captures, GraphTask
from mpigrad._graph.node import Edge, edge_of
from mpigrad._tensor import Tensor
from mpigrad._wrapping import wrap
from mpigrad.distributed.rpc._protocol.extensions import register_handler
from mpigrad.distributed.rpc._protocol.frame import RawMessage
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.futures import Future

from .._context.container import Worker, this_worker
from .._context.context import Sink
from .._context.interceptor import Running
from .._graph.partition import Source
from .backward_pass import Pass
from .branch import Batches, Branch, deferred
from .gradients import Item, decode, encode
from .independent import Outgoing, may_follow, run_lone, run_task
from .initiator import Initiated, register_hold, report_failure
from .joined import make_part

if TYPE_CHECKING:
    from .._context.context import DistAutogradContext
    from .._nodes import SendRpcBackward

_numbers = itertools.count(1)
_ROOTS = 64  # sets of roots whose graphs a context remembers
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
        """Run a backward pass from `roots`, and return when it is over on every worker."""
        worker = this_worker()
        if worker.agent is None or worker.agent.computing is None:
            return self._execute(worker, context_id, roots, retain_graph, create_graph, capture)
        with worker.agent.computing():  # on the streams of this worker's passes
            return self._execute(worker, context_id, roots, retain_graph, create_graph, capture)

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
        edges = _checked(roots, leaves=capture is not None)
        one = Pass.begin(
            worker.worker_id, next(_numbers), retain_graph or create_graph, create_graph, capture is not None
        )
        if capture is not None:
            one.captures = _captures(capture)
        grads = [_one(root) for root in roots]
        if create_graph:
            grads = [wrap(grad) for grad in grads]
        started = Initiated(worker, context, one, _source(context, edges))
        seconds = worker.agent.rpc_timeout if worker.agent is not None else 0
        deadline = time.monotonic() + seconds + _GRACE if seconds else None
        reply = _start(started, edges, grads)
        while reply is not None:
            reply = _go_on(started, reply)
        if not started.over:
            _wait(started, deadline)
        if started.error is not None:
            raise started.error
        return [] if capture is None else [one.captured.get(place) for place in range(len(capture))]

    def execute_send_function_async(
        self, context: DistAutogradContext, send_function: SendRpcBackward, retain_graph: bool
    ) -> Future:
        """Pass the gradients stored in a send function on, as if they had come in a message."""
        worker = this_worker()
        grads = [grad._array for grad in send_function.apply([])]
        message_id = next((key for key, each in context._send_functions().items() if each is send_function), None)
        if message_id is None:
            raise RuntimeError(f"the send function is not one of context {context.context_id}")
        one = Pass.begin(worker.worker_id, next(_numbers), retain_graph, False, False)
        started = Initiated(worker, context, one, Source([send_function], message_id))
        started.run([(message_id, grads)])
        return started.future()


ENGINE = DistEngine()


def _source(context: DistAutogradContext, edges: list[Edge]) -> Source:
    """What is below some roots: walked once, since it never changes."""
    nodes = (edges[0][0],) if len(edges) == 1 else tuple([edge[0] for edge in edges])
    found = context.roots.get(nodes)
    if found is None:
        found = context.roots[nodes] = Source(list(nodes))
        if len(context.roots) > _ROOTS:  # a context that lives long is not to hold the graphs of all of its passes
            context.forget_roots(next(iter(context.roots)))
    return found


def _check_types(roots: Any) -> None:
    wrong = "backward(): incompatible function arguments: "
    if not isinstance(roots, (list, tuple)):
        raise TypeError(f"{wrong}roots must be a list of Tensors, not {type(roots).__name__}")
    for place, root in enumerate(roots):
        if not isinstance(root, Tensor):
            raise TypeError(f"{wrong}element {place} of roots must be a Tensor, not {type(root).__name__}")


def _checked(roots: Sequence[Tensor], leaves: bool) -> list[Edge]:
    """The roots' edges, or PyTorch's complaints; it wants no `leaves` as roots of backward passes."""
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


_UNITS: dict[Any, Any] = {}  # dtype -> a one to copy: five times faster than making it


def _one(root: Tensor) -> Any:
    array = root._array
    if array.ndim or type(array) is not np.ndarray:
        with guard(array):
            return array_module(array).ones(array.shape, array.dtype)
    unit = _UNITS.get(array.dtype)
    if unit is None:
        unit = _UNITS[array.dtype] = np.ones((), array.dtype)
    return unit.copy()


def _name(root: Tensor) -> str:
    return f"root of shape {list(root.shape)}"


def _captures(inputs: Sequence[Tensor]) -> Captures:
    found: Captures = {}
    for place, tensor in enumerate(inputs):
        edge = edge_of(tensor)
        if edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        found.setdefault(edge[0], []).append((edge[1], place))
    return found


def _start(started: Initiated, edges: list[Edge], grads: list[Any]) -> Any:
    """Run the graph below the roots, or hold it where send functions of this worker reach into it.

    Gives the future of the answer for which the branch of the roots waits next: see `_send`.
    """
    context, roots = started.context, started.roots
    try:
        context.parts.catch_up()
        meeting = context.parts.meeting(roots)
        if meeting:
            _hold_roots(started, meeting, list(zip(edges, grads)))
        else:
            outgoing = _run_roots(context, started.one, roots, edges, grads)
            if outgoing:
                return _send(started, started.sorted(outgoing))
    except BaseException as error:
        started.fail(error)
    started.settle()
    return None


def _go_on(started: Initiated, reply: Any) -> Any:
    """Wait for an answer, and do the next step of the work of the roots' branch; gives the future of the next answer."""
    context = started.context
    try:
        started.worker.agent.wait_for(reply)  # an interruption ends the pass, too
        items = started.answers(reply)
        if items:
            if not context.parts.runs_user_code():
                return _send(started, started.process(items))
            with Running(context):
                return _send(started, started.process(items))
    except BaseException as error:
        started.fail(error)
    started.settle()
    return None


def _send(started: Initiated, batches: Batches) -> Any:
    """Send gradients on. Most often they are for one worker: then give the future of its answer, with which the thread that
    began the pass goes on itself. Otherwise answers are taken as they come, on whatever thread."""
    if len(batches) == 1:
        ((rank, items),) = batches.items()
        return started.ask(rank, items)
    started.send_all(batches)
    started.settle()
    return None


def _run_roots(
    context: DistAutogradContext, one: Pass, roots: Source, edges: list[Edge], grads: list[Any]
) -> list[Any]:
    sink, user_code = Sink(context, one.F, one.discard), roots.runs_user_code()
    if roots.path is not None and may_follow(one, user_code):
        roots.path.run(one.F, one.keep, grads, sink)
        return sink.outgoing
    task = GraphTask(one.F, roots.counts.copy(), one.keep, sink, one.captures)
    while grads:  # nobody else is to hold them: a context may keep one as it is
        node, nr = edges[len(grads) - 1]
        task.feed(node, nr, grads.pop())
    for node in dict.fromkeys(roots.nodes):
        if roots.counts[node] == 0:
            task.ready.append(node)
    run_task(task, one, user_code)
    return sink.outgoing


def _hold_roots(started: Initiated, sources: list[Source], grads: list[tuple[Edge, Any]]) -> None:
    context, one = started.context, started.one
    with context.lock:
        part = make_part(started.worker, context, one, [started.roots, *sources])
    register_hold(part)
    part.deliver(started.roots, grads)


def _wait(started: Initiated, deadline: float | None) -> None:
    """Wait for the end, making progress; give up when the deadline has passed without it."""
    started.future()._block(deadline)
    if not started.over:
        seconds = started.worker.agent.rpc_timeout
        started.fail(RuntimeError(f"{started.describe()} within {seconds} s (see set_rpc_timeout)"))
        started.give_up()


def _handle(agent: Any, message: RawMessage) -> Any:
    """Gradients for send functions of this worker: run them, and answer when everything they started is done."""
    worker = agent.autograd
    context = worker.container.retrieve(message.context_id)
    begun_here = worker.initiated.get(message.extra)
    one = begun_here.one if begun_here is not None else Pass(message.extra)
    items = decode(message.body, message.arrays, message.src, context, one)
    parts = context.parts
    if parts.runs_user_code():
        branch = Branch(worker, context, one, message.src)
        if not deferred(branch, partial(branch.run, items)):
            with Running(context):
                branch.run(items)
    elif len(items) == 1 and parts.runs_alone(parts.source_for(items[0][0], items[0][1]), one):
        outgoing = _run_one(worker, context, one, items[0])
        if _only_to(message.src, outgoing):
            items = [(recv.message_id, recv.complete(grad, one.F)) for recv, grad in outgoing]
            return encode(items, context, one) if items else None
        branch = Branch(worker, context, one, message.src)
        branch.go_on(outgoing)
    else:
        branch = Branch(worker, context, one, message.src)
        branch.run(items)
    return _answer(branch) if branch.ended else _answer_later(branch)


def _only_to(rank: int, outgoing: Outgoing) -> bool:
    for recv, _ in outgoing:
        if recv.worker != rank:
            return False
    return True


def _run_one(worker: Worker, context: DistAutogradContext, one: Pass, item: Item) -> Outgoing:
    """Pass gradients on at a lone send function, counted as a running pass meanwhile."""
    worker.live.add(one)
    try:
        return run_lone(context, one, context.parts.sources[item[0]], item[1])
    except BaseException as error:
        report_failure(worker, one, error)
        raise
    finally:
        worker.live.discard(one)


def _answer(branch: Branch) -> Any:
    if branch.error is not None:
        raise branch.error
    return encode(branch.answer, branch.context, branch.one) if branch.answer else None


def _answer_later(branch: Branch) -> Any:
    """A Future of the answer. The branch may end on another thread just now: whoever comes second answers."""
    future: Any = Future()

    def end(ended: Branch) -> None:
        try:
            future.set_result(_answer(ended))
        except BaseException as error:
            future.set_exception(error)

    with branch.lock:
        if not branch.ended:
            branch.on_end = end
            return future
    end(branch)
    return future


register_handler(int(MessageType.BACKWARD_AUTOGRAD_REQ), _handle)
