"""Values, gradients and node names of `nn.functional` and matrix products, beside PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mpigrad
from tests.nn.functional.cases import (
    ACTIVATIONS,
    ADJUSTED,
    CONVOLUTIONS,
    LINEAR_ALGEBRA,
    LOSSES,
    MATRIX_PRODUCTS,
    NORMS,
    POOLS,
    arrays,
    tensors,
)

torch = pytest.importorskip("torch")
ALL = MATRIX_PRODUCTS + LINEAR_ALGEBRA + CONVOLUTIONS + POOLS + NORMS + ADJUSTED + ACTIVATIONS + LOSSES


def _run(m: Any, call: Any, found: list[Any]) -> tuple[Any, list[Any]]:
    given = tensors(m, found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = call(m, *given)
    wanting = [each for each in given if each.requires_grad]
    weights = m.tensor(np.random.default_rng(1).standard_normal(tuple(out.shape)).tolist(), dtype=m.float64)
    grads = m.autograd.grad(out, wanting, weights.reshape(tuple(out.shape)))
    return out, [each.detach().numpy() for each in grads]


@pytest.mark.parametrize(("call", "inputs"), [pytest.param(call, given, id=title) for title, call, given in ALL])
def test_as_in_pytorch(call: Any, inputs: Any) -> None:
    found = arrays(inputs)
    ours, our_grads = _run(mpigrad, call, found)
    theirs, their_grads = _run(torch, call, found)
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-6, atol=1e-9)
    for mine, other in zip(our_grads, their_grads, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9)
