"""The examples with torch and JAX at reduced size: on ranks they give the losses of one process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="the examples train on scikit-learn's digits")
tqdm = pytest.importorskip("tqdm", reason="the examples show progress bars")
pytest.importorskip("jax")

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

import jax_stage  # noqa: E402
import torch_parameter_server  # noqa: E402
import torch_pipeline  # noqa: E402

pytestmark = [pytest.mark.mpi(min_size=2), pytest.mark.deadline(120)]
tqdm.tqdm.monitor_interval = 0  # its thread would outlive the tests


def near(wanted: list[float]) -> object:
    return pytest.approx(wanted, rel=1e-4, abs=1e-6)


def test_a_transformer_of_torch_in_a_pipeline(rpc_world) -> None:
    if rpc_world.rank == 0:
        wanted = torch_pipeline.train(torch_pipeline.Whole(), steps=8, batch=8, quiet=True)
        found = torch_pipeline.train(torch_pipeline.Pipeline(rpc_world.world_size, 2), steps=8, batch=8, quiet=True)
        assert found == near(wanted) and found[-1] < found[0]


def test_a_parameter_server_for_torch(rpc_world) -> None:
    if rpc_world.rank == 0:
        trainers = rpc_world.world_size - 1
        wanted = torch_parameter_server.train_alone(trainers, steps=10, batch=8)
        assert torch_parameter_server.train_distributed(trainers, steps=10, batch=8) == near(wanted)


def test_stages_of_jax(rpc_world) -> None:
    if rpc_world.rank == 0:
        wanted = jax_stage.train(jax_stage.Whole(), steps=8, batch=16, quiet=True)
        found = jax_stage.train(jax_stage.Split(rpc_world.world_size), steps=8, batch=16, quiet=True)
        assert found == near(wanted) and found[-1] < found[0]
