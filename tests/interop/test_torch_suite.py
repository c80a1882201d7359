"""PyTorch's own tests of distributed autograd, with PyTorch's tensors, on mpigrad's RPC and distributed autograd."""

from __future__ import annotations

import importlib
import inspect
import sys
import unittest
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
import mpigrad.futures
from mpigrad.testing import World

sys.modules.setdefault("expecttest", SimpleNamespace(TestCase=unittest.TestCase))  # type: ignore[arg-type]  # of PyTorch's developers
with warnings.catch_warnings(action="ignore"):
    from torch.testing._internal import dist_utils
    from torch.testing._internal.common_utils import TestCase

PLACE = "torch.testing._internal.distributed.rpc."
NOT_HERE = {  # why a test cannot pass
    "test_backward_node_failure": "ends ranks while others go on; ours are in tests/distributed/autograd/backward/test_killed.py",
    "test_backward_node_failure_python_udf": "as above",
    "test_clean_context_during_backward": "ends ranks",
    "test_backward_unused_send_function": "says that PyTorch's pass hangs; ours ends",
    "test_backward_autograd_engine_error": "expects PyTorch's text; ours raises an error of the type that was raised",
    "test_no_grad_copy": "expects copies of both gradients that share memory; here one is kept as it is",
    "test_no_grad_copy_sparse": "as above",
    "test_post_hooks": "the framework calls hooks of AccumulateGrad only when it changes .grad",
    "test_dist_autograd_profiling": "PyTorch's profiler does not see mpigrad's calls",
    "test_trainer_ps_torchscript_functions": "TorchScript's type RRef is that of PyTorch's RPC",
}
SUITES = {"dist_autograd_test": ("TensorPipeAgentDistAutogradTest", "DistAutogradTest")}


def suite(name: str) -> Any:
    """A module of PyTorch's tests that calls mpigrad."""
    with warnings.catch_warnings(action="ignore"):
        module = importlib.import_module(PLACE + name)
    for used in (module, dist_utils):
        for known, ours in (("rpc", rpc), ("dist_autograd", dist_autograd), ("RRef", rpc.RRef)):
            if hasattr(used, known):
                setattr(used, known, ours)
    return module


def _tests() -> list[Any]:
    found = []
    for name, classes in SUITES.items():
        for cls in classes:
            known = [each for each, _ in inspect.getmembers(getattr(suite(name), cls)) if each.startswith("test_")]
            found += [pytest.param(name, cls, each, id=f"{cls}-{each}") for each in known if each not in NOT_HERE]
    return found


@pytest.mark.mpi(min_size=4)
@pytest.mark.deadline(60)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "cls", "test"), _tests())
def test_of_pytorch(rpc_world: World, monkeypatch: pytest.MonkeyPatch, name: str, cls: str, test: str) -> None:
    base = getattr(suite(name), cls)
    unused = dict.fromkeys(("rpc_backend", "rpc_backend_options", "get_shutdown_error_regex", "get_timeout_error_regex"))
    made = type(cls, (base, TestCase), {**unused, "world_size": 4, "file_name": "", "rank": rpc_world.rank})
    instance = made(test)
    instance.worker_id = rpc_world.rank
    method = inspect.unwrap(getattr(made, test))
    module = suite(name)
    module.dist = SimpleNamespace(barrier=rpc_world.barrier)
    module.initialize_pg = lambda *arguments: None
    module.rpc_done, module.ctx_ids, module.known_context_ids = [False] * 4, [-1] * 4, set()
    module.requires_grad_tensor = module.torch.ones(3, 3, requires_grad=True)
    module.SimulateBackwardError._simulate_error = True
    monkeypatch.setattr(module.torch.futures, "wait_all", mpigrad.futures.wait_all)
    rpc_world.barrier()  # before others call functions that use these
    method(instance)
    rpc_world.barrier()
