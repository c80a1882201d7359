"""Inputs of the calls: each gets the module, mpigrad or torch."""

from __future__ import annotations

from typing import Any


def t(m: Any, *shape: int, **kw: Any) -> Any:
    """Random numbers that need a gradient."""
    return m.randn(shape, requires_grad=True, **kw)


def CLASSES(m: Any) -> Any:
    """Five class numbers below three."""
    return m.tensor([0, 2, 1, 1, 0])


def spd(m: Any, n: int) -> Any:
    """A positive definite matrix that needs a gradient."""
    a = m.randn(n, n, dtype=m.float64)
    return (a @ a.T + n * m.eye(n, dtype=m.float64)).requires_grad_()
