"""Reduces gradients to the shapes and types of their inputs: sums over broadcast dimensions, and casts."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._array.dtype import dtype
from mpigrad._graph.namespace import add_to_both
from mpigrad._tensor import Tensor

from .narrow import narrowed, widened
from .operator import operator
from .views import view_operator


def _expand(x: Any, *, shape: tuple[int, ...]) -> Any:
    if x.__class__ is np.ndarray and x.flags.c_contiguous and x.size:
        new = len(shape) - x.ndim
        # a stride of 0 repeats an element without memory
        kept = [stride if length != 1 else 0 for length, stride in zip(x.shape, x.strides)]
        for place, length in enumerate(x.shape):
            if length != 1 and shape[place + new] != length:
                break  # NumPy raises the error below
        else:
            return np.ndarray(shape, x.dtype, x, 0, (0,) * new + tuple(kept))  # ten times as fast as broadcast_to
    made = array_module(x).broadcast_to(x, shape)
    if made.__class__ is np.ndarray and x.flags.writeable:
        made.flags.writeable = True  # NumPy makes it read-only; operators check for overlapping writes themselves
    return made


def _sum_to(x: Any, *, shape: tuple[int, ...]) -> Any:
    """Sum over the dimensions that broadcasting from `shape` to `x.shape` has added or stretched."""
    new = x.ndim - len(shape)
    axes = tuple(range(new)) + tuple(i + new for i, length in enumerate(shape) if length == 1 and x.shape[i + new] != 1)
    if axes and x.dtype.kind == "V":
        return narrowed(_sum_to(widened(x), shape=shape))
    summed = x.sum(axis=axes, keepdims=True, dtype=x.dtype) if axes else x
    return summed.reshape(shape) if new else summed


def _cast(x: Any, *, dtype: np.dtype) -> Any:
    """Convert elements to another type; complex numbers lose their imaginary part if the type is real, as gradients must."""
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    return x.astype(dtype)


expand = view_operator("expand", _expand, lambda F, node, g: F.sum_to(g, shape=node.shapes[0]), "ExpandBackward0")
sum_to = operator("sum_to", _sum_to, lambda F, node, g: F.expand(g, shape=node.shapes[0]), node="SumBackward1")


def _cast_backward(F: Any, node: Any, g: Any) -> Any:
    return F.cast(g, dtype=node.kw["source"]) if "source" in node.kw else g


def _cast_forward(x: Any, *, dtype: np.dtype, source: np.dtype | None = None) -> Any:
    return _cast(x, dtype=dtype)


_cast_recorded = operator("cast_from", _cast_forward, _cast_backward, node="ToCopyBackward0")
_cast_recorded.exact = True


def cast(tensor: Tensor, *, dtype: np.dtype) -> Tensor:
    """Convert a tensor's elements, differentiably."""
    return _cast_recorded(tensor, dtype=dtype, source=tensor._array.dtype)


add_to_both("cast", _cast, cast)


def _conform_raw(grad: Any, meta: tuple[Any, Any] | None) -> Any:
    if grad is None or meta is None:
        return grad
    shape, kind = meta
    if grad.shape != shape:
        grad = _sum_to(grad, shape=shape)
    return grad if grad.dtype == kind else _cast(grad, dtype=kind)


def _conform_recorded(grad: Any, meta: tuple[Any, Any] | None) -> Any:
    if grad is None or meta is None:
        return grad
    shape, kind = meta
    if grad._array.shape != shape:
        grad = sum_to(grad, shape=shape)
    return grad if grad._array.dtype == kind else cast(grad, dtype=kind)


add_to_both("conform", _conform_raw, _conform_recorded)


def to_dtype(tensor: Tensor, wanted: dtype) -> Tensor:
    """The tensor converted to another element type; itself if it has that type."""
    return tensor if tensor._array.dtype == wanted.numpy else cast(tensor, dtype=wanted.numpy)
