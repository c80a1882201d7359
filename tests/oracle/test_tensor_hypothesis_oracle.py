"""Random programs beside PyTorch: shapes, types, broadcasting, promotion, reductions, printing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mpigrad
from tests.support.beside import compare

torch = pytest.importorskip("torch")

QUICK = settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
KINDS = ["f8", "f4", "i8", "i4", "u1", "?", "f2", "c16"]
SHAPES = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0)


def numbers(kind: str) -> Any:
    """Small numbers, for which the libraries' different orders of summation do not matter."""
    if kind == "?":
        return st.booleans()
    if kind[0] in "iu":
        return st.integers(1 if kind == "u1" else -5, 9)
    if kind[0] == "c":
        return st.builds(complex, st.sampled_from([-1.5, 0.5, 2.0]), st.sampled_from([-1.0, 0.25, 2.0]))
    return st.sampled_from([-2.5, -1.0, -0.25, 0.0, 0.5, 1.0, 3.0])


@st.composite
def pairs(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    shapes = draw(SHAPES).input_shapes
    kinds = [draw(st.sampled_from(KINDS)) for _ in shapes]
    return tuple(draw(hnp.arrays(kind, shape, elements=numbers(kind))) for kind, shape in zip(kinds, shapes))  # type: ignore[return-value]


def makers(*arrays: np.ndarray) -> Any:
    def inputs(T: Any) -> dict[str, Any]:
        made = {name: T.from_numpy(array.copy()) for name, array in zip("xy", arrays)}
        return {name: each.requires_grad_() if each.dtype.is_floating_point else each for name, each in made.items()}

    return inputs


@QUICK
@given(
    pairs(),
    st.sampled_from(
        [
            "x + y",
            "x - y",
            "x * y",
            "x / y",
            "x == y",
            "x < y",
            "T.where(x == y, x, y)",
            "x + 2",
            "x * 2.5",
            "3 - y",
            "2 / y",
            "T.maximum(x, y)",
            "T.atan2(x, y)",
            "T.logical_and(x, y)",
            "x & y",
        ]
    ),
)
def test_two_operands(arrays: tuple[np.ndarray, np.ndarray], expression: str) -> None:
    if any(each.dtype.kind == "c" for each in arrays) and (
        "<" in expression or "atan2" in expression or "/" in expression
    ):
        expression = "x * y"
    if expression == "T.atan2(x, y)" and any(each.dtype.kind in "b" for each in arrays):  # PyTorch's gradient fails
        expression = "x + y"
    compare(torch, mpigrad, expression, makers(*arrays))


@st.composite
def reductions(draw: Any) -> tuple[np.ndarray, str]:
    kind = draw(st.sampled_from(["f8", "f4", "i8", "u1", "?"]))
    array = draw(
        hnp.arrays(kind, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3), elements=numbers(kind))
    )
    name = draw(
        st.sampled_from(
            [
                "sum",
                "mean",
                "prod",
                "amax",
                "amin",
                "any",
                "all",
                "var",
                "std",
                "logsumexp",
                "norm",
                "max",
                "argmax",
                "cumsum",
                "median",
                "count_nonzero",
                "softmax",
                "nansum",
            ]
        )
    )
    dim = draw(st.integers(-4, 3))
    keep = draw(st.booleans())
    if name in ("cumsum", "count_nonzero", "softmax"):
        return array, f"x.{name}({dim})"
    if name == "norm":
        return array, f"x.norm(2, {dim}, {keep})"
    return array, f"x.{name}(dim={dim}, keepdim={keep})"


@QUICK
@given(reductions())
def test_reductions(case: tuple[np.ndarray, str]) -> None:
    compare(torch, mpigrad, case[1], makers(case[0]))


FLOATS = st.one_of(
    st.floats(width=32),
    st.integers(-2000, 2000).map(float),
    st.floats(-10, 10, width=32),
    st.sampled_from([0.0, 1e-5, 1e9]),
)


@QUICK
@given(
    st.one_of(
        hnp.arrays("f4", hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), elements=FLOATS),
        hnp.arrays("f8", hnp.array_shapes(min_dims=1, max_dims=2, max_side=40), elements=FLOATS),
        hnp.arrays("i8", hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)),
        hnp.arrays(
            "c8",
            hnp.array_shapes(max_dims=2, max_side=4),
            elements=st.builds(complex, FLOATS, FLOATS).map(np.complex64),
        ),
        hnp.arrays("?", hnp.array_shapes(max_dims=2, max_side=40)),
    )
)
def test_printing(array: np.ndarray) -> None:
    expected = repr(torch.from_numpy(array.copy()))
    assert repr(mpigrad.from_numpy(array)) == expected.replace("torch.", "mpigrad.")


@QUICK
@given(
    st.recursive(
        st.one_of(st.booleans(), st.integers(-9, 9), st.sampled_from([0.5, -1.5])),
        lambda deeper: st.lists(deeper, max_size=3),
    )
)
def test_lists_become_tensors(data: Any) -> None:
    try:
        mpigrad.tensor(data)
    except (TypeError, ValueError) as error:
        if str(error).startswith(("not a sequence", "expected sequence of length 0")):  # PyTorch overlooks these
            reject()
    compare(torch, mpigrad, "T.tensor(data)", lambda T: {"data": data})


@QUICK
@given(st.integers(-20, 20), st.integers(-20, 20), st.sampled_from([1, 2, -1, -3, 0.5, 0.1, -0.25]))
def test_ranges(start: int, end: int, step: float) -> None:
    compare(torch, mpigrad, f"T.arange({start}, {end}, {step})", lambda T: {})
