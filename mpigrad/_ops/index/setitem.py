"""Assigning to `x[...]`: to views for basic keys, at index arrays for all others; gradients flow to both sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module, device_of, guard, move
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE
from mpigrad._tensor import Tensor, counter, method

from .._define.arguments import title
from .._define.guarded import guarded
from .._define.inplace import change, check_writable
from .._define.operator import operator
from .add_at import add_at
from .getitem import Key, array_key, as_pytorch, as_tuple, is_basic, split_key, step_of, take_basic

ndarray = np.ndarray


def _put(x: Any, value: Any, *, key: Key, accumulate: bool) -> Any:
    made = x.copy()
    if accumulate:
        add_at(made, key, value)
    else:
        made[key] = value
    return made


def _zero_at(x: Any, *, key: Key) -> Any:
    made = x.copy()
    made[key] = 0
    return made


def _put_backward(F: Any, node: Any, g: Any) -> Any:
    key = node.kw["key"]
    # the old elements were replaced, so their gradient is zero; with `accumulate` they are still part of the result
    kept = g if node.kw["accumulate"] or not node.needs[0] else F.zero_at(g, key=key)
    return kept, F.sum_to(F.index(g, key=key), shape=node.shapes[1]) if node.needs[1] else None


operator("zero_at", _zero_at, lambda F, node, g: F.zero_at(g, key=node.kw["key"]), node="IndexPutBackward0")
PUT = operator("index_put", _put, _put_backward, node="IndexPutBackward0")


def _setitem(self: Tensor, key: Any, value: Any) -> None:
    if _quickly_set(self, key, value):
        return
    source = _assigned(self, value)
    if self.is_sparse:
        raise TypeError("Cannot assign to a sparse tensor: use to_dense() first")
    if key is False:
        return  # no element is selected
    basic, arrays = split_key(self._array, as_tuple(None if key is True else key))
    if not arrays:
        _assign(self, basic, source)
        return
    part = self if step_of(basic) is None else take_basic(self, basic)
    put_(part, array_key(arrays, MODE.enabled), source, accumulate=False, number=not isinstance(value, Tensor))


def _quickly_set(self: Tensor, key: Any, value: Any) -> bool:
    """Fast path: assign if nothing is recorded and no conversion is needed; returns whether it did."""
    array, kind = self._array, key.__class__
    if array.__class__ is not ndarray or MODE.inference or self._extra is not None and self._extra.inference:
        return False
    if kind is tuple:
        if len(key) > array.ndim or not is_basic(key):
            return False
    elif kind is not int and (kind is not slice or key.step is not None) or not array.ndim:
        return False
    number = value.__class__ is float or value.__class__ is int
    if not number and value.__class__ is not Tensor:
        return False
    if MODE.enabled and (self._requires or not number and value._requires):
        return False
    try:
        part = array[key] if kind is slice else array[(*key, ...) if kind is tuple and Ellipsis not in key else key]
    except IndexError as error:
        raise as_pytorch(error, array) from None
    same = number or (
        value._array.shape == part.shape and value._array.dtype is array.dtype and value._array.__class__ is ndarray
    )
    if part.__class__ is not ndarray or not same:
        return False
    check_writable(part)
    part[...] = value if number else value._array
    # nodes that saved this tensor must detect the change
    counter(self)[0] += 1
    return True


def _assigned(self: Tensor, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, complex, np.generic)):
        with guard(self._array):
            return wrap(array_module(self._array).asarray(value))
    raise TypeError(f"can't assign a {_type_name(value)} to a mpigrad.{title(self._array)}Tensor")


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _assign(self: Tensor, key: Key, source: Tensor) -> None:
    """Copy `source` into the part of `self` at a basic key."""
    recorded = MODE.enabled and (self._requires or source._requires)
    if recorded or MODE.inference or (self._extra is not None and self._extra.inference):
        # x[...] = y on a result of an operation: no view is needed, and the node is CopyBackwards as in PyTorch
        whole = step_of(key) is None and self._view is None and self._grad_fn is not None
        part = self if whole else take_basic(self, key)
        if part._array.ndim and not source._array.ndim:
            part.fill_(source)
            return
        _check_assigned(part._array.shape, source._array.shape)
        part.copy_(_without_leading(source, part._array.ndim))
        return
    try:
        part = self._array[(*key, ...)] if Ellipsis not in key else self._array[key]
    except IndexError as error:
        raise as_pytorch(error, self._array) from None
    _check_assigned(part.shape, source._array.shape)
    check_writable(part)
    with guard(part):
        values = source._array if source._array.__class__ is part.__class__ is ndarray else move(source._array, device_of(part))
        part[...] = values.real if values.dtype.kind == "c" and part.dtype.kind != "c" else values
    counter(self)[0] += 1


def _without_leading(source: Tensor, ndim: int) -> Tensor:
    extra = source._array.ndim - ndim
    return source.reshape(source._array.shape[extra:]) if extra > 0 else source


def _check_assigned(into: tuple[int, ...], shape: tuple[int, ...]) -> None:
    trimmed = shape
    while len(trimmed) > len(into) and trimmed[0] == 1:
        trimmed = trimmed[1:]
    for back, (m, n) in enumerate(zip(into[::-1], trimmed[::-1]), start=1):
        if m != n and n != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({m}) must match the existing size ({n}) at non-singleton dimension "
                f"{len(into) - back}.  Target sizes: {list(into)}.  Tensor sizes: {list(shape)}"
            )
    if len(trimmed) > len(into):
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(into)}) must be greater or equal to the number of "
            "dimensions in the "
            f"tensor ({len(trimmed)})"
        )


@guarded
def put_(tensor: Tensor, key: Key, source: Tensor, accumulate: bool, number: bool) -> Tensor:
    """Assign (or, with `accumulate`, add) at index arrays, in place; `number` as in `fit_source`."""
    source = fit_source(tensor, key, source, number)
    return change(tensor, lambda old: PUT(old, source, key=key, accumulate=accumulate))


def fit_source(tensor: Tensor, key: Key, source: Tensor, number: bool) -> Tensor:
    """Check the values that are to be assigned at index arrays, and return them.

    If they were given as a Python number (`number`), they are converted to the tensor's type; a tensor must have that type.
    """
    array, values = tensor._array, source._array
    if values.dtype != array.dtype:
        if not number:
            raise RuntimeError(
                f"Index put requires the source and destination dtypes match, got {title(array)} for the "
                "destination and "
                f"{title(values)} for the source."
            )
        source = wrap(values.astype(array.dtype))
    return _without_leading(source, _check_put(array, key, values.shape))


def _check_put(array: Any, key: Key, shape: tuple[int, ...]) -> int:
    """Raise an error for indices out of range and for values of a wrong shape; returns the number of indexed dimensions."""
    for dim, each in enumerate(key):
        if each.__class__ is not slice and each.size:
            low, high = int(each.min()), int(each.max())
            if low < -array.shape[dim] or high >= array.shape[dim]:
                wrong = high if high >= array.shape[dim] else low
                raise IndexError(f"index {wrong} is out of bounds for dimension {dim} with size {array.shape[dim]}")
    found = [each.shape for each in key if each.__class__ is not slice]
    try:
        spread = np.broadcast_shapes(*found)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(str(list(each)) for each in found)
        ) from None
    into = _result_shape(array.shape, key, spread)
    if len(shape) > len(into) and set(shape[: len(shape) - len(into)]) == {1}:
        shape = shape[len(shape) - len(into) :]
    if len(shape) > len(into) or any(n not in (m, 1) for m, n in zip(into[::-1], shape[::-1])):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing result of "
            f"shape {list(into)}"
        )
    return len(into)


def _result_shape(shape: tuple[int, ...], key: Key, spread: tuple[int, ...]) -> tuple[int, ...]:
    dims = [dim for dim, each in enumerate(key) if each.__class__ is not slice]
    rest = [length for dim, length in enumerate(shape) if dim not in dims]
    at = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    return (*rest[:at], *spread, *rest[at:])


method(_setitem, "__setitem__")

__all__: list[str] = []
