"""One process, no RPC: a chain of 2,000 small operators, forward and backward."""

from __future__ import annotations

from typing import Any

from benchmarks.library import library
from benchmarks.timing import Sample, repeat

USES_RPC = False
OPERATORS = 2000


def chain_2000(seconds: float) -> Sample:
    """Forward and backward of 2,000 operators (add, multiply, sine, tanh in turn) on 3x3 tensors."""
    start, other = library.ones(3, 3, requires_grad=True), library.full((3, 3), 0.5)

    def step() -> None:
        value: Any = start
        for _ in range(OPERATORS // 4):
            value = library.tanh(library.sin((value + other) * other))
        value.sum().backward()
        start.grad = None

    return repeat(step, seconds)


MEASURES = {"chain_2000": chain_2000}
