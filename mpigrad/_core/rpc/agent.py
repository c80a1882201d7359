"""`Agent`: one worker of an RPC world. It has a call table, a server and progress, and knows the other workers.

The server handles the requests of other workers. Its invariants
- Every received request with a call id is answered exactly once, also if it fails; `handled` counts the answered ones. Graceful
  shutdown compares their sum over all workers with that of the requests issued.
- User code (functions, callbacks, unpickling of users' classes) runs as *work*: the pool decides on which thread. Operators of
  the library cannot block, so a thread that waits for an answer runs them itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from mpigrad._graph.grad_mode import MODE
from mpigrad.distributed.rpc._agent.counter import Counter
from mpigrad.distributed.rpc._agent.device_maps import Route
from mpigrad.distributed.rpc._progress.progress import Progress
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.errors import (
    RemoteTraceback,
    SendFailedError,
    WorkerGoneError,
    lost_error,
    pack_error,
    print_error,
)
from mpigrad.distributed.rpc._protocol.lost import Loss
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
from mpigrad.distributed.rpc._protocol.worker_info import WorkerInfo
from mpigrad.distributed.rpc._transport.receive_pool import kept_bytes
from mpigrad.interop._futures import following, is_torch_future

from ..future import Future
from ..guard import enter, leave
from .calls import CALL, EXCEPTION, INSTRUMENTS, CallFuture, CallTable, Sender, function_of, label, tell
from .frames import Header, epoch_of, flags_of, kind_of, mode_of, read_header
from .payload import NOTHING, Payload, decode_frame, encode_any, encode_flat, encode_raw
from .transport import Transport

if TYPE_CHECKING:
    from mpigrad.distributed.rpc._world.dynamic import Membership
    from mpigrad.distributed.rpc._world.shutdown import Closing

    from ..autograd.contexts import Worker
    from .rref import Table


# -- requests of others ------------------------------------------------------------------------------------------------
class RawMessage:
    """A received internal message: the rank of its sender, its bytes and arrays, and fields of its header.

    What `extra` and `extra2` mean depends on the type of the message.
    """

    __slots__ = ("arrays", "body", "context_id", "extra", "extra2", "message_id", "src")

    def __init__(
        self, src: int, body: bytes, arrays: list[Any], extra: int, extra2: int, context_id: int, message_id: int
    ) -> None:
        self.src, self.body, self.arrays, self.extra, self.extra2 = src, body, arrays, extra, extra2
        self.context_id, self.message_id = context_id, message_id


logger = logging.getLogger(__name__)

_CALL = int(MessageType.PYTHON_CALL)
_REPLY = int(MessageType.REPLY)
_EXCEPTION = int(MessageType.EXCEPTION)
_NO_KWARGS: dict[str, Any] = {}


class Server:
    """Serves the requests that one agent receives."""

    def __init__(self, agent: Agent, sender: Sender) -> None:
        self.epoch = 0  # this worker's incarnation in a dynamic world; 0 in static ones
        self.handled = Counter()  # counts answered requests
        self.running: dict[Header, None] = {}  # headers of the requests that are being served, a set in order
        self._agent, self._sender, self._instruments = agent, sender, INSTRUMENTS
        self._handled, self._handlers, self._interceptor = self.handled.numbers, extensions.handlers, extensions.interceptor

    def receive(self, frame: Any, kind: int, waiting: bool) -> Any:
        """Serve a request on this thread and return None; or return the frame, if it has to be served where user code may run.

        `kind` is the type of the message. `waiting`: this thread waits for a future, so it must not block. A request to
        an earlier incarnation of this worker is dropped.
        """
        if self.epoch and epoch_of(frame) not in (0, self.epoch):
            return None  # sent to an earlier incarnation of this worker
        if kind == _CALL:
            return frame
        if kind == OPERATOR_CALL:
            # Without a context and without a pickle an operator cannot block, so a waiting thread runs it itself: handing it
            # over to the pool would cost more. The leader returns it as work, which it runs at once.
            if not waiting or type(frame) is not bytearray or flags_of(frame) & HAS_CONTEXT or mode_of(frame) > FLAT:
                return frame
            if not MODE.enabled:  # the waiting thread is inside `no_grad`, which must not change the results of others
                return frame
        else:
            entry = self._handlers.get(kind)
            if entry is None or not entry.in_place:
                return frame
            asked = entry.runs_user_code
            if asked is not None and not waiting and asked(self._agent, read_header(frame).context_id):
                return frame  # the leader runs it at once; on a waiting thread the handler defers it
        self.serve(frame, kind)
        return None

    def serve(self, frame: Any, kind: int) -> None:
        """Serve a request, and call the instruments before and after; on a thread where user code may run."""
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
        """Serve a request according to its type `kind`; an unknown type is answered with an error."""
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
            del frame  # its memory is freed with the last argument that is a view of it, while the function runs
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
        """Let the handler of another layer (`extensions.CallHandler`) serve a request that carries a user function."""
        told = extensions.CallHeader(
            header.src, header.kind, header.call_id, header.extra, header.extra2, header.context_id, header.message_id
        )
        self.running[header] = None
        try:
            func, args, kwargs, tensors = self._decode_call(frame, header)
            interceptor = self._interceptor if header.flags & HAS_CONTEXT else None
            execute = partial(_execute, func, args, kwargs)  # its errors are the function's
            if interceptor is None:
                self._answer_special(header, handler(self._agent, told, execute), False, None)
                return
            context = interceptor.on_receive(self._agent, header.src, header.context_id, header.message_id, tensors)
            with interceptor.running(context):
                self._answer_special(header, handler(self._agent, told, execute), True, context)
        except BaseException as error:
            self._answer_error(header, error)

    def _decode_call(self, frame: Any, header: Header) -> tuple[Any, Any, Any, Any]:
        """Decode a request; returns the function, its arguments (a tuple and a dict), and the tensors among them."""
        # decode first: if the function does not exist, RRefs in the arguments must still be created to be released
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
        """Run a function and answer its request.

        `in_context`: the request came with an autograd context. `context` is that context, None if it has been released;
        the caller has made it current.
        """
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
        next(self._handled)  # counted after the send: if that fails, an error is sent and counted instead

    def _answer_internal_error(self, header: Header, error: BaseException) -> None:
        if header.call_id != NO_CALL:
            next(self._handled)
        self._send_error(header, error)

    # -- answers -------------------------------------------------------------------------------------------------------
    def _answer(self, header: Header, result: Any, in_context: bool) -> None:
        """Send a result, and record its tensors if `in_context`.

        Raises, without having sent anything, if the result cannot be encoded.
        """
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
        """Answer a request when the future `result` is completed, without occupying a thread until then.

        `in_context` and `context` are as in `_run_and_answer`; `func` is for error messages.
        """
        result = _as_future(func, result)

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
        """Answer the request of a user function with an exception."""
        self._done(header)
        self._send_error(header, error)

    def _send_error(self, header: Header, error: BaseException) -> None:
        """Send an exception to the caller, or log it if the message has no answer."""
        if header.call_id == NO_CALL:
            logger.error("%s: a message from rank %s failed", self._agent.info, header.src, exc_info=error)
            return
        if isinstance(error.__cause__, RemoteTraceback):  # from another worker: its traceback is in the cause
            error.__traceback__ = None
        self.send_error(header.src, header.call_id, error)

    def send_error(self, dst: int, call_id: int, error: BaseException) -> None:
        """Answer the call `call_id` of the rank `dst` with an exception. Never raises because of the exception itself."""
        try:
            packed = pack_error(self._agent.info, error)
        except BaseException as failure:  # methods of the user's exception failed: the caller needs an answer nevertheless
            text = f"{type(error).__name__}, which cannot be described: {type(failure).__name__} in its methods"
            packed = pack_error(self._agent.info, RuntimeError(text))
        self._sender.send(dst, _EXCEPTION, encode_raw(packed, []), 0, call_id)

    def _done(self, header: Header) -> None:
        """Count a request as handled, only once: if its answer cannot be sent, an error is sent for the same request."""
        found = self.running.pop(header, self) is None  # the entries' value is None; `self` stands for "no entry"
        if found and header.call_id != NO_CALL:
            next(self._handled)


def _as_future(func: Any, result: Any) -> Future:
    """Return the future that a function marked with `async_execution` has returned, ours or torch's; RuntimeError for others."""
    if isinstance(result, Future):
        return result
    if is_torch_future(result):
        return following(result)
    if getattr(func, "_jit_mark", None) == "script":
        raise RuntimeError(
            f"Async functions must return an IValue of Future type, but got {type(result).__name__} from {label(func)}"
        )
    raise RuntimeError(
        "Functions decorated with @rpc.async_function must return a mpigrad.futures.Future object, "
        f"but got {type(result).__module__}.{type(result).__name__} from {label(func)}"
    )


def _execute(func: Any, args: Any, kwargs: Any) -> tuple[Any, bool]:
    """Run a function; returns its result, and whether that is a Future which has to be waited for.

    It is if the function is marked with `async_execution`; otherwise a Future is just a value.
    """
    result, later = func(*args, **kwargs), getattr(func, "_wrapped_async_rpc_function", None) is not None
    return _as_future(func, result) if later else result, later


def _is_flat(fut: Future) -> bool:
    """Return whether the value of a future can be encoded without pickle, and so without running user code."""
    value = fut._value
    return fut._state == 1 and (value is None or encode_flat(value if type(value) is tuple and value else (value,)) is not None)


# -- the agent ---------------------------------------------------------------------------------------------------------
class Agent:
    """One worker of an RPC world: makes calls and serves those of others. Implements `MessageHandler` for its progress.

    Args:
        name: the name of the worker.
        transport: sends and receives its messages.
        num_worker_threads: how many user functions may run at a time.
        rpc_timeout: the default timeout of calls in seconds, 0 for none.
    """

    call_table_type = CallTable
    server_type = Server
    before_send = cast(Any, None)  # called before each send; with GPUs: `publish`
    moves_host_tensors = False  # whether a device map maps the CPU to a GPU
    computing = cast(Any, None)  # with GPUs: a context manager around the work of a backward pass

    def __init__(self, name: str, transport: Transport, num_worker_threads: int, rpc_timeout: float) -> None:
        self.rank = transport.rank
        self.info = WorkerInfo(name, transport.rank)
        self.rpc_timeout = rpc_timeout
        self.transport = transport
        self.workers = {self.rank: self.info}
        self.by_name = {name: self.info}
        self.gone: dict[int, str] = {}  # rank -> the reason why calls to it fail
        self.left: dict[int, WorkerInfo] = {}  # workers of a static world that have left: `find` still knows them, and calls fail
        self.lost: dict[int, Loss] = {}  # those of `gone` whose process was lost (`_world/lost.py`)
        self.epochs: dict[int, int] = {}  # rank -> its known incarnation (dynamic worlds)
        self.static = True
        self.autograd = cast("Worker", None)
        self.options: Any = None
        self.closing_protocol = cast("Closing", None)  # this and the next two are set before the agent starts
        self.membership: Membership | None = None  # in dynamic worlds
        self.communicator: Any = None
        self.slots: dict[str, Any] = {}  # state of other modules that belongs to the agent
        self.unknown_worker: Callable[[Any], WorkerInfo | None] | None = None
        self._instruments = INSTRUMENTS
        self.progress = (transport.make_progress or Progress)(transport, self, num_worker_threads, name)
        self.rrefs = cast("Table", None)
        self._idle = self.progress.idle
        self.sender = Sender(self, self.progress.queue, self.before_send)
        self.calls = self.call_table_type(self, self.sender, self.progress.waiters, self.progress.pool)
        self.server = self.server_type(self, self.sender)

    # -- calls and messages --------------------------------------------------------------------------------------------
    def call(
        self,
        dst: int,
        func: Callable[..., Any],
        args: Any,
        kwargs: Any,
        timeout: float,
        kind: int = CALL,
        extra: int = 0,
        extra2: int = 0,
    ) -> CallFuture:
        """Ask the rank `dst` to run `func(*args, **kwargs)`; returns the future of its answer.

        `timeout` is in seconds, 0 for none. `kind`, `extra` and `extra2` are header fields, for requests that another
        layer serves (those of `remote`).
        """
        if not self._instruments.active:
            return self.calls.call(dst, func, args, kwargs, timeout, kind, extra, extra2)
        observers = self._instruments.active
        tell(observers, "before_call", self, dst, func, kind, False)
        try:
            return self.calls.call(dst, func, args, kwargs, timeout, kind, extra, extra2)
        finally:
            tell(observers, "after_call", self)

    def call_sync(self, dst: int, func: Callable[..., Any], args: Any, kwargs: Any, timeout: float) -> Any:
        """Make a call with `timeout` seconds (0: none) and wait for its answer; returns the result or raises the error."""
        if not self._instruments.active:
            fut = self.calls.call(dst, func, args, kwargs, timeout, CALL, 0, 0)
            self.calls.wait_for(fut)
        else:
            observers = self._instruments.active
            tell(observers, "before_call", self, dst, func, CALL, True)
            try:
                fut = self.calls.call(dst, func, args, kwargs, timeout, CALL, 0, 0)
                self.calls.wait_for(fut)
            finally:
                tell(observers, "after_call", self)
        state, value = fut._state, fut._value
        if state == 2:
            try:
                raise value
            finally:
                del fut, value  # the traceback refers to this frame: a reference cycle otherwise
        return value

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
    ) -> CallFuture:
        """Send an internal message, without pickle; returns the future of its answer: `(bytes, list of arrays)`, or None.

        Args:
            dst, kind: the rank of the receiver and the type of the message (`MessageType`).
            body, arrays: what the receiver's handler gets.
            timeout: in seconds, 0 for none; by default that of calls.
            extra, extra2, context: header fields, whose meaning depends on the type; `context` is (context id, message
                id).
            then: called with the completed future; cheaper than adding a callback afterwards.
        """
        return self.calls.request(dst, kind, body, arrays, timeout, extra, extra2, context, then)

    def request_with_retries(
        self,
        dst: int,
        kind: int,
        body: bytes = b"",
        extra: int = 0,
        extra2: int = 0,
        then: Callable[[Future], None] | None = None,
    ) -> None:
        """Send an internal message that must arrive: a failed send is repeated up to 5 times, with growing delays.

        Arguments as for `request`. `then` is called once, with the future of the last attempt. The handler must be
        idempotent.
        """
        self.calls.request_with_retries(dst, kind, body, extra, extra2, then)

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
        """Send an internal message that is not answered; arguments as for `request`.

        Graceful shutdown does not wait for it; use `request` if it should.
        """
        before = enter()
        try:
            self.sender.send(dst, kind, encode_raw(body, arrays), 0, NO_CALL, context[0], context[1], b"", extra, extra2)
        finally:
            leave(before)

    def wait(self, fut: Future, deadline: float | None = None) -> None:
        """Make progress until `fut` is done or the time `deadline` (of `time.monotonic()`) has come."""
        self.progress.waiters.wait(fut, deadline)

    def wait_for(self, fut: CallFuture) -> None:
        """Wait until a future that `call` or `request` returned is answered or has timed out."""
        self.calls.wait_for(fut)

    def after(self, seconds: float, run: Callable[[], None]) -> None:
        """Have `run` called once, in `seconds` from now, on a thread that polls; it must not block."""
        self.calls.timers.after(seconds, run)

    def run_when_idle(self, work: Callable[[Any], None], subject: Any) -> None:
        """Have `work(subject)` run by the next thread whose poll finds no message; library code that never blocks."""
        self._idle.run_when_idle(work, subject)

    def defer(self, run: Callable[[], None]) -> bool:
        """Let the pool run `run`, user code, if the current thread polls, where user code must not run; returns whether it did.

        If it returns False, the caller runs it.
        """
        return self.progress.waiters.defer(run)

    # -- called by progress (MessageHandler) -------------------------------------------------------------------------
    def receive(self, frame: Any, waiting_for: Future | None) -> Any:
        """Handle a received frame, or return it if that may run user code; see `MessageHandler.receive`."""
        try:
            kind = kind_of(frame)
            if kind == _REPLY or kind == EXCEPTION:
                return self.calls.receive(frame, waiting_for)
            return self.server.receive(frame, kind, waiting_for is not None)
        except BaseException:  # no error may leave the polling loop, which serves other threads too
            logger.exception("%s: a message could not be handled", self.info)
        return None

    def answers(self, work: Any, fut: Future) -> bool:
        """Return whether a frame is the answer that completes the future `fut`."""
        return isinstance(work, bytearray) and self.calls.answers(work, fut)

    def serve(self, work: Any) -> None:
        """Run work that `receive` returned (a frame), or a function without arguments. User code may run."""
        if not isinstance(work, bytearray):
            work()
            return
        kind = kind_of(work)
        if kind == _REPLY or kind == EXCEPTION:
            self.calls.complete(work)
        else:
            self.server.serve(work, kind)

    def housekeep(self, now: float) -> None:
        """Run the timers that are due at `now`, and fail the calls that have timed out."""
        self.calls.housekeep(now)

    def send_failed(self, dst: int, frame: bytes, error: Exception) -> None:
        """Handle a frame that could not be sent to `dst`: fail its call on this worker or, if it was an answer, on the caller."""
        logger.error("could not send a message to rank %s: %s", dst, error)
        header = read_header(frame)
        if header.kind == _REPLY:  # try to send the error to the caller instead
            answer = RuntimeError(f"{self.info} could not send its answer: {error}")
            self.server.send_error(dst, header.call_id, answer)
        elif header.kind != EXCEPTION:
            failure = SendFailedError(f"could not send to {self.workers.get(dst, dst)}: {error}")
            self.calls.fail_unsent(header.call_id, failure)

    # -- the other workers ---------------------------------------------------------------------------------------------
    def find(self, to: Any) -> WorkerInfo:
        """Return the `WorkerInfo` for a name, rank or `WorkerInfo`.

        RuntimeError, with the known workers, if there is none; ValueError for other types. In a dynamic world it waits a
        little for a worker that has not joined yet.
        """
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
            found = next((info for info in self.left.values() if to in (info.name, info.id)), None)
        if found is None:
            raise self._unknown(what, to)
        return found

    def _unknown(self, what: str, to: Any) -> Exception:
        known = ", ".join(str(info) for _, info in sorted(self.workers.items())[:20])
        more = f" and {len(self.workers) - 20} more" if len(self.workers) > 20 else ""
        reason = (
            self.gone.get(to)
            if isinstance(to, int)
            else next((w for w in self.gone.values() if f"name={to})" in w), None)
        )
        return RuntimeError(
            f"name:{self.info.name},rank:{self.rank} could not find destination {what} {to}"
            + (f" ({reason})" if reason else self._guess(to))
            + f"; known workers: {known}{more}"
        )

    def _guess(self, to: Any) -> str:
        """Return a suggestion for the error about an unknown name: the known name that is closest to it; empty if none is."""
        import difflib

        close = difflib.get_close_matches(str(to), list(self.by_name), 1) if type(to) is str else []
        return f"; did you mean {close[0]!r}?" if close else ""

    def lose(self, rank: int, why: str) -> None:
        """Record that a worker has left: all calls to it fail with the text `why`, those that are pending and new ones."""
        self.gone[rank] = why
        info = self.workers.pop(rank, None)
        if info is not None and self.by_name.get(info.name) is info:
            del self.by_name[info.name]
        if info is not None and self.static:
            self.left[rank] = info
        self.calls.fail_calls_to(rank)

    def gone_error(self, rank: int) -> WorkerGoneError:
        """Return the error for calls to a worker that has left or was lost."""
        loss = self.lost.get(rank)
        return WorkerGoneError(self.gone.get(rank, f"rank {rank} has left")) if loss is None else lost_error(loss)

    def fail_everything(self, why: str) -> None:
        """Fail all pending calls, and all later ones, with the text `why`: the agent stops."""
        self.gone.update(dict.fromkeys([*self.workers, *self.gone], why))
        self.calls.fail_all(why)

    @property
    def epoch(self) -> int:
        """This worker's incarnation in a dynamic world, from 1; 0 in a static world."""
        return self.server.epoch

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self.server.epoch = epoch

    def new_value(self) -> Future:
        """Return a new Future for the value of an RRef; overridden by agents with GPUs."""
        return Future()

    def route(self, dst: int, what: str) -> Route:
        """Return the device map of a message for the rank `dst`; `what` is "Request" or "Response". Empty without GPUs."""
        return Route(what, self.workers[dst].name if dst in self.workers else str(dst), {})

    # -- state ---------------------------------------------------------------------------------------------------------
    def issued_and_handled(self) -> tuple[int, int]:
        """Return how many requests this worker has issued and how many it has answered, for graceful shutdown."""
        return self.calls.issued.count() - self.calls.unsent.count(), self.server.handled.count()

    def quiet(self) -> bool:
        """Return whether this worker is idle: no pending call, no running function, no unsent frame."""
        # read first: work that leaves the queue is in `running` afterwards
        queued = self.progress.pool.jobs or self.progress.queue.outbox
        return not (queued or self.calls.pending or self.server.running)

    def debug_info(self) -> dict[str, Any]:
        """Return the numbers of calls, threads and bytes of this worker, and a histogram of latencies, by name."""
        counts = self.progress.pool.counts()
        issued, handled = self.issued_and_handled()
        found = {
            "agent.client_active_calls": len(self.calls.pending),
            "agent.server_active_calls": len(self.server.running),
            "agent.server_active_async_calls": max(0, len(self.server.running) - counts["running"]),
            "agent.thread_pool_size": self.progress.pool.limit,
            "agent.num_threads": counts["threads"],
            "agent.num_idle_threads": max(0, self.progress.pool.limit - counts["running"]),
            "agent.queued_calls": counts["queued"],
            "agent.blocked_threads": counts["blocked"],
            "agent.requests_issued": issued,
            "agent.requests_handled": handled,
            "agent.bytes_sent": self.transport.bytes_sent,
            "agent.bytes_received": self.transport.bytes_received,
            "agent.receive_pool_bytes": kept_bytes(),
            "agent.latency_us": self.calls.latency.histogram(),
        }
        for counted in extensions.agent_info_hooks:
            found.update(counted())
        return found

    def get_debug_info(self) -> dict[str, str]:
        """The values of `debug_info` as strings, as PyTorch returns them."""
        return {key: str(value) for key, value in self.debug_info().items()}

    get_metrics = get_debug_info

    def get_worker_info(self, worker: Any = None) -> WorkerInfo:
        """Return the `WorkerInfo` of this worker, or of the worker with a name or rank; RuntimeError if it is unknown."""
        return self.info if worker is None else self.find(worker)

    def get_worker_infos(self) -> list[WorkerInfo]:
        """Return the `WorkerInfo` of all workers that have not left, in the order of ranks."""
        return [info for _, info in sorted(self.workers.items())]

    @property
    def is_static_group(self) -> bool:
        """Whether the world is static: all workers were known from the start."""
        return self.static

    def _get_backend_options(self) -> Any:
        return self.options

    def _get_device_map(self, to: WorkerInfo) -> dict[Any, Any]:
        return self.options.device_maps.get(to.name, {})
