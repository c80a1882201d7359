"""Calls by family: invalid ones with the error that they must raise, valid ones with the name of their graph node.

Each call gets the module: mpigrad, or torch.
"""

from __future__ import annotations

from typing import Any

from . import layers, linalg, losses, matrices, windows

FAMILIES = (matrices, linalg, layers, windows, losses)
BAD: list[tuple[Any, type[Exception], str]] = [each for family in FAMILIES for each in family.BAD]
NAMED: list[tuple[Any, str]] = [each for family in FAMILIES for each in family.NAMED]
