"""Draw a trace of all workers as SVG: mpiexec -n 3 python tools/trace_picture.py docs/pictures/trace.svg

The trace is of one step of a program that makes a pass with held gradients; `mpigrad trace` draws any other.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mpi4py.MPI import COMM_WORLD as world

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
import mpigrad.profiler
from mpigrad import nn
from mpigrad.profiler._picture import draw_trace

Json = dict[str, Any]


class Stage(nn.Module):
    """Half of a model, on one worker."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: mpigrad.Tensor) -> mpigrad.Tensor:
        return self.linear(x)


def step(stages: list[rpc.RRef[Stage]], x: mpigrad.Tensor) -> None:
    """One step in which two workers use the same tensor, so that their gradients for it must be added on this worker.

    The result of a third call is not used: that its gradients will not come is found out by the reach phase.
    """
    with dist_autograd.context() as context_id:
        hidden = x.exp()
        stages[0].rpc_sync().forward(hidden)
        one, two = (stage.rpc_async().forward(hidden) for stage in stages)
        dist_autograd.backward(context_id, [(one.wait() * two.wait()).sum()])


def last_end(events: list[Json]) -> float:
    return max(event["ts"] + event["dur"] for event in events if event["ph"] == "X")


def main(path: str) -> None:
    rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.size)
    if world.rank == 0:
        x = mpigrad.ones(3, 3, requires_grad=True)
        stages = [rpc.remote(to, Stage) for to in ("worker1", "worker2")]
        for _ in range(50):
            step(stages, x)
        traces = []
        for _ in range(20):  # keep the fastest run, which was disturbed least
            with mpigrad.profiler.trace_workers() as trace:
                step(stages, x)
            events = [event for event in trace.chrome["traceEvents"] if "release" not in event["name"]]
            traces.append(events)
        Path(path).write_text(draw_trace(min(traces, key=last_end)))
    rpc.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
