"""Process groups whose members die: every survivor gets an error that names the dead, shrinks the group and goes on."""

from __future__ import annotations

import pytest

from tests.distributed.survival.jobs import survivors

pytestmark = pytest.mark.deadline(150)


@pytest.fixture(autouse=True)
def alone(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--with-mpi"):
        pytest.skip("starts a job of its own, which a rank of another job cannot")


@pytest.mark.parametrize(
    ("kind", "victims"),
    [
        ("all_reduce", "2"), ("large", "3"), ("barrier", "0"), ("ddp", "1"), ("monitored", "2"), ("monitored", "0"),
        ("asynchronous", "1"), ("from_any", "3"), ("objects", "0"), ("all_reduce", "1,2"), ("ddp", "0,3"),
    ],
)  # fmt: skip
def test_survivors_of_a_group_go_on(kind: str, victims: str) -> None:
    count = len(victims.split(","))
    lines = sorted(survivors("groups.py", kind, victims).splitlines())
    left = [rank for rank in range(4) if str(rank) not in victims.split(",")]
    assert lines == [f"rank {rank} survived the loss of {count}" for rank in left], lines
