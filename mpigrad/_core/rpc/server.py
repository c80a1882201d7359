"""The server: what this worker does with the requests of others.

Invariants
- Every received request is answered exactly once if it has a call id, also when it fails; `handled` counts those
  that are done. Graceful shutdown compares it with the requests issued, summed over all workers.
- User code (functions, callbacks, pickles of users' classes) runs as *work*, which the pool puts on a stack where it
  may run. Plain operators of the library cannot block: a thread that waits for an answer runs them itself.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from mpigrad.distributed.rpc._agent.counter import Counter
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.errors import RemoteTraceback, pack_error, print_error
from mpigrad.distributed.rpc._protocol.message import (
    CUSTOM,
    FLAT,
    HAS_CONTEXT,
    IS_TUPLE,
    NO_CALL,
    OPERATOR_CALL,
    PICKLE,
    RAW,
    MessageType,
)

from ..future import Future
from .codec import Header, epoch_of, flags_of, mode_of, read_header
from .function_names import function_of, label
from .instruments import INSTRUMENTS, tell
from .payload import NOTHING, Payload, decode_frame, encode_any, encode_flat, encode_raw
from .raw_message import RawMessage
from .sender import Sender

if TYPE_CHECKING:
    from .agent import Agent

logger = logging.getLogger(__name__)

_CALL = int(MessageType.PYTHON_CALL)
_REPLY = int(MessageType.REPLY)
_EXCEPTION = int(MessageType.EXCEPTION)
_NO_KWARGS: dict[str, Any] = {}


class Server:
    """Serves the requests that come to one agent."""

    def __init__(self, agent: Agent, sender: Sender) -> None:
        self.epoch = 0  # this worker's incarnation in a dynamic group; 0 in static ones
        self.handled = Counter()  # requests that were served
        self.running: dict[Header, None] = {}  # headers of the requests that are being served
        self._agent, self._sender, self._instruments = agent, sender, INSTRUMENTS
        self._handled, self._handlers, self._interceptor = self.handled.numbers, extensions.handlers, extensions.interceptor

    def receive(self, frame: Any, kind: int, waiting: bool) -> Any:
        """Serve a request on this thread, or return it if that may run user code. `waiting`: this thread waits for a future."""
        if self.epoch and epoch_of(frame) not in (0, self.epoch):
            return None  # meant for an earlier incarnation of this worker
        if kind == _CALL:
            return frame
        if kind == OPERATOR_CALL:
            # Outside of contexts and without a pickle an operator cannot block: a waiting thread runs it instead of handing it
            # over. The leader runs it as work, which it can take up at once.
            if not waiting or type(frame) is not bytearray or flags_of(frame) & HAS_CONTEXT or mode_of(frame) > FLAT:
                return frame
        else:
            entry = self._handlers.get(kind)
            if entry is None or not entry.in_place:
                return frame
        self.serve(frame, kind)
        return None

    def serve(self, frame: Any, kind: int) -> None:
        """Serve a request where user code may run."""
        observers = self._instruments.active
        if not observers:
            self.dispatch(frame, kind)
            return
        header = read_header(frame)
        tell(observers, "before_serve", self._agent, header.src, kind, header.call_id, header.extra)
        try:
            self.dispatch(frame, kind)
        finally:
            tell(observers, "after_serve", self._agent)

    def dispatch(self, frame: Any, kind: int) -> None:
        """Serve a request by its type."""
        header = read_header(frame)
        if kind == _CALL or kind == OPERATOR_CALL:
            self._serve_call(frame, header)
        elif kind in self._handlers:
            self._serve_internal(frame, header, self._handlers[kind].fn)
        elif kind in extensions.call_handlers:
            self._serve_special(frame, header, extensions.call_handlers[kind])
        else:
            error = RuntimeError(f"{self._agent.info} has no handler for messages of type {kind}")
            self._answer_internal_error(header, error)

    # -- calls of functions --------------------------------------------------------------------------------------------
    def _serve_call(self, frame: Any, header: Header) -> None:
        """Run the function of a request and answer it."""
        self.running[header] = None
        try:
            func, args, kwargs, tensors = self._decode_call(frame, header)
            del frame
            interceptor = self._interceptor if header.flags & HAS_CONTEXT else None
            if interceptor is None:
                self._run_and_answer(header, func, args, kwargs, False, None)
                return
            context = interceptor.on_receive(self._agent, header.src, header.context_id, header.message_id, tensors)
            current = interceptor.current
            before, current.context = current.context, context
            try:
                self._run_and_answer(header, func, args, kwargs, True, context)
            finally:
                current.context = before
        except BaseException as error:
            print_error(self._agent.info, error)
            self._answer_error(header, error)

    def _serve_special(self, frame: Any, header: Header, handler: extensions.CallHandler) -> None:
        """Let another layer serve a request that carries a user function."""
        told = extensions.CallHeader(
            header.src, header.kind, header.call_id, header.extra, header.extra2, header.context_id, header.message_id
        )
        self.running[header] = None
        try:
            func, args, kwargs, tensors = self._decode_call(frame, header)
            interceptor = self._interceptor if header.flags & HAS_CONTEXT else None
            execute = partial(_execute, func, args, kwargs)  # unpacks in the handler: its errors are the function's
            if interceptor is None:
                self._answer_special(header, handler(self._agent, told, execute), False, None)
                return
            context = interceptor.on_receive(self._agent, header.src, header.context_id, header.message_id, tensors)
            with interceptor.running(context):
                self._answer_special(header, handler(self._agent, told, execute), True, context)
        except BaseException as error:
            self._answer_error(header, error)

    def _decode_call(self, frame: Any, header: Header) -> tuple[Any, Any, Any, Any]:
        """The function of a request, its arguments, and the tensors among them."""
        # decoded before the function is looked up: RRefs in the arguments must exist in order to end
        args, tensors, name = decode_frame(self._agent, frame, header)
        func = function_of(name) if name else None
        kwargs: Any = None
        if header.mode == PICKLE or header.mode == CUSTOM:
            if func is None:
                func, args, kwargs = args
            else:
                args, kwargs = args
        return func, () if args is None else args, kwargs or _NO_KWARGS, tensors

    def _run_and_answer(
        self, header: Header, func: Any, args: Any, kwargs: Any, in_context: bool, context: Any
    ) -> None:
        """Run a function inside the context of its request (which may have been released: None), and answer."""
        result = func(*args, **kwargs) if kwargs else func(*args)
        if getattr(func, "_wrapped_async_rpc_function", None) is not None:
            self._answer_later(header, func, result, in_context, context)
        else:
            self._answer(header, result, in_context)

    def _answer_special(self, header: Header, result: Any, in_context: bool, context: Any) -> None:
        if isinstance(result, Future):
            self._answer_later(header, None, result, in_context, context)
        else:
            self._answer(header, result, in_context)

    # -- messages of other layers --------------------------------------------------------------------------------------
    def _serve_internal(self, frame: Any, header: Header, handler: extensions.Handler) -> None:
        """Let another layer's handler answer a message."""
        try:
            body, arrays = b"", []
            if header.mode == RAW:
                body, arrays = decode_frame(self._agent, frame, header)[0]
            message = RawMessage(
                header.src, body, arrays, header.extra, header.extra2, header.context_id, header.message_id
            )
            answer = handler(self._agent, message)
            if isinstance(answer, Future):
                answer._add(partial(self._answer_internal_later, header))
            else:
                self._answer_internal(header, answer)
        except BaseException as error:
            self._answer_internal_error(header, error)

    def _answer_internal_later(self, header: Header, fut: Future) -> None:
        try:
            self._answer_internal(header, fut.value())
        except BaseException as error:
            self._answer_internal_error(header, error)

    def _answer_internal(self, header: Header, answer: Any) -> None:
        if header.call_id == NO_CALL:
            return
        if answer is None:
            payload = NOTHING
        else:
            payload = encode_raw(*answer) if type(answer) is tuple else encode_raw(answer, [])
        self._sender.send(header.src, _REPLY, payload, 0, header.call_id)
        next(self._handled)  # not before: if the answer cannot be sent, the error is, and counts

    def _answer_internal_error(self, header: Header, error: BaseException) -> None:
        if header.call_id != NO_CALL:
            next(self._handled)
        self._send_error(header, error)

    # -- answers -------------------------------------------------------------------------------------------------------
    def _answer(self, header: Header, result: Any, in_context: bool) -> None:
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
                payload, flags = encode_any(self._agent, header.src, result, "Response"), 0
        context_id = message_id = 0
        if in_context:
            recorded = self._interceptor.on_send(self._agent, header.src, payload.tensors)  # type: ignore[union-attr]
            if recorded is not None:
                context_id, message_id = recorded
                flags |= HAS_CONTEXT
        self._done(header)
        self._sender.send(header.src, _REPLY, payload, flags, header.call_id, context_id, message_id)

    def _answer_later(self, header: Header, func: Any, result: Any, in_context: bool, context: Any) -> None:
        """Send the value of a future once it is there, inside the context of the request."""
        _check_is_future(func, result)

        def ready(fut: Future) -> None:
            try:
                value = fut.value()
                if in_context:
                    with self._interceptor.running(context):  # type: ignore[union-attr]
                        self._answer(header, value, True)
                else:
                    self._answer(header, value, False)
            except BaseException as error:
                self._answer_error(header, error)

        def completed(fut: Future) -> None:
            if not _is_flat(fut) and self._agent.defer(partial(ready, fut)):  # pickling may run user code
                return
            ready(fut)

        result._add(completed)

    def _answer_error(self, header: Header, error: BaseException) -> None:
        self._done(header)
        self._send_error(header, error)

    def _send_error(self, header: Header, error: BaseException) -> None:
        if header.call_id == NO_CALL:
            logger.error("%s: a message from rank %s failed", self._agent.info, header.src, exc_info=error)
            return
        if isinstance(error.__cause__, RemoteTraceback):
            error.__traceback__ = None
        self.send_error(header.src, header.call_id, error)

    def send_error(self, dst: int, call_id: int, error: BaseException) -> None:
        """Answer a call with an exception."""
        try:
            packed = pack_error(self._agent.info, error)
        except BaseException as failure:  # in methods of the user's exception: the caller must have an answer all the same
            text = f"{type(error).__name__}, which cannot be described: {type(failure).__name__} in its methods"
            packed = pack_error(self._agent.info, RuntimeError(text))
        self._sender.send(dst, _EXCEPTION, encode_raw(packed, []), 0, call_id)

    def _done(self, header: Header) -> None:
        """Count a call as handled, once: an answer that could not be sent is followed by an error."""
        found = self.running.pop(header, self) is None  # the value of an entry
        if found and header.call_id != NO_CALL:
            next(self._handled)


def _check_is_future(func: Any, result: Any) -> None:
    """Refuse what a function marked with `async_execution` returned, unless it is a future."""
    if isinstance(result, Future):
        return
    if getattr(func, "_jit_mark", None) == "script":
        raise RuntimeError(
            f"Async functions must return an IValue of Future type, but got {type(result).__name__} from {label(func)}"
        )
    raise RuntimeError(
        "Functions decorated with @rpc.async_function must return a mpigrad.futures.Future object, "
        f"but got {type(result).__module__}.{type(result).__name__} from {label(func)}"
    )


def _execute(func: Any, args: Any, kwargs: Any) -> Any:
    result = func(*args, **kwargs)
    if getattr(func, "_wrapped_async_rpc_function", None) is not None:
        _check_is_future(func, result)
    return result


def _is_flat(fut: Future) -> bool:
    """Whether a result travels without a pickle."""
    value = fut._value
    return fut._state == 1 and (value is None or encode_flat(value if type(value) is tuple and value else (value,)) is not None)
