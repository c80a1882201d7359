"""The two namespaces in which derivatives run: on plain arrays (`RAW`), or on tensors and recorded again (`DIFF`).

A derivative is written once, as a function of `F` and gradients. With `F is RAW` the values are arrays and
`F.sum` is the operator's forward; with `F is DIFF` they are tensors and `F.sum` is the operator itself, so that
gradients of gradients need no second formula. Python's operators (`g * b`, `-g`) mean the same in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Namespace:
    """Operators by name; filled by `_ops._define.operator.operator`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AttributeError(f"no operator {name!r} in {self._name}: define it with _ops._define.operator.operator")


RAW = Namespace("RAW")
DIFF = Namespace("DIFF")


def add_to_both(name: str, raw: Callable[..., Any], differentiable: Callable[..., Any]) -> None:
    """Make an operator available to derivatives as `F.name`."""
    if name in RAW.__dict__:
        raise AssertionError(f"operator {name!r} is defined twice")
    setattr(RAW, name, raw)
    setattr(DIFF, name, differentiable)
