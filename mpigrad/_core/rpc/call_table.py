"""The call table: the calls that this worker has made and their futures, until they are answered, time out, or the callee leaves.

Invariants
- A call is in `pending` from before its frame is sent until a thread pops it, which then completes its future: exactly once.
  The answer is decoded before that, so the call times out even if user code takes for ever to decode it.
  Answers to calls that are no longer there (timed out, or the callee had left) are decoded and dropped, so that what they
  carry is released.
- Calls are made in guarded sections (`mpigrad/_core/guard.py`): no interrupt leaves one half made. User code that encodes or
  decodes is suspended from them.
- A frame that could not be sent fails its call, on the thread that finds out.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad._core.guard import enter, leave, resume, suspend
from mpigrad._graph.grad_mode import MODE
from mpigrad.distributed.rpc._agent.counter import Counter
from mpigrad.distributed.rpc._agent.latency import SAMPLE, Latency
from mpigrad.distributed.rpc._agent.timers import Timers
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.errors import RpcTimeoutError, SendFailedError, WorkerGoneError, unpack_error
from mpigrad.distributed.rpc._protocol.message import (
    CUSTOM,
    FLAT,
    HAS_CONTEXT,
    IS_TUPLE,
    NAMES,
    OPERATOR_CALL,
    PICKLE,
    MessageType,
)

from ..future import Future
from .codec import Header, kind_of, mode_of, read_header
from .function_names import is_library, label, name_of
from .instruments import INSTRUMENTS, tell
from .payload import NOTHING, Payload, decode_frame, encode_any, encode_flat, encode_raw
from .pool import Pool
from .sender import Sender
from .waiting import Waiters

if TYPE_CHECKING:
    from .agent import Agent

CALL = int(MessageType.PYTHON_CALL)
EXCEPTION = int(MessageType.EXCEPTION)
_REPLY = int(MessageType.REPLY)
NO_CONTEXT = -1
MAX_RETRIES, RETRY_SECONDS = 5, 0.1
_NEVER = float("inf")
_monotonic = time.monotonic
_incarnations = itertools.count(0)  # call ids are unique across restarts of an agent


class CallFuture(Future):
    """The future of a call's answer."""

    __slots__ = ("context_id", "deadline", "dst", "func", "recorded", "timeout")

    dst: int  # rank of the callee
    func: Any  # or the name of an internal message
    timeout: float  # in seconds, 0 for none
    deadline: float
    recorded: bool  # whether the interceptor sees the answer
    context_id: int  # the context in which the call was made, or NO_CONTEXT


class _Retried:
    """A control message that is sent again, later and later, while sending it fails."""

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
    """The calls that one agent has made."""

    def __init__(self, agent: Agent, sender: Sender, waiters: Waiters, pool: Pool) -> None:
        self.pending: dict[int, CallFuture] = {}  # by call id
        self.issued = Counter((next(_incarnations) << 40) + 1)  # its numbers are the call ids
        self.unsent = Counter()  # calls whose frame never left
        self.latency = Latency()
        self.timers = Timers()
        self._agent, self._sender, self._waiters, self._pool = agent, sender, waiters, pool
        self._gone, self._instruments = agent.gone, INSTRUMENTS
        self._ids, self._interceptor = self.issued.numbers, extensions.interceptor

    def new_future(self) -> CallFuture:
        """An empty future; agents with devices have their own class."""
        return CallFuture.__new__(CallFuture)

    def _begin(self, dst: int, func: Any, timeout: float, now: float) -> CallFuture:
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
        """Ask `dst` to run `func(*args, **kwargs)`; the future of its answer. `timeout` in seconds, 0 for none."""
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
            if payload is None:
                payload = encode_any(self._agent, dst, (args, kwargs))
        if kind == CALL and is_library(name):
            kind = OPERATOR_CALL
        now = _monotonic()
        fut = self._begin(dst, func, timeout, now)
        context = None
        if self._interceptor is not None:
            context = self._interceptor.on_send(self._agent, dst, payload.tensors)
        call_id = next(self._ids)
        if not call_id & SAMPLE:
            self.latency.begin(call_id, now)
        self.pending[call_id] = fut
        try:
            if context is None:
                self._sender.send(dst, kind, payload, 0, call_id, 0, 0, name, extra, extra2)
            else:
                fut.recorded, fut.context_id = MODE.enabled, context[0]
                self._sender.send(dst, kind, payload, HAS_CONTEXT, call_id, context[0], context[1], name, extra, extra2)
        except BaseException:
            self._take_back(call_id)
            raise
        if dst in self._gone:
            self.fail_calls_to(dst)
        return fut

    def _failed(self, dst: int, func: Any, timeout: float) -> CallFuture:
        """The future of a call to a worker that is gone."""
        fut = self._begin(dst, func, timeout, _monotonic())
        fut._finish(2, WorkerGoneError(self._gone[dst]))
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
        """Send an internal message; the future of its answer: see `Agent.request`."""
        before = enter()
        try:
            return self._request(dst, kind, body, arrays, timeout, extra, extra2, context, then)
        finally:
            leave(before)

    def _request(
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
        timeout = self._agent.rpc_timeout if timeout is None else timeout
        fut = self._begin(dst, NAMES[kind], timeout, _monotonic())
        if then is not None:
            fut._callbacks = deque((then,))
        payload = encode_raw(body, arrays) if body or arrays else NOTHING
        call_id = next(self._ids)
        self.pending[call_id] = fut
        try:
            self._sender.send(dst, kind, payload, 0, call_id, context[0], context[1], b"", extra, extra2)
        except BaseException:
            self._take_back(call_id)
            raise
        if dst in self._gone:
            self.fail_calls_to(dst)
        return fut

    def _take_back(self, call_id: int) -> None:
        """Forget a call that could not be sent: its caller gets the error at once, and it does not count as issued."""
        if self.pending.pop(call_id, None) is not None:
            self.latency.forget(call_id)
            next(self.unsent.numbers)

    def request_with_retries(
        self, dst: int, kind: int, body: bytes, extra: int, extra2: int, then: Callable[[Future], None] | None
    ) -> None:
        """`request` whose failed sends are repeated: see `Agent.request_with_retries`."""
        _Retried(self, dst, kind, body, extra, extra2, then).send()

    def wait_for(self, fut: CallFuture) -> None:
        """Wait for the answer of one of these calls, or until it has timed out."""
        while not fut._state:
            self._waiters.wait(fut, fut.deadline)
            if not fut._state:
                self.housekeep(_monotonic())

    # -- answers -------------------------------------------------------------------------------------------------------
    def receive(self, frame: Any, waiting_for: Future | None) -> Any:
        """Complete the call that a frame answers; or return the frame, if that may run user code (`__setstate__` ...)."""
        mode = mode_of(frame)
        if mode == PICKLE or mode == CUSTOM or kind_of(frame) == EXCEPTION:
            return frame
        self.complete(frame)
        return None

    def answers(self, frame: Any, fut: Future) -> bool:
        """Whether a frame is the answer that a future waits for."""
        kind = kind_of(frame)
        return (kind == _REPLY or kind == EXCEPTION) and self.pending.get(read_header(frame).call_id) is fut

    def complete(self, frame: Any) -> None:
        """Complete the future of a call with its answer; decode and drop the answer if the call was given up."""
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
        fut = self.pending.get(call_id)
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
            except BaseException as error:  # an interrupt or `sys.exit` in user code: its thread gets it, the call its text
                value, state, fatal = _decoding_ended(error), 2, error
        if fut is not None and fut.context_id != NO_CONTEXT and not flags & HAS_CONTEXT and header.kind != EXCEPTION:
            self._interceptor.on_unrecorded(self._agent, header.src, fut.context_id)  # type: ignore[union-attr]
        fut = self.pending.pop(call_id, None)
        if fut is not None:
            self._finish(fut, call_id, state, value)
        if fatal is not None:
            raise fatal

    def _finish(self, fut: CallFuture, call_id: int, state: int, value: Any) -> None:
        """Complete a future that was taken out of `pending`, and run its callbacks."""
        if not call_id & SAMPLE:
            self.latency.end(call_id)
        fut._value = value
        fut._state = state
        if fut._sleepers is not None:
            fut._wake()
        if fut._callbacks:
            if fut._foreign:
                fut._run_callbacks()
            else:
                fut._call_callbacks()

    # -- time and departures -------------------------------------------------------------------------------------------
    def housekeep(self, now: float) -> None:
        """Fail the calls whose time is over, run the timers that are due."""
        if self.timers.waiting:
            self.timers.run_due(now)
        for call_id, fut in list(self.pending.items()):
            if fut.deadline <= now:
                self.fail(call_id, self._timeout_error(fut))

    def _timeout_error(self, fut: CallFuture) -> Exception:
        what = fut.func if isinstance(fut.func, str) else label(fut.func)
        return RpcTimeoutError(
            f"RPCErr:1:RPC ran for more than set timeout ({fut.timeout * 1000:.0f} ms) and will now be marked with an "
            f"error: {what} on {self._agent.workers.get(fut.dst, fut.dst)} did not answer within {fut.timeout} s"
        )

    def fail(self, call_id: int, error: Exception) -> bool:
        """Fail a call; False if it had been completed."""
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
        """Fail a call whose request never left, so that it does not count as issued."""
        if self.fail(call_id, error):
            next(self.unsent.numbers)

    def fail_calls_to(self, rank: int) -> None:
        """Fail the calls to a worker that is gone, and tell the layers that hold state about it."""
        for call_id, fut in list(self.pending.items()):
            if fut.dst == rank:
                self.fail(call_id, WorkerGoneError(self._gone.get(rank, f"rank {rank} has left")))
        for hook in extensions.worker_lost_hooks:
            hook(self._agent, rank)

    def fail_all(self, why: str) -> None:
        """Fail every call, at the end of the agent."""
        for call_id in list(self.pending):
            self.fail(call_id, WorkerGoneError(why))


def _decoding_ended(error: BaseException) -> RuntimeError:
    failure = RuntimeError(f"{type(error).__name__} ended the decoding of the answer: {error}")
    failure.__cause__ = error
    return failure


def _error_in(data: bytes) -> BaseException:
    """The exception of an answer, whose class may be a user's."""
    before = suspend()
    try:
        return unpack_error(data)
    finally:
        resume(before)
