"""Every differentiable operator: derivatives against finite differences, and float32 against float64."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad._graph.namespace import DIFF
from mpigrad._graph.tracing import unwatch, watch
from mpigrad._names import OPERATORS
from mpigrad._ops._define.operator import Operator
from tests.ops.table import Case, all_cases

CASES = all_cases()
DOUBLE = ("float_power", "shape: double", "shape: to complex")  # these return float64 for all inputs


@pytest.fixture(autouse=True)
def quietly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "reduction: 'mean' divides the total loss", UserWarning)
        yield


def outputs(case: Case, inputs: tuple[mpigrad.Tensor, ...]) -> list[mpigrad.Tensor]:
    made = case.function(*inputs)
    return [each for each in (made if isinstance(made, (tuple, list)) else [made]) if each.requires_grad]


def as_tuple(case: Case) -> Any:
    def function(*inputs: mpigrad.Tensor) -> Any:
        made = case.function(*inputs)
        return tuple(made) if isinstance(made, (tuple, list)) else made

    return function


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_derivatives(case: Case) -> None:
    inputs = case.make(mpigrad.float64)
    assert mpigrad.autograd.gradcheck(as_tuple(case), inputs, atol=1e-5, rtol=1e-4, check_undefined_grad=False)
    if case.second:
        assert mpigrad.autograd.gradgradcheck(
            as_tuple(case), inputs, atol=1e-4, rtol=1e-3, fast_mode=True, check_undefined_grad=False
        )


def gradients(case: Case, dtype: Any) -> list[np.ndarray]:
    inputs = case.make(dtype)
    wanted = [each for each in inputs if each.requires_grad]
    made = outputs(case, inputs)
    seeds = [mpigrad.ones_like(each) for each in made]
    found = mpigrad.autograd.grad(made, wanted, seeds, allow_unused=True) if made else [None] * len(wanted)
    for grad, by in zip(found, wanted):
        assert grad is None or (grad.dtype is by.dtype and grad.shape == by.shape)
    gives = mpigrad.float64 if case.name.startswith(DOUBLE) else dtype
    for each in made:
        assert each.dtype.to_real() is gives, f"{dtype} became {each.dtype}"
    return [*(each.detach().numpy() for each in made), *(grad.numpy() for grad in found if grad is not None)]


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.single], ids=[case.name for case in CASES if case.single]
)
def test_single_precision(case: Case) -> None:
    for found, expected in zip(gradients(case, mpigrad.float32), gradients(case, mpigrad.float64), strict=True):
        assert np.allclose(found, expected, rtol=2e-3, atol=2e-4), (found, expected)


class _Seen:
    """Notes the operators of all nodes that are recorded."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def operator(self, name: str, inputs: Any = ()) -> Any:
        return nullcontext()

    node = operator

    def recorded(self, node: Any) -> None:
        if hasattr(node, "operator"):
            self.names.add(node.operator.name)

    def ran(self, node: Any, results: Any, F: Any) -> None:
        """Nothing to note."""


def test_the_table_is_complete() -> None:
    """Every operator that can be recorded is recorded by some case, forwards or in its derivative."""
    seen = _Seen()
    watch(seen)
    try:
        for case in CASES:
            inputs = case.make(mpigrad.float64)
            made, wanted = outputs(case, inputs), [each for each in inputs if each.requires_grad]
            for _ in range(3 if case.second else 1):
                seeds = [each.detach().requires_grad_() for each in made]
                if made:
                    found = mpigrad.autograd.grad(made, wanted, seeds, create_graph=True, allow_unused=True)
                    made = [each for each in found if each is not None and each.requires_grad]
                    wanted = [*wanted, *seeds]
    finally:
        unwatch(seen)
    operators = [getattr(DIFF, name) for names in OPERATORS.values() for name in names.split()]
    defined = {each.name for each in operators if isinstance(each, Operator) and _belongs_here(each)}
    missing = defined - seen.names - ELSEWHERE
    assert not missing, f"no case in tests/ops/table records {sorted(missing)}"


def _belongs_here(operator: Operator) -> bool:
    """Sparse operators and those of single layers have tests of their own."""
    return operator.backward.__module__.startswith("mpigrad._ops.") and "sparse" not in operator.backward.__module__


# Operators without a derivative, or that need another device.
ELSEWHERE = {"bernoulli", "floor_divide", "gcd", "lcm", "move", "nextafter", "remainder_of_number", "retype"}
ELSEWHERE |= {"poisson", "two_to", "bag_numbers", "native_dropout"}  # random, and of integers
ELSEWHERE |= {"ctc_slopes"}  # the derivative of ctc_loss, which has none itself
