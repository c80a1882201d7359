"""`mpigrad bench`: it runs, and its tables say what was measured."""

from __future__ import annotations

import json
from pathlib import Path

from mpigrad._cli.bench import tables
from mpigrad._cli.bench.timing import repeat


def test_on_two_ranks(python, tmp_path: Path) -> None:
    done = python("-m", "mpigrad", "bench", "-n", "2", "--quick", "--json", "out.json", "--plot", "out.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["ranks"] == 2
    assert len(result["sizes"]) == 11
    assert all(row["median_us"] > 0 for row in result["sizes"])
    names = [row["name"] for row in result["kinds"]]
    assert "rpc_sync, empty" in names
    assert "forward and backward, 3x3" in names
    assert tables.render(result) in done.stdout


def test_one_rank_is_refused(python) -> None:
    done = python("-m", "mpigrad", "bench", "-n", "1")
    assert (done.returncode, "at least 2 ranks, not 1" in done.stderr) == (2, True)


def test_times_are_ordered() -> None:
    times = repeat(lambda: sum(range(100)), 0.01)
    assert 0 < times.minimum <= times.median <= times.p99
    assert times.calls >= 10
