"""This worker's distributed autograd: the container and the agent that it sends with, found by everybody else here."""

from __future__ import annotations

from typing import Any

from ..rpc import _seams
from ._container import CURRENT, Container


class Worker:
    """One worker's state. Sets, whose changes are atomic, count what is under way."""

    def __init__(self, worker_id: int) -> None:
        self.worker_id = worker_id
        self.container = Container(worker_id)
        self.agent: Any = None
        self.live: set[Any] = set()  # branches of passes that are running here
        self.initiated: dict[int, Any] = {}  # counted passes begun here, by pass id
        self.releasing: set[tuple[int, int]] = set()  # (rank, context id) of releases not yet acknowledged

    @property
    def idle(self) -> bool:
        """Whether nothing of ours is still under way."""
        return not self.live and not self.releasing


_worker: Worker | None = None


def init(worker_id: int) -> Worker:
    """Set up distributed autograd on this worker, once; rpc's agent comes later or never."""
    global _worker
    if _worker is None:
        _worker = Worker(worker_id)
    elif _worker.worker_id != worker_id:
        raise RuntimeError(f"Container is already initialized with worker id {_worker.worker_id}, cannot be {worker_id} too")
    return _worker


def worker() -> Worker:
    """This worker, or PyTorch's complaint."""
    if _worker is None:
        raise RuntimeError(
            "Need to initialize distributed autograd using mpigrad.distributed.autograd._init() (init_rpc does it)"
        )
    return _worker


def started(agent: Any) -> None:
    """An agent began to serve on this worker."""
    global _worker
    _worker = Worker(agent.rank)
    _worker.agent = agent


def stopped(agent: Any) -> None:
    """The agent is gone, and with it every context of its world."""
    global _worker
    if _worker is not None and _worker.agent is agent:
        _worker = None
        CURRENT.context = None


def quiet(agent: Any) -> bool:
    """Whether graceful shutdown may go on."""
    return _worker is None or _worker.agent is not agent or _worker.idle


_seams.start_hooks.append(started)
_seams.shutdown_hooks.append(stopped)
_seams.quiet_hooks.append(quiet)
