"""Agent: one worker of an RPC world. It has a call table, a server and progress, and knows the other workers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from mpigrad.distributed.rpc._agent.device_maps import Route
from mpigrad.distributed.rpc._progress.progress import Progress
from mpigrad.distributed.rpc._protocol.errors import SendFailedError
from mpigrad.distributed.rpc._protocol.message import NO_CALL, MessageType
from mpigrad.distributed.rpc._protocol.worker_info import WorkerInfo

from ..future import Future
from ..guard import enter, leave
from .base import Transport
from .call_table import CALL, EXCEPTION, CallFuture, CallTable
from .codec import kind_of, read_header
from .instruments import INSTRUMENTS, tell
from .payload import encode_raw
from .receive_pool import kept_bytes
from .sender import Sender
from .server import Server

if TYPE_CHECKING:
    from mpigrad.distributed.rpc._world.dynamic import Membership
    from mpigrad.distributed.rpc._world.shutdown import Closing

    from ..autograd.contexts import Worker
    from .table import Table

logger = logging.getLogger(__name__)

_REPLY = int(MessageType.REPLY)


class Agent:
    """One worker of an RPC world: makes calls, serves calls. Implements `MessageHandler` for its progress."""

    call_table_type = CallTable
    server_type = Server
    before_send = cast(Any, None)  # called before each message
    moves_host_tensors = False  # whether device maps bring tensors of the host onto a GPU
    computing = cast(Any, None)  # with GPUs: around the work of a backward pass

    def __init__(self, name: str, transport: Transport, num_worker_threads: int, rpc_timeout: float) -> None:
        self.rank = transport.rank
        self.info = WorkerInfo(name, transport.rank)
        self.rpc_timeout = rpc_timeout
        self.transport = transport
        self.workers = {self.rank: self.info}
        self.by_name = {name: self.info}
        self.gone: dict[int, str] = {}  # rank -> why calls to it cannot succeed
        self.left: dict[int, WorkerInfo] = {}  # workers of a static group that are gone: calls to them fail
        self.epochs: dict[int, int] = {}  # rank -> which of its incarnations we talk to (dynamic groups)
        self.static = True
        self.autograd = cast("Worker", None)
        self.options: Any = None
        self.closing_protocol = cast("Closing", None)  # this and the next two are set before the agent starts
        self.membership: Membership | None = None  # in dynamic groups
        self.communicator: Any = None
        self.slots: dict[str, Any] = {}  # state that other files keep with the agent
        self.unknown_worker: Callable[[Any], WorkerInfo | None] | None = None
        self._instruments = INSTRUMENTS
        self.progress = Progress(transport, self, num_worker_threads, name)
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
        """Ask `dst` to run `func(*args, **kwargs)`; the future of its answer. `timeout` in seconds, 0 for none."""
        if not self._instruments.active:
            return self.calls.call(dst, func, args, kwargs, timeout, kind, extra, extra2)
        observers = self._instruments.active
        tell(observers, "before_call", self, dst, func, kind, False)
        try:
            return self.calls.call(dst, func, args, kwargs, timeout, kind, extra, extra2)
        finally:
            tell(observers, "after_call", self)

    def call_sync(self, dst: int, func: Callable[..., Any], args: Any, kwargs: Any, timeout: float) -> Any:
        """`call` and wait for the answer."""
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
                del fut, value  # the error's traceback has this frame: together they would be a cycle
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
        """Send an internal message; the future of its answer, `(bytes, list of arrays)` or None. Nothing is pickled.

        `then` is called with the future once it is done: cheaper than adding it afterwards.
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
        """`request`, for control messages that must arrive: failed sends are repeated, later and later.

        `then` is called once, with the future of the last attempt. The handler must not mind being asked twice.
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
        """Send an internal message that has no answer. Graceful shutdown does not count it: use `request` where it matters."""
        before = enter()
        try:
            self.sender.send(dst, kind, encode_raw(body, arrays), 0, NO_CALL, context[0], context[1], b"", extra, extra2)
        finally:
            leave(before)

    def wait(self, fut: Future, deadline: float | None = None) -> None:
        """Make progress until `fut` is done or `deadline` has passed."""
        self.progress.waiters.wait(fut, deadline)

    def wait_for(self, fut: CallFuture) -> None:
        """Wait for the answer of one of this agent's requests, or until it has timed out."""
        self.calls.wait_for(fut)

    def after(self, seconds: float, run: Callable[[], None]) -> None:
        """Call `run`, which must not block, after a while."""
        self.calls.timers.after(seconds, run)

    def run_when_idle(self, work: Callable[[Any], None], subject: Any) -> None:
        """Have `work(subject)`, library code that never blocks, run by the next thread whose poll finds nothing."""
        self._idle.run_when_idle(work, subject)

    def defer(self, run: Callable[[], None]) -> bool:
        """Have the pool run users' code if the current thread is one where it must not run; whether it was taken."""
        return self.progress.waiters.defer(run)

    # -- what progress brings (MessageHandler) -------------------------------------------------------------------------
    def receive(self, frame: Any, waiting_for: Future | None) -> Any:
        """Do what a frame asks for, or return it if that may run user code."""
        try:
            kind = kind_of(frame)
            if kind == _REPLY or kind == EXCEPTION:
                return self.calls.receive(frame, waiting_for)
            return self.server.receive(frame, kind, waiting_for is not None)
        except BaseException:  # whatever it is: this thread polls for others, too
            logger.exception("%s: a message could not be handled", self.info)
        return None

    def answers(self, work: Any, fut: Future) -> bool:
        """Whether a frame is the answer that a future waits for."""
        return isinstance(work, bytearray) and self.calls.answers(work, fut)

    def serve(self, work: Any) -> None:
        """Run user work: a frame, or a function of no arguments."""
        if not isinstance(work, bytearray):
            work()
            return
        kind = kind_of(work)
        if kind == _REPLY or kind == EXCEPTION:
            self.calls.complete(work)
        else:
            self.server.serve(work, kind)

    def housekeep(self, now: float) -> None:
        """Fail calls that have timed out, run timers."""
        self.calls.housekeep(now)

    def send_failed(self, dst: int, frame: bytes, error: Exception) -> None:
        """The transport could not send a frame: fail the call that it belongs to, ours or the one that it answers."""
        logger.error("could not send a message to rank %s: %s", dst, error)
        header = read_header(frame)
        if header.kind == _REPLY:  # the caller gets the error instead, if that can be sent
            answer = RuntimeError(f"{self.info} could not send its answer: {error}")
            self.server.send_error(dst, header.call_id, answer)
        elif header.kind != EXCEPTION:
            failure = SendFailedError(f"could not send to {self.workers.get(dst, dst)}: {error}")
            self.calls.fail_unsent(header.call_id, failure)

    # -- the other workers ---------------------------------------------------------------------------------------------
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
        """The known name that a wrong one was probably meant to be."""
        import difflib

        close = difflib.get_close_matches(str(to), list(self.by_name), 1) if type(to) is str else []
        return f"; did you mean {close[0]!r}?" if close else ""

    def lose(self, rank: int, why: str) -> None:
        """A worker is gone: calls to it fail, now and later."""
        self.gone[rank] = why
        info = self.workers.pop(rank, None)
        if info is not None and self.by_name.get(info.name) is info:
            del self.by_name[info.name]
        if info is not None and self.static:
            self.left[rank] = info
        self.calls.fail_calls_to(rank)

    def fail_everything(self, why: str) -> None:
        """Fail all calls that are under way or still to come; for the end of the agent."""
        self.gone.update(dict.fromkeys([*self.workers, *self.gone], why))
        self.calls.fail_all(why)

    @property
    def epoch(self) -> int:
        """This worker's incarnation in a dynamic group; 0 in a static one."""
        return self.server.epoch

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self.server.epoch = epoch

    def new_value(self) -> Future:
        """A future for the value of an RRef."""
        return Future()

    def route(self, dst: int, what: str) -> Route:
        """Where device arrays of a message for `dst` go: nowhere, in a world without device maps."""
        return Route(what, self.workers[dst].name if dst in self.workers else str(dst), {})

    # -- state ---------------------------------------------------------------------------------------------------------
    def issued_and_handled(self) -> tuple[int, int]:
        """How many requests this worker has issued, and how many it has finished for others, so far."""
        return self.calls.issued.count() - self.calls.unsent.count(), self.server.handled.count()

    def quiet(self) -> bool:
        """Whether nothing is under way here: no call of ours, no function of others."""
        queued = self.progress.pool.jobs or self.progress.queue.outbox  # first: what leaves the queue is running then
        return not (queued or self.calls.pending or self.server.running)

    def debug_info(self) -> dict[str, Any]:
        """Calls under way, threads, bytes and latencies."""
        counts = self.progress.pool.counts()
        issued, handled = self.issued_and_handled()
        return {
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

    def get_debug_info(self) -> dict[str, str]:
        """`debug_info` as text, as PyTorch gives it."""
        return {key: str(value) for key, value in self.debug_info().items()}

    get_metrics = get_debug_info

    def get_worker_info(self, worker: Any = None) -> WorkerInfo:
        """This worker, or the one of a name or rank."""
        return self.info if worker is None else self.find(worker)

    def get_worker_infos(self) -> list[WorkerInfo]:
        """All workers, in the order of ranks."""
        return [info for _, info in sorted(self.workers.items())]

    @property
    def is_static_group(self) -> bool:
        """Whether all workers were known from the start."""
        return self.static

    def _get_backend_options(self) -> Any:
        return self.options

    def _get_device_map(self, to: WorkerInfo) -> dict[Any, Any]:
        return self.options.device_maps.get(to.name, {})
