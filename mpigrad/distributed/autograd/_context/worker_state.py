"""This worker's distributed autograd: the container and the agent that it sends with, found by everybody else here."""

from __future__ import annotations

from typing import Any

from mpigrad.distributed.rpc._agent import current
from mpigrad.distributed.rpc._protocol import extensions

from .container import CURRENT, Container


class Worker:
    """One worker's state. Sets, whose changes are atomic, count what is under way."""

    def __init__(self, worker_id: int) -> None:
        self.worker_id = worker_id
        self.container = Container(worker_id)
        self.agent: Any = None
        self.live: set[Any] = set()  # branches of passes that are running here
        self.initiated: dict[int, Any] = {}  # counted passes begun here, by pass id
        self.releasing: set[tuple[int, int]] = set()  # (rank, context id) of releases not yet acknowledged

    def serves(self) -> bool:
        """Whether it is the one of the current agent, or of no agent at all."""
        return self.agent is None or current.current.agent is self.agent

    @property
    def idle(self) -> bool:
        """Whether nothing of ours is still under way."""
        return not self.live and not self.releasing


_alone: Worker | None = None  # made by `_init` for use without rpc


def init(worker_id: int) -> Worker:
    """Set up distributed autograd on this worker without rpc, once."""
    global _alone
    made = Worker(worker_id)
    if _alone is None:
        _alone = made
    elif _alone.worker_id != worker_id:
        raise RuntimeError(
            f"Container is already initialized with worker_id: {_alone.worker_id}, cannot initialize with different "
            f"worker_id: {worker_id}"
        )
    return _alone


def worker() -> Worker:
    """This worker (of the current agent), or PyTorch's complaint."""
    agent = current.current.agent
    if agent is not None:
        return agent.autograd
    if _alone is None:
        raise RuntimeError(
            "Need to initialize distributed autograd using mpigrad.distributed.autograd._init() (init_rpc does it)"
        )
    return _alone


def started(agent: Any) -> None:
    """An agent is about to serve on this worker."""
    agent.autograd = Worker(agent.rank)
    agent.autograd.agent = agent


def stopped(agent: Any) -> None:
    """The agent is gone, and with it every context of its world."""
    CURRENT.context = None


def quiet(agent: Any) -> bool:
    """Whether graceful shutdown may go on."""
    return agent.autograd.idle


extensions.start_hooks.append(started)
extensions.shutdown_hooks.append(stopped)
extensions.quiet_hooks.append(quiet)
