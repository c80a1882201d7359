"""Runs one kind of operation until ranks die; the survivors shrink the group and go on: `groups.py KIND VICTIM,...`."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from datetime import timedelta
from typing import Any

import mpigrad
import mpigrad.distributed as dist
from mpigrad import nn
from mpigrad.nn.parallel import DistributedDataParallel

faulthandler.dump_traceback_later(45)  # the test ends the job after 60 s
STEPS, DEATH = 10_000, 40
kind, victims = sys.argv[1], [int(each) for each in sys.argv[2].split(",")]
dist.init_process_group(timeout=timedelta(seconds=25))
rank, size = dist.get_rank(), dist.get_world_size()
mpigrad.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 30), nn.Tanh(), nn.Linear(30, 1))
parallel: Any = None


def data(of: int) -> mpigrad.Tensor:
    return mpigrad.arange(100.0).reshape(5, 20) / 100 + of


def all_reduce(numbers: int) -> None:
    x = mpigrad.full((numbers,), float(dist.get_rank() + 1))
    dist.all_reduce(x)
    assert (x == sum(range(1, dist.get_world_size() + 1))).all()


def asynchronous() -> None:
    works = [dist.all_reduce(mpigrad.ones(1000), async_op=True) for _ in range(5)]
    assert works[-1].get_future().wait()[0][0] == dist.get_world_size()
    for work in works[:-1]:
        work.wait()


def from_any() -> None:
    """Every rank sends to rank 0 of the group, which receives from any rank."""
    got = mpigrad.zeros(1)
    if dist.get_rank():
        dist.send(mpigrad.ones(1), dst=0)
        dist.recv(got, src=0)
    else:
        for _ in range(dist.get_world_size() - 1):
            dist.recv(got)
        for other in range(1, dist.get_world_size()):
            dist.send(got, dst=other)


def ddp() -> None:
    global parallel
    if parallel is None:
        parallel = DistributedDataParallel(model)
    parallel.zero_grad()
    parallel(data(dist.get_rank())).square().mean().backward()
    got = [each.grad.clone() for each in model.parameters()]
    model.zero_grad()
    for each in range(dist.get_world_size()):
        (model(data(each)).square().mean() / dist.get_world_size()).backward()
    for found, each in zip(got, model.parameters()):
        assert mpigrad.allclose(found, each.grad, atol=1e-5), "gradients are the mean over all ranks"


def objects() -> None:
    found: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, {"rank": dist.get_rank()})
    assert [each["rank"] for each in found] == list(range(dist.get_world_size()))


KINDS = {
    "all_reduce": lambda: all_reduce(10), "large": lambda: all_reduce(300_000), "barrier": dist.barrier, "ddp": ddp,
    "monitored": dist.monitored_barrier, "asynchronous": asynchronous, "from_any": from_any, "objects": objects,
}  # fmt: skip
step = 0


def run(steps: int) -> None:
    global step
    for _ in range(steps):
        step += 1
        if rank in victims and step == DEATH + victims.index(rank):
            os.kill(os.getpid(), signal.SIGKILL)
        KINDS[kind]()


pairs = dist.new_group([0, 1]) if rank < 2 else dist.new_group([2, 3]) if size == 4 else None
lost: list[int] = []
try:
    run(STEPS)
    print("nothing was noticed", flush=True)
except dist.RankLostError as error:
    lost += error.ranks
    assert "lost from the group" in str(error), error
    if kind == "monitored":
        assert "monitored_barrier" in str(error)
while True:  # further ranks may die meanwhile
    made = dist.group.WORLD.shrink()
    assert made is dist.group.WORLD and dist.get_world_size() == made.size() and pairs not in dist._process_group.groups._groups
    parallel = None
    try:
        run(60)
        break
    except dist.RankLostError as error:
        assert set(error.ranks) <= set(range(made.size())), error
assert lost and set(lost) <= set(victims), lost
assert dist.get_world_size() == size - len(victims)
assert dist.get_rank() == [each for each in range(size) if each not in victims].index(rank)
all_reduce(10)
dist.barrier()
dist.destroy_process_group()
sys.stdout.write(f"rank {rank} survived the loss of {len(victims)}\n")
