"""Agent: this worker's calls, the answers to others', and everything that is known about the world.

Invariants
- A call is in `_pending` from before its frame is posted until whoever pops it completes its future: exactly once. Answers to calls
  that are no longer there (timed out, or the peer had left) are decoded and dropped, so that what they carry is released.
- Every received request is answered exactly once if it has a call id, whatever goes wrong in it; `_handled` counts those that are
  done, `_ids` those issued: graceful shutdown compares the sums over all workers.
- User code (functions, callbacks, pickles of users' classes) runs as *work*, which `Progress` puts on a stack where it may run.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable
from typing import Any

from mpigrad.futures import Future

from . import _seams
from ._errors import RemoteTraceback, RpcTimeoutError, WorkerGoneError, pack_error, unpack_error
from ._functions import function_of, label, name_of
from ._message import (
    BODY_FOLLOWS,
    FLAT,
    HAS_CONTEXT,
    HEADER,
    HEADER_SIZE,
    NO_CALL,
    PICKLE,
    RAW,
    TRANSFER,
    MessageType,
)
from ._progress import Progress
from ._transport import FRAME_MAX, Transport
from ._wire import NOTHING, Payload, decode, encode_any, encode_flat, encode_raw
from ._worker import WorkerInfo

logger = logging.getLogger(__name__)

_CALL = int(MessageType.PYTHON_CALL)
_REPLY = int(MessageType.REPLY)
_EXCEPTION = int(MessageType.EXCEPTION)
_pack = HEADER.pack
_unpack = HEADER.unpack_from
_monotonic = time.monotonic
_new_future = Future.__new__
_NEVER = float("inf")


class Agent:
    """One worker of an RPC world: makes calls, serves calls."""

    def __init__(self, name: str, transport: Transport, num_worker_threads: int, rpc_timeout: float) -> None:
        self.rank = transport.rank
        self.info = WorkerInfo(name, transport.rank)
        self.rpc_timeout = rpc_timeout
        self.transport = transport
        self.workers: dict[int, WorkerInfo] = {self.rank: self.info}
        self.by_name: dict[str, WorkerInfo] = {name: self.info}
        self.gone: dict[int, str] = {}  # rank -> why calls to it cannot succeed
        self.epochs: dict[int, int] = {}  # rank -> which of its lives we talk to (dynamic groups)
        self.epoch = 0
        self.static = True
        self.closing = False
        self._ids = itertools.count(1)
        self._handled = itertools.count(0)
        self._tags = itertools.count(0)
        self._pending: dict[int, Future] = {}
        self._serving: dict[int, None] = {}
        self.progress = Progress(transport, self._receive, self._housekeep, self._serve, num_worker_threads, name)
        self.unknown_worker: Callable[[str], WorkerInfo | None] | None = None
        self.latency = Latency()
        self.options: Any = None
        self.closing_protocol: Any = None
        self.communicator: Any = None

    # Making calls

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
        fut = _new_future(Future)
        fut._state = 0
        fut._callbacks = fut._sleepers = None
        fut._foreign = False
        fut._info = (dst, func, timeout)
        fut._deadline = _monotonic() + timeout if timeout else _NEVER
        interceptor = _seams.interceptor
        context = interceptor.on_send(dst, payload.tensors) if interceptor is not None else None
        call_id = next(self._ids)
        self._pending[call_id] = fut
        if context is None:
            self._post(dst, kind, payload, 0, call_id, 0, 0, name, extra, extra2)
        else:
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
    ) -> Future:
        """Send an internal message; the future of its answer, `(bytes, list of arrays)`. No pickle on the way."""
        timeout = self.rpc_timeout if timeout is None else timeout
        fut = Future()
        fut._info = (dst, MessageType(kind).name, timeout)
        fut._deadline = _monotonic() + timeout if timeout else _NEVER
        payload = encode_raw(body, arrays)
        call_id = next(self._ids)
        self._pending[call_id] = fut
        self._post(dst, kind, payload, 0, call_id, context[0], context[1], b"", extra, extra2)
        if dst in self.gone:
            self._fail_calls_to(dst)
        return fut

    def notify(
        self, dst: int, kind: int, body: bytes = b"", arrays: Any = (), extra: int = 0, extra2: int = 0,
        context: tuple[int, int] = (0, 0),
    ) -> None:
        """Send an internal message that has no answer. Not counted by graceful shutdown: use `request` where it matters."""
        self._post(dst, kind, encode_raw(body, arrays), 0, NO_CALL, context[0], context[1], b"", extra, extra2)

    def wait(self, fut: Future, deadline: float | None = None) -> None:
        """Make progress until `fut` is done, its call has timed out, or `deadline` has passed."""
        self.progress.wait(fut, deadline)

    def call_sync(self, dst: int, func: Callable[..., Any], args: Any, kwargs: Any, timeout: float) -> Any:
        """`call` and wait for the answer."""
        fut = self.call(dst, func, args, kwargs, timeout)
        while not fut._state:
            self.progress.wait(fut, fut._deadline)
            if not fut._state:
                self._housekeep(_monotonic())
        if fut._state == 2:
            raise fut._value
        return fut._value

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
        mode, data, meta, follow, _ = payload
        length = HEADER_SIZE + len(data) + len(meta) + len(name)
        epoch = self.epochs.get(dst, 0)
        if not follow and length <= FRAME_MAX:
            frame = (
                _pack(
                    kind, mode, flags, epoch, 0, self.rank, length, len(name), len(meta), 0,
                    call_id, context_id, message_id, extra, extra2,
                )
                + data + meta + name
            )  # fmt: skip
            self.progress.post(dst, frame, follow, 0)
            return
        body = data + meta + name
        if length + TRANSFER.size * (len(follow) + 1) > FRAME_MAX:
            follow = [_bytes_array(body), *follow]
            flags |= BODY_FOLLOWS
            body = b""
        tag = next(self._tags) * 1024
        length = HEADER_SIZE + len(body) + TRANSFER.size * len(follow)
        head = _pack(
            kind, mode, flags, epoch, len(follow), self.rank, length, len(name), len(meta), tag,
            call_id, context_id, message_id, extra, extra2,
        )  # fmt: skip
        table = b"".join([TRANSFER.pack(array.nbytes) for array in follow])
        self.progress.post(dst, head + body + table, follow, tag)

    # Receiving

    def _receive(self, frame: Any, waiting_for: Future | None) -> Any:
        """Do what a frame asks for, or return it if that may run user code. `waiting_for`: what this thread waits for."""
        kind = frame[0]
        if kind == _REPLY or kind == _EXCEPTION:
            return self._receive_answer(frame, waiting_for)
        if self.epoch and frame[4] | frame[5] << 8 != self.epoch:
            return None  # meant for an earlier life of this worker
        if kind == _CALL:
            return frame
        entry = _seams.handlers.get(kind)
        if entry is not None and entry.in_place:
            self._serve_internal(frame, entry.fn)
            return None
        return frame

    def _receive_answer(self, frame: Any, waiting_for: Future | None) -> Any:
        kind, mode, flags, _, _, src, _, fn_len, meta_len, _, call_id, context_id, message_id, _, _ = _unpack(frame)
        fut = self._pending.get(call_id)
        if fut is None:
            return frame if mode == PICKLE else None
        if mode == PICKLE and fut is not waiting_for:
            return frame  # may run user code: __setstate__ and the like
        self._complete(frame)
        return None

    def _complete(self, frame: Any) -> None:
        """Complete the future of a call with its answer; decode and drop it when nobody waits any more."""
        kind, mode, flags, _, nseg, src, length, fn_len, meta_len, _, call_id, context_id, message_id, _, _ = _unpack(frame)
        fut = self._pending.pop(call_id, None)
        try:
            value: Any = None
            state = 1
            if mode or kind == _EXCEPTION:
                buffer, offset, meta, _name, followed = _parts(frame, flags, nseg, length, fn_len, meta_len)
                value, tensors = decode(self, src, mode, buffer, offset, meta, followed)
                if kind == _EXCEPTION:
                    value, state = unpack_error(value[0]), 2
                elif flags & HAS_CONTEXT and fut is not None and _seams.interceptor is not None:
                    _seams.interceptor.on_receive(src, context_id, message_id, tensors)
                if mode == FLAT:
                    value = value[0]
        except Exception as error:
            value, state = error, 2
        if fut is None:
            return
        self.latency.add(fut)
        fut._finish(state, value)
        if fut._callbacks:
            fut._run_callbacks()

    # Serving

    def _serve(self, work: Any) -> None:
        """Run user work: a frame, or a function of no arguments."""
        if not isinstance(work, bytearray):
            work()
            return
        kind = work[0]
        if kind == _CALL:
            self._serve_call(work)
        elif kind == _REPLY or kind == _EXCEPTION:
            self._complete(work)
        elif kind in _seams.handlers:
            self._serve_internal(work, _seams.handlers[kind].fn)
        elif kind in _seams.call_handlers:
            self._serve_special(work, _seams.call_handlers[kind])
        else:
            error = RuntimeError(f"{self.info} has no handler for messages of type {kind}")
            self._answer_error(_unpack(work)[5], _unpack(work)[10], error)

    def _serve_call(self, frame: Any) -> None:
        """Run the function of a request and answer it."""
        _, mode, flags, _, nseg, src, length, fn_len, meta_len, _, call_id, context_id, message_id, _, _ = _unpack(frame)
        self._serving[call_id << 20 | src] = None
        try:
            buffer, offset, meta, name, followed = _parts(frame, flags, nseg, length, fn_len, meta_len)
            func = function_of(name) if fn_len else None
            args: Any
            args, tensors = decode(self, src, mode, buffer, offset, meta, followed)
            kwargs: Any = None
            if mode == PICKLE:
                if func is None:
                    func, args, kwargs = args
                else:
                    args, kwargs = args
            del frame, buffer, followed
            if flags & HAS_CONTEXT and _seams.interceptor is not None:
                interceptor = _seams.interceptor
                context = interceptor.on_receive(src, context_id, message_id, tensors)
                with interceptor.running(context):
                    self._run_and_answer(src, call_id, func, args, kwargs, (interceptor, context))
            else:
                self._run_and_answer(src, call_id, func, args, kwargs, None)
        except BaseException as error:
            self._answer_error(src, call_id, error)

    def _run_and_answer(self, src: int, call_id: int, func: Any, args: Any, kwargs: Any, inside: Any) -> None:
        """`inside`: None, or the interceptor and the context within which this runs."""
        result = func(*args, **kwargs) if kwargs else func(*args) if args is not None else func()
        if getattr(func, "_wrapped_async_rpc_function", None) is not None:
            self._answer_later(src, call_id, func, result, inside)
        else:
            self._answer(src, call_id, result, inside is not None)

    def _answer_later(self, src: int, call_id: int, func: Any, result: Any, inside: Any) -> None:
        if not isinstance(result, Future):
            raise RuntimeError(
                "Functions decorated with @rpc.async_function must return a mpigrad.futures.Future object, "
                f"but got {type(result).__module__}.{type(result).__name__} from {label(func)}"
            )

        def ready(fut: Future) -> None:
            try:
                value = fut.value()
                if inside is None:
                    self._answer(src, call_id, value, False)
                else:
                    with inside[0].running(inside[1]):
                        self._answer(src, call_id, value, True)
            except BaseException as error:
                self._answer_error(src, call_id, error)

        result.add_done_callback(ready)

    def _answer(self, src: int, call_id: int, result: Any, in_context: bool) -> None:
        """Send a result. Raises, having sent nothing, when it cannot be encoded."""
        payload: Payload | None
        if result is None:
            payload = NOTHING
        else:
            payload = encode_flat((result,))
            if payload is None:
                payload = encode_any(self, src, result)
        if in_context:
            context = _seams.interceptor.on_send(src, payload.tensors)  # type: ignore[union-attr]
            if context is not None:
                self._done(src, call_id)
                self._post(src, _REPLY, payload, HAS_CONTEXT, call_id, context[0], context[1], b"", 0, 0)
                return
        self._done(src, call_id)
        self._post(src, _REPLY, payload, 0, call_id, 0, 0, b"", 0, 0)

    def _answer_error(self, src: int, call_id: int, error: BaseException) -> None:
        self._done(src, call_id)
        if call_id == NO_CALL:
            logger.error("%s: a message from rank %s failed", self.info, src, exc_info=error)
            return
        if isinstance(error.__cause__, RemoteTraceback):
            error.__traceback__ = None
        self._post(src, _EXCEPTION, encode_raw(pack_error(self.info, error), []), 0, call_id, 0, 0, b"", 0, 0)

    def _done(self, src: int, call_id: int) -> None:
        self._serving.pop(call_id << 20 | src, None)
        if call_id != NO_CALL:
            next(self._handled)

    def _serve_internal(self, frame: Any, handler: _seams.Handler) -> None:
        """Let another layer's handler answer a message."""
        _, mode, flags, _, nseg, src, length, fn_len, meta_len, _, call_id, context_id, message_id, extra, extra2 = _unpack(frame)
        try:
            buffer, offset, meta, _name, followed = _parts(frame, flags, nseg, length, fn_len, meta_len)
            body, arrays = decode(self, src, mode, buffer, offset, meta, followed)[0] if mode == RAW else (b"", [])
            message = _seams.RawMessage(src, bytes(body), arrays, extra, extra2, context_id, message_id)
            answer = handler(self, message)
            if isinstance(answer, Future):
                answer._add(lambda fut: self._answer_internal_later(src, call_id, fut))
            else:
                self._answer_internal(src, call_id, answer)
        except BaseException as error:
            self._answer_error(src, call_id, error)

    def _answer_internal_later(self, src: int, call_id: int, fut: Future) -> None:
        try:
            self._answer_internal(src, call_id, fut.value())
        except BaseException as error:
            self._answer_error(src, call_id, error)

    def _answer_internal(self, src: int, call_id: int, answer: Any) -> None:
        if call_id == NO_CALL:
            return
        body, arrays = answer if isinstance(answer, tuple) else (answer or b"", ())
        payload = encode_raw(body, arrays)
        self._done(src, call_id)
        self._post(src, _REPLY, payload, 0, call_id, 0, 0, b"", 0, 0)

    def _serve_special(self, frame: Any, handler: _seams.CallHandler) -> None:
        """Let another layer serve a request that carries a user function."""
        kind, _, flags, _, _, src, _, _, _, _, call_id, context_id, message_id, extra, extra2 = _unpack(frame)
        header = _seams.CallHeader(src, kind, call_id, extra, extra2, context_id, message_id)
        self._serving[call_id << 20 | src] = None
        try:
            func, args, kwargs, tensors = self._decode_call(frame)
            interceptor = _seams.interceptor if flags & HAS_CONTEXT else None
            if interceptor is None:
                result = handler(self, header, lambda: func(*args, **kwargs))
                self._answer(src, call_id, result, False)
                return
            with interceptor.running(interceptor.on_receive(src, context_id, message_id, tensors)):
                result = handler(self, header, lambda: func(*args, **kwargs))
                self._answer(src, call_id, result, True)
        except BaseException as error:
            self._answer_error(src, call_id, error)

    def _decode_call(self, frame: Any) -> tuple[Any, Any, Any, Any]:
        _, mode, flags, _, nseg, src, length, fn_len, meta_len, *_ = _unpack(frame)
        buffer, offset, meta, name, followed = _parts(frame, flags, nseg, length, fn_len, meta_len)
        func = function_of(name) if fn_len else None
        args, tensors = decode(self, src, mode, buffer, offset, meta, followed)
        kwargs: Any = {}
        if mode == PICKLE:
            if func is None:
                func, args, kwargs = args
            else:
                args, kwargs = args
        return func, args or (), kwargs or {}, tensors

    # Time and departures

    def _housekeep(self, now: float) -> None:
        """Fail the calls whose time is over."""
        for call_id, fut in list(self._pending.items()):
            if fut._deadline <= now and self._pending.pop(call_id, None) is not None:
                self._fail(fut, self._timeout_error(fut))

    def _timeout_error(self, fut: Future) -> Exception:
        dst, func, seconds = fut._info
        what = func if isinstance(func, str) else label(func)
        return RpcTimeoutError(
            f"RPCErr:1:RPC ran for more than set timeout ({seconds * 1000:.0f} ms) and will now be marked with an error: "
            f"{what} on {self.workers.get(dst, dst)} did not answer within {seconds} s"
        )

    def _fail(self, fut: Future, error: Exception) -> None:
        fut._finish(2, error)
        if fut._callbacks:
            self.progress.submit(fut._call_callbacks)

    def lose(self, rank: int, why: str) -> None:
        """A worker is gone: its calls fail, now and later."""
        self.gone[rank] = why
        info = self.workers.pop(rank, None)
        if info is not None and self.by_name.get(info.name) is info:
            del self.by_name[info.name]
        self._fail_calls_to(rank)

    def _fail_calls_to(self, rank: int) -> None:
        for call_id, fut in list(self._pending.items()):
            if fut._info[0] == rank and self._pending.pop(call_id, None) is not None:
                self._fail(fut, WorkerGoneError(self.gone.get(rank, f"rank {rank} has left")))

    def fail_everything(self, why: str) -> None:
        """Fail all calls that are under way; for the end of the agent."""
        for call_id, fut in list(self._pending.items()):
            if self._pending.pop(call_id, None) is not None:
                self._fail(fut, WorkerGoneError(why))

    # The world

    def find(self, to: Any) -> WorkerInfo:
        """The worker of a name, rank or WorkerInfo; RuntimeError with the known ones otherwise."""
        if type(to) is str:
            found = self.by_name.get(to)
            what = "name"
        elif isinstance(to, WorkerInfo):
            found, what = self.workers.get(to.id), "id"
            to = to.id
        elif isinstance(to, int):
            found, what = self.workers.get(to), "id"
        else:
            raise ValueError(f"Cannot get WorkerInfo from name {to}")
        if found is None and self.unknown_worker is not None:
            found = self.unknown_worker(to)
        if found is None:
            raise self._unknown(what, to)
        return found

    def _unknown(self, what: str, to: Any) -> Exception:
        known = ", ".join(str(info) for _, info in sorted(self.workers.items())[:20])
        more = f" and {len(self.workers) - 20} more" if len(self.workers) > 20 else ""
        reason = self.gone.get(to) if isinstance(to, int) else next((w for w in self.gone.values() if f"name={to})" in w), None)
        return RuntimeError(
            f"name:{self.info.name},rank:{self.rank} could not find destination {what} {to}"
            + (f" ({reason})" if reason else "")
            + f"; known workers: {known}{more}"
        )

    def issued_and_handled(self) -> tuple[int, int]:
        """How many requests this worker has issued, and how many it has finished for others, so far."""
        return self._ids.__reduce__()[1][0] - 1, self._handled.__reduce__()[1][0]

    def quiet(self) -> bool:
        """Whether nothing is under way here: no call of ours, no function of others."""
        counts = self.progress.counts()
        return not (self._pending or self._serving or counts["queued"] or self.progress.outbox)

    def debug_info(self) -> dict[str, Any]:
        """Counters of calls and threads."""
        return {**self.progress.counts(), "pending": len(self._pending), "serving": len(self._serving)}


class Latency:
    """Counts answered calls by power of two of their microseconds; filled only when switched on."""

    def __init__(self) -> None:
        self.on = False

    def add(self, fut: Future) -> None:
        pass


def _parts(frame: Any, flags: int, nseg: int, length: int, fn_len: int, meta_len: int) -> tuple[Any, int, bytes, bytes, Any]:
    """Buffer and offset of the array data, meta, function name, and the arrays that followed; ValueError if they cannot be."""
    if not nseg:
        if length != len(frame):
            raise ValueError(f"malformed message: {length} bytes announced, {len(frame)} received")
        middle = length - fn_len
        start = middle - meta_len
        if start < HEADER_SIZE:
            raise ValueError(f"malformed message: function of {fn_len} and meta of {meta_len} bytes in a frame of {length}")
        return frame, HEADER_SIZE, bytes(frame[start:middle]), bytes(frame[middle:]), ()
    followed = frame.followed
    if flags & BODY_FOLLOWS:
        buffer, end, offset = followed[0], followed[0].nbytes, 0
        followed = followed[1:]
    else:
        buffer, end, offset = frame, length - TRANSFER.size * nseg, HEADER_SIZE
    middle = end - fn_len
    start = middle - meta_len
    if start < offset:
        raise ValueError(f"malformed message: function of {fn_len} and meta of {meta_len} bytes in a body of {end}")
    return buffer, offset, bytes(buffer[start:middle]), bytes(buffer[middle:end]), followed


def _bytes_array(data: bytes) -> Any:
    import numpy as np

    return np.frombuffer(data, np.uint8)
