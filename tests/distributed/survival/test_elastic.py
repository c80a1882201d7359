"""The example of an elastic parameter server: one worker is killed, one leaves, one joins late, and the weights do not change."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.distributed.survival.jobs import survivors

EXAMPLE = Path(__file__).parents[3] / "examples" / "elastic.py"

pytestmark = pytest.mark.deadline(150)


def test_the_work_of_lost_workers_is_done_by_others(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--with-mpi"):
        pytest.skip("starts a job of its own, which a rank of another job cannot")
    lost, last = survivors(str(EXAMPLE)).splitlines()  # the program compares the weights itself
    assert lost.startswith("worker1 was lost in step ")
    title, _, pieces = last.partition(": ")
    assert title == "pieces of each worker"
    assert sum(ast.literal_eval(pieces).values()) == 12 * 6
