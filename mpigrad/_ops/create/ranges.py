"""Tensors with regular sequences of numbers: arange, linspace, logspace."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from mpigrad._array.device import module_for, on_device
from mpigrad._array.dtype import as_dtype, dtype, get_default_dtype
from mpigrad._tensor import Tensor

from .._define.arguments import invalid_combination
from .._define.binary import common_dtype
from .._define.out import deliver
from .create import Place, new, number_type, plain_number
from .data import place_and_type

_MISSING: Any = object()


def arange(
    start: Any = _MISSING, end: Any = None, step: Any = 1, *, out: Tensor | None = None, dtype: dtype | None = None,
    layout: Any = None, device: Place = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The numbers from `start` (default 0) in steps of `step` up to, not including, `end`: a vector.

    The type is int64 if all arguments are ints, otherwise the default float type, unless `dtype` is given. `device`,
    `requires_grad`, `out`: as for `zeros`.

    >>> import mpigrad
    >>> mpigrad.arange(3)
    tensor([0, 1, 2])
    >>> mpigrad.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if end is None:
        start, end = 0, start
    if end is _MISSING:
        raise invalid_combination("arange", (), "Number end", "Number start, Number end, Number step = 1")
    start, end, step = (plain_number(each) for each in (0 if start is _MISSING else start, end, step))
    if any(isinstance(each, complex) for each in (start, end, step)):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    place, kind = place_and_type(
        device, dtype if dtype is not None else out.dtype if out is not None else number_type(start, end, step)
    )
    if kind.category < 2:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
    exact = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    count = -((start - end) // step) if exact else math.ceil((end - start) / step)
    with on_device(place):
        made = module_for(place).arange(count, dtype="i8" if kind.category < 2 else "f8") * step + start
        return deliver(new(made.astype(kind.numpy), requires_grad, pin_memory), out)


def range(
    start: Any, end: Any, step: Any = 1, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None,
    device: Place = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Deprecated form of `arange` that includes `end` and returns floating-point numbers.

    `out`: a tensor to which the result is written.

    >>> import mpigrad, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     mpigrad.range(1, 3)
    tensor([1., 2., 3.])
    """
    warnings.warn(
        "mpigrad.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use mpigrad.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    start, end, step = plain_number(start), plain_number(end), plain_number(step)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    place, kind = place_and_type(device, out.dtype if dtype is None and out is not None else dtype)
    count = math.floor((end - start) / step) + 1
    with on_device(place):
        made = (module_for(place).arange(count, dtype="f8") * step + start).astype(kind.numpy)
    return deliver(new(made, requires_grad, pin_memory), out)


def linspace(
    start: Any, end: Any, steps: int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None,
    device: Place = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A vector of `steps` numbers at equal distances from `start` to `end`, both included.

    `dtype` (by default the default float type), `device` and `requires_grad` are those of the new tensor; `out` is a
    tensor to fill instead. `pin_memory`: in pinned host memory.

    >>> import mpigrad
    >>> mpigrad.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    return deliver(new(_spread(start, end, steps, dtype, device, lambda x: x), requires_grad, pin_memory), out)


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, out: Tensor | None = None, dtype: dtype | None = None,
    layout: Any = None, device: Place = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A vector of `steps` numbers base ** x, with x at equal distances from `start` to `end`, both included.

    `dtype` (by default the default float type), `device` and `requires_grad` are those of the new tensor; `out` is a
    tensor to fill instead. `pin_memory`: in pinned host memory.

    >>> import mpigrad
    >>> mpigrad.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    made = _spread(start, end, steps, dtype, device, lambda x: np.power(base, x))
    return deliver(new(made, requires_grad, pin_memory), out)


def _spread(start: Any, end: Any, steps: int, wanted: Any, device: Place, then: Any) -> Any:
    start, end = plain_number(start), plain_number(end)
    if isinstance(steps, float):
        raise TypeError(f"the number of steps must be int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    default = get_default_dtype()
    if isinstance(start, complex) or isinstance(end, complex):
        default = default.to_complex()
    place, kind = place_and_type(device, default if wanted is None else as_dtype(wanted))
    high = "c16" if kind.is_complex else "f8"
    with on_device(place):
        return then(module_for(place).linspace(start, end, steps, dtype=high)).astype(kind.numpy)


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The element type of the result of an operation on both arguments, which are tensors or numbers.

    Tensors with dimensions count more than zero-dimensional ones, and those more than Python numbers: a number
    decides only the kind (integer, float or complex).

    >>> import mpigrad
    >>> mpigrad.result_type(mpigrad.ones(2, dtype=mpigrad.int64), 1.5)
    mpigrad.float32
    """
    return common_dtype((tensor1, tensor2))


__all__ = ["arange", "linspace", "logspace", "range", "result_type"]
