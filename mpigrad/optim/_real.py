"""Complex parameters as real ones: an optimizer's step treats real and imaginary part as two elements."""

from __future__ import annotations

from typing import Any

from .._core.tensor import wrap
from .._tensor import Tensor


def real_view(array: Any) -> Any:
    """A view of the same memory as real numbers, with a last dimension for real and imaginary parts."""
    return array[..., None].view(array.real.dtype) if array.dtype.kind == "c" else array


def as_real(value: Tensor) -> Tensor:
    """A view with real elements (a last dimension for real and imaginary parts); real tensors are returned unchanged.
    """
    return wrap(real_view(value._array)) if value._array.dtype.kind == "c" else value


def as_complex(value: Any, parameter: Tensor) -> Any:
    """Convert state of the real view back to the complex type and shape of the parameter."""
    if not isinstance(value, Tensor) or value._array.shape != (*parameter._array.shape, 2):
        return value
    return wrap(value._array.view(parameter._array.dtype)[..., 0])
