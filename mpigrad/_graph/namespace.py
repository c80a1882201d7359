"""The two namespaces in which derivatives run: on plain arrays (`RAW`), or on tensors and recorded again (`DIFF`).

A derivative is written once, as a function of `F` and gradients. With `F is RAW` the values are arrays and
`F.sum` is the operator's forward; with `F is DIFF` they are tensors and `F.sum` is the operator itself, so that
gradients of gradients need no second formula. Python's operators (`g * b`, `-g`) mean the same in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._names import OPERATORS
from .._process.lazy import load

_MODULES = {name: module for module, names in OPERATORS.items() for name in names.split()}
DEFINED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {}
"""All operators that have been defined, on arrays and on tensors. A namespace has those that have been used."""


class Namespace:
    """Operators by name, filled on first use. The module of an operator is imported then, so that no thread sees a part of it."""

    def __init__(self, name: str, place: int) -> None:
        self._name, self._place = name, place

    def __repr__(self) -> str:
        return self._name

    def __getattr__(self, name: str) -> Any:
        whole = load(_MODULES[name]) if name in _MODULES else True
        found = DEFINED.get(name)
        if found is None:
            raise AttributeError(
                f"no operator {name!r} in {self._name}: define it with _ops._define.operator.operator, and run tools/names.py"
            )
        if whole:
            setattr(self, name, found[self._place])
        return found[self._place]


RAW = Namespace("RAW", 0)
DIFF = Namespace("DIFF", 1)


def add_to_both(name: str, raw: Callable[..., Any], differentiable: Callable[..., Any]) -> None:
    """Register an operator as `F.name` for derivatives: its functions on arrays (`raw`) and on tensors
    (`differentiable`).
    """
    DEFINED[name] = raw, differentiable
