"""tools/stages.py: the summary at its end, and its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = """
fine: ; @echo all is well
broken: ; @echo something is wrong; exit 3
away: ; @echo 'left out: no compiler'
slow: ; @sleep 30
"""


@pytest.fixture
def run(tmp_path: Path):
    (tmp_path / "Makefile").write_text(MAKEFILE)

    def stages(*names: str) -> tuple[int, list[str]]:
        environment = {name: value for name, value in os.environ.items() if name != "MAKE"}
        command = [sys.executable, str(ROOT / "tools" / "stages.py"), *names]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=50, env=environment)
        return done.returncode, done.stdout.splitlines()

    return stages


def verdicts(lines: list[str]) -> dict[str, str]:
    rows = [line.split(maxsplit=5) for line in lines[lines.index("==== summary") + 1 :]]
    return {name: verdict for name, *_, verdict in rows}


def test_all_is_well(run) -> None:
    code, lines = run("fine")
    assert code == 0 and verdicts(lines) == {"fine": "ok", "total": "ok"}


def test_a_failure_does_not_stop_the_others_and_is_repeated(run) -> None:
    code, lines = run("broken", "fine")
    assert code == 1 and lines.count("something is wrong") == 2
    assert verdicts(lines) == {"broken": "FAILED (2)", "fine": "ok", "total": "FAILED: broken"}


def test_what_was_left_out_is_said_again(run) -> None:
    code, lines = run("fine", "away")
    assert code == 0
    assert verdicts(lines) == {"fine": "ok", "away": "left out: no compiler", "total": "ok, but for away"}


def test_a_stage_that_takes_too_long_is_killed(run) -> None:
    code, lines = run("--seconds", "0.5", "slow", "fine")
    assert code == 1 and verdicts(lines) == {"slow": "TIMED OUT", "fine": "ok", "total": "FAILED: slow"}
