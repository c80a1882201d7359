"""The programs of the scaling runs give the right results on real ranks, and their tables show what was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scaling import rank, run
from mpigrad._core.rpc.calls import INSTRUMENTS
from tests.test_scaling import scaling


@pytest.mark.mpi(min_size=2)
def test_all_programs_on_ranks(rpc_world: Any) -> None:
    INSTRUMENTS.add(rank.SENDS)
    try:
        rpc_world.barrier()
        if rpc_world.rank == 0:
            found = {step["name"]: step for step in rank.run_steps(rpc_world.world_size).found}
            size = rpc_world.world_size
            assert found["calls from one worker to each"]["messages"] == 2 * size
            assert found["calls from one worker to each"]["busiest"] == size + 1  # worker0 calls itself, too
            assert found["nested calls: backward"]["messages"] >= 2 * (size - 1)
            assert found["group: backward"]["seconds"] > 0
        rpc_world.barrier()
    finally:
        INSTRUMENTS.remove(rank.SENDS)


def found(ranks: int, seconds: float) -> dict[str, Any]:
    steps = [{"name": "start", "seconds": seconds}, {"name": "call to a group", "seconds": 0.002, "messages": 126, "busiest": 9}]
    return {"ranks": ranks, "memory": {"resident": 5e7, "share": 2e7}, "steps": steps}


def test_a_run_replaces_an_earlier_one_of_the_same_kind(tmp_path: Path) -> None:
    path = tmp_path / "scale.json"
    for name, ranks, seconds in (("openmpi", 128, 9.0), ("mpich", 64, 5.0), ("openmpi", 64, 3.0), ("openmpi", 128, 7.0)):
        run.keep(path, name, found(ranks, seconds))
    kept = json.loads(path.read_text())
    assert [(each["mpi"], each["ranks"], each["steps"][0]["seconds"]) for each in kept] == [
        ("mpich", 64, 5.0), ("openmpi", 64, 3.0), ("openmpi", 128, 7.0),
    ]  # fmt: skip
    table = "\n".join(scaling().run_table(kept))
    assert "| call to a group | 2 ms; 126 | 2 ms; 126 | 2 ms; 126 |" in table
    assert "50 MB; 20 MB" in table


def test_the_table_of_a_simulation() -> None:
    phase = {"name": "call to a group", "workers": 1024, "sequential": 40, "busiest": 36, "seconds": 3e-4}
    lines = scaling().simulated_table({"phases": [phase, {**phase, "name": "start", "workers": 64}]})
    assert lines[0] == "| phase | 64 workers | 1,024 workers |"
    assert lines[2:] == ["| call to a group |  | 40; 36; 300 us |", "| start | 300 us |  |"]
