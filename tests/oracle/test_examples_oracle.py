"""The examples ported to PyTorch by the word `mpigrad`: every loss of the same training is the same to 1e-4."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn", reason="the examples train on scikit-learn's digits")
pytest.importorskip("tqdm", reason="the examples show progress bars")

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SIZES = {
    "digits_split": ["--epochs", "3"],
    "parameter_server": ["--steps", "60"],
    "rnn_lm": ["--steps", "40", "--length", "8"],
}


def ported(where: Path) -> Path:
    """The examples for PyTorch; nothing but the word is changed."""
    for source in EXAMPLES.glob("*.py"):
        (where / source.name).write_text(source.read_text().replace("mpigrad", "torch"))
    (where / "data").symlink_to(EXAMPLES / "data")
    return where


def losses(examples: Path, name: str, result: Path) -> list[float]:
    """The losses of an example on one rank."""
    env = {name: value for name, value in os.environ.items() if "RANK" not in name}
    env |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run = [sys.executable, examples / f"{name}.py", "--quiet", "--json", result, *SIZES[name]]
    found = subprocess.run(run, env=env, capture_output=True, text=True, timeout=100)
    assert found.returncode == 0, found.stderr
    return json.loads(result.read_text())["losses"]


@pytest.mark.deadline(210)  # two programs, one of them with PyTorch
@pytest.mark.parametrize("name", SIZES)
def test_every_loss_is_the_same(name: str, tmp_path: Path) -> None:
    ours = losses(EXAMPLES, name, tmp_path / "ours.json")
    theirs = losses(ported(tmp_path), name, tmp_path / "theirs.json")
    assert len(ours) == len(theirs) >= 40
    far = {step: pair for step, pair in enumerate(zip(ours, theirs)) if abs(pair[0] - pair[1]) > 1e-4}
    assert not far, far
    assert ours[-1] < ours[0]
