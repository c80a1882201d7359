"""Every operator of the table on a GPU that is not the current one: results, first and second derivatives are the CPU's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mpigrad
from tests.ops.table import Case, all_cases

PLACE = "cuda:1"  # work must find its way there
CASES = all_cases()


def on_host(values: Any, place: str) -> list[np.ndarray]:
    """Results as NumPy arrays; all must be where they were computed."""
    found = [each.detach().to_dense() for each in values if each is not None]
    assert {str(each.device) for each in found} <= {place}
    return [each.cpu().numpy() for each in found]


def everything(case: Case, place: str) -> list[np.ndarray]:
    """What a case gives on a device: its outputs, their gradients, and the gradients of those."""
    with mpigrad.device(place), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "reduction: 'mean' divides the total loss", UserWarning)
        inputs = case.make(mpigrad.float64)
        made = case.function(*inputs)
        outputs = list(made) if isinstance(made, (tuple, list)) else [made]
        found = on_host(outputs, place)
        wanted = [each for each in inputs if each.requires_grad]
        for recorded in (True, False) if case.second else (False,):
            outputs = [each for each in outputs if each.requires_grad]
            if not outputs or not wanted:
                break
            seeds = [mpigrad.ones_like(each) for each in outputs]
            grads = mpigrad.autograd.grad(outputs, wanted, seeds, create_graph=recorded, allow_unused=True)
            found += on_host(grads, place)
            outputs = [each for each in grads if each is not None]
        return found


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_same_as_on_the_cpu(case: Case) -> None:
    for found, expected in zip(everything(case, PLACE), everything(case, "cpu"), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
