"""Padding as modules. The first argument is one width for all sides, or a tuple: (left, right) for sequences, (left,
right, top, bottom) for images, (left, right, top, bottom, front, back) for volumes.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..._tensor import Tensor
from .. import functional as F
from .._sizes import tuple_of
from .module import Module


class _Pad(Module):
    """Padding of the last `dims` dimensions by `mode`."""

    dims: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = tuple_of(padding, 2 * self.dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    mode = "constant"
    value: float

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPad):
    """Pad both ends of the last dimension with the number `value`; `padding` is one width, or (left, right)."""

    dims = 1


class ConstantPad2d(_ConstantPad):
    """Pad the last two dimensions with the number `value`; `padding` is one width, or (left, right, top, bottom)."""

    dims = 2


class ConstantPad3d(_ConstantPad):
    """Pad the last three dimensions with the number `value`; `padding` is one width, or (left, right, top, bottom,
    front, back).
    """

    dims = 3


class ZeroPad1d(_ZeroPad):
    """Pad both ends of the last dimension with zeros; `padding` is one width, or (left, right)."""

    dims = 1


class ZeroPad2d(_ZeroPad):
    """Pad the last two dimensions with zeros; `padding` is one width, or (left, right, top, bottom)."""

    dims = 2


class ZeroPad3d(_ZeroPad):
    """Pad the last three dimensions with zeros; `padding` is one width, or (left, right, top, bottom, front, back)."""

    dims = 3


class ReflectionPad1d(_Pad):
    """Pad sequences with their mirror image, without repeating the edge; `padding` is one width, or (left, right).

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> nn.ReflectionPad1d(1)(mpigrad.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    dims, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pad images with their mirror image, without repeating the edge; `padding` is one width, or (left, right, top,
    bottom).
    """

    dims, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Pad volumes with their mirror image, without repeating the edge; `padding` is one width, or (left, right, top,
    bottom, front, back).
    """

    dims, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Pad sequences by repeating their first and last element; `padding` is one width, or (left, right)."""

    dims, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pad images by repeating their border pixels; `padding` is one width, or (left, right, top, bottom)."""

    dims, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Pad volumes by repeating their border elements; `padding` is one width, or (left, right, top, bottom, front,
    back).
    """

    dims, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """Pad sequences periodically, with the elements of the opposite end; `padding` is one width, or (left, right)."""

    dims, mode = 1, "circular"


class CircularPad2d(_Pad):
    """Pad images periodically, with the pixels of the opposite side; `padding` is one width, or (left, right, top,
    bottom).
    """

    dims, mode = 2, "circular"


class CircularPad3d(_Pad):
    """Pad volumes periodically, with the elements of the opposite side; `padding` is one width, or (left, right, top,
    bottom, front, back).
    """

    dims, mode = 3, "circular"


__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]
