"""Calls: the requests this worker has sent and their futures, until they are answered, time out, or the peer leaves.

Invariants
- A call is in `_pending` from before its frame is posted until whoever pops it completes its future: exactly once.
  Answers to calls that are no longer there (timed out, or the peer had left) are decoded and dropped, so that what they
  carry is released.
- A frame that could not be sent fails its call, in whatever thread that is found out.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from mpigrad._graph.grad_mode import MODE
from mpigrad.futures._future import Future

from .._progress.pool import Progress
from .._protocol import extensions
from .._protocol.errors import RpcTimeoutError, SendFailedError, WorkerGoneError, pack_error, unpack_error
from .._protocol.frame import parts
from .._protocol.function_names import is_library, label, name_of
from .._protocol.header import frame_of, read_header
from .._protocol.message import (
    BODY_FOLLOWS,
    CUSTOM,
    FLAT,
    HAS_CONTEXT,
    HEADER,
    HEADER_SIZE,
    IS_TUPLE,
    NAMES,
    NO_CALL,
    PICKLE,
    TRANSFER,
    MessageType,
)
from .._protocol.worker_info import WorkerInfo
from .._transport.base import FRAME_MAX, transfer_table
from .._wire.payload import NOTHING, Payload, decode, encode_any, encode_flat, encode_raw
from .latency import SAMPLE, Latency

logger = logging.getLogger(__name__)

_CALL = int(MessageType.PYTHON_CALL)
_LIBRARY_CALL = int(MessageType.SCRIPT_CALL)
_EXCEPTION = int(MessageType.EXCEPTION)
_REPLY = int(MessageType.REPLY)
_pack = HEADER.pack
_monotonic = time.monotonic
_NEVER = float("inf")
MAX_RETRIES, RETRY_SECONDS = 5, 0.1
_tags = itertools.count(0)  # of the process: a transfer of an earlier life never meets one of a later
_lives = itertools.count(0)  # nor does a late answer meet a call of a later life


class _Retried:
    """A control message that is sent again, later and later, while sending it fails."""

    __slots__ = ("_calls", "_failures", "_message", "_then")

    def __init__(self, calls: Calls, message: tuple[int, int, bytes, int, int], then: Callable[[Future], None] | None) -> None:
        self._calls, self._message, self._then, self._failures = calls, message, then, 0

    def send(self) -> None:
        dst, kind, body, extra, extra2 = self._message
        self._calls.request(dst, kind, body, (), None, extra, extra2, (0, 0), self._answered)

    def _answered(self, fut: Future) -> None:
        if fut._state == 2 and self._failures < MAX_RETRIES and isinstance(fut._value, SendFailedError):
            self._calls.after(RETRY_SECONDS * 1.5**self._failures, self.send)
            self._failures += 1
        elif self._then is not None:
            self._then(fut)


class Calls:
    """The calling half of an agent."""

    def __init__(self) -> None:
        self.rank: int
        self.info: WorkerInfo
        self.rpc_timeout: float
        self.progress: Progress
        self.workers: dict[int, WorkerInfo]
        self.by_name: dict[str, WorkerInfo]
        self.gone: dict[int, str] = {}  # rank -> why calls to it cannot succeed
        self.epochs: dict[int, int] = {}  # rank -> which of its lives we talk to (dynamic groups)
        self.latency = Latency()
        self.faults: Any = None
        self.future_type: type[Future] = Future  # of calls' answers
        self._first_id = (next(_lives) << 40) + 1
        self._ids = itertools.count(self._first_id)
        self._lost = itertools.count()  # calls whose frame never left
        self._pending: dict[int, Future] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_lock = threading.Lock()
        self._timer_ids = itertools.count()

    def call(
        self,
        dst: int,
        func: Callable[..., Any],
        args: Any,
        kwargs: Any,
        timeout: float,
        kind: int = _CALL,
        extra: int = 0,
        extra2: int = 0,
    ) -> Future:
        """Ask `dst` to run `func(*args, **kwargs)`; the future of its answer. `timeout` in seconds, 0 for none."""
        payload: Payload | None
        name = name_of(func)
        if name is None:
            name = b""
            payload = encode_any(self, dst, (func, args, kwargs))
        elif kwargs:
            payload = encode_any(self, dst, (args, kwargs))
        elif not args:
            payload = NOTHING
        else:
            payload = encode_flat(args)
            if payload is None:
                payload = encode_any(self, dst, (args, kwargs))
        if kind == _CALL and is_library(name):
            kind = _LIBRARY_CALL
        fut = Future.__new__(Future) if self.future_type is Future else self.future_type.__new__(self.future_type)
        fut._state = 0
        fut._callbacks = fut._sleepers = None
        fut._foreign = False
        fut._info = (dst, func, timeout, True)
        now = _monotonic()
        fut._deadline = now + timeout if timeout else _NEVER
        interceptor = extensions.interceptor
        context = interceptor.on_send(dst, payload[4]) if interceptor is not None else None
        call_id = next(self._ids)
        if not call_id & SAMPLE:
            self.latency.begin(call_id, now)
        self._pending[call_id] = fut
        if context is None:
            self._post(dst, kind, payload, 0, call_id, 0, 0, name, extra, extra2)
        else:
            if not MODE.enabled:
                fut._info = (dst, func, timeout, False)
            self._post(dst, kind, payload, HAS_CONTEXT, call_id, context[0], context[1], name, extra, extra2)
        if dst in self.gone:
            self._fail_calls_to(dst)
        return fut

    def request(
        self,
        dst: int,
        kind: int,
        body: bytes = b"",
        arrays: Any = (),
        timeout: float | None = None,
        extra: int = 0,
        extra2: int = 0,
        context: tuple[int, int] = (0, 0),
        then: Callable[[Future], None] | None = None,
    ) -> Future:
        """Send an internal message; the future of its answer, `(bytes, list of arrays)` or None. No pickle on the way.

        `then` is called with the future once it is done: cheaper than adding it afterwards.
        """
        timeout = self.rpc_timeout if timeout is None else timeout
        fut = Future.__new__(Future) if self.future_type is Future else self.future_type.__new__(self.future_type)
        fut._state = 0
        fut._callbacks = None if then is None else deque((then,))
        fut._sleepers = None
        fut._foreign = False
        fut._info = (dst, NAMES[kind], timeout, True)
        fut._deadline = _monotonic() + timeout if timeout else _NEVER
        payload = encode_raw(body, arrays) if body or arrays else NOTHING
        call_id = next(self._ids)
        self._pending[call_id] = fut
        self._post(dst, kind, payload, 0, call_id, context[0], context[1], b"", extra, extra2)
        if dst in self.gone:
            self._fail_calls_to(dst)
        return fut

    def request_with_retries(
        self,
        dst: int,
        kind: int,
        body: bytes = b"",
        extra: int = 0,
        extra2: int = 0,
        then: Callable[[Future], None] | None = None,
    ) -> None:
        """`request`, for control messages that must arrive: failed sends are repeated, later and later.

        `then` is called once, with the future of the last attempt. The handler must not mind being asked twice.
        """
        _Retried(self, (dst, kind, body, extra, extra2), then).send()

    def after(self, seconds: float, run: Callable[[], None]) -> None:
        """Call `run`, which must not block, after a while."""
        with self._timer_lock:
            heapq.heappush(self._timers, (_monotonic() + seconds, next(self._timer_ids), run))

    def _run_timers(self, now: float) -> None:
        while True:
            with self._timer_lock:
                if not self._timers or self._timers[0][0] > now:
                    return
                run = heapq.heappop(self._timers)[2]
            try:
                run()
            except Exception:
                logger.exception("a delayed action failed")

    def notify(
        self,
        dst: int,
        kind: int,
        body: bytes = b"",
        arrays: Any = (),
        extra: int = 0,
        extra2: int = 0,
        context: tuple[int, int] = (0, 0),
    ) -> None:
        """Send an internal message that has no answer. Not counted by graceful shutdown: `request` where it matters."""
        self._post(dst, kind, encode_raw(body, arrays), 0, NO_CALL, context[0], context[1], b"", extra, extra2)

    def wait(self, fut: Future, deadline: float | None = None) -> None:
        """Make progress until `fut` is done, its call has timed out, or `deadline` has passed."""
        self.progress.wait(fut, deadline)

    def call_sync(self, dst: int, func: Callable[..., Any], args: Any, kwargs: Any, timeout: float) -> Any:
        """`call` and wait for the answer."""
        fut = self.call(dst, func, args, kwargs, timeout)
        self.wait_for(fut)
        state, value = fut._state, fut._value
        if state == 2:
            try:
                raise value
            finally:
                del fut, value  # the error's traceback has this frame: together they would be a cycle
        return value

    def wait_for(self, fut: Future) -> None:
        """Wait for the answer of one of this agent's requests, or until it has timed out."""
        while not fut._state:
            self.progress.wait(fut, fut._deadline)
            if not fut._state:
                self._housekeep(_monotonic())

    def _post(
        self,
        dst: int,
        kind: int,
        payload: Payload,
        flags: int,
        call_id: int,
        context_id: int,
        message_id: int,
        name: bytes,
        extra: int,
        extra2: int,
    ) -> None:
        if self.faults is not None:
            message = dst, kind, payload, flags, call_id, context_id, message_id, name, extra, extra2
            if self.faults.stops(self, message):
                return
        mode, data, meta, follow, _ = payload
        length = HEADER_SIZE + len(data) + len(meta) + len(name)
        epoch = self.epochs.get(dst, 0)
        if not follow and length <= FRAME_MAX:
            frame = frame_of(
                kind, mode, flags, epoch, self.rank, call_id, context_id, message_id, extra, extra2, data, meta, name
            )
            self.progress.post(dst, frame, follow, 0)
            return
        body = b"".join((data, meta, name))
        if length + TRANSFER.size * (len(follow) + 1) > FRAME_MAX:
            follow = [np.frombuffer(body, np.uint8), *follow]
            flags |= BODY_FOLLOWS
            body = b""
        tag = next(_tags) * 1024
        length = HEADER_SIZE + len(body) + TRANSFER.size * len(follow)
        head = _pack(
            kind, mode, flags, epoch, len(follow), self.rank, length, len(name), len(meta), tag,
            call_id, context_id, message_id, extra, extra2,
        )  # fmt: skip
        self.progress.post(dst, head + body + transfer_table(follow), follow, tag)

    def send_failed(self, dst: int, frame: bytes, error: Exception) -> None:
        """The transport could not send a frame: fail the call it belongs to, ours or that of whoever waits for this answer."""
        logger.error("could not send a message to rank %s: %s", dst, error)
        kind, call_id = frame[0], read_header(frame).call_id
        if kind == _REPLY:  # whoever asked gets the error instead, if that can be sent
            answer = pack_error(self.info, RuntimeError(f"{self.info} could not send its answer: {error}"))
            self._post(dst, _EXCEPTION, encode_raw(answer, []), 0, call_id, 0, 0, b"", 0, 0)
        elif kind != _EXCEPTION:
            if self._give_up(call_id, SendFailedError(f"could not send to {self.workers.get(dst, dst)}: {error}")):
                self._unissued()

    def _unissued(self) -> None:
        """A call was counted as issued, but nobody will ever see it."""
        next(self._lost)

    def _receive_answer(self, frame: Any, waiting_for: Future | None) -> Any:
        """Complete the call that a frame answers; or the frame, if that may run user code (`__setstate__` ...)."""
        mode = frame[1]
        if mode == PICKLE or mode == CUSTOM:
            if waiting_for is None or self._pending.get(read_header(frame).call_id) is not waiting_for:
                return frame
        self._complete(frame)
        return None

    def _complete(self, frame: Any) -> None:
        """Complete the future of a call with its answer; decode and drop it when nobody waits any more."""
        header = read_header(frame)
        mode, flags, src, call_id = header.mode, header.flags, header.src, header.call_id
        fut = self._pending.pop(call_id, None)
        value: Any = None
        state = 1
        if mode:
            try:
                buffer, offset, meta, _name, followed = parts(frame, header)
                value, tensors = decode(self, src, mode, buffer, offset, meta, followed)
                buffer = followed = None  # whoever gets the value may keep what nobody else holds
                if header.kind == _EXCEPTION:
                    value, state = unpack_error(value[0]), 2
                elif flags & HAS_CONTEXT and fut is not None and extensions.interceptor is not None:
                    if fut._info[3]:
                        extensions.interceptor.on_receive(src, header.context_id, header.message_id, tensors)
                if mode == FLAT:
                    value = tuple(value) if flags & IS_TUPLE else value[0]
            except Exception as error:
                value, state = error, 2
        if fut is None:
            return
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

    # Time and departures

    def _housekeep(self, now: float) -> None:
        """Fail the calls whose time is over, do what was put off until now."""
        if self._timers:
            self._run_timers(now)
        for call_id, fut in list(self._pending.items()):
            if fut._deadline <= now:
                self._give_up(call_id, self._timeout_error(fut))

    def _timeout_error(self, fut: Future) -> Exception:
        dst, func, seconds, _ = fut._info
        what = func if isinstance(func, str) else label(func)
        return RpcTimeoutError(
            f"RPCErr:1:RPC ran for more than set timeout ({seconds * 1000:.0f} ms) and will now be marked with an "
            f"error: {what} on {self.workers.get(dst, dst)} did not answer within {seconds} s"
        )

    def _give_up(self, call_id: int, error: Exception) -> bool:
        """Fail a call, unless it has been completed; whether this has failed it."""
        fut = self._pending.pop(call_id, None)
        if fut is None:
            return False
        if not call_id & SAMPLE:
            self.latency.forget(call_id)
        fut._finish(2, error)
        if fut._callbacks:
            self.progress.submit_last(fut._call_callbacks)
        return True

    def lose(self, rank: int, why: str) -> None:
        """A worker is gone: its calls fail, now and later."""
        self.gone[rank] = why
        info = self.workers.pop(rank, None)
        if info is not None and self.by_name.get(info.name) is info:
            del self.by_name[info.name]
        self._fail_calls_to(rank)

    def _fail_calls_to(self, rank: int) -> None:
        for call_id, fut in list(self._pending.items()):
            if fut._info[0] == rank:
                self._give_up(call_id, WorkerGoneError(self.gone.get(rank, f"rank {rank} has left")))
        for hook in extensions.lost_hooks:
            hook(self, rank)  # type: ignore[arg-type]

    def fail_everything(self, why: str) -> None:
        """Fail all calls that are under way or still to come; for the end of the agent."""
        self.gone.update(dict.fromkeys([*self.workers, *self.gone], why))
        for call_id in list(self._pending):
            self._give_up(call_id, WorkerGoneError(why))
