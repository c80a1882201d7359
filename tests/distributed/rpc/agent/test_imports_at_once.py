"""Threads that use the library's packages for the first time, all at once, while calls are served."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import importlib, random, sys, threading
import mpigrad, mpigrad.distributed.rpc as rpc

names = ["nn.modules.sparse", "nn.functional", "nn", "optim.sgd", "optim", "sparse", "distributed.nn", "nn.modules.linear",
         "distributed.optim", "optim.lr_scheduler", "nn.functional._embedding"]

def use(seed):
    order = random.Random(seed).sample(names, len(names))
    for name in order:
        importlib.import_module("mpigrad." + name)
    return mpigrad.nn.EmbeddingBag(3, 2)(mpigrad.tensor([0, 1]), mpigrad.tensor([0])).shape[1]

def local(seed, failures):
    try:
        use(seed)
    except BaseException as error:
        failures.append(error)

rpc.init_rpc("worker0", rank=0, world_size=1)
failures = []
threads = [threading.Thread(target=local, args=(seed, failures)) for seed in range(4)]
for thread in threads:
    thread.start()
calls = [rpc.rpc_async("worker0", use, args=(seed,)) for seed in range(4, 8)]
assert [call.wait() for call in calls] == [2] * 4
for thread in threads:
    thread.join()
rpc.shutdown()
assert not failures, failures
"""


@pytest.mark.deadline(130)
def test_packages_used_for_the_first_time_by_calls_and_threads(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--with-mpi"):
        pytest.skip("starts a job of its own, which a rank of another job cannot")
    settings = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=settings, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
