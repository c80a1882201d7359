"""Contexts on one worker, from the first message that names them until their release.

`DistAutogradContext` is one worker's share of a context. `Sink` receives the gradients of a pass: those of leaves are accumulated
in the context, those of recv functions are sent to the workers that sent the tensors. `Worker` is the state of distributed
autograd on one worker: contexts by id, running passes, pending releases. The interceptor records the tensors of every message,
so that the graph crosses workers.

Ids of contexts and messages have 64 bits, with the worker's id in the upper ones (`first_id` says which), so that workers can
number independently.

Release: the worker that leaves the context drops it and tells its known workers; each of these drops it too and tells its own
known workers, except the one that told it. Every such message is acknowledged, and counted until then.

A late message must not recreate a released context. Workers number their contexts in order, and each release contains the
*floor* of the worker that created the context: all its ids below the floor are released. So a worker remembers one number per
other worker, and the few released ids above it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mpigrad._array.device import CPU, device
from mpigrad._graph.grad_mode import MODE, TRACING, current_modes, set_modes
from mpigrad._graph.namespace import RAW
from mpigrad._graph.tracing import run_traced
from mpigrad._settings import _Chosen
from mpigrad._tensor import Tensor
from mpigrad.distributed.rpc._agent import current
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.extensions import register_handler
from mpigrad.distributed.rpc._protocol.message import MAX_WORKERS, MessageType
from mpigrad.interop._adapters import carried_by_adapters

from ..engine import add_in_order, as_array, check_hook_results
from ..future import Future, set_carry_hook
from ..guard import enter, leave
from ..node import AccumulateGrad, Edge, Node, grown, keep, sum_of_tensors
from ..objects import Mutex
from ..rpc.agent import Agent, RawMessage
from ..rpc.payload import origins_of
from ..tensor import GuestTensor, wrap
from .graph import Batches, MessageGradients, Parts, RecvRpcBackward, SendRpcBackward, Source
from .guests import GuestLeaf

if TYPE_CHECKING:
    from .engine import RootBranch
    from .holds import Relay
    from .passes import JoinedPart


# -- a context and its gradients ---------------------------------------------------------------------
_ROOTS = 64  # sets of roots whose graphs a context caches


class DistAutogradContext:
    """What one worker has of a context: the messages recorded here and the gradients of this worker's leaves.

    Programs do not need this object: `with context() as context_id` gives them its number. Methods with a leading
    underscore have PyTorch's names.

    For readers of the code: `sends` and `recvs` (send and recv functions by message id) only grow; `gradients` is changed
    under `lock`; nothing new starts in a context that was `released`, and it is freed when no pass uses it any more.
    """

    __slots__ = (
        "context_id",
        "gradients",
        "joined",
        "known_workers",
        "lock",
        "missing",
        "origins",
        "parts",
        "reached",
        "recvs",
        "released",
        "roots",
        "sends",
        "terms",
    )

    def __init__(self, context_id: int) -> None:
        self.context_id = context_id
        self.sends: dict[int, SendRpcBackward] = {}
        self.recvs: dict[int, RecvRpcBackward] = {}
        self.known_workers: set[int] = set()
        self.gradients: dict[Tensor, Tensor] = {}
        self.missing: set[int] | None = None  # workers that had released this context, so that calls to them were not recorded
        self.lock = Mutex()
        self.origins: dict[int, list[device]] | None = None  # by message id: the senders' devices of its tensors
        self.joined: dict[int, dict[Source, JoinedPart]] = {}  # by pass id and source: joined parts that wait for gradients
        self.parts = Parts(self.sends, self.joined, self.lock)
        self.reached: dict[int, set[int]] = {}  # by reach id: message ids of the send functions that will get gradients
        self.roots: dict[tuple[Edge, ...], Source] = {}  # cache of the graphs below roots, which never change
        self.released = False
        self.terms: dict[Tensor, list[tuple[bytes, Any]]] | None = None  # gradients of each leaf, if their order must not matter

    # -- PyTorch's methods for debugging ------------------------------------------------------------------------------
    def _context_id(self) -> int:
        return self.context_id

    def _send_functions(self) -> dict[int, SendRpcBackward]:
        return dict(self.sends)

    def _recv_functions(self) -> dict[int, RecvRpcBackward]:
        return {key: node if node.shown is None else node.shown() or node for key, node in self.recvs.items()}

    def _known_worker_ids(self) -> set[int]:
        return set(self.known_workers)

    def retrieve_send_function(self, message_id: int) -> SendRpcBackward:
        """Return the send function of the message with this autograd message id; RuntimeError if there is none."""
        found = self.sends.get(message_id)
        if found is None:
            raise RuntimeError(
                f"Could not find send function for autograd message id: {message_id} in context {self.context_id}"
            )
        return found

    # -- the graph -------------------------------------------------------------------------------------------------
    def source_of_roots(self, edges: list[Edge]) -> Source:
        """Return the source for the roots of a pass, given by their edges; cached, since the graph below never changes."""
        key = tuple(edges)
        found = self.roots.get(key)
        if found is None:
            nodes = list(dict.fromkeys([edge[0] for edge in edges])) if len(edges) > 1 else [edges[0][0]]
            found = self.roots[key] = Source(nodes, len(edges), edges)
            if len(self.roots) > _ROOTS:  # a long-lived context must not keep the graphs of all its passes
                self.roots.pop(next(iter(self.roots)), None)
        return found

    def joined_parts(self, pass_id: int | None = None) -> list[JoinedPart]:
        """Return the joined parts of one pass, or of all passes, that wait for gradients on this worker."""
        self.lock.acquire()
        try:
            if not self.joined:  # the usual case, at each release
                return []
            by_source = self.joined.values() if pass_id is None else [self.joined.get(pass_id, {})]
            return list(dict.fromkeys([part for parts in by_source for part in parts.values()]))
        finally:
            self.lock.release()

    def check_whole(self) -> None:
        """Raise a RuntimeError if calls in this context were not recorded on other workers: its gradients would be wrong."""
        if self.missing is not None:
            raise RuntimeError(
                f"calls in autograd context {self.context_id} were not recorded on the workers with ids {sorted(self.missing)}, "
                "which had been told that it was released: its gradients would be incomplete"
            )

    # -- gradients -------------------------------------------------------------------------------------------------
    def accumulate(self, variable: Tensor, grad: Any, F: Any, owned: bool = False) -> None:
        """Add a gradient of the leaf `variable` to the context, never to `.grad`.

        `F` is the namespace of the pass (RAW: `grad` is an array). `owned`: there is no other reference to the gradient,
        so it may be kept without a copy.
        """
        before = enter()
        self.lock.acquire()
        try:
            held = self.gradients.get(variable)
            if _Chosen.deterministic:
                self._add_in_order(variable, grad, F)
            elif F is not RAW:
                self.gradients[variable] = grad if held is None else sum_of_tensors(held, grad)
            elif held is None:
                self.gradients[variable] = wrap(keep(grad, variable, owned))
            else:
                self.gradients[variable] = grown(held, grad)
        finally:
            self.lock.release()
            leave(before)

    def accumulate_guest(self, leaf: GuestLeaf, grad: Any, create: bool) -> None:
        """As `accumulate`, for a leaf of another framework. `create`: the gradient is recorded (`create_graph`)."""
        adapter, variable = leaf.adapter, leaf.variable
        grad = adapter.leaf_gradient(grad, variable, create)
        before = enter()
        self.lock.acquire()
        try:
            if _Chosen.deterministic:
                self._add_guest_in_order(leaf, grad, create)
            else:
                self.gradients[variable] = adapter.accumulate(self.gradients.get(variable), grad, variable, create)
        finally:
            self.lock.release()
            leave(before)

    def _add_in_order(self, variable: Tensor, grad: Any, F: Any) -> None:
        """Add a gradient of a leaf so that the bits of the sum do not depend on the order in which gradients arrive."""
        if self.terms is None:
            self.terms = {}
        terms = self.terms.setdefault(variable, [])
        total = add_in_order(terms, grad.copy() if F is RAW else grad)
        self.gradients[variable] = total if F is not RAW else wrap(keep(total, variable, False))

    def _add_guest_in_order(self, leaf: GuestLeaf, grad: Any, create: bool) -> None:
        """As `_add_in_order`, for a leaf of another framework.

        Users may change the tensor that they get, so that tensor is never one of the terms.
        """
        adapter, variable = leaf.adapter, leaf.variable
        if self.terms is None:
            self.terms = {}
        terms = self.terms.get(variable)
        if terms is None:
            terms = self.terms[variable] = []
            add_in_order(terms, grad, adapter.array_of(grad))
            self.gradients[variable] = adapter.accumulate(None, grad if create else grad * 1, variable, create)
        else:
            total = add_in_order(terms, grad, adapter.array_of(grad))
            self.gradients[variable] = adapter.accumulate(None, total, variable, create)

    def note_origins(self, message_id: int, places: list[device]) -> None:
        """Remember which devices of the sender a message's tensors have left: their gradients return there."""
        with self.lock:
            self.origins = {**(self.origins or {}), message_id: places}

    def give_gradients(self) -> dict[Tensor, Tensor]:
        """Return a copy of the dict of accumulated gradients, by leaf."""
        with self.lock:
            return dict(self.gradients)


class Sink:
    """Receives the gradients of leaves and recv functions in a pass: the engine calls `sink(node, grad, owned)`.

    `F` is the namespace of the pass. `discard`: leaves accumulate nothing, as for `grad`. Afterwards `outgoing` has the
    gradients for other workers, by rank.
    """

    __slots__ = ("F", "context", "discard", "outgoing")

    def __init__(self, context: DistAutogradContext, F: Any, discard: bool = False) -> None:
        self.context, self.F = context, F
        self.discard = discard  # for `grad`: leaves accumulate nothing
        self.outgoing: Batches = {}  # gradients for other workers, by rank

    def __call__(self, node: Node, grad: Any, owned: bool = False) -> None:
        hooks = node.hooks
        if self.discard and (type(node) is AccumulateGrad or type(node) is GuestLeaf):
            return
        if hooks is not None and (hooks.pre or hooks.post) and grad is not None:
            self._watched(node, grad)
        elif type(node) is AccumulateGrad:
            if grad is not None:
                self.context.accumulate(node.variable, grad, self.F, owned)  # type: ignore[attr-defined]
        elif isinstance(node, RecvRpcBackward):
            self._leave(node, grad)
        elif type(node) is GuestLeaf:
            if grad is not None:
                self.context.accumulate_guest(node, grad, self.F is not RAW)
        elif grad is not None:
            node.run(self.F, grad)

    def _leave(self, node: RecvRpcBackward, grad: Any) -> None:
        """Add the gradient of a recv function to those that go to the worker that sent the tensors."""
        if TRACING.on and grad is not None:
            run_traced(node, self.F, grad)
        leaving = MessageGradients(node.message_id, node.complete(grad, self.F))
        if node.worker in self.outgoing:
            self.outgoing[node.worker].append(leaving)
        else:
            self.outgoing[node.worker] = [leaving]

    def _watched(self, node: Node, grad: Any) -> None:
        """Handle a gradient with the node's hooks: pre-hooks may change it, post-hooks see it."""
        assert node.hooks is not None
        raw = self.F is RAW
        if type(node) is GuestLeaf:  # its pre-hooks are the framework's own
            self.context.accumulate_guest(node, grad, not raw)
            for hook in list(node.hooks.post.values()):
                hook((), (grad,))
            return
        given = tuple(
            wrap(as_array(each)) if raw and each is not None else each
            for each in (grad if node.outputs != 1 else [grad])
        )
        for hook in list(node.hooks.pre.values()):
            given = check_hook_results(hook, hook(given), given)
        values = [each._array if raw and each is not None else each for each in given]
        if type(node) is AccumulateGrad:
            self.context.accumulate(node.variable, values[0], self.F)  # type: ignore[attr-defined]
        elif isinstance(node, RecvRpcBackward):
            self._leave(node, values if node.outputs != 1 else values[0])
        else:
            node.run(self.F, values if node.outputs != 1 else values[0])
        for hook in list(node.hooks.post.values()):
            hook((), given)


# -- all contexts of a worker ------------------------------------------------------------------------------------------
_FEW, _FEW_BITS, _MANY_BITS, _MANY = 1 << 14, 48, 38, 1 << 62
_REMEMBERED = 1 << 12  # released ids above the floor per worker; no message is this late


def first_id(worker_id: int) -> int:
    """Return the first id of contexts and messages of a worker.

    The worker's number is in the bits from 48 on, as in PyTorch; from worker 16,384 on, in those from 38 on, with bit 62
    set.
    """
    return worker_id << _FEW_BITS if worker_id < _FEW else _MANY | worker_id << _MANY_BITS


def last_id(worker_id: int) -> int:
    """Return the last id of contexts and messages of a worker."""
    return first_id(worker_id) | ((1 << (_FEW_BITS if worker_id < _FEW else _MANY_BITS)) - 1)


def maker_of(number: int) -> int:
    """Return the id of the worker that made the id of a context or message."""
    return (number ^ _MANY) >> _MANY_BITS if number & _MANY else number >> _FEW_BITS


class _Current(threading.local):
    """The current context of this thread: the one in which its calls are recorded."""

    context: DistAutogradContext | None = None


CURRENT = _Current()


class Container:
    """All contexts of one worker, and what it remembers of released ones."""

    def __init__(self, worker_id: int) -> None:
        if not 0 <= worker_id < MAX_WORKERS:
            raise RuntimeError(f"worker_id needs to be in the range [0, {MAX_WORKERS - 1}], got {worker_id}")
        self.worker_id = worker_id
        self.contexts: dict[int, DistAutogradContext] = {}
        self._lock = Mutex()
        start = first_id(worker_id)
        self._next = start
        self._floors = {worker_id: start}  # worker id -> floor: its contexts below are all released
        self._released: dict[int, dict[int, None]] = {}  # worker id -> released context ids above its floor, in order of release
        self._message_ids = itertools.count(start)
        self.max_id = last_id(worker_id)
        self.new_message_id = self._message_ids.__next__  # atomic under the GIL, so without the lock

    def new_context(self) -> DistAutogradContext:
        """Create a context and make it the current one of this thread; RuntimeError if the thread has one already."""
        if CURRENT.context is not None:
            raise RuntimeError(f"Already have an autograd context id for this thread: {CURRENT.context.context_id}")
        self._lock.acquire()
        try:
            context_id = self._next
            if context_id > self.max_id:
                raise RuntimeError("We have run out of autograd context ids!!!")
            self._next = context_id + 1
            made = self.contexts[context_id] = DistAutogradContext(context_id)
        finally:
            self._lock.release()
        CURRENT.context = made
        return made

    def get_or_create(self, context_id: int) -> DistAutogradContext | None:
        """Return the context that a message names; creates it for the first message. None if it has been released."""
        found = self.contexts.get(context_id)
        if found is not None:  # the usual case needs no lock
            return found
        self._lock.acquire()
        try:
            if self._was_released(context_id):
                return None
            return self.contexts.setdefault(context_id, DistAutogradContext(context_id))
        finally:
            self._lock.release()

    def retrieve(self, context_id: int) -> DistAutogradContext:
        """Return the context with this id; PyTorch's RuntimeError, or TypeError, if there is none."""
        found = self.contexts.get(context_id)
        if found is None:
            if not hasattr(context_id, "__index__"):
                raise TypeError(
                    f"incompatible function arguments: a context's id is an int, not {type(context_id).__name__}"
                )
            raise RuntimeError(f"Could not find autograd context with id: {context_id}")
        return found

    def drop(self, context_id: int, floor: int = 0) -> DistAutogradContext | None:
        """Remove a context for good, and note the `floor` of the worker that created it (see the module).

        Returns the context; None if this worker did not have it.
        """
        self._lock.acquire()
        try:
            found = self.contexts.pop(context_id, None)
            maker = maker_of(context_id)
            if maker == self.worker_id:  # the release tells other workers the new floor
                self._raise_own_floor()
            else:
                self._note(maker, context_id, floor)
        finally:
            self._lock.release()
        if found is not None:
            found.released = True  # threads that still have the object start nothing new in it
            if CURRENT.context is found:
                CURRENT.context = None
        return found

    def made_by(self, worker_id: int) -> list[int]:
        """Return the ids of the contexts on this worker that the worker `worker_id` created."""
        return [context_id for context_id in list(self.contexts) if maker_of(context_id) == worker_id]

    def forget_maker(self, worker_id: int) -> None:
        """Forget the floor of a lost worker: its next incarnation numbers contexts from the start."""
        with self._lock:
            self._floors.pop(worker_id, None)
            self._released.pop(worker_id, None)

    def floor_of(self, context_id: int) -> int:
        """Return the floor, as far as known, of the worker that created a context."""
        return self._floors.get(maker_of(context_id), 0)

    def _was_released(self, context_id: int) -> bool:
        maker = maker_of(context_id)
        if maker == self.worker_id:  # not in `contexts`, so it was released or never existed
            return True
        return context_id < self._floors.get(maker, 0) or context_id in self._released.get(maker, ())

    def _raise_own_floor(self) -> None:
        floor = self._floors[self.worker_id]
        while floor < self._next and floor not in self.contexts:  # each id is passed once in the life of the worker
            floor += 1
        self._floors[self.worker_id] = floor

    def _note(self, maker: int, context_id: int, floor: int) -> None:
        """Note the release of another worker's context and its floor, and forget released ids below the floor."""
        known = self._floors.get(maker, 0)
        if floor > known:
            self._floors[maker] = known = floor
        above = self._released.setdefault(maker, {})
        if context_id >= known:
            above[context_id] = None
        while above and (len(above) > _REMEMBERED or next(iter(above)) < known):  # the dict is in the order of release
            del above[next(iter(above))]


class Worker:
    """The state of distributed autograd on one worker: contexts, passes, releases. `agent` is None without RPC.

    Single operations on sets and dictionaries are atomic under the GIL, so they need no lock.
    """

    def __init__(self, worker_id: int, agent: Agent | None = None) -> None:
        self.worker_id = worker_id
        self.container = Container(worker_id)
        self.agent: Agent = agent  # type: ignore[assignment]  # None without rpc
        self.live: set[Any] = set()  # running branches
        self.initiated: dict[int, RootBranch] = {}  # passes of which this worker is the initiator, by pass id
        self.relays: dict[int, Relay] = {}  # where this worker counts holds of other workers' passes, by pass id
        self.releasing: set[tuple[int, int]] = set()  # (rank, context id) of releases that are not acknowledged

    def serves(self) -> bool:
        """Return whether this is the worker of the current agent, or RPC is not used."""
        return self.agent is None or current.current.agent is self.agent

    @property
    def idle(self) -> bool:
        """Whether no pass is running and no release is pending."""
        return not self.live and not self.releasing


_without_rpc: Worker | None = None  # created by `init`


def init(worker_id: int) -> Worker:
    """Set up distributed autograd without RPC, as the worker `worker_id`; RuntimeError if it was set up with another id."""
    global _without_rpc
    made = Worker(worker_id)
    if _without_rpc is None:
        _without_rpc = made
    elif _without_rpc.worker_id != worker_id:
        raise RuntimeError(
            f"Container is already initialized with worker_id: {_without_rpc.worker_id}, cannot initialize with different "
            f"worker_id: {worker_id}"
        )
    return _without_rpc


def this_worker() -> Worker:
    """Return the `Worker` of the current RPC agent, or the one that `init` made for use without RPC.

    RuntimeError if there is neither.
    """
    agent = current.current.agent
    if agent is not None:
        return agent.autograd
    if _without_rpc is None:
        raise RuntimeError(
            "Need to initialize distributed autograd first: call mpigrad.distributed.rpc.init_rpc"
        )
    return _without_rpc


def _agent_starts(agent: Agent) -> None:
    agent.autograd = Worker(agent.rank, agent)


def _agent_stopped(agent: Agent) -> None:
    """Forget the current context of this thread: an agent has stopped, and its contexts are freed with it."""
    CURRENT.context = None


def _is_idle(agent: Agent) -> bool:
    """Return whether no pass is running and no release is pending on this worker; asked by graceful shutdown."""
    return agent.autograd.idle


extensions.start_hooks.append(_agent_starts)
extensions.shutdown_hooks.append(_agent_stopped)
extensions.quiet_hooks.append(_is_idle)


# -- recording messages ----------------------------------------------------------------------------
def _needing(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors that require grad."""
    needing = []
    for tensor in tensors:
        if tensor._requires:
            needing.append(tensor)
    return needing


def record_send(context: DistAutogradContext, message_id: int, tensors: Sequence[Tensor]) -> SendRpcBackward | None:
    """Create and return the send function of a message that is about to be sent, above its tensors that require grad.

    None if no tensor requires grad.
    """
    needing = _needing(tensors)
    if not needing or type(needing[0]) is GuestTensor and not needing[0].adapter.recording():
        return None
    made = context.sends[message_id] = SendRpcBackward(needing)
    context.parts.add(message_id)
    return made


def record_recv(
    context: DistAutogradContext, src: int, message_id: int, tensors: list[Tensor]
) -> RecvRpcBackward | None:
    """Create and return the recv function of a message from the rank `src`, below its tensors that require grad.

    None if no tensor requires grad.
    """
    needing = _needing(tensors)
    if not needing:
        return None
    origins = origins_of(tensors)
    if origins is not None:
        context.note_origins(message_id, [origins.get(i, CPU) for i, each in enumerate(tensors) if each._requires])
    made = context.recvs[message_id] = RecvRpcBackward(src, message_id, needing)
    return made


def _walk(context: DistAutogradContext) -> None:
    """Traverse the graphs below new send functions. Runs as deferred work, so that a pass need not do it later."""
    context.parts.catch_up()


class Running:
    """A context manager that makes a distributed autograd context (or None) the current one of this thread."""

    __slots__ = ("_before", "_context")

    def __init__(self, context: DistAutogradContext | None) -> None:
        self._context = context

    def __enter__(self) -> None:
        self._before = CURRENT.context
        CURRENT.context = self._context

    def __exit__(self, *error: object) -> None:
        CURRENT.context = self._before


def carried(callback: Callable[[Future], Any]) -> Callable[[Future], Any]:
    """Return a callback that calls `callback` in the autograd context and the grad modes that are current now.

    Futures call their callbacks on any thread.
    """
    context, modes, run = CURRENT.context, current_modes(), carried_by_adapters(callback)

    def inside(fut: Future) -> Any:
        before, modes_before = CURRENT.context, current_modes()
        CURRENT.context = context
        set_modes(modes)
        try:
            return run(fut)
        finally:
            CURRENT.context = before
            set_modes(modes_before)

    return inside


class _Interceptor:
    """Records messages; see `rpc._protocol.extensions.Interceptor`."""

    running = Running
    current = CURRENT

    def on_send(self, agent: Agent, dst: int, tensors: list[Tensor]) -> tuple[int, int] | None:
        context = CURRENT.context
        if context is None:
            return None
        context.known_workers.add(dst)
        if context.released:  # checked after `known_workers.add`: a concurrent release either sees the worker or is seen here
            return None
        worker = agent.autograd
        message_id = worker.container.new_message_id()  # even without tensors: the callee needs the context for its own calls
        if tensors and MODE.enabled and record_send(context, message_id, tensors) is not None:
            agent.run_when_idle(_walk, context)
        return context.context_id, message_id

    def on_receive(
        self, agent: Agent, src: int, context_id: int, message_id: int, tensors: list[Tensor]
    ) -> DistAutogradContext | None:
        worker = agent.autograd
        context = worker.container.get_or_create(context_id)
        if context is None:  # released before this message arrived
            return None
        if agent.lost and not _outlives_losses(worker, context_id, src):
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


# -- release -------------------------------------------------------------
_RELEASE = int(MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ)
_KNOW = int(MessageType.KNOW_AUTOGRAD_CONTEXT_REQ)


def release(worker: Worker, context_id: int, told_by: int | None = None, floor: int = 0) -> bool:
    """Drop a context and tell its known workers; returns False if this worker does not have it.

    `told_by` is the rank whose message released it, which need not be told; `floor` is in that message.
    """
    context = worker.container.drop(context_id, floor)
    if context is None:  # another message has released it: the release spreads along all calls, and workers hear of it repeatedly
        return False
    for rank in list(context.known_workers):
        if rank not in (worker.worker_id, told_by):
            _tell(worker, rank, context_id)
    _fail_joined_parts(context)
    return True


def worker_left(worker: Worker, rank: int) -> None:
    """Release the contexts that a lost worker has created, and register with the creators of others.

    A context of another worker that arrived through the lost one would otherwise never be released here: its creator does
    not know this worker.
    """
    for context_id in worker.container.made_by(rank):
        release(worker, context_id, rank)
    worker.container.forget_maker(rank)
    for context in list(worker.container.contexts.values()):
        maker = maker_of(context.context_id)
        if maker != worker.worker_id and maker not in context.known_workers and maker not in worker.agent.gone:
            context.known_workers.add(maker)
            worker.agent.request_with_retries(maker, _KNOW, b"", context.context_id)


def _outlives_losses(worker: Worker, context_id: int, src: int) -> bool:
    """Return whether the context of a message from `src` is kept: no, if the worker that created it is lost.

    The message may have been on its way, or in the queue of this worker, when the loss was noticed. Called after the context was
    created: a loss at this moment either finds it, or is seen here.
    """
    maker = maker_of(context_id)
    if _is_lost(worker.agent, maker):
        worker_left(worker, maker)
        return False
    if _is_lost(worker.agent, src):
        worker_left(worker, src)
    return True


def _is_lost(agent: Agent, rank: int) -> bool:
    return rank in agent.lost and rank not in agent.workers  # a later incarnation of the rank may have joined


def _fail_joined_parts(context: DistAutogradContext) -> None:
    """Fail the joined parts of a released context: messages for them will not find it any more.

    `joined_parts` takes the lock after `released` was set, so no part can be created unseen.
    """
    for part in context.joined_parts():
        part.fail(RuntimeError(f"Could not find autograd context with id: {context.context_id}"))


def _tell(worker: Worker, rank: int, context_id: int) -> None:
    """Tell the worker `rank` that a context is released. As deferred work: no caller waits for it."""
    agent = worker.agent
    if agent is None or rank in agent.gone:
        return
    worker.releasing.add((rank, context_id))
    agent.run_when_idle(_send_release, (worker, rank, context_id))


def _send_release(told: tuple[Worker, int, int]) -> None:
    worker, rank, context_id = told
    # the floor is read now, not when the context was dropped: it may have risen, and covers more contexts
    heard = partial(_acknowledged, worker.releasing, (rank, context_id))
    worker.agent.request_with_retries(rank, _RELEASE, b"", context_id, worker.container.floor_of(context_id), heard)


def _acknowledged(releasing: set[tuple[int, int]], end: tuple[int, int], reply: Future) -> None:
    releasing.discard(end)


def _handle_know(agent: Agent, message: RawMessage) -> None:
    """Register a worker that got one of our contexts through a lost worker, so that it is told of the release."""
    worker: Worker = agent.autograd
    context = worker.container.contexts.get(message.extra)
    if context is not None:
        context.known_workers.add(message.src)
    if context is None or context.released:  # checked after `known_workers.add`, as a release may happen in between
        _tell(worker, message.src, message.extra)


def _handle_release(agent: Agent, message: RawMessage) -> None:
    context_id, floor = message.extra, message.extra2
    if floor and maker_of(floor) != maker_of(context_id):
        raise ValueError(f"malformed message: contexts below {floor} cannot end with context {context_id} of another worker")
    release(agent.autograd, context_id, message.src, floor)


register_handler(_RELEASE, _handle_release)
register_handler(_KNOW, _handle_know)
