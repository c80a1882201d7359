"""Serving: what this worker does with the requests of others.

Invariants
- Every received request is answered exactly once if it has a call id, whatever goes wrong in it; `_handled` counts
  those that are done: graceful shutdown compares it with the requests issued, summed over all workers.
- User code (functions, callbacks, pickles of users' classes) runs as *work*, which `Progress` puts on a stack where it
  may run. Library operators cannot block and run on whatever stack received them.
"""

from __future__ import annotations

import itertools
import logging
from functools import partial
from typing import Any

from mpigrad.futures._future import Future

from .._protocol import extensions
from .._protocol.errors import RemoteTraceback, pack_error
from .._protocol.frame import RawMessage, parts
from .._protocol.function_names import function_of, label
from .._protocol.header import read_header
from .._protocol.message import CUSTOM, FLAT, HAS_CONTEXT, IS_TUPLE, NO_CALL, PICKLE, RAW, MessageType
from .._wire.payload import NOTHING, Payload, decode, encode_any, encode_flat, encode_raw
from .call_table import Calls

logger = logging.getLogger(__name__)

_CALL = int(MessageType.PYTHON_CALL)
_LIBRARY_CALL = int(MessageType.SCRIPT_CALL)
_REPLY = int(MessageType.REPLY)
_EXCEPTION = int(MessageType.EXCEPTION)


class Serving(Calls):
    """The serving half of an agent."""

    def __init__(self) -> None:
        super().__init__()
        self.epoch: int
        self._handled = itertools.count(0)
        self._serving: dict[int, None] = {}

    def _receive(self, frame: Any, waiting_for: Future | None) -> Any:
        """Do what a frame asks for, or return it if that may run user code. `waiting_for`: what this thread waits for.
        """
        kind = frame[0]
        try:
            if kind == _REPLY or kind == _EXCEPTION:
                return self._receive_answer(frame, waiting_for)
            if self.epoch and _other_life(frame, self.epoch):
                return None
            if kind == _CALL:
                return frame
            if kind == _LIBRARY_CALL:
                if waiting_for is None or type(frame) is not bytearray or frame[2] & HAS_CONTEXT or frame[1] > FLAT:
                    return frame
                self._serve_call(frame)
                return None
            entry = extensions.handlers.get(kind)
            if entry is None or not entry.in_place:
                return frame
            self._serve_internal(frame, entry.fn)
        except Exception:
            logger.exception("%s: a message of type %s could not be handled", self.info, kind)
        return None

    def _serve(self, work: Any) -> None:
        """Run user work: a frame, or a function of no arguments."""
        if not isinstance(work, bytearray):
            work()
            return
        kind = work[0]
        if kind == _CALL or kind == _LIBRARY_CALL:
            self._serve_call(work)
        elif kind == _REPLY or kind == _EXCEPTION:
            self._complete(work)
        elif kind in extensions.handlers:
            self._serve_internal(work, extensions.handlers[kind].fn)
        elif kind in extensions.call_handlers:
            self._serve_special(work, extensions.call_handlers[kind])
        else:
            error = RuntimeError(f"{self.info} has no handler for messages of type {kind}")
            header = read_header(work)
            self._answer_error(header.src, header.call_id, error)

    def _serve_call(self, frame: Any) -> None:
        """Run the function of a request and answer it."""
        header = read_header(frame)
        mode, flags, src, call_id = header.mode, header.flags, header.src, header.call_id
        self._serving[call_id << 20 | src] = None
        try:
            buffer, offset, meta, name, followed = parts(frame, header)
            args: Any  # decoded before the function is looked up: RRefs in it must come to life in order to end
            args, tensors = decode(self, src, mode, buffer, offset, meta, followed)
            func = function_of(name) if name else None
            kwargs: Any = None
            if mode == PICKLE or mode == CUSTOM:
                if func is None:
                    func, args, kwargs = args
                else:
                    args, kwargs = args
            del frame, buffer, followed
            interceptor = extensions.interceptor if flags & HAS_CONTEXT else None
            if interceptor is not None:
                context = interceptor.on_receive(src, header.context_id, header.message_id, tensors)
                current = interceptor.current
                before, current.context = current.context, context
                try:
                    self._run_and_answer(src, call_id, func, args, kwargs, (interceptor, context))
                finally:
                    current.context = before
            else:
                self._run_and_answer(src, call_id, func, args, kwargs, None)
        except BaseException as error:
            self._answer_error(src, call_id, error)

    def _run_and_answer(self, src: int, call_id: int, func: Any, args: Any, kwargs: Any, inside: Any) -> None:
        """`inside`: None, or the interceptor and the context within which this runs."""
        result = func(*(args or ()), **kwargs) if kwargs else func(*args) if args is not None else func()
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

        result._add(ready)

    def _answer(self, src: int, call_id: int, result: Any, in_context: bool) -> None:
        """Send a result. Raises, having sent nothing, when it cannot be encoded."""
        payload: Payload | None
        flags = 0
        if result is None:
            payload = NOTHING
        else:
            if type(result) is tuple and result:
                payload, flags = encode_flat(result), IS_TUPLE
            else:
                payload = encode_flat((result,))
            if payload is None:
                payload, flags = encode_any(self, src, result, "Response"), 0
        context_id = message_id = 0
        if in_context:
            context = extensions.interceptor.on_send(src, payload[4])  # type: ignore[union-attr]
            if context is not None:
                context_id, message_id = context
                flags |= HAS_CONTEXT
        self._serving.pop(call_id << 20 | src, None)
        next(self._handled)
        self._post(src, _REPLY, payload, flags, call_id, context_id, message_id, b"", 0, 0)

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

    def _serve_internal(self, frame: Any, handler: extensions.Handler) -> None:
        """Let another layer's handler answer a message."""
        header = read_header(frame)
        mode, src, call_id = header.mode, header.src, header.call_id
        try:
            buffer, offset, meta, _name, followed = parts(frame, header)
            body, arrays = decode(self, src, mode, buffer, offset, meta, followed)[0] if mode == RAW else (b"", [])
            message = RawMessage(
                src, body, arrays, header.extra, header.extra2, header.context_id, header.message_id
            )
            buffer = followed = None  # the handler may keep what nobody else holds
            answer = handler(self, message)
            if isinstance(answer, Future):
                answer._add(partial(self._answer_internal_later, src, call_id))
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
        if answer is None:
            payload = NOTHING
        else:
            payload = encode_raw(*answer) if type(answer) is tuple else encode_raw(answer, [])
        next(self._handled)
        self._post(src, _REPLY, payload, 0, call_id, 0, 0, b"", 0, 0)

    def _serve_special(self, frame: Any, handler: extensions.CallHandler) -> None:
        """Let another layer serve a request that carries a user function."""
        read = read_header(frame)
        src, call_id = read.src, read.call_id
        header = extensions.CallHeader(src, read.kind, call_id, read.extra, read.extra2, read.context_id, read.message_id)
        self._serving[call_id << 20 | src] = None
        try:
            func, args, kwargs, tensors = self._decode_call(frame)
            interceptor = extensions.interceptor if read.flags & HAS_CONTEXT else None
            if interceptor is None:
                self._answer_special(src, call_id, handler(self, header, lambda: func(*args, **kwargs)), None)
                return
            context = interceptor.on_receive(src, read.context_id, read.message_id, tensors)
            with interceptor.running(context):
                result = handler(self, header, lambda: func(*args, **kwargs))
                self._answer_special(src, call_id, result, (interceptor, context))
        except BaseException as error:
            self._answer_error(src, call_id, error)

    def _answer_special(self, src: int, call_id: int, result: Any, inside: Any) -> None:
        if isinstance(result, Future):
            self._answer_later(src, call_id, None, result, inside)
        else:
            self._answer(src, call_id, result, inside is not None)

    def _decode_call(self, frame: Any) -> tuple[Any, Any, Any, Any]:
        header = read_header(frame)
        mode = header.mode
        buffer, offset, meta, name, followed = parts(frame, header)
        args, tensors = decode(self, header.src, mode, buffer, offset, meta, followed)
        func = function_of(name) if name else None
        kwargs: Any = {}
        if mode == PICKLE or mode == CUSTOM:
            if func is None:
                func, args, kwargs = args
            else:
                args, kwargs = args
        return func, args or (), kwargs or {}, tensors


def _other_life(frame: Any, epoch: int) -> bool:
    """Whether a frame was meant for an earlier life of this worker."""
    meant = frame[4] | frame[5] << 8
    return meant != 0 and meant != epoch
