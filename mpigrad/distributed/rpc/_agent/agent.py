"""Agent: one worker of an RPC world, and what it knows about the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from mpigrad.futures._future import Future

from .._progress.pool import Progress
from .._protocol.worker_info import WorkerInfo
from .._transport.base import Transport
from .._transport.receive_pool import kept_bytes
from .device_maps import Route
from .server import Serving


class Agent(Serving):
    """One worker of an RPC world: makes calls, serves calls."""

    moves_host_tensors = False  # whether device maps bring tensors of the host onto a GPU
    computing = cast(Any, None)  # with GPUs: around the work of a backward pass

    def __init__(self, name: str, transport: Transport, num_worker_threads: int, rpc_timeout: float) -> None:
        super().__init__()
        self.rank = transport.rank
        self.info = WorkerInfo(name, transport.rank)
        self.rpc_timeout = rpc_timeout
        self.transport = transport
        self.workers = {self.rank: self.info}
        self.by_name = {name: self.info}
        self.epoch = 0
        self.static = True
        self.autograd: Any  # the state of distributed autograd, which sets it
        self.options: Any = None
        self.closing_protocol: Any = None
        self.membership: Any = None
        self.communicator: Any = None
        self.slots: dict[str, Any] = {}  # state that other files keep with the agent
        self.unknown_worker: Callable[[Any], WorkerInfo | None] | None = None
        self.progress = Progress(
            transport, self._receive, self._housekeep, self._serve, self.send_failed, num_worker_threads, name
        )

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
        reason = (
            self.gone.get(to)
            if isinstance(to, int)
            else next((w for w in self.gone.values() if f"name={to})" in w), None)
        )
        return RuntimeError(
            f"name:{self.info.name},rank:{self.rank} could not find destination {what} {to}"
            + (f" ({reason})" if reason else "")
            + f"; known workers: {known}{more}"
        )

    def new_value(self) -> Future:
        """A future for the value of an RRef."""
        return Future()

    def route(self, dst: int, what: str) -> Route:
        """Where device arrays of a message for `dst` go: nowhere, in a world without device maps."""
        return Route(what, self.workers[dst].name if dst in self.workers else str(dst), {})

    def issued_and_handled(self) -> tuple[int, int]:
        """How many requests this worker has issued, and how many it has finished for others, so far."""
        return _value(self._ids) - self._first_id - _value(self._lost), _value(self._handled)

    def quiet(self) -> bool:
        """Whether nothing is under way here: no call of ours, no function of others."""
        counts = self.progress.counts()
        return not (self._pending or self._serving or counts["queued"] or self.progress.outbox)

    def debug_info(self) -> dict[str, Any]:
        """Calls under way, threads, bytes and latencies."""
        counts = self.progress.counts()
        return {
            "agent.client_active_calls": len(self._pending),
            "agent.server_active_calls": len(self._serving),
            "agent.server_active_async_calls": max(0, len(self._serving) - counts["running"]),
            "agent.thread_pool_size": self.progress.limit,
            "agent.num_threads": counts["threads"],
            "agent.num_idle_threads": max(0, self.progress.limit - counts["running"]),
            "agent.queued_calls": counts["queued"],
            "agent.blocked_threads": counts["blocked"],
            "agent.requests_issued": self.issued_and_handled()[0],
            "agent.requests_handled": self.issued_and_handled()[1],
            "agent.bytes_sent": self.transport.bytes_sent,
            "agent.bytes_received": self.transport.bytes_received,
            "agent.receive_pool_bytes": kept_bytes(),
            "agent.latency_us": self.latency.histogram(),
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


def _value(counter: Any) -> int:
    """What an itertools.count would give next; reading it does not change it."""
    return int(repr(counter)[6:-1])  # "count(5)"; its __reduce__ is deprecated from Python 3.12 on
