"""The calls that this worker makes: names of functions, frames, and the call table of pending futures.

Functions are sent by qualified name if the name leads to the same function again. The encoded name is cached for each function,
and the namespace for each name. The namespace, not the function: an attribute that is replaced at run time must take effect on
both sides, as with pickle.

Instruments are observers that RPC and distributed autograd call at named points, for traces and profilers.
`INSTRUMENTS.active` is a tuple, empty by default, so that a point costs one comparison. Points come in pairs that enclose an
operation and nest properly on one thread, unless their docstring says otherwise. Every method gets the agent or worker first, as
several may share a process. An instrument must not block and must not use RPC or a context: some points are inside locks.

Invariants
- A call is in `pending` from before its frame is sent until a thread pops it. That thread completes its future, so this happens
  exactly once. The answer is decoded before, so the call times out even if user code hangs during decoding. Answers to calls
  that are no longer pending (timed out, or the callee had left) are decoded and dropped, so that RRefs in them are released.
- Calls are made in guarded sections (`mpigrad/_core/guard.py`), so that no interrupt leaves one half done. User code that
  encodes or decodes runs outside of them.
- If a frame cannot be sent, the thread that notices it fails the call.
"""

from __future__ import annotations

import importlib
import itertools
import logging
import sys
import time
from collections import deque
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mpigrad._graph.grad_mode import MODE
from mpigrad.distributed.rpc._agent.counter import Counter
from mpigrad.distributed.rpc._agent.latency import SAMPLE, Latency
from mpigrad.distributed.rpc._agent.timers import Timers
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.errors import RpcTimeoutError, SendFailedError, WorkerGoneError, unpack_error
from mpigrad.distributed.rpc._protocol.message import (
    BODY_FOLLOWS,
    CUSTOM,
    FLAT,
    HAS_CONTEXT,
    HEADER_SIZE,
    IS_TUPLE,
    NAMES,
    NO_CALL,
    OPERATOR_CALL,
    PICKLE,
    TRANSFER,
    MessageType,
)

from ..future import Future
from ..guard import enter, leave, resume, suspend
from .frames import Header, build_frame, kind_of, mode_of, pack_header, read_header
from .payload import NOTHING, Payload, decode_frame, encode_any, encode_flat, encode_raw
from .progress import Pool, SendQueue, Waiters
from .transport import FRAME_MAX, transfer_table

if TYPE_CHECKING:
    from .agent import Agent


# -- instruments -------------------------------------------------------------------------------------------------------
logger = logging.getLogger(__name__)


class Instrument:
    """Base class of instruments, the observers of RPC and distributed autograd: methods to override, which do nothing.

    Common arguments: `agent` makes or serves the call; `kind` is a number of `MessageType`; `call_id` identifies a call
    of its caller (0 for a message without an answer); `extra` is a header field.
    """

    def before_call(self, agent: Any, dst: int, func: Callable[..., Any], kind: int, sync: bool) -> None:
        """A call is about to be encoded and sent; with `sync` the caller also waits for its answer before `after_call`."""

    def after_call(self, agent: Any) -> None:
        """The call was sent (or answered, if `sync`), or failed."""

    def before_send(self, agent: Any, dst: int, kind: int, call_id: int, function: bytes, extra: int) -> None:
        """A frame is about to be passed to the transport."""

    def after_send(self, agent: Any) -> None:
        """The frame was passed to the transport, or that failed."""

    def before_serve(self, agent: Any, src: int, kind: int, call_id: int, extra: int) -> None:
        """A request of `src` is about to be served."""

    def after_serve(self, agent: Any) -> None:
        """The request was served; its answer may be sent later."""

    def before_answer(self, agent: Any, call_id: int) -> None:
        """An answer has arrived and is about to complete its call."""

    def after_answer(self, agent: Any) -> None:
        """The answer is processed: its call is complete, or the answer came too late and was dropped."""

    def before_roots(self, worker: Any) -> None:
        """A backward pass is about to run the graph below its roots."""

    def after_roots(self, worker: Any) -> None:
        """The graph below the roots has run, or its gradients were held."""

    def reach_started(self, worker: Any, pass_id: int) -> None:
        """The reach phase of a pass starts; it may end on another thread."""

    def reach_ended(self, worker: Any, pass_id: int) -> None:
        """The reach phase has ended."""

    def part_held(self, worker: Any, part: Any) -> None:
        """A joined part starts to wait for gradients; it may end on another thread."""

    def part_done(self, worker: Any, part: Any) -> None:
        """The part has run, or was dropped."""


class Instruments:
    """The instruments of this process. An object, not a module variable: compiled code reads its field faster."""

    def __init__(self) -> None:
        self.active: tuple[Instrument, ...] = ()

    def add(self, instrument: Instrument) -> None:
        """Have the methods of an instrument called from now on."""
        self.active = (*self.active, instrument)

    def remove(self, instrument: Instrument) -> None:
        """Stop calling an instrument; one that was not added is ignored."""
        self.active = tuple([each for each in self.active if each is not instrument])


INSTRUMENTS = Instruments()


def tell(observers: tuple[Instrument, ...], point: str, *about: Any) -> None:
    """Call the method `point` of these instruments with the arguments `about`; errors are logged.

    `after_` points are called in reverse order, so that the instruments nest.
    """
    for each in reversed(observers) if point.startswith("after_") else observers:
        try:
            getattr(each, point)(*about)
        except Exception:
            logger.exception("the instrument %r failed at %s", each, point)


# -- functions on the wire ---------------------------------------------------------------------------------------------
_BY_NAME = (FunctionType, BuiltinFunctionType, type)
_REMEMBERED = 4096
_MISSING = object()

_names: dict[Any, tuple[Any, str, bytes]] = {}
_places: dict[bytes, tuple[Any, str]] = {}

NOT_FOUND = (
    "RPC pickler does not serialize the function code. Function code must be defined on both caller and callee modules."
)


def name_of(func: Callable[..., Any]) -> bytes | None:
    """Return the name by which other workers find `func`, as bytes `module:qualname`.

    None if it has none, such as closures, lambdas and bound methods: these are pickled.
    """
    if type(func) not in _BY_NAME:
        name = getattr(func, "_wire_name", None)  # the name of the function that is sent instead
        if name is not None or not getattr(func, "_travels_by_name", False):
            return name
    known = _names.get(func)
    if known is not None:
        space, name, text = known
        if space.get(name) is func:  # not replaced since: the name still leads to this function
            return text
    return _name_anew(func)


def _name_anew(func: Any) -> bytes | None:
    """Compute and remember the name of a function; None if the name would not lead to the same function again."""
    module, qualname = getattr(func, "__module__", None), getattr(func, "__qualname__", None)
    if not module or not qualname or "<" in qualname:
        return None
    space, name = _place(module, qualname)
    if space is None and type(func) is BuiltinFunctionType:  # such as torch.add, whose class is not in its module
        qualname = func.__name__
        space, name = _place(module, qualname)
    if space is None:
        return None
    found = space.get(name, _MISSING)
    if found is not func and getattr(found, "__func__", found) is not func:
        return None
    text = f"{module}:{qualname}".encode()
    if found is func:  # not a staticmethod, for which the namespace contains a wrapper
        if len(_names) >= _REMEMBERED:
            _names.clear()
        _names[func] = (space, name, text)
    return text


def _place(module: str, qualname: str) -> tuple[Any, str]:
    """Return the namespace (a dict, None if there is none) that has the last part of a qualified name, and that part."""
    holder: Any = sys.modules.get(module)
    *path, name = qualname.split(".")
    for part in path:
        holder = getattr(holder, part, None)
    getattr(holder, name, None)  # a package or class may get it on its first use
    return getattr(holder, "__dict__", None), name


def function_of(text: bytes) -> Callable[..., Any]:
    """Return the function for a name of `name_of`; AttributeError if this worker cannot import it."""
    place = _places.get(text)
    if place is None:
        place = _places_add(text)
    found = place[0].get(place[1], _MISSING)
    if found is _MISSING:
        _places.pop(text, None)
        raise AttributeError(f"Can't get the function {text.decode(errors='replace')!r} on this worker. {NOT_FOUND}")
    return found.__func__ if type(found) is staticmethod else found


def _places_add(text: bytes) -> tuple[Any, str]:
    module, _, qualname = text.decode(errors="replace").partition(":")
    try:
        _load(module)
    except ImportError as error:
        raise AttributeError(
            f"Can't import {module!r} to get the function {qualname!r}: {error}. {NOT_FOUND}"
        ) from error
    space, name = _place(module, qualname)
    if space is None:
        raise AttributeError(f"Can't get the function {qualname!r} on the module {module!r}. {NOT_FOUND}")
    if len(_places) >= _REMEMBERED:
        _places.clear()
    _places[text] = (space, name)
    return _places[text]


def _load(module: str) -> None:
    """Import the packages of a module, outermost first, then the module.

    A package that imports its modules is then complete before they are used: otherwise two threads may wait for each
    other, which Python ends by showing one of them a half-imported module.
    """
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        importlib.import_module(".".join(parts[:count]))


def check_call(func: Any, args: Any, kwargs: Any) -> None:
    """Check the arguments of a scripted function against its schema, before they are sent; raises the error of a local call."""
    check = getattr(func, "_check_call", None)
    if check is not None:
        check(args or (), kwargs or {})


def is_library(text: bytes) -> bool:
    """Return whether a name of `name_of` is that of an operator of mpigrad, which cannot block."""
    return text[:12] == b"mpigrad._ops"


def label(func: Any) -> str:
    """Return the name of a function for error messages."""
    return getattr(func, "__qualname__", None) or repr(func)


# -- the sender --------------------------------------------------------------------------------------------------------
_TAGS_PER_MESSAGE = 1024
_tags = itertools.count(0)  # per process, so that tags are unique across restarts of an agent


class Message(NamedTuple):
    """The arguments of `Sender.send`, as one object for injected faults."""

    dst: int
    kind: int
    payload: Payload
    flags: int
    call_id: int
    context_id: int
    message_id: int
    function: bytes
    extra: int
    extra2: int


class Sender:
    """Builds the frames of one agent and passes them to its send queue. `before_send` is called before each, if given."""

    def __init__(self, agent: Agent, queue: SendQueue, before_send: Callable[[], None] | None) -> None:
        self.faults: Any = None  # injected ones: see `_testing/faults.py`
        self._agent, self._queue, self._before_send, self._instruments = agent, queue, before_send, INSTRUMENTS
        self._rank, self._epochs = agent.rank, agent.epochs

    def send(
        self,
        dst: int,
        kind: int,
        payload: Payload,
        flags: int = 0,
        call_id: int = NO_CALL,
        context_id: int = 0,
        message_id: int = 0,
        function: bytes = b"",
        extra: int = 0,
        extra2: int = 0,
    ) -> None:
        """Send a message to the rank `dst`, or queue it for the thread that holds the transport's lock. Never blocks.

        Args:
            kind: the type of the message, a number of `MessageType`.
            payload: the encoded arguments or result.
            flags, call_id, context_id, message_id, extra, extra2: header fields, see `_protocol/message.py`.
            function: the name of the function to call (`name_of`); empty for other messages.
        """
        if self._before_send is not None:
            self._before_send()
        if self.faults is not None:
            message = Message(dst, kind, payload, flags, call_id, context_id, message_id, function, extra, extra2)
            if self.faults.stops(self._agent, message):
                return
        observers = self._instruments.active
        if not observers:
            self._send(dst, kind, payload, flags, call_id, context_id, message_id, function, extra, extra2)
            return
        tell(observers, "before_send", self._agent, dst, kind, call_id, function, extra)
        try:
            self._send(dst, kind, payload, flags, call_id, context_id, message_id, function, extra, extra2)
        finally:
            tell(observers, "after_send", self._agent)

    def _send(
        self,
        dst: int,
        kind: int,
        payload: Payload,
        flags: int,
        call_id: int,
        context_id: int,
        message_id: int,
        function: bytes,
        extra: int,
        extra2: int,
    ) -> None:
        """Build the frame and post it."""
        epoch = self._epochs.get(dst, 0)
        data, meta, follow = payload.data, payload.meta, payload.follow
        if not follow and HEADER_SIZE + len(data) + len(meta) + len(function) <= FRAME_MAX:
            frame = build_frame(
                kind=kind, mode=payload.mode, flags=flags, epoch=epoch, src=self._rank, call_id=call_id,
                context_id=context_id, message_id=message_id, extra=extra, extra2=extra2, data=data, meta=meta,
                name=function,
            )  # fmt: skip
            self._queue.post(dst, frame, follow, 0)
            return
        # a large message: arrays follow the frame, and so does the body if it does not fit. They take consecutive
        # tags that no other message in flight has, so that arrays of different messages are not confused
        body = b"".join((data, meta, function))
        if HEADER_SIZE + len(body) + TRANSFER.size * (len(follow) + 1) > FRAME_MAX:
            follow = [np.frombuffer(body, np.uint8), *follow]
            flags |= BODY_FOLLOWS
            body = b""
        tag = next(_tags) * _TAGS_PER_MESSAGE
        head = pack_header(
            kind=kind, mode=payload.mode, flags=flags, epoch=epoch, src=self._rank, call_id=call_id,
            context_id=context_id, message_id=message_id, extra=extra, extra2=extra2, name_length=len(function),
            meta_length=len(meta), transfers=len(follow), tag=tag,
            length=HEADER_SIZE + len(body) + TRANSFER.size * len(follow),
        )  # fmt: skip
        self._queue.post(dst, head + body + transfer_table(follow), follow, tag)


# -- the call table ----------------------------------------------------------------------------------------------------
CALL = int(MessageType.PYTHON_CALL)
EXCEPTION = int(MessageType.EXCEPTION)
_REPLY = int(MessageType.REPLY)
NO_CONTEXT = -1
MAX_RETRIES, RETRY_SECONDS = 5, 0.1
_NEVER = float("inf")
_monotonic = time.monotonic
_incarnations = itertools.count(0)  # call ids are unique across restarts of an agent


class CallFuture(Future):
    """The future of a call's answer, with the fields of the call that the call table uses."""

    __slots__ = ("context_id", "deadline", "dst", "func", "recorded", "timeout")

    dst: int  # rank of the callee
    func: Any  # the function, or the name of an internal message
    timeout: float  # in seconds, 0 for none
    deadline: float
    recorded: bool  # whether the interceptor handles the answer
    context_id: int  # the context in which the call was made, or NO_CONTEXT


class _Retried:
    """An internal message that is sent again, with growing delays, if sending fails; see `Agent.request_with_retries`."""

    __slots__ = ("_body", "_calls", "_dst", "_extra", "_extra2", "_failures", "_kind", "_then")

    def __init__(
        self, calls: CallTable, dst: int, kind: int, body: bytes, extra: int, extra2: int,
        then: Callable[[Future], None] | None,
    ) -> None:  # fmt: skip
        self._calls, self._dst, self._kind, self._body, self._extra, self._extra2 = calls, dst, kind, body, extra, extra2
        self._then, self._failures = then, 0

    def send(self) -> None:
        self._calls.request(
            self._dst, self._kind, self._body, (), None, self._extra, self._extra2, (0, 0), self._answered
        )

    def _answered(self, fut: Future) -> None:
        if fut._state == 2 and self._failures < MAX_RETRIES and isinstance(fut._value, SendFailedError):
            self._calls.timers.after(RETRY_SECONDS * 1.5**self._failures, self.send)
            self._failures += 1
        elif self._then is not None:
            self._then(fut)


class CallTable:
    """The pending calls of one agent."""

    def __init__(self, agent: Agent, sender: Sender, waiters: Waiters, pool: Pool) -> None:
        self.pending: dict[int, CallFuture] = {}  # by call id
        self.issued = Counter((next(_incarnations) << 40) + 1)  # its numbers are the call ids
        self.unsent = Counter()  # calls whose frame was never sent
        self.latency = Latency()
        self.timers = Timers()
        self._agent, self._sender, self._waiters, self._pool = agent, sender, waiters, pool
        self._gone, self._instruments = agent.gone, INSTRUMENTS
        self._ids, self._interceptor = self.issued.numbers, extensions.interceptor

    def new_future(self) -> CallFuture:
        """Return a future without its fields, which `_begin` sets. Overridden by agents with GPUs."""
        return CallFuture.__new__(CallFuture)

    def _begin(self, dst: int, func: Any, timeout: float, now: float) -> CallFuture:
        """Create the future of a call that starts at `now`. Sets the fields itself, as `__init__` would take longer."""
        fut = self.new_future()
        fut._state = 0
        fut._callbacks = fut._sleepers = None
        fut._foreign = False
        fut.dst, fut.func, fut.timeout, fut.recorded = dst, func, timeout, True
        fut.context_id = NO_CONTEXT
        fut.deadline = now + timeout if timeout else _NEVER
        return fut

    def call(
        self, dst: int, func: Callable[..., Any], args: Any, kwargs: Any, timeout: float, kind: int, extra: int, extra2: int
    ) -> CallFuture:
        """Ask the rank `dst` to run a function; returns the future of its answer. Arguments as for `Agent.call`."""
        before = enter()
        try:
            return self._call(dst, func, args, kwargs, timeout, kind, extra, extra2)
        finally:
            leave(before)

    def _call(
        self, dst: int, func: Callable[..., Any], args: Any, kwargs: Any, timeout: float, kind: int, extra: int, extra2: int
    ) -> CallFuture:
        payload: Payload | None
        if dst in self._gone:
            return self._failed(dst, func, timeout)
        name = name_of(func)
        if name is None:
            name = b""
            payload = encode_any(self._agent, dst, (func, args, kwargs))
        elif kwargs:
            payload = encode_any(self._agent, dst, (args, kwargs))
        elif not args:
            payload = NOTHING
        else:
            payload = encode_flat(args)
            if payload is None:  # contains objects that need pickle
                payload = encode_any(self._agent, dst, (args, kwargs))
        if kind == CALL and is_library(name):  # cannot block, so a waiting thread of the callee may run it
            kind = OPERATOR_CALL
        now = _monotonic()
        fut = self._begin(dst, func, timeout, now)
        context = None
        if self._interceptor is not None:
            context = self._interceptor.on_send(self._agent, dst, payload.tensors)
        call_id = next(self._ids)  # this counts the call as issued, so it comes after all that may fail
        if not call_id & SAMPLE:
            self.latency.begin(call_id, now, not self.pending)
        self.pending[call_id] = fut  # before the send: another thread may receive the answer at once
        try:
            if context is None:
                self._sender.send(dst, kind, payload, 0, call_id, 0, 0, name, extra, extra2)
            else:
                fut.recorded, fut.context_id = MODE.enabled, context[0]
                self._sender.send(dst, kind, payload, HAS_CONTEXT, call_id, context[0], context[1], name, extra, extra2)
        except BaseException:
            self._take_back(call_id)
            raise
        if dst in self._gone:  # the worker left between the check above and the entry in `pending`
            self.fail_calls_to(dst)
        return fut

    def _failed(self, dst: int, func: Any, timeout: float) -> CallFuture:
        """Return a failed future, for a call to a worker that has left."""
        fut = self._begin(dst, func, timeout, _monotonic())
        fut._finish(2, self._agent.gone_error(dst))
        return fut

    def request(
        self,
        dst: int,
        kind: int,
        body: bytes,
        arrays: Any,
        timeout: float | None,
        extra: int,
        extra2: int,
        context: tuple[int, int],
        then: Callable[[Future], None] | None,
    ) -> CallFuture:
        """Send an internal message and return the future of its answer; see `Agent.request`."""
        before = enter()
        try:
            timeout = self._agent.rpc_timeout if timeout is None else timeout
            fut = self._begin(dst, NAMES[kind], timeout, _monotonic())
            if then is not None:
                fut._callbacks = deque((then,))  # set directly: no other thread knows the future yet
            payload = encode_raw(body, arrays) if body or arrays else NOTHING
            call_id = next(self._ids)
            self.pending[call_id] = fut
            try:
                self._sender.send(dst, kind, payload, 0, call_id, context[0], context[1], b"", extra, extra2)
            except BaseException:
                self._take_back(call_id)
                raise
            if dst in self._gone:  # as in `_call`: it may have left before the entry in `pending` was made
                self.fail_calls_to(dst)
            return fut
        finally:
            leave(before)

    def _take_back(self, call_id: int) -> None:
        """Remove a call that could not be sent, so that it does not count as issued.

        Its caller gets the error directly, instead of a failed future.
        """
        if self.pending.pop(call_id, None) is not None:
            self.latency.forget(call_id)
            next(self.unsent.numbers)

    def request_with_retries(
        self, dst: int, kind: int, body: bytes, extra: int, extra2: int, then: Callable[[Future], None] | None
    ) -> None:
        """Send an internal message that must arrive; see `Agent.request_with_retries`."""
        _Retried(self, dst, kind, body, extra, extra2, then).send()

    def wait_for(self, fut: CallFuture) -> None:
        """Wait until one of these futures is answered or has timed out."""
        while not fut._state:
            self._waiters.wait(fut, fut.deadline)
            if not fut._state:
                self.housekeep(_monotonic())

    # -- answers -------------------------------------------------------------------------------------------------------
    def receive(self, frame: Any, waiting_for: Future | None) -> Any:
        """Complete the call that a frame answers; or return the frame, if decoding it may run user code (`__setstate__` ...)."""
        mode = mode_of(frame)
        if mode == PICKLE or mode == CUSTOM or kind_of(frame) == EXCEPTION:
            return frame
        self.complete(frame)
        return None

    def answers(self, frame: Any, fut: Future) -> bool:
        """Return whether a frame is the answer that completes the future `fut`."""
        kind = kind_of(frame)
        return (kind == _REPLY or kind == EXCEPTION) and self.pending.get(read_header(frame).call_id) is fut

    def complete(self, frame: Any) -> None:
        """Complete the future of a call with the answer in a frame.

        If the call is no longer pending (it has timed out), the answer is decoded and dropped, so that RRefs in it are
        released.
        """
        header = read_header(frame)
        observers = self._instruments.active
        if not observers:
            self._complete(frame, header)
            return
        tell(observers, "before_answer", self._agent, header.call_id)
        try:
            self._complete(frame, header)
        finally:
            tell(observers, "after_answer", self._agent)

    def _complete(self, frame: Any, header: Header) -> None:
        flags, call_id = header.flags, header.call_id
        fut = self.pending.get(call_id)  # not removed yet: the call can still time out while its answer is decoded
        value: Any = None
        fatal: BaseException | None = None
        state = 1
        if header.mode:
            try:
                value, tensors, _ = decode_frame(self._agent, frame, header)
                if header.kind == EXCEPTION:
                    value, state = _error_in(value[0]), 2
                elif flags & HAS_CONTEXT and fut is not None and fut.recorded and self._interceptor is not None:
                    self._interceptor.on_receive(
                        self._agent, header.src, header.context_id, header.message_id, tensors
                    )
                if header.mode == FLAT:
                    value = tuple(value) if flags & IS_TUPLE else value[0]
            except Exception as error:
                value, state = error, 2
            except BaseException as error:  # an interrupt or `sys.exit` in user code: raised below, after the call has failed
                value, state, fatal = _decoding_ended(error), 2, error
        if fut is not None and fut.context_id != NO_CONTEXT and not flags & HAS_CONTEXT and header.kind != EXCEPTION:
            self._interceptor.on_unrecorded(self._agent, header.src, fut.context_id)  # type: ignore[union-attr]
        fut = self.pending.pop(call_id, None)
        if fut is not None:
            self._finish(fut, call_id, state, value)
        if fatal is not None:
            raise fatal

    def _finish(self, fut: CallFuture, call_id: int, state: int, value: Any) -> None:
        """Complete a future that this thread has removed from `pending`, and run its callbacks.

        `state` is 1 for a result and 2 for an error, which is `value`.
        """
        if not call_id & SAMPLE:
            self.latency.end(call_id)
        fut._value = value
        fut._state = state  # after the value: threads read the value without a lock once they see the state
        if fut._sleepers is not None:
            fut._wake()
        if fut._callbacks:
            if fut._foreign:
                fut._run_callbacks()
            else:
                fut._call_callbacks()

    # -- time and departures -------------------------------------------------------------------------------------------
    def housekeep(self, now: float) -> None:
        """Run the timers that are due at `now` (of `time.monotonic()`), and fail the calls that have timed out."""
        if self.timers.waiting:
            self.timers.run_due(now)
        for call_id, fut in list(self.pending.items()):  # a copy, since other threads make and complete calls meanwhile
            if fut.deadline <= now:
                self.fail(call_id, self._timeout_error(fut))

    def _timeout_error(self, fut: CallFuture) -> Exception:
        what = fut.func if isinstance(fut.func, str) else label(fut.func)
        return RpcTimeoutError(
            f"RPCErr:1:RPC ran for more than set timeout ({fut.timeout * 1000:.0f} ms) and will now be marked with an "
            f"error: {what} on {self._agent.workers.get(fut.dst, fut.dst)} did not answer within {fut.timeout} s"
        )

    def fail(self, call_id: int, error: Exception) -> bool:
        """Fail a call; returns False if it is no longer pending.

        Its callbacks run on the pool, since this thread may hold locks.
        """
        fut = self.pending.pop(call_id, None)
        if fut is None:
            return False
        if not call_id & SAMPLE:
            self.latency.forget(call_id)
        fut._finish(2, error)
        if fut._callbacks:
            self._pool.submit_last(fut._call_callbacks)
        return True

    def fail_unsent(self, call_id: int, error: Exception) -> None:
        """Fail a call whose frame was never sent, so that it does not count as issued."""
        if self.fail(call_id, error):
            next(self.unsent.numbers)

    def fail_calls_to(self, rank: int) -> None:
        """Fail all calls to a worker that has left, and tell the other layers (`worker_lost_hooks`)."""
        for call_id, fut in list(self.pending.items()):
            if fut.dst == rank:
                self.fail(call_id, self._agent.gone_error(rank))
        for hook in extensions.worker_lost_hooks:
            hook(self._agent, rank)

    def fail_all(self, why: str) -> None:
        """Fail all pending calls with the text `why`: the agent stops."""
        for call_id in list(self.pending):
            self.fail(call_id, WorkerGoneError(why))


def _decoding_ended(error: BaseException) -> RuntimeError:
    failure = RuntimeError(f"{type(error).__name__} ended the decoding of the answer: {error}")
    failure.__cause__ = error
    return failure


def _error_in(data: bytes) -> BaseException:
    """Decode the exception in an answer. Outside of the guarded section, as its class may run user code."""
    before = suspend()
    try:
        return unpack_error(data)
    finally:
        resume(before)
