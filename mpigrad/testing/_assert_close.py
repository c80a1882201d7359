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
    """Raise an AssertionError unless `actual` is close to `expected`; the message says where and by how much they
    differ.

    - Both may be tensors, numbers, or containers of them. Elements are close if they differ by at most `atol + rtol *
      |expected|`.
    - `rtol`, `atol`: give both or neither; the defaults depend on the type, as in PyTorch (float32: 1.3e-6 and 1e-5).
    - `equal_nan`: two nans count as equal. `check_device`, `check_dtype`, `check_layout`, `check_stride`: also
      compare these.
    - `msg`: a text, or a function of the message, that replaces it. `allow_subclasses=False`: types must be the same.

    >>> import mpigrad
    >>> mpigrad.testing.assert_close(mpigrad.ones(2) / 3, mpigrad.full((2,), 1 / 3))
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride": check_stride}
    problem = _compare(actual, expected, rtol, atol, equal_nan, checks, "")
    if problem:
        raise AssertionError(msg(problem) if callable(msg) else msg or problem)


def _compare(actual: Any, expected: Any, rtol: Any, atol: Any, nan: bool, checks: dict[str, bool], place: str) -> str:
    at = f"\n\nThe failure occurred for item {place}" if place else ""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            missing = sorted(map(repr, expected.keys() - actual.keys()))
            more = sorted(map(repr, actual.keys() - expected.keys()))
            return (
                f"The keys of the mappings do not match:\nMissing keys in the actual mapping: [{', '.join(missing)}]\n"
                f"Additional keys in the actual mapping: [{', '.join(more)}]{at}"
            )
        pairs: list[Any] = [(key, actual[key], expected[key]) for key in expected]
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{at}"
        pairs = [(number, a, b) for number, (a, b) in enumerate(zip(actual, expected))]
    else:
        return _compare_one(actual, expected, rtol, atol, nan, checks, at)
    for key, a, b in pairs:
        problem = _compare(a, b, rtol, atol, nan, checks, f"{place}[{key!r}]")
        if problem:
            return problem
    return ""


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _compare_one(actual: Any, expected: Any, rtol: Any, atol: Any, nan: bool, checks: dict[str, bool], at: str) -> str:
    both = (actual, expected)
    if all(isinstance(each, np.ndarray) for each in both):
        both = (wrap(actual), wrap(expected))
    if all(isinstance(each, Tensor) for each in both):
        return _attributes(*both, checks, at) or _elements("Tensor-likes", *both, rtol, atol, nan, at)
    if actual is None or expected is None:
        return "" if actual is expected else f"None mismatch: {actual} is not {expected}{at}"
    if all(isinstance(each, (bool, np.bool_)) for each in both):
        return "" if bool(actual) is bool(expected) else f"Booleans mismatch: {bool(actual)} is not {bool(expected)}{at}"
    if type(actual) is type(expected) and isinstance(actual, (str, bytes)):  # which PyTorch does not support
        return "" if actual == expected else f"{actual!r} is not equal to {expected!r}{at}"
    if not all(isinstance(each, (int, float, complex, np.number, np.bool_)) for each in both):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.{at}")
    actual, expected = (each.item() if isinstance(each, np.generic) else each for each in both)
    if checks["dtype"] and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}.{at}"
    first, second = (wrap(np.asarray(each)) for each in (actual, expected))
    return _elements("Scalars", first, second, rtol, atol, nan, at)


def _attributes(actual: Tensor, expected: Tensor, checks: dict[str, bool], at: str) -> str:
    if tuple(actual.shape) != tuple(expected.shape):
        return f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}.{at}"
    for name, wanted in checks.items():
        if not wanted or name == "stride" and (actual.is_sparse or expected.is_sparse):
            continue
        a, b = (each.stride() if name == "stride" else getattr(each, name) for each in (actual, expected))
        if a != b:
            shown = "stride()" if name == "stride" else name
            return f"The values for attribute '{shown}' do not match: {a} != {b}.{at}"
    return ""


def _tolerance(first: DType, second: DType) -> tuple[float, float]:
    both = [_TOLERANCES.get(str(each).rpartition(".")[2], (0.0, 0.0)) for each in (first, second)]
    return max(each[0] for each in both), max(each[1] for each in both)


def _elements(what: str, actual: Tensor, expected: Tensor, rtol: Any, atol: Any, nan: bool, at: str) -> str:
    if rtol is None:
        rtol, atol = _tolerance(actual.dtype, expected.dtype)
    a, b = (_host(each) for each in (actual, expected))
    exact = not rtol and not atol
    whole = a.dtype.kind in "iub" and b.dtype.kind in "iub"
    # `isclose` computes in float64, in which large integers are equal to their neighbours
    close = a == b if exact and whole else np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=nan)
    if np.all(close):
        return ""
    title = f"{what if a.ndim else 'Scalars'} are not {'equal' if exact else 'close'}!"
    with np.errstate(all="ignore"):
        if exact and whole:
            away = np.where(close, 0, np.maximum(a, b).astype("O") - np.minimum(a, b).astype("O"))
        else:
            away = np.where(close, 0, np.abs(a.astype(np.result_type(a, "f8")) - b))
        relative = np.where(close, 0, away.astype(np.result_type(b, "f8") if b.dtype.kind == "f" else "f8") / np.abs(b))
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
