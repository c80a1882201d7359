"""assert_close: two tensors (or containers of tensors, or numbers) are nearly equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._array.dtype import dtype as DType
from .._core.tensor import wrap
from .._tensor import Tensor

# PyTorch's relative and absolute tolerances, by the name of the element type.
_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}  # fmt: skip


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Any = None,
) -> None:
    """Raise an AssertionError unless `actual` is close to `expected`; the message says where and by how much they differ.

    Both may be tensors, numbers, or containers of them. Elements are close if they differ by at most `atol + rtol * |expected|`;
    the default tolerances are PyTorch's for the dtype. `equal_nan` makes nans equal; `check_device`, `check_dtype` and
    `check_layout` also compare these properties; `msg` replaces the message.

    >>> import mpigrad
    >>> mpigrad.testing.assert_close(mpigrad.ones(2) / 3, mpigrad.full((2,), 1 / 3))
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout}
    problem = _compare(actual, expected, rtol, atol, equal_nan, checks, "")
    if problem:
        raise AssertionError(msg(problem) if callable(msg) else msg or problem)


def _compare(actual: Any, expected: Any, rtol: Any, atol: Any, nan: bool, checks: dict[str, bool], at: str) -> str:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            return f"The keys of the mappings do not match: {sorted(map(str, actual))} and {sorted(map(str, expected))}{at}"
        pairs: list[Any] = [(key, actual[key], expected[key]) for key in expected]
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{at}"
        pairs = [(number, a, b) for number, (a, b) in enumerate(zip(actual, expected))]
    else:
        return _compare_one(actual, expected, rtol, atol, nan, checks, at)
    for key, a, b in pairs:
        problem = _compare(a, b, rtol, atol, nan, checks, f"\n\nThe failure occurred for item [{key!r}]")
        if problem:
            return problem
    return ""


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _compare_one(actual: Any, expected: Any, rtol: Any, atol: Any, nan: bool, checks: dict[str, bool], at: str) -> str:
    tensors = isinstance(actual, Tensor), isinstance(expected, Tensor)
    if tensors == (True, True):
        problem = _attributes(actual, expected, checks, at)
        return problem or _elements("Tensor-likes", actual, expected, rtol, atol, nan, at)
    if (
        any(tensors)
        or type(actual) is not type(expected)
        and not all(isinstance(x, (int, float)) for x in (actual, expected))
    ):
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.{at}"
        )
    if isinstance(actual, (bool, str)) or actual is None:  # strings too, which PyTorch does not support
        return "" if actual == expected else f"{actual!r} is not equal to {expected!r}{at}"
    first, second = (wrap(np.asarray(each)) for each in (actual, expected))
    return _elements("Scalars", first, second, rtol, atol, nan, at)


def _attributes(actual: Tensor, expected: Tensor, checks: dict[str, bool], at: str) -> str:
    if tuple(actual.shape) != tuple(expected.shape):
        return f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}.{at}"
    for name, wanted in checks.items():
        a, b = getattr(actual, name), getattr(expected, name)
        if wanted and a != b:
            return f"The values for attribute '{name}' do not match: {a} != {b}.{at}"
    return ""


def _tolerance(first: DType, second: DType) -> tuple[float, float]:
    both = [_TOLERANCES.get(str(each).rpartition(".")[2], (0.0, 0.0)) for each in (first, second)]
    return max(each[0] for each in both), max(each[1] for each in both)


def _elements(what: str, actual: Tensor, expected: Tensor, rtol: Any, atol: Any, nan: bool, at: str) -> str:
    if rtol is None:
        rtol, atol = _tolerance(actual.dtype, expected.dtype)
    a, b = (_host(each) for each in (actual, expected))
    close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=nan)
    if close.all():
        return ""
    exact = not rtol and not atol
    title = f"{what if a.ndim else 'Scalars'} are not {'equal' if exact else 'close'}!"
    with np.errstate(all="ignore"):
        away = np.where(close, 0, np.abs(a.astype(np.result_type(a, "f8")) - b))
        if exact and a.dtype.kind in "iub":
            away = away.astype("i8")
        relative = np.where(close, 0, away / np.abs(b))
    limits = ("", "") if exact else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
    if not a.ndim:
        return (
            f"{title}\n\nExpected {b.item()!r} but got {a.item()!r}.\nAbsolute difference: {away}{limits[0]}\n"
            f"Relative difference: {relative}{limits[1]}{at}"
        )
    wrong, share = int((~close).sum()), 100 * (~close).mean()
    worst, worst_relative = (tuple(map(int, np.unravel_index(each.argmax(), each.shape))) for each in (away, relative))
    return (
        f"{title}\n\nMismatched elements: {wrong} / {close.size} ({share:.1f}%)\n"
        f"Greatest absolute difference: {away.max()} at index {worst}{limits[0]}\n"
        f"Greatest relative difference: {relative.max()} at index {worst_relative}{limits[1]}{at}"
    )


def _host(tensor: Tensor) -> Any:
    dense = tensor.detach().to_dense() if tensor.is_sparse else tensor.detach()  # type: ignore[attr-defined]
    return dense.cpu().numpy()
