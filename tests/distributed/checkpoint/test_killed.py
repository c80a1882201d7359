"""A program that is killed while it saves: the next one finds a whole checkpoint, of one step."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys
import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributed import checkpoint
from mpigrad.distributed.optim import DistributedOptimizer

path, steps = sys.argv[1], int(sys.argv[2])
rpc.init_rpc("solo", rank=0, world_size=1)
layers = {f"layer{i}": nn.Linear(100, 100, bias=False) for i in range(3)}
weights = [rpc.RRef(layer.weight) for layer in layers.values()]
parts = {**layers, "optimizer": DistributedOptimizer(optim.SGD, weights, lr=0.1, momentum=0.9)}
try:
    step = checkpoint.load(path, parts)["step"]
    assert all((layer.weight == step).all() for layer in layers.values()), "parts of several saves"
except checkpoint.CheckpointError as error:
    assert "no checkpoint" in str(error), error
    step = 0
print("started at", step, flush=True)
for step in range(step + 1, step + 1 + steps):
    with mpigrad.no_grad():
        for layer in layers.values():
            layer.weight.fill_(step)
    checkpoint.save(path, parts, extra={"step": step})
    print("saved", step, flush=True)
rpc.shutdown()
"""


def start(path: Path, steps: int) -> subprocess.Popen[str]:
    ours = {name: value for name, value in os.environ.items() if not re.match("OMPI_|PMIX_|PRTE_|PMI_|HYDI_|SLURM_", name)}
    env = ours | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, str(path), str(steps)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.mpi(min_size=1)
@pytest.mark.deadline(110)
def test_a_killed_save_loses_one_step_at_most(world, tmp_path: Path) -> None:
    if world.rank:
        return
    saved, chance = 0, random.Random(0)
    for _ in range(2):
        process = start(tmp_path / "checkpoint", 10_000)
        assert process.stdout is not None
        first = int(process.stdout.readline().split()[-1])
        assert saved <= first <= saved + 1, "the last save that was told of, or the one that was cut off after it was complete"
        for _ in range(chance.randint(1, 4)):
            saved = int(process.stdout.readline().split()[-1])
        time.sleep(chance.random() * 0.01)  # into the next save, or past it
        process.send_signal(signal.SIGKILL)
        told = process.communicate(timeout=60)[0].split()
        saved = int(told[-1]) if told else saved
    process = start(tmp_path / "checkpoint", 1)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert saved <= int(output.split()[2]) <= saved + 1
    assert len(list((tmp_path / "checkpoint").iterdir())) == 2, "what was cut off is gone after the next save"
