"""Programs in the documentation that need several ranks: the port of the parameter server, and the profile."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import clean_environment

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def ported(program: str, changes: str) -> str:
    """The program with each run of removed lines replaced by the lines added after it."""
    for old, new in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)+)", changes, re.MULTILINE):
        before, after = (re.sub(r"^[-+]", "", each, flags=re.MULTILINE) for each in (old, new))
        assert program.count(before) == 1
        program = program.replace(before, after)
    return program


def run(code: str, ranks: int, where: Path) -> str:
    (where / "program.py").write_text(code)
    command = [sys.executable, "-m", "mpigrad", "run", "-n", str(ranks), "program.py"]
    done = subprocess.run(command, cwd=where, env=clean_environment(), capture_output=True, text=True, timeout=55)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_ported_parameter_server_learns(tmp_path: Path) -> None:
    (program,), (changes,) = blocks("porting.md", "python"), blocks("porting.md", "diff")
    code = ported(program, changes)
    assert "import torch" not in code and "MASTER_ADDR" not in code
    weights = [float(each) for each in re.findall(r"\d\.\d+", run(code, 3, tmp_path))]
    assert len(weights) == 4
    assert all(abs(each - 1) < 0.1 for each in weights), weights  # trainers may use weights that are a step old


def test_the_profile_prints_what_the_page_says(tmp_path: Path) -> None:
    (program,) = blocks("guides/profile.md", "python")
    said = [line.strip() for line in (DOCS / "guides/profile.md").read_text().splitlines() if line.startswith("    ")]
    shown = [line for line in said if re.match(r"\d rpc_sync#", line)]
    assert len(shown) == 3
    assert run(program, 2, tmp_path).splitlines() == shown
    assert (tmp_path / "trace.json").exists()
