"""The bubble of pipelines, the share of time in which ranks wait: measured, and by theory.

    mpiexec -n 4 python -m benchmarks.bubbles                        # 8 micro-batches; passes of 30 ms
    mpiexec -n 4 python -m benchmarks.bubbles --chunks 16 --json benchmarks/results/bubbles.json

Passes sleep instead of computing, so that more ranks than cores do not slow each other down: what is measured are the schedules
and their messages. A rank is busy while it sleeps; the bubble is what is left of the time from the common start to the end of
the last rank. Median over rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import mpigrad
import mpigrad.distributed as dist
from mpigrad import nn
from mpigrad.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
)
from mpigrad.distributed.pipelining.schedules import bubble_fraction

SCHEDULES: dict[str, tuple[Any, int]] = {  # and the stages of a rank
    "GPipe": (ScheduleGPipe, 1),
    "1F1B": (Schedule1F1B, 1),
    "Interleaved1F1B": (ScheduleInterleaved1F1B, 2),
    "LoopedBFS": (ScheduleLoopedBFS, 2),
}
ROWS, WIDTH = 4, 64  # of the tensor that a stage passes on


class Asleep(mpigrad.autograd.Function):
    """The identity, which takes some time forwards and backwards, and adds up the time that it took."""

    seconds, busy = 0.03, 0.0

    @classmethod
    def _sleep(cls) -> None:
        started = time.perf_counter()
        time.sleep(cls.seconds)
        Asleep.busy += time.perf_counter() - started

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        Asleep._sleep()
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        Asleep._sleep()
        return grad


class Stage(nn.Module):
    """A stage with one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(mpigrad.ones(WIDTH))

    def forward(self, x: Any) -> Any:
        return Asleep.apply(x * self.scale)


def bubble(schedule: Any, chunks: int) -> float:
    """Run one batch; returns the share of the time in which the ranks were not busy."""
    rank, size = dist.get_rank(), dist.get_world_size()
    given = [mpigrad.ones(ROWS * chunks, WIDTH)] if rank == 0 else []
    target = mpigrad.zeros(ROWS * chunks, WIDTH) if rank == size - 1 else None
    dist.barrier()
    Asleep.busy, started = 0.0, time.perf_counter()
    schedule.step(*given, target=target)
    span = mpigrad.tensor(time.perf_counter() - started, dtype=mpigrad.float64)
    busy = mpigrad.tensor(Asleep.busy, dtype=mpigrad.float64)
    dist.all_reduce(span, op=dist.ReduceOp.MAX)
    dist.all_reduce(busy)
    return 1 - float(busy) / (float(span) * size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=8, help="micro-batches")
    parser.add_argument("--milliseconds", type=float, default=30, help="of a forward or backward pass of a stage")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    chosen = parser.parse_args()
    dist.init_process_group("mpi")
    rank, size = dist.get_rank(), dist.get_world_size()
    Asleep.seconds = chosen.milliseconds / 1e3
    found = {}
    for name, (kind, each) in SCHEDULES.items():
        stages = [PipelineStage(Stage(), place, size * each, "cpu") for place in range(rank, size * each, size)]
        schedule = kind(stages[0] if each == 1 else stages, chosen.chunks, loss_fn=nn.functional.mse_loss)
        bubble(schedule, chosen.chunks)
        measured = [bubble(schedule, chosen.chunks) for _ in range(chosen.rounds)]
        theory = bubble_fraction(schedule.pipeline_order, size * each)
        key = f"{name}, {size} ranks, {chosen.chunks} micro-batches, {chosen.milliseconds:g} ms"
        found[key] = {
            "theory": round(theory, 4), "measured": round(statistics.median(measured), 4),
            "lowest": round(min(measured), 4), "highest": round(max(measured), 4),
        }  # fmt: skip
        if rank == 0:
            print(key, json.dumps(found[key]), flush=True)
    if rank == 0 and chosen.json:
        path = Path(chosen.json)
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**before, **found}, indent=1) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
