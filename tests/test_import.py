"""`import mpigrad` touches no MPI and no GPU; names are imported on first use, by any thread; a worker starts with few files."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mpigrad

ROOT = Path(__file__).parents[1]
PROBE = """
import json, sys
import numpy
before = set(sys.modules)
import mpigrad
loaded = sorted(set(sys.modules) - before)
mpigrad.ones(2, requires_grad=True).sum().backward()
print(json.dumps(loaded))
"""
HEAVY = (
    "mpi4py",
    "cupy",
    "cupyx",
    "cloudpickle",
    "matplotlib",
    "torch",
    "scipy",
    "pickle",
    "inspect",
    "ssl",
    "asyncio",
    "logging",
)
LATE = (
    "mpigrad._ops",
    "mpigrad._kernels",
    "mpigrad.autograd",
    "mpigrad.distributed",
    "mpigrad.linalg",
    "mpigrad.nn",
    "mpigrad.optim",
    "mpigrad.jit",
    "mpigrad.profiler",
    "numpy.random",
    "numpy.f2py",
)
# A worker that starts, makes a recorded call, and runs a backward pass: modules and files after each step.
START = """
import json, sys
from mpi4py import MPI
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
before = set(sys.modules)
found = {}

def note(step):
    modules = set(sys.modules) - before
    ours = [name for name in modules if name.partition(".")[0] == "mpigrad"]
    files = {name for name in opened if f"{sys.argv[1]}/" in name}  # sources, or bytecode, which may be in another folder
    found[step] = {"ours": len(ours), "modules": sorted(modules), "files": len(files), "compiled": sum(
        not str(getattr(sys.modules[name], "__file__", "")).endswith(".py") for name in ours)}

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
rpc.init_rpc("solo", rank=0, world_size=1)
note("start")
x = mpigrad.ones(3, requires_grad=True)
with dist_autograd.context() as context_id:
    y = rpc.rpc_sync("solo", mpigrad.add, args=(x, x))
    dist_autograd.backward(context_id, [y.sum()])
    assert dist_autograd.get_gradients(context_id)[x].tolist() == [2.0, 2.0, 2.0]
note("pass")
rpc.shutdown()
print(json.dumps(found))
"""
NOT_FOR_WORKERS = ("asyncio", "concurrent", "ssl", "subprocess", "tempfile", "torch", "jax", "cupy", "cloudpickle")
NOT_OURS_FOR_WORKERS = ("nn", "optim", "jit", "linalg", "profiler", "autograd", "sparse", "interop._torch")
# Threads that use names for the first time, all at once. Each way needs modules that others are importing.
RACE = """
import importlib, pickle, sys, threading
import mpigrad
sys.setswitchinterval(1e-6)

def of(path):
    value = mpigrad
    for name in path.split("."):
        value = getattr(value, name)
    return value

def unpickled(module, name):
    return pickle.loads(b"c" + module.encode() + b"\\n" + name.encode() + b"\\n.")

def layer():
    net = mpigrad.nn.Sequential(mpigrad.nn.Linear(2, 3), mpigrad.nn.ReLU())
    optimizer = mpigrad.optim.SGD(net.parameters(), lr=0.1)
    net(mpigrad.ones(1, 2)).sum().backward()
    optimizer.step()

ways = [
    layer,
    lambda: layer(),
    lambda: unpickled("mpigrad.nn.modules.linear", "Linear")(1, 1),
    lambda: unpickled("mpigrad.optim.adam", "Adam"),
    lambda: importlib.import_module("mpigrad.distributed.optim.zero_redundancy_optimizer").ZeroRedundancyOptimizer,
    lambda: of("distributed.optim.DistributedOptimizer"),
    lambda: of("jit.script"),
    lambda: (mpigrad.ones(2, 2, requires_grad=True).exp() @ mpigrad.ones(2, 2)).sum().backward(),
    lambda: mpigrad.ones(2, 2).to_sparse().to_dense().tolist(),
    lambda: str(mpigrad.arange(4).reshape(2, 2).T[0] + 1),
    lambda: of("linalg.inv")(mpigrad.eye(2)),
    lambda: of("nn.functional.relu")(mpigrad.zeros(2)),
    lambda: of("nn.utils.parametrizations.weight_norm"),
    lambda: of("distributed.nn.RemoteModule"),
    lambda: importlib.import_module("mpigrad.nn.functional._conv").conv2d,
    lambda: pickle.loads(pickle.dumps(mpigrad.ones(2))).tolist(),
]
start, failures = threading.Barrier(len(ways)), []

def run(way):
    start.wait(30)
    try:
        way()
    except BaseException as error:
        failures.append(error)

threads = [threading.Thread(target=run, args=(way,), daemon=True) for way in ways]
for each in threads:
    each.start()
for each in threads:
    each.join(40)
assert not any(each.is_alive() for each in threads), "threads wait for each other's imports"
if failures:
    raise failures[0]
"""


def run(program: str, *args: str, **variables: str) -> str:
    command = [sys.executable, "-c", program, *args]
    environment = {**os.environ, **variables}
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, cwd=ROOT, env=environment)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def loaded() -> list[str]:
    return json.loads(run(PROBE))


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    bytecode = {"PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("bytecode")), "PYTHONDONTWRITEBYTECODE": ""}
    run(START, str(ROOT / "mpigrad"), **bytecode)  # as after an installation, there is bytecode
    return json.loads(run(START, str(ROOT / "mpigrad"), **bytecode).splitlines()[-1])


@pytest.mark.parametrize("name", HEAVY + LATE)
def test_is_not_loaded(loaded: list[str], name: str) -> None:
    found = [module for module in loaded if module == name or module.startswith(name + ".")]
    assert not found, f"`import mpigrad` loads {found}"


def test_little_of_the_standard_library(loaded: list[str]) -> None:
    others = {module.split(".")[0] for module in loaded} - {"mpigrad", "cython_runtime"}
    others = {name for name in others if not name.startswith("_cython_")}  # what compiled modules share, made in memory
    assert len(others) <= 8, f"`import mpigrad` loads more than it needs: {sorted(others)}"


def test_few_modules_of_our_own(loaded: list[str]) -> None:
    ours = [name for name in loaded if name.partition(".")[0] == "mpigrad"]
    assert len(ours) <= 25, ours


@pytest.mark.parametrize("step", ["start", "pass"])
def test_a_worker_starts_with_few_files(started: dict[str, dict], step: str) -> None:
    """Of a thousand nodes, each reads these files from the same file system."""
    found = started[step]
    assert found["ours"] <= 150, [name for name in found["modules"] if name.startswith("mpigrad")]
    # compiled modules are opened by the dynamic linker; of the others, one file each, and the time stamp of its source
    assert found["files"] <= 150, found["files"]
    outer = {name.partition(".")[0] for name in found["modules"]}
    assert not outer & set(NOT_FOR_WORKERS), outer & set(NOT_FOR_WORKERS)
    needless = [name for name in found["modules"] if name.startswith(tuple(f"mpigrad.{each}" for each in NOT_OURS_FOR_WORKERS))]
    assert not needless, needless


@pytest.mark.parametrize("_", range(3))
def test_threads_may_use_names_for_the_first_time(_: int) -> None:
    run(RACE)


def test_all_names_are_there() -> None:
    program = """
import mpigrad
from mpigrad import *
assert add is mpigrad.add and Tensor is mpigrad.Tensor and linalg is mpigrad.linalg
assert set(mpigrad.__all__) <= set(dir(mpigrad))
for package in (mpigrad, mpigrad.nn, mpigrad.nn.functional, mpigrad.optim, mpigrad.distributed, mpigrad.jit, mpigrad.linalg):
    for name in dir(package):
        getattr(package, name)
    assert not hasattr(package, "no_such_name")
assert mpigrad.autograd.gradcheck.__module__ == "mpigrad.autograd.gradcheck"
assert mpigrad.optim.adam.Adam is mpigrad.optim.Adam
x = mpigrad.ones(2)
x.add_ = 3                    # an attribute of one tensor, before the method of that name has been used
assert x.add_ == 3 and mpigrad.ones(1).add_(1).tolist() == [2.0]
x.data = mpigrad.zeros(2)     # a property with a setter, on its first use
assert x.tolist() == [0.0, 0.0]
"""
    run(program)


def test_the_table_of_names_is_what_the_source_gives() -> None:
    done = subprocess.run(
        [sys.executable, "tools/names.py", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=50
    )
    assert not done.returncode, done.stdout + done.stderr


def test_a_name_that_two_modules_define_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import names

    file = tmp_path / "another.py"
    file.write_text("from mpigrad._tensor import method\nmethod(lambda self: None, 'exp')\n")
    from mpigrad import _tensor

    monkeypatch.setattr(mpigrad.Tensor, "exp", mpigrad.Tensor.exp)  # both are as before after this test
    monkeypatch.setattr(_tensor, "_DEFINED", dict(_tensor._DEFINED))
    spec = importlib.util.spec_from_file_location("another", file, loader=names._Noted("another", str(file)))
    with pytest.raises(AssertionError, match="another and .* both define exp among the methods"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_an_interrupted_import_can_be_repeated() -> None:
    program = """
import sys
import mpigrad
x = mpigrad.ones(2, requires_grad=True)
lines = [0]

def interrupt(frame, event, arg):
    if "arithmetic.py" in frame.f_code.co_filename and frame.f_code.co_name == "<module>":
        lines[0] += event == "line"
        if lines[0] == after:
            sys.settrace(None)
            raise KeyboardInterrupt
    return interrupt

for after in (60, 90, 120):
    lines[0] = 0
    sys.settrace(interrupt)
    try:
        x + x
    except KeyboardInterrupt:
        print("interrupted")
    sys.settrace(None)
(x + x).sum().backward()
print(x.grad.tolist())
"""
    assert run(program).split() == ["interrupted"] * 3 + ["[2.0,", "2.0]"]
