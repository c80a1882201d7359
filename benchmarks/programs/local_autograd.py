"""The chain of local.py written for HIPS autograd, which has no tensors: a function and its gradient."""

from __future__ import annotations

from typing import Any

import autograd.numpy as anp
from autograd import grad

from benchmarks.timing import Sample, repeat

USES_RPC = False
OPERATORS = 2000


def chain_2000(seconds: float) -> Sample:
    """Forward and backward of the same 2,000 operators on 3x3 arrays of float32."""
    start, other = anp.ones((3, 3), dtype="float32"), anp.full((3, 3), 0.5, dtype="float32")

    def loss(value: Any) -> Any:
        for _ in range(OPERATORS // 4):
            value = anp.tanh(anp.sin((value + other) * other))
        return anp.sum(value)

    gradient = grad(loss)
    return repeat(lambda: gradient(start), seconds)


MEASURES = {"chain_2000": chain_2000}
