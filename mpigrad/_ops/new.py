"""`new_zeros` and relatives: new tensors of the type and place of one that exists."""

from __future__ import annotations

from typing import Any

from .._dtype import dtype
from .._tensor import Tensor, method
from .create import Place, filled, tensor


def _arguments(self: Tensor, kind: Any, place: Any) -> tuple[Any, Any]:
    return self.dtype if kind is None else kind, self.device if place is None else place


@method
def new_zeros(self: Tensor, *size: Any, dtype: dtype | None = None, device: Place = None, requires_grad: bool = False,
              layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Zeros of this tensor's type and place."""
    kind, place = _arguments(self, dtype, device)
    return filled("new_zeros", 0, size, None, kind, place, requires_grad)


@method
def new_ones(self: Tensor, *size: Any, dtype: dtype | None = None, device: Place = None, requires_grad: bool = False,
             layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Ones of this tensor's type and place."""
    kind, place = _arguments(self, dtype, device)
    return filled("new_ones", 1, size, None, kind, place, requires_grad)


@method
def new_empty(self: Tensor, *size: Any, dtype: dtype | None = None, device: Place = None, requires_grad: bool = False,
              layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """An unfilled tensor of this tensor's type and place."""
    kind, place = _arguments(self, dtype, device)
    return filled("new_empty", None, size, None, kind, place, requires_grad)


@method
def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: dtype | None = None, device: Place = None,
             requires_grad: bool = False, layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """One value, in this tensor's type and place."""
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
    """A copy of `data`, in this tensor's type and place."""
    kind, place = _arguments(self, dtype, device)
    return tensor(data, dtype=kind, device=place, requires_grad=requires_grad)


__all__: list[str] = []
