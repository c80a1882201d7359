"""The distributed engine and the public functions: passes with roots on this worker, and messages of other passes.

`RootBranch` is the initiator's side of a pass (the initiator is the worker that called `backward`). It counts the workers
that hold joined parts (`holds.py`). The pass is over when the branch of its roots has ended and no worker holds a part. A
worker that holds gradients registers with the initiator before it answers the message that brought them. The first
registration starts the reach phase, whose end is told to all holders. An error on any worker is reported to the initiator at
once, which then tells all holders to drop their parts.
"""

from __future__ import annotations

import itertools
import time
from _thread import get_ident
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mpigrad._array.device import array_module, guard
from mpigrad._graph.grad_mode import TRACING
from mpigrad._tensor import Tensor
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.errors import as_runtime_error
from mpigrad.distributed.rpc._protocol.extensions import register_handler
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.interop._adapters import adapter_of

from ..engine import Captures, as_array
from ..future import Future
from ..guard import edge, enter, leave
from ..node import Edge, edge_of
from ..rpc.agent import RawMessage
from ..rpc.calls import INSTRUMENTS, CallFuture, tell
from ..rpc.payload import stand_in
from ..tensor import GuestTensor, guest, wrap
from .contexts import CURRENT, DistAutogradContext, Running, Worker, init, release, this_worker
from .graph import Batches, MessageGradients
from .guests import GuestLeaf, Segment, divide, edge_of_guest, guests_of, in_framework
from .holds import ReachState, report_failure, tell_abort, tell_reached
from .passes import Branch, Pass, decode, encode, make_part, reach

if TYPE_CHECKING:
    from ..rpc.agent import Agent
    from .graph import SendRpcBackward, Source


# -- the initiator of a pass -------------------------------------------------------------------------------------------
class RootBranch(Branch):
    """The branch of a pass's roots, on the initiator: it ends when the whole pass is over."""

    __slots__ = ("_future", "_reach_id", "_reach_over", "holders", "over", "roots")

    def __init__(self, worker: Worker, context: DistAutogradContext, pass_: Pass, roots: Source) -> None:
        Branch.__init__(self, worker, context, pass_)
        self.roots = roots
        self.holders: dict[int, int] = {}  # rank -> holds counted for it: its parts, or those of workers below it
        self.over = self._reach_over = False
        self._future: Future | None = None  # created when a thread has to wait
        self._reach_id: int | None = None
        worker.initiated[pass_.id] = self

    # -- the roots -----------------------------------------------------------------------------------------------------
    def run_roots(self, grads: list[Any]) -> CallFuture | None:
        """Run the graph below the roots with their gradients; or hold these, if send functions here share nodes with it.

        Returns the future of the answer for which the calling thread has to wait; None if there is none: see `_send_on`.
        """
        observers = INSTRUMENTS.active
        if observers:
            tell(observers, "before_roots", self.worker)
        context, roots = self.context, self.roots
        try:
            context.parts.catch_up()
            sharing = context.parts.sharing_with(roots)
            if sharing:
                self._hold_roots(sharing, grads)
            else:
                outgoing = self.pass_.run(context, roots, grads)
                if outgoing:
                    return self._send_on(self.route(outgoing))
        except BaseException as error:
            self.fail(error)
        finally:
            if observers:
                tell(observers, "after_roots", self.worker)
        self.settle()
        return None

    def _hold_roots(self, sources: list[Source], grads: list[Any]) -> None:
        with self.context.lock:
            part = make_part(self.worker, self.context, self.pass_, [self.roots, *sources])
        part.hold()  # outside of the lock: on the initiator it starts the reach phase, which takes the lock
        part.deliver(self.roots, grads)

    def take_answer(self, reply: CallFuture) -> CallFuture | None:
        """Wait for an answer and go on with its gradients; returns the future of the next answer, or None: see `_send_on`."""
        context = self.context
        try:
            self.worker.agent.wait_for(reply)  # an interrupt here fails the pass
            batch = self.answered_gradients(reply)
            if batch:
                if not context.parts.runs_user_code():
                    return self._send_on(self.process(batch))
                with Running(context):
                    return self._send_on(self.process(batch))
        except BaseException as error:
            self.fail(error)
        self.settle()
        return None

    def _send_on(self, batches: Batches) -> CallFuture | None:
        """Send gradients to other workers.

        If all are for one worker, the usual case, return the future of its answer, with which the calling thread continues.
        Otherwise return None: answers are handled as they arrive, on any thread.
        """
        if len(batches) == 1:
            ((rank, batch),) = batches.items()
            return self.send(rank, batch)
        self.send_all(batches)
        self.settle()
        return None

    # -- the reach phase -----------------------------------------------------------------------------------------------
    def add_holder(self, rank: int) -> ReachState:
        """Count a hold of the worker `rank`; returns the state of the reach phase, which the first hold starts.

        RuntimeError if the pass has ended.
        """
        with self.lock:
            if self.over or self.error is not None:
                raise RuntimeError(f"backward pass {self.pass_.id} has ended already: {self.error or 'it is over'}")
            self.holders[rank] = self.holders.get(rank, 0) + 1
            first = self._reach_id is None
            if first:
                known = self.roots.reach_id
                self._reach_id, self._reach_over = (self.pass_.id, False) if known is None else (known, True)
        if first and not self._reach_over:
            self._start_reach()
        assert self._reach_id is not None
        return ReachState(self._reach_over, self._reach_id)

    def _start_reach(self) -> None:
        tell(INSTRUMENTS.active, "reach_started", self.worker, self.pass_.id)
        assert self._reach_id is not None
        try:
            pending = reach(self.worker, self.context, self._reach_id, [self.roots])
        except BaseException:
            self._observe_reach_end()
            raise
        if pending is None:
            self._reached()
        else:
            pending._add(self._reach_answered)

    def _reach_answered(self, answered: Future) -> None:
        try:
            answered.value()
        except BaseException as error:
            self._observe_reach_end()
            self.fail(error)
        else:
            self._reached()

    def _observe_reach_end(self) -> None:
        tell(INSTRUMENTS.active, "reach_ended", self.worker, self.pass_.id)

    def _reached(self) -> None:
        """End the reach phase: all send functions that will get gradients are marked. Tells the holders."""
        self._observe_reach_end()
        assert self._reach_id is not None
        with self.lock:
            self._reach_over = True  # from now on `add_holder` says so; the holders so far are told below
            self.roots.reach_id = self._reach_id
            ranks = list(self.holders)
        for rank in ranks:
            tell_reached(self.worker, self.context.context_id, self.pass_.id, rank, self._reach_id)

    # -- the end -------------------------------------------------------------------------------------------------------
    def done(self, rank: int) -> None:
        """Note that a hold of the worker `rank` has ended."""
        with self.lock:
            left = self.holders.get(rank, 0) - 1
            if left > 0:
                self.holders[rank] = left
            else:
                self.holders.pop(rank, None)
        self._end()

    def fail(self, error: BaseException) -> None:
        """Fail the pass with an error, unless it has failed or ended: tell all holders to drop their parts."""
        with self.lock:
            if self.error is not None or self.over:
                return
            self.error = error
            ranks, self.holders = list(self.holders), {}  # a failed pass does not wait for parts: see `_end`
        for rank in ranks:
            tell_abort(self.worker, self.context.context_id, self.pass_.id, rank)
        self._end()

    def _end(self) -> None:
        """End the pass if its branch has ended and no worker holds a part; only the first call does."""
        self.lock.acquire()
        try:
            if self.over or not self.ended or self.holders:
                return
            self.over, future = True, self._future
        finally:
            self.lock.release()
        self.worker.initiated.pop(self.pass_.id, None)
        if future is not None:
            self._complete(future)
            if future._callbacks:
                future._run_callbacks()

    def future(self) -> Future:
        """Return a future that is done when the pass is over; it fails with the error of the pass."""
        with self.lock:
            if self._future is None:
                self._future = Future()
                if self.over:
                    self._complete(self._future)
            return self._future

    def _complete(self, future: Future) -> None:
        future._finish(1, None) if self.error is None else future._finish(2, self.error)

    def wait(self, deadline: float | None) -> None:
        """Wait for the end of the pass while making progress.

        An interrupt, or the deadline (of `time.monotonic()`; None: no limit), makes the pass fail.
        """
        try:
            self.future()._block(deadline)
        except BaseException as error:
            self._give_up(error)
        if not self.over:
            seconds = self.worker.agent.rpc_timeout
            self._give_up(RuntimeError(f"{self._describe()} within {seconds} s (see set_rpc_timeout)"))

    def _give_up(self, error: BaseException) -> None:
        self.fail(error)
        with self.lock:
            self.ended = True  # although some messages are not answered
        self.worker.live.discard(self)
        self._end()

    def _describe(self) -> str:
        """Return what the pass waits for, for the error of a timeout."""
        held = ", ".join(f"rank {rank} ({count} parts or workers below it)" for rank, count in sorted(self.holders.items()))
        return f"backward pass of context {self.context.context_id}: " + (
            f"gradients are awaited on {held}"
            if self.ended
            else "gradients sent to other workers were not answered"
        )


# -- the engine --------------------------------------------------------------------------------------------------------
_numbers = itertools.count(1)  # numbers of the passes of this worker
_GRACE = 1.0  # seconds; messages have the same timeout and better errors, so these should come first


class DistEngine:
    """The engine of distributed autograd in this process, under PyTorch's name; `get_instance` returns it."""

    @classmethod
    def get_instance(cls) -> DistEngine:
        """Return the engine of this process."""
        return ENGINE

    def num_backward_passes(self) -> int:
        """Return the number of backward passes, and of branches of other workers' passes, that run on this worker."""
        return len(this_worker().live)

    def execute(
        self,
        context_id: int,
        roots: Sequence[Tensor],
        retain_graph: bool = False,
        create_graph: bool = False,
        capture: Sequence[Tensor] | None = None,
    ) -> list[Any]:
        """Run a backward pass from `roots` in a context, and return when it is over on every worker.

        With `capture`, contexts keep no gradients; those of the given tensors are returned, None for tensors that have
        none. Other arguments are those of `backward`. Errors of other workers are raised as RuntimeErrors.
        """
        worker = this_worker()
        before = enter()
        try:
            if worker.agent is None or worker.agent.computing is None:
                return self._execute(worker, context_id, roots, retain_graph, create_graph, capture)
            with worker.agent.computing():  # sets the CUDA streams of passes
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
        roots = [_stand_in(root) for root in roots]
        edges = _edges_of(roots, leaves=capture is not None)
        pass_ = Pass.begin(
            worker.worker_id, next(_numbers), retain_graph or create_graph, create_graph, capture is not None
        )
        pass_.thread = get_ident()  # interrupts are handled on this thread while nodes run
        if capture is not None:
            pass_.captures = _captures(capture)
        grads = [_ones_like(root) for root in roots]
        if create_graph:
            grads = [wrap(grad) if type(root) is not GuestTensor else grad for root, grad in zip(roots, grads)]
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
                del error, branch, reply  # the traceback refers to this frame: a reference cycle otherwise
        return [] if capture is None else [pass_.captured.get(place) for place in range(len(capture))]

    def execute_send_function_async(
        self, context: DistAutogradContext, send_function: SendRpcBackward, retain_graph: bool
    ) -> Future:
        """Run a send function with the gradients stored by `set_grads`, as if a message had brought them.

        Returns a Future that is done when the pass is over (PyTorch's interface, for tests).
        """
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
    """Raise PyTorch's TypeError unless `roots` is a list of tensors."""
    wrong = "backward(): incompatible function arguments: "
    if not isinstance(roots, (list, tuple)):
        raise TypeError(f"{wrong}roots must be a list of Tensors, not {type(roots).__name__}")
    for place, root in enumerate(roots):
        if not isinstance(root, Tensor) and adapter_of(type(root)) is None:
            raise TypeError(f"{wrong}element {place} of roots must be a Tensor, not {type(root).__name__}")


def _edges_of(roots: Sequence[Tensor], leaves: bool) -> list[Edge]:
    """Return the roots' edges, after PyTorch's checks (RuntimeError); leaves may be roots only with `leaves`."""
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    edges = []
    for root in roots:
        if not root._requires:
            raise RuntimeError("requires_grad not set on root")
        if (root.adapter.size(root.tensor) if type(root) is GuestTensor else root._array.size) != 1:
            raise RuntimeError(f"{_name(root)} is not a scalar, all roots need to be scalar")
        if type(root) is GuestTensor:
            edge = edge_of_guest(root.adapter, root.tensor)
            if type(edge[0]) is not GuestLeaf or leaves:
                edges.append(edge)
                continue
        if root._grad_fn is None and not leaves:
            raise RuntimeError(f"{_name(root)} does not have a valid gradient function.")
        edge = edge_of(root)
        assert edge is not None
        edges.append(edge)
    return edges


def _stand_in(root: Any) -> Any:
    """Return the root itself, or the stand-in for a tensor of another framework, whose elements are not needed."""
    adapter = None if isinstance(root, Tensor) else adapter_of(type(root))
    return in_framework(root) if adapter is None else guest(adapter, root, None, b"", adapter.requires_grad(root))


def _name(root: Tensor) -> str:
    return f"root of shape {list((root.tensor if type(root) is GuestTensor else root._array).shape)}"


_ONES: dict[Any, Any] = {}  # dtype -> an array to copy, five times as fast as creating one


def _ones_like(root: Tensor) -> Any:
    """Return ones like a root: the gradient of the root with respect to itself, with which the pass starts."""
    if type(root) is GuestTensor:
        return root.adapter.root_gradient(root.tensor)
    array = root._array
    if array.ndim or type(array) is not np.ndarray:
        with guard(array):
            return array_module(array).ones(array.shape, array.dtype)
    one = _ONES.get(array.dtype)
    if one is None:
        one = _ONES[array.dtype] = np.ones((), array.dtype)
    return one.copy()


def _captures(inputs: Sequence[Tensor]) -> Captures:
    """Return the nodes at which the gradients of `inputs` have to be captured, for `grad`."""
    found: Captures = {}
    for place, tensor in enumerate(inputs):
        edge = edge_of(tensor) if isinstance(tensor, Tensor) else _edge_of_input(tensor)
        if edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        found.setdefault(edge[0], []).append((edge[1], place))
    return found


def _edge_of_input(tensor: Any) -> Edge | None:
    """Return the edge of another framework's tensor that is an input of `grad`; None if it requires no gradient."""
    adapter = adapter_of(type(tensor))
    if adapter is None:
        raise TypeError(f"grad(): inputs must be Tensors, not {type(tensor).__name__}")
    if not adapter.requires_grad(tensor):
        return None
    edge = edge_of_guest(adapter, tensor)
    guests = guests_of([edge])
    if guests:
        (((edge,),), _) = divide([guests])
        if type(edge[0]) is Segment:
            raise RuntimeError(f"grad(): a tensor of {adapter.name} among the inputs must be a leaf, or have been received")
    return edge


# -- gradients from other workers -------------------------------------------------------------------------------------
def _handle(agent: Agent, message: RawMessage) -> Any:
    """Handle a message with gradients: run its send functions.

    The answer, with the gradients for the sender, is sent when all the work that they started is done.
    """
    worker = agent.autograd
    context = worker.container.retrieve(message.context_id)
    context.check_whole()
    begun_here = worker.initiated.get(message.extra)
    pass_ = begun_here.pass_ if begun_here is not None else Pass(message.extra)
    batch = decode(message.body, message.arrays, message.src, context, pass_)
    parts = context.parts
    if parts.runs_user_code():  # not on a polling thread
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
            if len(outgoing) == 1 and message.src in outgoing:  # no branch needed: all is in the answer
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
    """Run an independent source, and return the gradients for other workers; the pass counts as running meanwhile."""
    worker.live.add(pass_)
    try:
        return pass_.run(context, source, grads)
    except BaseException as error:
        report_failure(worker, pass_, error)
        raise
    finally:
        worker.live.discard(pass_)


def _runs_user_code(agent: Agent, context_id: int) -> bool:
    """Return whether user code is known to run below a send function of a context. Never fails."""
    context = agent.autograd.container.contexts.get(context_id)
    return context is not None and context.parts._user_code


register_handler(int(MessageType.BACKWARD_AUTOGRAD_REQ), _handle, runs_user_code=_runs_user_code)


# -- public functions ---------------------------------------------------------------------------------------------------
class context:
    """A context manager that records calls for `backward`: those made in its block, and those that the called functions make
    in turn.

    `with context() as context_id` returns the id for `backward` and `get_gradients`, an int. The end of the block frees the
    recorded graph and the gradients on all workers. Each thread has its own current context; contexts cannot be nested
    (RuntimeError).

    >>> import mpigrad
    >>> import mpigrad.distributed.autograd as dist_autograd
    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> with dist_autograd.context() as context_id:
    ...     loss = rpc.rpc_sync("solo", mpigrad.mul, args=(x, 3)).sum()
    ...     dist_autograd.backward(context_id, [loss])
    ...     dist_autograd.get_gradients(context_id)[x]
    tensor([3., 3.])
    >>> rpc.shutdown()
    """

    def __enter__(self) -> int:
        self._worker = this_worker()
        before = enter()
        self.autograd_context = None
        try:
            self.autograd_context = self._worker.container.new_context()
        finally:
            try:
                leave(before)
            except BaseException:  # an interrupt during `__enter__`: Python does not call `__exit__`
                self.__exit__()
                raise
        return self.autograd_context.context_id

    @edge
    def __exit__(self, *error: object) -> None:
        before = enter()
        try:
            self._end()
        finally:
            leave(before)

    def _end(self) -> None:
        """Release the context, unless another worker has released it or RPC has ended."""
        if self.autograd_context is None:
            return
        if self._worker.serves():
            release(self._worker, self.autograd_context.context_id)
        if CURRENT.context is self.autograd_context:
            CURRENT.context = None


def backward(context_id: int, roots: Sequence[Tensor], retain_graph: bool = False, create_graph: bool = False) -> None:
    """Compute the gradients of `roots` with respect to all leaves, on all workers to which calls of the context were recorded.

    Each worker adds the gradients of its own leaves to those in the context (see `get_gradients`), not to `.grad`. The call
    returns when the backward pass has ended on all workers. If it fails on any worker, the error is raised here.

    Args:
        context_id: the value of `with context() as context_id`.
        roots: a list of tensors of this worker, each with one element, that require grad; usually the loss.
        retain_graph: keep the graph, so that `backward` can be called again.
        create_graph: record the backward pass itself, so that gradients can be differentiated again; an addition to PyTorch.

    Raises:
        RuntimeError: the context is unknown, a root is not a result of recorded operations, or a worker did not answer
            within `rpc_timeout` of the options of `init_rpc`.

    >>> import mpigrad
    >>> import mpigrad.distributed.autograd as dist_autograd
    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> with dist_autograd.context() as context_id:
    ...     loss = rpc.rpc_sync("solo", mpigrad.mul, args=(x, x)).sum()
    ...     dist_autograd.backward(context_id, [loss], retain_graph=True)
    ...     dist_autograd.backward(context_id, [loss])
    ...     dist_autograd.get_gradients(context_id)[x], x.grad
    (tensor([4., 4.]), None)
    >>> rpc.shutdown()
    """
    if TRACING.on:
        from mpigrad.autograd.profiler import record_function

        with record_function("torch::distributed::autograd::backward"):
            ENGINE.execute(context_id, roots, retain_graph, create_graph)
    else:
        ENGINE.execute(context_id, roots, retain_graph, create_graph)


def grad(
    context_id: int,
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, both tensors of this worker, through calls to other workers.

    The counterpart of `mpigrad.autograd.grad` for a context; an addition to PyTorch. Gradients in the context are not changed.

    Args:
        context_id: the value of `with context() as context_id`.
        outputs: one or several tensors, each with one element.
        inputs: one or several tensors that require grad.
        retain_graph: keep the graph for another pass; by default the value of `create_graph`.
        create_graph: record the gradients, so that they can be differentiated again.
        allow_unused: return None for an input on which the outputs do not depend, instead of raising a RuntimeError.

    >>> import mpigrad
    >>> import mpigrad.distributed.autograd as dist_autograd
    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> with dist_autograd.context() as context_id:
    ...     loss = rpc.rpc_sync("solo", mpigrad.pow, args=(x, 3)).sum()
    ...     (first,) = dist_autograd.grad(context_id, loss, x, create_graph=True)
    ...     dist_autograd.grad(context_id, first.sum(), x)
    (tensor([6., 6.]),)
    >>> rpc.shutdown()
    """
    roots: list[Any] = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    wanted: list[Any] = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    keep = create_graph if retain_graph is None else retain_graph
    found = ENGINE.execute(context_id, roots, keep, create_graph, wanted)
    if not allow_unused and any(each is None for each in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is "
            "the desired behavior."
        )
    return tuple(_given_to(tensor, each) for tensor, each in zip(wanted, found))


def _given_to(tensor: Any, found: Any) -> Any:
    """Return a captured gradient as a tensor of the framework of the input."""
    if found is None or isinstance(found, Tensor):
        return found
    if isinstance(tensor, Tensor):
        return wrap(as_array(found))
    held = stand_in(tensor)
    return found if type(found) is not np.ndarray else held.adapter.gradient(found, held.description)


def _backward_of_rref(context_id: int, roots: list[Tensor], retain_graph: bool) -> None:
    backward(context_id, roots, retain_graph)


extensions.backward = _backward_of_rref
extensions.debug_info_hooks.append(lambda: _get_debug_info())


def get_gradients(context_id: int) -> dict[Tensor, Tensor]:
    """Return the gradients of this worker's leaf tensors in a context: a dict from each leaf to its gradient.

    Gradients of all `backward` calls in the context are added up. RuntimeError if this worker does not have the context.

    >>> import mpigrad
    >>> import mpigrad.distributed.autograd as dist_autograd
    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> x, y = (mpigrad.ones(2, requires_grad=True) for _ in range(2))
    >>> with dist_autograd.context() as context_id:
    ...     dist_autograd.backward(context_id, [rpc.rpc_sync("solo", mpigrad.add, args=(x, y)).sum()])
    ...     sorted(gradient.tolist() for gradient in dist_autograd.get_gradients(context_id).values())
    [[1.0, 1.0], [1.0, 1.0]]
    >>> rpc.shutdown()
    """
    return _retrieve_context(context_id).give_gradients()


def _init(worker_id: int) -> None:
    """Set up distributed autograd without RPC, as the worker `worker_id`."""
    init(worker_id)


def _new_context() -> DistAutogradContext:
    """Create a context, make it the current one of this thread and return it; `_release_context` frees it."""
    return this_worker().container.new_context()


def _release_context(context_id: int) -> None:
    """Free a context on all workers; RuntimeError if this worker does not have it."""
    worker = this_worker()
    worker.container.retrieve(context_id)
    release(worker, context_id)


def _current_context() -> DistAutogradContext:
    """Return the current context of this thread; RuntimeError if there is none."""
    found = CURRENT.context
    if found is not None and found.released:
        raise RuntimeError("Couldn't find autograd context data for current autograd context id")
    if found is None:
        raise RuntimeError(
            "Current thread doesn't have a valid autograd context. Please wrap your code using: "
            "`with mpigrad.distributed.autograd.context() as context_id` to generate a valid context"
        )
    return found


def _has_valid_context() -> bool:
    """Return whether this thread has a current context that is not released."""
    return CURRENT.context is not None and not CURRENT.context.released


def _retrieve_context(context_id: int) -> DistAutogradContext:
    """Return the context with this id; RuntimeError if this worker does not have it."""
    return this_worker().container.retrieve(context_id)


def _is_valid_context(context_id: int) -> None:
    """Raise a RuntimeError if this worker does not have the context."""
    _retrieve_context(context_id)


def _get_max_id() -> int:
    """Return the largest id that a context of this worker can have."""
    return this_worker().container.max_id


def _get_debug_info() -> dict[str, Any]:
    """Return the numbers of running backward passes and of contexts on this worker, under PyTorch's names."""
    worker = this_worker()
    return {
        "num_current_backward_passes": len(worker.live),
        "num_autograd_contexts": len(worker.container.contexts),
    }


def _num_unacknowledged_releases() -> int:
    """Return how many releases of contexts other workers have not acknowledged."""
    return len(this_worker().releasing)
