"""The examples whose workers are killed: a parameter server whose workers join and leave, and a split network with spares."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from tests.distributed.survival.jobs import job, survivors

EXAMPLES = Path(__file__).parents[3] / "examples"

pytestmark = pytest.mark.deadline(150)


def test_the_work_of_lost_workers_is_done_by_others(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--with-mpi"):
        pytest.skip("starts a job of its own, which a rank of another job cannot")
    lost, last = survivors(str(EXAMPLES / "elastic.py")).splitlines()  # the program compares the weights itself
    assert lost.startswith("worker1 was lost in step ")
    title, _, pieces = last.partition(": ")
    assert title == "pieces of each worker"
    assert sum(ast.literal_eval(pieces).values()) == 12 * 6


def test_a_split_network_is_trained_while_a_worker_is_killed_three_times(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if request.config.getoption("--with-mpi"):
        pytest.skip("starts a job of its own, which a rank of another job cannot")
    sizes = ("--steps", "120", "--width", "32", "--every", "10", "--json", str(tmp_path / "found.json"))
    done = job(str(EXAMPLES / "survivor.py"), *sizes, ranks=4, seconds=100, options=("--spares", "3"))
    assert done.returncode == 0, done.stdout + done.stderr  # the program compares the losses with those of one process itself
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["lost"], len(found["losses"]), len(found["pauses"])) == (3, 120, 3)
