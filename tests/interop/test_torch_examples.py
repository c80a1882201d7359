"""The examples with torch and JAX at reduced size: on ranks they give the losses of one process, also on torch's own RPC."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from benchmarks.contestants import free_port
from tests.test_docs import run

pytest.importorskip("sklearn", reason="the examples train on scikit-learn's digits")
tqdm = pytest.importorskip("tqdm", reason="the examples show progress bars")
pytest.importorskip("jax")

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import jax_stage  # noqa: E402
import torch_parameter_server  # noqa: E402
import torch_pipeline  # noqa: E402

pytestmark = pytest.mark.deadline(120)
tqdm.tqdm.monitor_interval = 0  # its thread would outlive the tests


def near(wanted: list[float]) -> object:
    return pytest.approx(wanted, rel=1e-4, abs=1e-6)


@pytest.mark.mpi(min_size=2)
def test_a_transformer_of_torch_in_a_pipeline(rpc_world) -> None:
    if rpc_world.rank == 0:
        wanted = torch_pipeline.train(torch_pipeline.Whole(), steps=8, batch=8, quiet=True)
        found = torch_pipeline.train(torch_pipeline.Pipeline(rpc_world.world_size, 2), steps=8, batch=8, quiet=True)
        assert found == near(wanted) and found[-1] < found[0]


@pytest.mark.mpi(min_size=2)
def test_a_parameter_server_for_torch(rpc_world) -> None:
    if rpc_world.rank == 0:
        trainers = rpc_world.world_size - 1
        wanted = torch_parameter_server.train_alone(trainers, steps=10, batch=8)
        assert torch_parameter_server.train_distributed(trainers, steps=10, batch=8) == near(wanted)


@pytest.mark.mpi(min_size=2)
def test_stages_of_jax(rpc_world) -> None:
    if rpc_world.rank == 0:
        wanted = jax_stage.train(jax_stage.Whole(), steps=8, batch=16, quiet=True)
        found = jax_stage.train(jax_stage.Split(rpc_world.world_size), steps=8, batch=16, quiet=True)
        assert found == near(wanted) and found[-1] < found[0]


PROGRAM = """
import torch.distributed.rpc as rpc
import torch_parameter_server, torch_pipeline
from job import rank_and_size

rank, size = rank_and_size()
rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
if rank == 0:
    print("losses", *torch_parameter_server.train_distributed(1, steps=4, batch=8))
    print("losses", *torch_pipeline.train(torch_pipeline.Pipeline(size, 2), steps=4, batch=8, quiet=True))
rpc.shutdown()
"""


def on_torchs_rpc(where: Path) -> str:
    """The output of PROGRAM. torch's start fails now and then, since a rank cannot connect to the other; it is tried again."""
    tries = 3
    while True:
        tries -= 1
        address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}  # by default all jobs of a host share one port
        try:
            return run(PROGRAM, 2, where, RPC="torch", PYTHONPATH=f"{EXAMPLES}:{EXAMPLES.parent}", **address)
        except AssertionError as error:
            if "Gloo connectFullMesh failed" not in str(error) or not tries:
                raise


def test_the_examples_on_torchs_own_rpc(tmp_path: Path) -> None:
    output = on_torchs_rpc(tmp_path)
    served, passed = ([float(each) for each in line.split()] for line in re.findall("losses (.*)", output))
    assert served == near(torch_parameter_server.train_alone(1, steps=4, batch=8))
    assert passed == near(torch_pipeline.train(torch_pipeline.Whole(), steps=4, batch=8, quiet=True))
