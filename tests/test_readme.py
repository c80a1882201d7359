"""The README's program is the example that is shipped, is short, and runs; its table can be filled in."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.support.commands import clean_environment

ROOT = Path(__file__).parents[1]
sample = {"value": 2e-3, "best": 1e-3, "unit": "s"}


def program() -> str:
    (code,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    return code


def test_the_program_is_the_first_example() -> None:
    assert program() == (ROOT / "examples" / "first.py").read_text()
    assert len(program().splitlines()) <= 15


def test_the_program_runs(tmp_path: Path) -> None:
    """Each of x's elements enters the three factors of x * (x @ x): its gradient is (3 + 3 + 3) tanh'(3) = 0.0888."""
    command = [sys.executable, "-m", "mpigrad", "run", "-n", "3", str(ROOT / "examples" / "first.py")]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=55)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("0.0888") == 9, done.stdout


def test_the_table_comes_from_results(tmp_path: Path) -> None:
    """On a copy of the project's README and tools."""
    for name in ("tools/readme_table.py", "README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    measures = {"calls.empty": {"torch": [{**sample, "value": 4e-3}], "mpigrad": [sample]}}
    (tmp_path / "r.json").write_text(json.dumps({"machine": "a machine.", "measures": measures}))
    subprocess.run([sys.executable, "tools/readme_table.py", "r.json"], cwd=tmp_path, check=True, timeout=50)
    text = (tmp_path / "README.md").read_text()
    assert "| call of an empty function (`rpc_sync`) | 4 ms | 2 ms | 2x |" in text and "a machine. Medians" in text
    assert text.startswith((ROOT / "README.md").read_text().split("<!-- benchmark table -->")[0])
