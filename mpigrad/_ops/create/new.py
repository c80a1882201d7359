"""`new_zeros` and others: new tensors with the type and device of an existing one."""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import resolve
from mpigrad._array.dtype import as_dtype, dtype
from mpigrad._array.layout import sparse_coo
from mpigrad._tensor import Tensor, method

from .._define.dims import size_from
from .create import Place, filled, new, tensor
from .sparse_empty import empty_of_shape


def _arguments(self: Tensor, kind: Any, place: Any) -> tuple[Any, Any]:
    return self.dtype if kind is None else kind, self.device if place is None else place


def is_sparse_layout(like: Tensor, layout: Any) -> bool:
    """Whether a tensor that is created like another one (by `zeros_like`, `new_zeros`, ...) is sparse."""
    return like.is_sparse if layout is None else layout is sparse_coo


def _all_sparse(name: str, size: Any) -> tuple[tuple[int, ...], int]:
    shape = tuple(size_from(name, size))
    return shape, len(shape)


@method
def new_zeros(self: Tensor, *size: Any, dtype: dtype | None = None, device: Place = None, requires_grad: bool = False,
              layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor of zeros of the shape `size`. `dtype` and `device` are by default those of this tensor;
    `requires_grad` (default: False) is that of the new one.
    """
    kind, place = _arguments(self, dtype, device)
    if is_sparse_layout(self, layout):
        return new(empty_of_shape(resolve(place), *_all_sparse("new_zeros", size), as_dtype(kind).numpy), requires_grad)
    return filled("new_zeros", 0, size, None, kind, place, requires_grad)


@method
def new_ones(self: Tensor, *size: Any, dtype: dtype | None = None, device: Place = None, requires_grad: bool = False,
             layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor of ones of the shape `size`. `dtype` and `device` are by default those of this tensor; `requires_grad`
    (default: False) is that of the new one.
    """
    kind, place = _arguments(self, dtype, device)
    return filled("new_ones", 1, size, None, kind, place, requires_grad)


@method
def new_empty(self: Tensor, *size: Any, dtype: dtype | None = None, device: Place = None, requires_grad: bool = False,
              layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """An uninitialised tensor of the shape `size`. `dtype` and `device` are by default those of this tensor;
    `requires_grad` (default: False) is that of the new one.
    """
    kind, place = _arguments(self, dtype, device)
    if is_sparse_layout(self, layout):
        return new(empty_of_shape(resolve(place), *_all_sparse("new_empty", size), as_dtype(kind).numpy), requires_grad)
    return filled("new_empty", None, size, None, kind, place, requires_grad)


@method
def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: dtype | None = None, device: Place = None,
             requires_grad: bool = False, layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor of the shape `size`, filled with the number `fill_value`. `dtype` and `device` are by default those of
    this tensor; `requires_grad` (default: False) is that of the new one.
    """
    kind, place = _arguments(self, dtype, device)
    return filled("new_full", fill_value, (tuple(size),), None, kind, place, requires_grad)


@method
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: dtype | None = None,
    device: Place = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of `data` (as for `mpigrad.tensor`). `dtype` and `device` are by default those of this
    tensor; `requires_grad` (default: False) is that of the new one.
    """
    kind, place = _arguments(self, dtype, device)
    return tensor(data, dtype=kind, device=place, requires_grad=requires_grad)


__all__: list[str] = []
