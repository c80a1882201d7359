"""The larger or smaller of two elements: maximum, minimum, fmax, fmin, clamp."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import on_device
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.arguments import invalid_combination, need_tensors, title
from .._define.binary import NUMBERS, Binary, as_common, binary, check_shapes, common_dtype
from .._define.inplace import in_place
from .._define.operator import Operator, on_one_device, operator
from .._define.out import deliver
from .._define.unbroadcast import to_dtype


def _shared(wins: Any) -> Any:
    """The derivative: the selected operand gets the gradient; two equal operands get one half each.

    `wins(x, y)` says where x is selected, not y.
    """

    def backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
        tied = x == y
        half = F.keep(g / 2, tied)
        return F.keep(g, ~wins(y, x) & ~tied) + half, F.keep(g, ~wins(x, y) & ~tied) + half

    return backward


def _single(wins: Any) -> Any:
    """The derivative: the selected operand gets the gradient; of two equal operands, the first one. `wins` as in `_shared`."""

    def backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
        first = wins(x, y) | (y != y)
        return F.keep(g, first), F.keep(g, ~first)

    return backward


MAXIMUM = binary("maximum", np.maximum, _shared(lambda x, y: x > y), (0, 1))
MINIMUM = binary("minimum", np.minimum, _shared(lambda x, y: x < y), (0, 1))
FMAX = binary("fmax", np.fmax, _single(lambda x, y: x >= y), (0, 1))
FMIN = binary("fmin", np.fmin, _single(lambda x, y: x <= y), (0, 1))


def _public(op: Binary, doc: str) -> Any:
    name = op.operator.name

    def call(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        need_tensors(name, input=input, other=other)
        if any(each._array.dtype.kind == "c" for each in (input, other)):
            raise RuntimeError(f"{name} not implemented for complex tensors.")
        return op.fast(input, other) if out is None else deliver(op.general(input, other), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{doc} Both are tensors, which are broadcast. `out`: a tensor to which the result is written."
    call.__module__ = "mpigrad"
    return method(call)


maximum = _public(MAXIMUM, "The larger of two elements, element by element; nan if one of them is nan.")
minimum = _public(MINIMUM, "The smaller of two elements, element by element; nan if one of them is nan.")
fmax = _public(FMAX, "The larger of two elements, element by element; if one of them is nan, the other one.")
fmin = _public(FMIN, "The smaller of two elements, element by element; if one of them is nan, the other one.")


def _clamp_numbers(x: Any, *, min: Any, max: Any) -> Any:
    made = x if min is None else np.maximum(x, x.dtype.type(min))
    return made if max is None else np.minimum(made, x.dtype.type(max))


def _clamp_numbers_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    low, high = node.kw["min"], node.kw["max"]
    if low is None:
        return F.keep(g, x <= high)
    return F.keep(g, x >= low) if high is None else F.keep(g, (x >= low) & (x <= high))


def _clamp(x: Any, low: Any, high: Any) -> Any:
    made = x if low is None else np.maximum(x, low)
    return made if high is None else np.minimum(made, high)


def _clamp_backward(F: Any, node: Any, g: Any, x: Any, low: Any, high: Any) -> Any:
    if low is None:
        return F.keep(g, x <= high), None, F.keep(g, x > high)
    if high is None:
        return F.keep(g, x >= low), F.keep(g, x < low), None
    return (
        F.keep(g, (x >= low) & (x <= high)),
        F.keep(g, (x < low) & (low < high)),
        F.keep(g, (x > high) | (high < low)),
    )


CLAMP_NUMBERS = operator("clamp_numbers", _clamp_numbers, _clamp_numbers_backward, saves=(0,), node="ClampBackward1")
CLAMP_MIN = operator("clamp_min", _clamp_numbers, _clamp_numbers_backward, saves=(0,), node="ClampMinBackward0")
CLAMP_MAX = operator("clamp_max", _clamp_numbers, _clamp_numbers_backward, saves=(0,), node="ClampMaxBackward0")
CLAMP = operator("clamp", _clamp, _clamp_backward, saves=(0, 1, 2), broadcasts=True)
CLAMP_MIN_TENSOR = operator(
    "clamp_min_tensor", _clamp, _clamp_backward, saves=(0, 1, 2), node="ClampMinBackward1", broadcasts=True
)
CLAMP_MAX_TENSOR = operator(
    "clamp_max_tensor", _clamp, _clamp_backward, saves=(0, 1, 2), node="ClampMaxBackward1", broadcasts=True
)


def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Limit each element to the range from `min` to `max`: numbers or tensors; None for no limit, but not for both.

    If `min` is larger than `max`, the result is `max`. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.clamp(mpigrad.tensor([-2.0, 0.5, 2.0]), -1, 1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    need_tensors("clamp", input=input)
    if min is None and max is None:
        raise RuntimeError("mpigrad.clamp: At least one of 'min' or 'max' must not be None")
    if input._array.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return deliver(_clamp_tensors(input, min, max), out)
    return deliver(_by_numbers(CLAMP_NUMBERS, input, min, max), out)


def _by_numbers(op: Any, input: Tensor, low: Any, high: Any) -> Tensor:
    for each in (low, high):
        if each is not None and not isinstance(each, (*NUMBERS, np.generic)):
            given = [value for value in (low, high) if value is not None]
            raise invalid_combination(
                "clamp", given, "Tensor min = None, Tensor max = None", "Number min = None, Number max = None"
            )
    kind = common_dtype([input, *(each for each in (low, high) if each is not None)])
    if kind.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    x = to_dtype(input, kind)
    if (low is not None and low != low) or (high is not None and high != high):
        low = high = float("nan")
    return op(x, min=low, max=high)


def _clamp_tensors(input: Tensor, low: Any, high: Any, op: Operator = CLAMP) -> Tensor:
    kind = common_dtype([each for each in (input, low, high) if each is not None])
    if kind.is_complex:
        raise NotImplementedError(f"\"maximum_cpu\" not implemented for '{title(np.empty(0, kind.numpy))}'")
    (input, low, high), place = on_one_device("clamp", (input, low, high))
    with on_device(place):
        arrays = as_common([each for each in (input, low, high) if each is not None], kind)
        for other in arrays[1:]:
            check_shapes(arrays[0], other)
        found = iter(arrays)
        all_arrays = [None if each is None else next(found) for each in (input, low, high)]
        inputs = tuple(
            each if each is None or isinstance(each, Tensor) else wrap(array)
            for each, array in zip((input, low, high), all_arrays)
        )
        return op.finish(inputs, _clamp(*all_arrays), {})


def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Replace elements below `min` (a number or a tensor) by it. `out`: a tensor to which the result is written."""
    need_tensors("clamp_min", input=input)
    if isinstance(min, Tensor):
        return deliver(_clamp_tensors(input, min, None, CLAMP_MIN_TENSOR), out)
    return deliver(_by_numbers(CLAMP_MIN, input, min, None), out)


def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Replace elements above `max` (a number or a tensor) by it. `out`: a tensor to which the result is written."""
    need_tensors("clamp_max", input=input)
    if isinstance(max, Tensor):
        return deliver(_clamp_tensors(input, None, max, CLAMP_MAX_TENSOR), out)
    return deliver(_by_numbers(CLAMP_MAX, input, None, max), out)


clip = clamp
for _name, _fn in (("clamp", clamp), ("clip", clamp), ("clamp_min", clamp_min), ("clamp_max", clamp_max)):
    method(_fn, _name)
    method(in_place(_fn), _name + "_")

__all__ = ["clamp", "clamp_max", "clamp_min", "clip", "fmax", "fmin", "maximum", "minimum"]
