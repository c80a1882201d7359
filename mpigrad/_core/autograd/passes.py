"""The work of one distributed backward pass on this worker.

`Pass` is the description of a pass that every worker has. A `Branch` is the work that one message of the pass (or the roots)
starts on a worker: it runs the send functions whose gradients have arrived, and sends the resulting gradients to other workers.
Its message is answered when these have answered, so the whole pass is over when the initiator's own branch is. Gradients for the
worker that sent the message are returned in the answer, which saves a message.

Gradients on the wire, without pickle: `kind | (message id, count) ... | extras`, followed by arrays. The most frequent message,
plain arrays for one send function, contains only the message id. A sparse gradient is sent as two arrays, indices and values.
With `create_graph=True` gradients have a graph themselves; then the message is recorded like any other message with tensors, and
contains which of its gradients require grad.

Send functions that share nodes wait for each other in a `JoinedPart`. If the gradients of all of them arrive, as when a worker
has sent a tensor to several others and their results came back to it, the part runs at once. If some are missing when a branch
that brought others ends, the worker registers a hold with the initiator, and the reach phase finds out how many will arrive:
it traverses the local graph from some sources down to the recv functions, and asks their senders to continue from the matching
send functions; a worker answers when all the workers that it has asked have answered. The graph below given roots never changes,
so the marks are kept in the context under the id of the reach phase, for later passes from the same roots. `holds.py` has the
messages between the initiator and the workers that hold parts.

Invariants
- `pending` of a branch counts unanswered messages, plus one while the branch's own work runs. At 0 the branch ends, once.
- A branch does not wait for gradients that are held in a joined part, or two branches could wait for each other (deadlock).
  Instead, the initiator knows of the hold before the branch ends.
- The branch of a part that holds gradients waits for those of others. So it registers the parts to which it brings gradients at
  once; other branches do so when all their messages are answered.
- User code (custom functions, hooks) never runs on a thread that waits for something else.
"""

from __future__ import annotations

import struct
import threading
from _thread import get_ident
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy import ndarray

from mpigrad._array.device import CPU, device
from mpigrad._array.sparse.array import SparseArray
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._graph.namespace import DIFF, RAW
from mpigrad._settings import _Chosen
from mpigrad._tensor import Tensor
from mpigrad.distributed.rpc._protocol.extensions import register_handler
from mpigrad.distributed.rpc._protocol.message import MessageType

from ..engine import Captures, GraphTask, add_in_order, as_array
from ..future import Future
from ..guard import resume, suspend
from ..objects import Mutex
from ..rpc.agent import RawMessage
from ..rpc.calls import INSTRUMENTS, CallFuture, tell
from ..rpc.payload import ArrayForDevice, ReceivedValues, origins_of, stand_in
from ..tensor import GuestTensor, guest, wrap
from .contexts import DistAutogradContext, Running, Sink, record_recv, record_send, this_worker
from .graph import MessageGradients, merged_counts
from .holds import RANK_SHIFT, ReachState, Relay, register_hold, report_done, report_failure

if TYPE_CHECKING:
    from ..rpc.agent import Agent
    from .contexts import Worker
    from .graph import Batches, Path, Source


# -- one pass ----------------------------------------------------------------------------------------------------------
_KEEP, _CREATE, _DISCARD, _BITS = 1, 2, 4, 3
_capturing = threading.Lock()  # several threads of a pass may add to a captured gradient


class Pass:
    """One backward pass, as every worker knows it from its id, which contains the initiator's rank and the options.

    The options are `keep` (the graph may be used again), `F` (the namespace in which derivatives run; it records them
    with `create_graph=True`) and `discard` (contexts accumulate no gradients, as for `grad`).
    """

    __slots__ = ("F", "captured", "captures", "discard", "id", "initiator", "keep", "terms", "thread")

    def __init__(self, pass_id: int) -> None:
        self.id = pass_id  # includes the flags; in the header of every message of the pass
        self.initiator = pass_id >> RANK_SHIFT
        self.keep = bool(pass_id & _KEEP)
        self.F: Any = DIFF if pass_id & _CREATE else RAW
        self.discard = bool(pass_id & _DISCARD)  # for `grad`: contexts accumulate nothing, and the initiator captures gradients
        self.captures: Captures | None = None  # on the initiator: the nodes whose gradients are captured
        self.captured: dict[int, Any] = {}
        self.terms: dict[int, list[tuple[bytes, Any]]] = {}  # of captured gradients, if their order must not matter
        self.thread = 0  # on the initiator: the calling thread, the only one on which interrupts are allowed during the pass

    @classmethod
    def begin(cls, rank: int, number: int, keep: bool, create: bool, discard: bool) -> Pass:
        """Create a pass on its initiator.

        `rank` is that of this worker, `number` counts the passes that it begins. `keep` and `discard` are options (see
        the class); `create` says whether the pass is recorded.
        """
        flags = _KEEP * keep | _CREATE * create | _DISCARD * discard
        return cls(rank << RANK_SHIFT | (number << _BITS) & ((1 << RANK_SHIFT) - 1) | flags)

    def run(self, context: DistAutogradContext, source: Source, grads: list[Any]) -> Batches:
        """Run the graph below a source with its gradients (the list is emptied); returns those for other workers, by rank.

        A path runs without the engine, unless it is recorded, traced, captured or has user code that may need the engine.
        """
        sink = Sink(context, self.F, self.discard)
        path = source.path
        if path is not None and self.F is RAW and self.captures is None and not TRACING.on and not source.needs_task():
            # nodes compute for long: on the thread that called `backward`, Ctrl-C may interrupt them
            before = suspend() if self.thread and self.thread == get_ident() else -1
            try:
                if source._user_code:
                    self._run_unrecorded(path, grads, sink)
                else:
                    path.run(RAW, self.keep, grads, sink)
            finally:
                resume(before)
        else:
            task = GraphTask(self.F, source.counts.copy(), self.keep, sink, self.captures)
            task.ordered = {} if _Chosen.deterministic else None
            source.feed(task, grads)
            self.run_task(task, source.runs_user_code())
        return sink.outgoing

    def _run_unrecorded(self, path: Path, grads: list[Any], sink: Sink) -> None:
        """Run a path with user code; its operations must not be recorded."""
        before, MODE.enabled = MODE.enabled, False
        try:
            path.run(RAW, self.keep, grads, sink)
        finally:
            MODE.enabled = before

    def run_task(self, task: GraphTask, user_code: bool) -> None:
        """Run the ready nodes of a task of this pass, recorded with `create_graph`. `user_code`: some may run user code."""
        suspended = suspend() if self.thread and self.thread == get_ident() else -1
        try:
            self._run_task(task, user_code)
        finally:
            resume(suspended)

    def _run_task(self, task: GraphTask, user_code: bool) -> None:
        if not user_code and self.F is RAW and self.captures is None:
            task.run_alone()
            return
        before, MODE.enabled = MODE.enabled, self.F is DIFF
        try:
            task.run()
        finally:
            MODE.enabled = before
        if task.captured:
            self._capture(task.captured)
            task.captured = {}

    def _capture(self, found: dict[int, Any]) -> None:
        """Add the gradients of captured nodes (those that `grad` asks for) from one task; `found` has them by their index."""
        with _capturing:
            for place, grad in found.items():
                if grad is not None and _Chosen.deterministic:
                    self.captured[place] = add_in_order(self.terms.setdefault(place, []), grad)
                elif grad is not None:
                    held = self.captured.get(place)
                    self.captured[place] = grad if held is None else held + grad


# -- gradients on the wire ---------------------------------------------------------------------------------------------
_DENSE, _MIXED = b"\0", b"\1"  # kinds: plain arrays only; or with the layout of every gradient in the extras
_SINGLE = struct.Struct("<q")  # message id; shorter than any other body
_MESSAGE = struct.Struct("<qI")  # autograd message id, number of gradients
_COUNT = struct.Struct("<I")
_RECORDED = struct.Struct("<q")
_LAYOUT = struct.Struct("<?B")  # sparse and coalesced, number of dimensions (0: a plain array)


def encode(
    batch: Sequence[MessageGradients], context: DistAutogradContext, pass_: Pass
) -> tuple[bytes, list[Any]]:
    """Encode gradients of a pass for a message; returns bytes and arrays. With `create_graph` this records a send function."""
    if len(batch) == 1 and pass_.F is RAW and context.origins is None:
        single = batch[0]
        for grad in single.grads:
            if type(grad) is not ndarray:
                break
        else:
            return _SINGLE.pack(single.message_id), single.grads
    return _encode(batch, context, pass_)


def _encode(
    batch: Sequence[MessageGradients], context: DistAutogradContext, pass_: Pass
) -> tuple[bytes, list[Any]]:
    """`encode` for all but the most frequent messages."""
    head = _COUNT.pack(len(batch)) + b"".join(_MESSAGE.pack(each.message_id, len(each.grads)) for each in batch)
    flat = [grad for each in batch for grad in each.grads]
    if pass_.F is not RAW:
        flat = [stand_in(grad) for grad in flat]
    values = [as_array(grad) for grad in flat] if pass_.F is RAW else [grad._array for grad in flat]
    if pass_.F is not RAW:
        head += _record(flat, context)
    if any(type(value) is SparseArray for value in values):
        head, arrays = _MIXED + head + b"".join(map(_layout, values)), _flattened(values)
    else:
        head, arrays = _DENSE + head, values
    return head, arrays if context.origins is None else _directed(batch, values, context.origins)


def _directed(batch: Sequence[MessageGradients], values: list[Any], origins: dict[int, list[device]]) -> list[Any]:
    """Return the arrays with the devices at which they have to arrive: those that their tensors have left."""
    targets = [place for each in batch for place in origins.get(each.message_id) or [CPU] * len(each.grads)]
    return [ArrayForDevice(array, target) for value, target in zip(values, targets) for array in _flattened([value])]


def _layout(value: Any) -> bytes:
    if type(value) is not SparseArray:
        return _LAYOUT.pack(False, 0)
    return _LAYOUT.pack(value.is_coalesced, value.ndim) + struct.pack(f"<{value.ndim}q", *value.shape)


def _flattened(values: list[Any]) -> list[Any]:
    made: list[Any] = []
    for value in values:
        made.extend((value.indices, value.values) if type(value) is SparseArray else (value,))
    return made


def _record(tensors: list[Tensor], context: DistAutogradContext) -> bytes:
    """Record the sending of gradients that have a graph themselves (`create_graph=True`); returns the bytes that say so."""
    message_id = this_worker().container.new_message_id()
    record_send(context, message_id, tensors)
    return _RECORDED.pack(message_id) + bytes(tensor._requires for tensor in tensors)


def decode(
    body: bytes, arrays: list[Any], src: int, context: DistAutogradContext, pass_: Pass
) -> list[MessageGradients]:
    """Decode the gradients of a message from the rank `src`; RuntimeError if their number is wrong. `arrays` is emptied."""
    if len(body) == _SINGLE.size:
        return [MessageGradients(_SINGLE.unpack(body)[0], arrays)]
    return _decode(body, arrays, src, context, pass_)


def _decode(
    body: bytes, arrays: list[Any], src: int, context: DistAutogradContext, pass_: Pass
) -> list[MessageGradients]:
    """`decode` for all but the most frequent messages."""
    (count,) = _COUNT.unpack_from(body, 1)
    place = 1 + _COUNT.size
    heads = [_MESSAGE.unpack_from(body, place + i * _MESSAGE.size) for i in range(count)]
    place += count * _MESSAGE.size
    total = sum(many for _, many in heads)
    record = b""
    if pass_.F is not RAW:
        end = place + _RECORDED.size + total
        record, place = body[place:end], end
    values = arrays if body[:1] == _DENSE else _unflattened(body, place, arrays, total)
    if len(values) != total:
        raise RuntimeError(f"a gradient message from rank {src} names {total} gradients and carries {len(values)}")
    if pass_.F is not RAW:
        values = _received(record, values, src, context, [head[0] for head in heads])
    batch, taken = [], 0
    for message_id, many in heads:
        batch.append(MessageGradients(message_id, values[taken : taken + many]))
        taken += many
    arrays.clear()  # so that the gradients have no other reference, and the context may keep them without a copy
    return batch


def _unflattened(body: bytes, place: int, arrays: list[Any], total: int) -> list[Any]:
    made: list[Any] = [] if origins_of(arrays) is None else ReceivedValues([])
    rest = iter(arrays)
    for _ in range(total):
        if type(made) is ReceivedValues:
            made.origins[len(made)] = arrays.origins.get(len(arrays) - rest.__length_hint__(), CPU)  # type: ignore[attr-defined]
        coalesced, ndim = _LAYOUT.unpack_from(body, place)
        place += _LAYOUT.size
        if not ndim:
            made.append(next(rest))
            continue
        shape = struct.unpack_from(f"<{ndim}q", body, place)
        place += 8 * ndim
        made.append(SparseArray(next(rest), next(rest), shape, coalesced))
    return made


def _received(
    record: bytes, arrays: list[Any], src: int, context: DistAutogradContext, message_ids: list[int]
) -> list[Tensor]:
    (message_id,) = _RECORDED.unpack_from(record)
    kinds = [kind for each in message_ids for kind in context.retrieve_send_function(each).kinds()]
    tensors: list[Any] = [
        wrap(array) if kind is None else guest(kind[0], kind[0].gradient(array, kind[1]), array, kind[1], False)
        for array, kind in zip(arrays, kinds)
    ]
    if type(arrays) is ReceivedValues:
        tensors = ReceivedValues(tensors)
        tensors.origins = arrays.origins
    for tensor, needs in zip(tensors, record[_RECORDED.size :]):
        tensor._requires = bool(needs)
    record_recv(context, src, message_id, tensors)
    return [each.tensor if type(each) is GuestTensor else each for each in tensors]


# -- the reach phase ---------------------------------------------------------------------------------------------------
_REACH = int(MessageType.REACH_AUTOGRAD_REQ)
_MESSAGE_ID = struct.Struct("<q")


class _Gather:
    """Counts answers to `count` requests; `future` is done when all have been answered, and fails with the last error."""

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
    """Mark all send functions that get gradients if these sources do, on this and other workers.

    `reach_id` is the id under which contexts keep the marks. Returns None if that is done, otherwise a Future.
    """
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
        asked = worker.agent.request(rank, _REACH, body, extra=reach_id, context=(context.context_id, 0))
        asked._add(gather.answered)
    return gather.future


def _handle_reach(agent: Agent, message: RawMessage) -> Future | None:
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


register_handler(_REACH, _handle_reach)


# -- joined parts ------------------------------------------------------------------------------------------------------
HOLDING, COLLECTED, COMPLETE = range(3)


class _Delivery(NamedTuple):
    """Gradients of one source that have arrived at a joined part."""

    source: Source
    grads: list[Any]


class JoinedPart:
    """A part of this worker's graph in which gradients of several sources must be added in one pass.

    At first it *collects*: if the gradients of all sources arrive before a branch that brought some of them ends, no more can
    come, and the branch that brought the last ones runs the part as its own work. Otherwise the worker registers a *hold* with
    the initiator of the pass before the branch ends. From then on the initiator waits for this part too, and the branch can be
    answered, so that no branch waits for gradients of another branch. When the reach phase is over, the part knows which of its
    sources will get gradients in this pass. It runs nodes as these arrive, and reports when it is done.

    Gradients are queued in `_waiting`; one thread at a time runs them, without holding the lock, so that parts never wait for
    each other's locks. Nothing runs, and there is no task, until the reach phase is over.
    """

    __slots__ = (
        "_aborted",
        "_collecting",
        "_entries",
        "_lock",
        "_missing",
        "_over",
        "_running",
        "_settled",
        "_sink",
        "_task",
        "_user_code",
        "_waiting",
        "branch",
        "holding",
        "registered",
        "relay",
        "sources",
    )

    def __init__(self, branch: Branch, sources: list[Source]) -> None:
        self.branch, self.sources = branch, sources  # the branch ends when the part has run or was dropped
        branch.on_end, branch.of_part = self._report, True
        self.registered = Future()  # completes when the initiator has accepted or refused this part
        self.relay: Relay | None = None  # where its hold is counted; None on the initiator
        self._waiting: list[_Delivery] = []
        self._missing: set[Source] = set(sources)  # sources whose gradients have not arrived
        self._collecting = True  # no hold is registered: the part may run without the initiator
        self.holding = False  # a hold is registered or being registered
        self._sink = Sink(branch.context, branch.pass_.F, branch.pass_.discard)
        self._task: GraphTask | None = None
        self._entries: dict[Source, Any] = {}  # where gradients of sources with guests enter
        self._lock = threading.Lock()
        self._running = self._over = self._aborted = self._settled = False
        self._user_code = any(source.runs_user_code() for source in sources)
        tell(INSTRUMENTS.active, "part_held", branch.worker, self)

    # -- without the initiator -------------------------------------------------------------------------------------------
    def collect(self, source: Source, grads: list[Any]) -> int:
        """Add the gradients of one source, if the part still collects.

        Returns COLLECTED; COMPLETE for the last ones, after which the caller has to call `run_collected`; HOLDING if a
        hold is registered, so that the caller has to use `deliver`. RuntimeError if the source has had its gradients.
        """
        with self._lock:
            if not self._collecting:
                return HOLDING
            if self._over:  # the pass has failed
                return COLLECTED
            if source not in self._missing:
                raise self._unexpected(source)
            self._missing.discard(source)
            self._waiting.append(_Delivery(source, grads))
            if self._missing:
                return COLLECTED
            self._collecting, self._over, self._settled = False, True, True
            return COMPLETE

    def hold(self) -> None:
        """Register a hold with the initiator, unless this was done or all gradients are there."""
        with self._lock:
            first = self._collecting and not self._over
            self._collecting = False
            self.holding = self.holding or first
        if first:
            register_hold(self)

    def run_collected(self) -> Batches:
        """Run the part with the gradients of all its sources; returns the gradients for other workers, by rank."""
        branch = self.branch
        pass_ = branch.pass_
        self._leave_context()
        branch.on_end, branch.ended = None, True
        branch.worker.live.discard(branch)
        counts, entries = merged_counts(self.sources)
        task = GraphTask(pass_.F, counts, pass_.keep, self._sink, pass_.captures)
        task.ordered = {} if _Chosen.deterministic else None
        for source, grads in self._waiting:
            source.ran[pass_.id] = None  # a part that later sends make of its nodes does not wait for it
            source.feed(task, grads, entries.get(source))
        pass_.run_task(task, user_code=True)
        tell(INSTRUMENTS.active, "part_done", branch.worker, self)
        return self._sink.outgoing

    def _unexpected(self, source: Source) -> RuntimeError:
        return RuntimeError(f"pass {self.branch.pass_.id} brought unexpected gradients for message {source.message_id}")

    # -- messages of the initiator ---------------------------------------------------------------------------------------
    def accept(self, reach: ReachState) -> None:
        """The initiator has accepted the hold, and waits for this part."""
        self.registered.set_result(None)
        if reach.over:
            self.start(reach.reach_id)

    def refuse(self, error: BaseException) -> None:
        """The initiator has refused the hold: branches that brought gradients fail with the error."""
        self.registered._set(2, error)
        self.fail(error)

    def start(self, reach_id: int) -> None:
        """The reach phase is over: run the part, as far as gradients have arrived.

        Under `reach_id` the context has the send functions that will get gradients; roots always do.
        """
        branch = self.branch
        reached = branch.context.reached.get(reach_id, set())
        with self._lock:
            # the answer to HOLD and REACHED may both say so; while this part collects, REACHED is meant for others of this worker
            if self._task is None and not self._collecting:
                expected = [each for each in self.sources if each.message_id is None or each.message_id in reached]
                pass_ = branch.pass_
                self._missing = set(expected)
                counts, self._entries = merged_counts(expected)
                self._task = GraphTask(pass_.F, counts, pass_.keep, self._sink, pass_.captures)
                self._task.ordered = {} if _Chosen.deterministic else None
        self._work()

    def abort(self) -> None:
        """The pass has failed: drop all gradients. The initiator does not wait for this part any more."""
        with self._lock:
            self._over = self._aborted = True
        self._settle()

    # -- running -------------------------------------------------------------------------------------------
    def deliver(self, source: Source, grads: list[Any]) -> None:
        """Add the gradients of one source. Nodes that become ready run, if the reach phase is over."""
        self._waiting.append(_Delivery(source, grads))
        self._work()

    def _work(self) -> None:
        """Run all gradients that have arrived, unless another thread does so or the reach phase is not over."""
        if self._user_code and self.branch.defer(self._work):
            return
        while True:
            with self._lock:
                if self._running or self._over or self._task is None or not self._waiting:
                    return
                delivery = self._waiting.pop(0)
                self._running = True  # other threads now only add to `_waiting`, and this loop finds what they added
            try:
                self._run(self._task, delivery.source, delivery.grads)
            except BaseException as error:
                self.fail(error)
            with self._lock:
                self._running = False
                self._over = self._over or not self._missing
            self._settle()

    def _run(self, task: GraphTask, source: Source, grads: list[Any]) -> None:
        branch = self.branch
        if source not in self._missing:
            raise self._unexpected(source)
        self._missing.discard(source)
        source.feed(task, grads, self._entries.get(source))
        branch.pass_.run_task(task, user_code=True)
        outgoing, self._sink.outgoing = self._sink.outgoing, {}
        if not self._aborted:
            branch.send_all(branch.route(outgoing))

    def fail(self, error: BaseException) -> None:
        """Fail the pass with an error of this part, and drop all gradients."""
        self.branch.fail(error)
        self.abort()

    def _settle(self) -> None:
        """End the part when it is over and no thread runs it; only the first call does."""
        with self._lock:
            if self._running or self._settled or not self._over:
                return
            self._settled = True
        self.branch.settle()

    def _report(self, branch: Branch) -> None:
        tell(INSTRUMENTS.active, "part_done", branch.worker, self)
        self._leave_context()
        failed = branch.error is not None or self._aborted  # it has been reported already, and might arrive after this
        report_done(self, failed)

    def _leave_context(self) -> None:
        context, pass_id = self.branch.context, self.branch.pass_.id
        with context.lock:
            joined = context.joined.get(pass_id)
            if joined is not None:
                for source in self.sources:
                    joined.pop(source, None)
                if not joined:
                    context.joined.pop(pass_id, None)


# -- branches ----------------------------------------------------------------------------------------------------------
_REQUEST = int(MessageType.BACKWARD_AUTOGRAD_REQ)


class Branch:
    """The work on one worker that one message of a pass starts (a *branch*, see docs/glossary.md).

    `requester` is the rank that sent the message; gradients for it are returned in the answer.
    """

    __slots__ = (
        "answer",
        "collecting",
        "context",
        "ended",
        "error",
        "lock",
        "of_part",
        "on_end",
        "pass_",
        "pending",
        "requester",
        "worker",
    )

    def __init__(self, worker: Worker, context: DistAutogradContext, pass_: Pass, requester: int | None = None) -> None:
        self.worker, self.context, self.pass_ = worker, context, pass_
        self.requester = requester  # the rank that sent the message; its gradients are returned in the answer
        self.answer: list[MessageGradients] = []
        self.error: BaseException | None = None
        self.pending, self.ended = 1, False
        self.of_part = False  # runs a part that holds gradients: ends only when other gradients have arrived
        self.collecting: dict[JoinedPart, None] | None = None  # parts to which it brought gradients and that lacked others then
        self.lock = Mutex()
        self.on_end: Callable[[Branch], None] | None = None
        worker.live.add(self)

    # -- running -----------------------------------------------------------------------------------------
    def run(self, batch: list[MessageGradients]) -> None:
        """Run send functions of this worker with the gradients of a message, and send the results to other workers."""
        try:
            self.send_all(self.process(batch))
        except BaseException as error:
            self.fail(error)
        self.settle()

    def finish(self, outgoing: Batches) -> None:
        """Send the results of the branch's own work, which has run, to other workers."""
        try:
            self.send_all(self.route(outgoing))
        except BaseException as error:
            self.fail(error)
        self.settle()

    def process(self, batch: list[MessageGradients]) -> Batches:
        """Run send functions of this worker with gradients (the list is emptied); returns those for other workers, by rank."""
        elsewhere: Batches = {}
        context, pass_ = self.context, self.pass_
        parts = context.parts
        while batch:
            gradients = batch.pop()
            parts.catch_up()  # sends during the pass may have joined parts
            source = parts.source_for(gradients.message_id, gradients.grads)
            if parts.claim_independent(source, pass_.id):
                outgoing = pass_.run(context, source, gradients.grads)
            else:
                outgoing = self._hold(source, gradients.grads)
            if outgoing:
                self._sort(outgoing, batch, elsewhere)
        return elsewhere

    def route(self, outgoing: Batches) -> Batches:
        """Put gradients for the requester into the answer, and run those for this worker; returns those for others, by rank."""
        here: list[MessageGradients] = []
        elsewhere: Batches = {}
        self._sort(outgoing, here, elsewhere)
        if not here:
            return elsewhere
        self.send_all(elsewhere)  # first, so that the other workers can start
        return self.process(here)

    def _sort(self, outgoing: Batches, here: list[MessageGradients], elsewhere: Batches) -> None:
        for rank, batch in outgoing.items():
            if rank == self.requester:
                self.answer.extend(batch)
            elif rank == self.worker.worker_id and self.context.origins is None:  # with devices, a message moves the gradients
                here.extend(batch)
            elif rank in elsewhere:
                elsewhere[rank].extend(batch)
            else:
                elsewhere[rank] = batch

    def defer(self, run: Callable[[], None]) -> bool:
        """If this thread polls, let the pool call `run` (user code) in the branch's context; returns whether it does.

        If not, the caller calls it.
        """
        agent = self.worker.agent
        return agent is not None and agent.defer(partial(_run_within, self.context, run))

    # -- joined parts --------------------------------------------------------------------------------------------------
    def _hold(self, source: Source, grads: list[Any]) -> Batches:
        """Hold gradients in the joined part of their source until its other sources have theirs.

        If all have, runs the part; returns the gradients for other workers, by rank.
        """
        part = find_part(self.worker, self.context, self.pass_, source)
        state = part.collect(source, grads)
        if state == COMPLETE:
            return part.run_collected()
        if state == HOLDING:
            part.deliver(source, grads)
        elif not self.of_part:
            with self.lock:
                if self.collecting is None:
                    self.collecting = {}
                self.collecting[part] = None
            return {}
        part.hold()
        self._wait_for_hold(part)
        return {}

    def _register_holds(self, parts: Iterable[JoinedPart]) -> None:
        """Register the parts that still lack gradients; drop them if the pass has failed here.

        Called when all other work of the branch is done.
        """
        for part in parts:
            if self.error is not None:
                part.abort()
            else:
                part.hold()
                self._wait_for_hold(part)

    def _wait_for_hold(self, part: JoinedPart) -> None:
        """Keep the branch from ending before the initiator knows of the part."""
        if part.holding and not part.registered.done():
            with self.lock:
                self.pending += 1
            part.registered._add(self._part_registered)

    def _part_registered(self, registered: Future) -> None:
        try:
            registered.value()
        except BaseException as error:
            self.fail(error)
        self.settle()

    # -- messages ------------------------------------------------------------------------------------------------------
    def send_all(self, batches: Batches) -> None:
        """Send gradients to other workers, given by rank; the branch goes on when they answer."""
        for rank, batch in batches.items():
            self.lock.acquire()
            try:
                self.pending += 1
            finally:
                self.lock.release()
            try:
                self.send(rank, batch, self._answered)
            except BaseException:
                self.lock.acquire()
                try:
                    self.pending -= 1
                finally:
                    self.lock.release()
                raise

    def send(
        self, rank: int, batch: list[MessageGradients], then: Callable[[Any], None] | None = None
    ) -> CallFuture:
        """Send gradients to the worker `rank`; returns the future of its answer, with which `then` is called."""
        context, pass_ = self.context, self.pass_
        body, arrays = encode(batch, context, pass_)  # with create_graph, this records a send function
        context.known_workers.add(rank)  # it gets the context with this message, so it must be told of the release
        return self.worker.agent.request(
            rank, _REQUEST, body, arrays, None, pass_.id, 0, (context.context_id, 0), then
        )

    def answered_gradients(self, reply: CallFuture) -> list[MessageGradients]:
        """Return the gradients in another worker's answer."""
        answer = reply.value()
        if answer is None:
            return []
        body, arrays = answer
        return decode(body, arrays, reply.dst, self.context, self.pass_)

    def _answered(self, reply: CallFuture) -> None:
        try:
            batch = self.answered_gradients(reply)
            if batch:
                if self.context.parts.runs_user_code() and self.defer(partial(self.run, batch)):
                    return
                self.send_all(self.process(batch))
        except BaseException as error:
            self.fail(error)
        self.settle()

    # -- the end -------------------------------------------------------------------------------------------------------
    def fail(self, error: BaseException) -> None:
        """Fail the branch with an error, if it is the first, and report it to the initiator."""
        with self.lock:
            if self.error is None:  # later errors are often consequences of the first
                self.error = error
        report_failure(self.worker, self.pass_, error)

    def settle(self) -> None:
        """Count a piece of work as done (`pending`); after the last one the branch ends.

        Before it ends, it registers the parts that lack gradients.
        """
        self.lock.acquire()
        try:
            self.pending -= 1
            if self.pending:
                return
            collecting, self.collecting = self.collecting, None
            if collecting is None:
                self.ended = True
            else:
                self.pending = 1
        finally:
            self.lock.release()
        if collecting is not None:
            self._register_holds(collecting)
            self.settle()
            return
        self.worker.live.discard(self)
        self._end()

    def _end(self) -> None:
        if self.on_end is not None:
            on_end, self.on_end = self.on_end, None  # breaks the reference cycle with the branch
            on_end(self)

    def reply(self) -> Any:
        """Return the answer for the requester, or a Future of it while the branch runs."""
        self.lock.acquire()
        try:
            if not self.ended:
                future = Future()
                self.on_end = partial(_complete, future)
                return future
        finally:
            self.lock.release()
        return self.result()

    def result(self) -> Any:
        """Return the answer for the requester: its gradients, encoded, or None. Raises the error if the branch has failed."""
        if self.error is not None:
            raise self.error
        return encode(self.answer, self.context, self.pass_) if self.answer else None


def _complete(future: Future, branch: Branch) -> None:
    try:
        future.set_result(branch.result())
    except BaseException as error:
        future._set(2, error)


def _run_within(context: DistAutogradContext, run: Callable[[], None]) -> None:
    with Running(context):
        run()


def find_part(worker: Worker, context: DistAutogradContext, pass_: Pass, source: Source) -> JoinedPart:
    """Return the joined part of a pass to which `source` belongs; a new one if there is none."""
    with context.lock:
        joined = context.joined.get(pass_.id, {})
        found = joined.get(source)
        if found is not None:
            return found
        # sends during the pass may have joined more sources to the part; parts that already exist are not changed
        sources = [each for each in context.parts.joined_with(source) if each not in joined]
        return make_part(worker, context, pass_, sources)


def make_part(worker: Worker, context: DistAutogradContext, pass_: Pass, sources: list[Source]) -> JoinedPart:
    """Create the joined part of a pass for `sources`, whose gradients it will wait for. Call it under the context's lock.

    It does not wait for a source that ran independently earlier in this pass: that one shares nodes only with later
    sends.
    """
    if context.released:  # no message would find the part
        raise RuntimeError(f"Could not find autograd context with id: {context.context_id}")
    sources = [each for each in sources if pass_.id not in each.ran]
    part = JoinedPart(Branch(worker, context, pass_), sources)
    joined = context.joined.setdefault(pass_.id, {})
    for each in sources:
        joined[each] = part
    return part
