"""Spares take the places of lost ranks: `mpigrad run --survive --spares N`."""

from __future__ import annotations

import pytest

from tests.distributed.survival.jobs import job

pytestmark = pytest.mark.deadline(150)


@pytest.mark.parametrize(
    ("scenario", "spares", "said"),
    [
        ("one_after_the_other", 3, "[(2, 1), (1, 1), (2, 2)]"),
        ("at_once", 2, "[(1, 1), (3, 1)]"),
        ("retries", 2, "(2, 1), worker1 lost, ['several', 'several', 'once']"),
        ("exits", 1, "[(2, 1)]"),
        ("stops", 1, "[(2, 1)]"),
        ("more_than_spares", 1, "[(1, 1)], then no worker called 'worker1' has joined within 1 s"),
        ("first_rank", 1, "[(0, 1), (1, 0), (2, 0), (3, 0)]"),
    ],
)
def test_a_spare_takes_the_place_of_a_lost_rank(request: pytest.FixtureRequest, scenario: str, spares: int, said: str) -> None:
    if request.config.getoption("--with-mpi"):
        pytest.skip("starts a job of its own, which a rank of another job cannot")
    options = ["--spares", str(spares), *(["--heartbeat", "2"] if scenario == "stops" else [])]
    done = job("replaced.py", scenario, ranks=4, seconds=90, options=tuple(options))
    assert (done.stdout.strip(), done.returncode) == (said, 0), done.stderr
