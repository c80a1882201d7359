"""The worked port of docs/porting.md begins with a program for PyTorch, which runs there and learns the same."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
PAGE = Path(__file__).parents[2] / "docs" / "porting.md"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.deadline(150)
def test_the_original_runs_on_torch(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "server.py").write_text(program)
    shared = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "3"}
    command = [sys.executable, "server.py"]
    places = [{**shared, "RANK": str(rank)} for rank in range(3)]
    ranks = [subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) for env in places]
    try:
        output = [rank.communicate(timeout=120)[0] for rank in ranks][0]
    finally:
        for rank in ranks:
            rank.kill()
    assert all(rank.returncode == 0 for rank in ranks)
    weights = [float(each) for each in re.findall(r"\d\.\d+", output)]
    assert len(weights) == 4 and all(abs(each - 1) < 0.1 for each in weights), output
