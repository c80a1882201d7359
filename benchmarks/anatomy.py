"""The cost of each stage of a call: ``python -m benchmarks.anatomy`` times each stage alone, without MPI or threads.

Two agents run in this process; what they send is intercepted and passed to the next stage explicitly. The time of a stage is
the minimum over many batches, which a busy machine disturbs little. The lower bound, a raw ping-pong, is measured by the
family `calls` (`raw`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import mpigrad
from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.transport import Transport
from mpigrad.distributed.rpc._protocol.worker_info import WorkerInfo

BATCHES, CALLS = 200, 50
TIMEOUT = 60.0


class Caught(Transport):
    """A transport that keeps the frames that are sent, and returns the frames that it is given."""

    def __init__(self, rank: int) -> None:
        self.rank, self.size = rank, 2
        self.sent: list[bytes] = []
        self.coming: list[bytearray] = []

    def send(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        self.sent.append(frame)

    def poll(self, tries: int) -> bytearray | None:
        return self.coming.pop() if self.coming else None

    def pending(self) -> bool:
        return False

    def unsent(self) -> int:
        return 0

    def allgather(self, data: bytes, deadline: float) -> list[bytes]:
        return [data, data]

    def close(self, clean: bool) -> None:
        pass


def nothing() -> None:
    """The function of the empty call."""


def combine(left: Any, right: Any) -> Any:
    """The function of the call on tensors."""
    return left + right


def agents() -> tuple[Agent, Agent]:
    """Create a caller and a callee that know each other."""
    pair = Agent("caller", Caught(0), 1, TIMEOUT), Agent("callee", Caught(1), 1, TIMEOUT)
    for agent in pair:
        for rank, other in enumerate(pair):
            agent.workers[rank] = WorkerInfo(other.info.name, rank)
        agent.progress.lead.ticking = True  # no monitor thread may start
    return pair


def stages(func: Callable[..., Any], arguments: tuple[Any, ...]) -> dict[str, float]:
    """Measure each stage of a call, in microseconds."""
    caller, callee = agents()
    times: dict[str, list[float]] = {"ask": [], "serve": [], "run": [], "wait and complete": []}

    def batch() -> None:
        clock = time.perf_counter
        start = clock()
        futures = [caller.call(1, func, arguments, None, TIMEOUT) for _ in range(CALLS)]
        times["ask"].append(clock() - start)
        frames = [bytearray(frame) for frame in taken(caller)]
        start = clock()
        for frame in frames:
            callee.serve(frame)
        times["serve"].append(clock() - start)
        replies = [bytearray(frame) for frame in taken(callee)]
        caller.transport.coming.extend(reversed(replies))  # type: ignore[attr-defined]
        start = clock()
        for future in futures:
            caller.wait(future)
        times["wait and complete"].append(clock() - start)
        start = clock()
        for _ in range(CALLS):
            func(*arguments)
        times["run"].append(clock() - start)

    for _ in range(BATCHES):
        batch()
    return {name: min(found) / CALLS * 1e6 for name, found in times.items()}


def taken(agent: Agent) -> list[bytes]:
    """The frames that an agent has sent since the last call of this function."""
    sent: list[bytes] = agent.transport.sent  # type: ignore[attr-defined]
    agent.transport.sent = []  # type: ignore[attr-defined]
    return sent


def main() -> int:
    """Print the stages of an empty call and of one on two small tensors."""
    small = mpigrad.ones(3, 3)
    for title, func, arguments in (("empty call", nothing, ()), ("two 3x3 tensors", combine, (small, small))):
        found = stages(func, arguments)
        found["serve"] -= found["run"]
        parts = ", ".join(f"{name} {micros:.2f} us" for name, micros in found.items())
        print(f"{title}: {parts}; together {sum(found.values()):.2f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
