"""The predictions of docs/clusters.md come from the measurements in the repository, and from a user's own."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def scaling() -> Any:
    spec = importlib.util.spec_from_file_location("scaling", ROOT / "tools" / "scaling.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    tool = scaling()
    page = tool.PAGE.read_text()
    assert tool.filled(page, *tool.kept()) == page, "run: python tools/scaling.py"
    assert page.count("| `a` |") == 1 and "10,000 ranks" in page


def test_costs_come_from_the_benchmarks() -> None:
    tool = scaling()
    seconds = {"calls.empty": 2e-5, "calls.in_flight": 1e-5, "calls.echo_64": 0.02, "backward.remote_add": 3e-4}
    measures = {name: {"mpigrad": [{"value": value, "best": value, "unit": "s"}]} for name, value in seconds.items()}
    costs = tool.from_benchmarks({"machine": "a machine.", "rounds": 1, "measures": measures})
    assert costs == (2e-5, 1e-5, 2 * (64 << 20) / 0.02, 3e-4)


def test_formulas() -> None:
    tool = scaling()
    costs = tool.Costs(a=20e-6, o=10e-6, B=5e9, b=1e-3)
    table = "\n".join(tool.model_table(costs))
    assert "| `(W-1)*o + a` | 0.65 ms | 10 ms | 100 ms |".replace("0.65 ms", "650 us") in table
    assert "| `2*W*o` | 1.3 ms | 20 ms | 200 ms |" in table


def test_a_users_own_measurements(tmp_path: Path) -> None:
    names = ("rpc_sync, empty", "forward and backward, 3x3", "rpc_async, 64 at once")
    rows = [{"name": name, "median_us": 100.0, "per_second": 5e4} for name in names]
    (tmp_path / "mine.json").write_text(json.dumps({"kinds": rows, "sizes": [{"mb_s": 2000.0}]}))
    before = (ROOT / "docs" / "clusters.md").read_text()
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "scaling.py", tmp_path / "mine.json"], capture_output=True, text=True, timeout=50
    )
    assert "| `o` | the same for each of 64 calls that are made at once by `rpc_async` | 20 us |" in done.stdout, done.stderr
    assert "| `B` | bandwidth of a large tensor | 2 GB/s |" in done.stdout
    assert (ROOT / "docs" / "clusters.md").read_text() == before
