"""Type stubs are what the source gives; `make types` compares them with the package (stubtest) and with users' programs."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from stubs import stubs  # noqa: E402


def test_stubs_are_what_the_source_gives() -> None:
    stale = [str(path.relative_to(ROOT)) for path, text in stubs().items() if not path.exists() or path.read_text() != text]
    assert not stale, f"run python tools/stubs.py: {stale} are out of date"


def test_stubs_cover_the_class() -> None:
    text = (ROOT / "mpigrad" / "_tensor.pyi").read_text()
    for name in ("sum", "view", "backward", "__add__", "requires_grad_", "T"):
        assert f"    def {name}(self" in text
