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


FIRST_USES = {
    "a scripted module": "assert call(applied, mpigrad.jit.script(Double()), x).tolist() == [2.0, 2.0]",
    "a module": "assert call(applied, Double(), x).tolist() == [2.0, 2.0]",
    "a sparse tensor": "assert call(echo, x.to_sparse()).to_dense().tolist() == [1.0, 1.0]",
    "a parameter": "assert type(call(echo, mpigrad.nn.Parameter(x))).__name__ == 'Parameter'",
    "an operator of the library": "assert call(mpigrad.linalg.vector_norm, x).item() > 1.4",
    "a method": "assert call(mpigrad.Tensor.exp, x - 1).tolist() == [1.0, 1.0]",
    "a profiler": """
with mpigrad.autograd.profiler.profile() as profile:
    call(mpigrad.add, x, x)
assert any("rpc_sync#" in event.name and "add" in event.name for event in profile.function_events)
""",
    "a profiler before RPC": """
rpc.shutdown()
with mpigrad.autograd.profiler.profile() as profile:
    rpc.init_rpc("worker0", rank=0, world_size=1)
    call(mpigrad.add, x, x)
assert any("rpc_sync#" in event.name and "add" in event.name for event in profile.function_events)
""",
    "a group": "assert rpc.WorkerGroup().rpc_sync(echo, args=(1,)) == [1]",
    "a method of an RRef": "assert rpc.remote('worker0', echo, args=(x,)).rpc_sync().sum().item() == 2.0",
    "an optimizer": """
from mpigrad.distributed.optim import DistributedOptimizer
weight = mpigrad.ones(2, requires_grad=True)
optimizer = DistributedOptimizer(mpigrad.optim.SGD, [rpc.RRef(weight)], lr=0.5)
with dist_autograd.context() as context_id:
    dist_autograd.backward(context_id, [(call(mpigrad.mul, weight, 2.0)).sum()])
    optimizer.step(context_id)
assert weight.tolist() == [0.0, 0.0]
""",
    "a remote module": """
from mpigrad.distributed.nn import RemoteModule
assert RemoteModule("worker0/cpu", Double)(x).tolist() == [2.0, 2.0]
""",
    "an awaited future": """
import asyncio

async def waiting():
    return await rpc.rpc_async("worker0", echo, args=(3,))

assert asyncio.run(waiting()) == 3
""",
    "a second derivative": """
y = (x * 1).requires_grad_()
first, = mpigrad.autograd.grad((y.exp() * y).sum(), y, create_graph=True)
first.sum().backward()
assert abs(y.grad[0].item() - 3 * 2.718281828) < 1e-4
""",
}
FIRST_USE = """
import mpigrad, mpigrad.distributed.autograd as dist_autograd, mpigrad.distributed.rpc as rpc

class Double(mpigrad.nn.Module):
    def forward(self, x):
        return x + x

def echo(value):
    return value

def applied(module, x):
    return module(x)

def call(function, *args):
    return rpc.rpc_sync("worker0", function, args=args)

rpc.init_rpc("worker0", rank=0, world_size=1)
x = mpigrad.ones(2)
{}
rpc.shutdown()
"""


@pytest.mark.parametrize("use", FIRST_USES)
def test_the_first_use_in_a_process(use: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Each part of the package works if it is the first one that a process uses."""
    if request.config.getoption("--with-mpi"):
        pytest.skip("starts a job of its own, which a rank of another job cannot")
    (tmp_path / "program.py").write_text(FIRST_USE.format(FIRST_USES[use]))
    settings = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    command = [sys.executable, "program.py"]
    done = subprocess.run(command, env=settings, cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["mpigrad:sinh", "mpigrad.nn.functional:softplus", "mpigrad._tensor:Tensor.cosh"])
def test_a_callee_finds_functions_that_it_has_not_used(name: str) -> None:
    program = f"""
import mpigrad
from mpigrad._core.rpc.calls import function_of
assert function_of({name.encode()!r})(mpigrad.zeros(1)).item() >= 0
"""
    settings = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
