"""Profile-guided compilation: the training run, and what `setup.py` makes of its counts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WHAT_IS_BUILT = ("setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE", "mpigrad", "tools")
ONE = "_core.loops"  # of the modules, to be quick

pytestmark = pytest.mark.host


def python(*arguments: str, at: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    found = {**os.environ, "PYTHONPATH": str(at), "MPIGRAD_COMPILED": "", **environment}
    return subprocess.run([sys.executable, *arguments], cwd=at, env=found, capture_output=True, text=True, timeout=120)


def test_the_training_runs() -> None:
    done = python("tools/training.py", at=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the package is built from, with one module to compile."""
    for name in WHAT_IS_BUILT:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name, **({"ignore": shutil.ignore_patterns("*.so")} if (ROOT / name).is_dir() else {}))
    listed = tmp_path / "mpigrad" / "_compiled.py"
    text = listed.read_text()
    assert "MODULES = _modules()" in text
    listed.write_text(text.replace("MODULES = _modules()", f'MODULES = ("{ONE}",)'))
    return tmp_path


def build(tree: Path) -> subprocess.CompletedProcess[str]:
    return python("setup.py", "-q", "build_ext", "--inplace", at=tree, MPIGRAD_COMPILED="1", MPIGRAD_TRAINED="1")


@pytest.mark.deadline(180)
def test_a_module_is_compiled_for_what_it_counted(tree: Path) -> None:
    if "Free Software Foundation" not in subprocess.run(["cc", "--version"], capture_output=True, text=True).stdout:
        pytest.skip("there is no GCC")
    done = build(tree)
    assert done.returncode == 0, done.stderr
    (counts,) = (tree / "build").rglob("*.gcda")
    (made,) = (tree / "mpigrad").rglob("*.so")
    assert counts.stem == made.name.partition(".")[0] == "loops"
    assert b"gcda" not in made.read_bytes()  # it counts no more
    look = f"import mpigrad.{ONE} as one; from mpigrad import _compiled; print(one.__file__, _compiled.state())"
    seen = python("-c", look, at=tree)
    assert seen.stdout.strip() == f"{made} 1 modules compiled, with a profile of a training run", seen.stderr
    before = made.stat().st_mtime_ns
    assert build(tree).returncode == 0
    assert made.stat().st_mtime_ns == before  # nothing has changed, nothing is trained again
    training = tree / "tools" / "training.py"
    training.write_text("raise SystemExit('no training today')\n")
    again = build(tree)
    assert again.returncode != 0
    assert "the modules could not be compiled" in again.stderr
