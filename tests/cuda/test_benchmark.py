"""The GPU benchmark runs: its numbers mean nothing on an emulator."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.deadline(100)
def test_it_runs() -> None:
    command = [sys.executable, "-m", "benchmarks.gpu", "--small", "--seconds", "0.01", "--json"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=95)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["seconds"]
    assert len(found) == 10 and all(value > 0 for value in found.values())
