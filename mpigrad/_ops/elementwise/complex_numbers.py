"""Complex numbers: complex, polar, real, imag, angle, and views as pairs of real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors, title
from .._define.operator import operator
from .._define.out import deliver
from .._define.unary import as_float

_REAL = {"c8": "f4", "c16": "f8"}


def _complex(re: Any, im: Any) -> Any:
    made = array_module(re).empty(np.broadcast_shapes(re.shape, im.shape), "c8" if re.dtype.itemsize == 4 else "c16")
    made.real, made.imag = re, im
    return made


def _as_real(x: Any) -> Any:
    return x[..., None].view(_REAL[x.dtype.str[1:]])


def _as_complex(x: Any) -> Any:
    x = x if x.strides[-1] == x.itemsize else x.copy()  # gradients may come in any order
    return x.view("c8" if x.dtype.itemsize == 4 else "c16")[..., 0]


def _pad_imaginary(x: Any) -> Any:
    return x.astype("c8" if x.dtype.itemsize == 4 else "c16")


COMPLEX = operator("complex", _complex, lambda F, node, g: (F.real(g), F.imag(g)), broadcasts=True)
REAL = operator("real", lambda x: x.real, lambda F, node, g: F.to_complex(g), node="SelectBackward0", view=True)
IMAG = operator("imag", lambda x: x.imag, lambda F, node, g: F.to_complex(g) * 1j, node="SelectBackward0", view=True)
TO_COMPLEX = operator("to_complex", _pad_imaginary, lambda F, node, g: F.real(g), node="ToCopyBackward0")
VIEW_AS_REAL = operator(
    "view_as_real", _as_real, lambda F, node, g: F.view_as_complex(g), node="ViewAsRealBackward0", view=True
)
VIEW_AS_COMPLEX = operator(
    "view_as_complex", _as_complex, lambda F, node, g: F.view_as_real(g), node="ViewAsComplexBackward0", view=True
)


def _polar_backward(F: Any, node: Any, g: Any, size: Any, angle: Any) -> Any:
    unit = F.complex(F.cos(angle), -F.sin(angle))
    turned = g * unit
    return F.real(turned), F.imag(turned) * size


POLAR = operator(
    "polar", lambda x, y: _complex(x * np.cos(y), x * np.sin(y)), _polar_backward, saves=(0, 1), broadcasts=True
)


def _angle_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    if not F.is_complex(x):
        return g * 0
    return F.to_complex(g) * (x / (F.real(x) * F.real(x) + F.imag(x) * F.imag(x))) * 1j


ANGLE = operator("angle", lambda x: array_module(x).angle(x).astype(x.real.dtype), _angle_backward, saves=(0,))


def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A complex tensor from real and imaginary parts: two tensors of one floating-point type. `out`: a tensor to
    which the result is written.

    >>> import mpigrad
    >>> mpigrad.complex(mpigrad.tensor([1.0]), mpigrad.tensor([2.0]))
    tensor([1.+2.j])
    """
    need_tensors("complex", real=real, imag=imag)
    x, y = real._array, imag._array
    if x.dtype.kind not in "fV" or y.dtype.kind not in "fV":
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {title(x)} and {title(y)}"
        )
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {title(x)} but got scalar type {title(y)} for second argument"
        )
    return deliver(COMPLEX(real, imag), out)


def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A complex tensor from absolute values and angles (in radians): two tensors of one floating-point type. `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.polar(mpigrad.tensor([2.0]), mpigrad.tensor([0.0]))
    tensor([2.+0.j])
    """
    need_tensors("polar", abs=abs, angle=angle)
    x, y = abs._array, angle._array
    if x.dtype.kind not in "fV" or y.dtype.kind not in "fV":
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {title(x)} and {title(y)}"
        )
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {title(x)} but got scalar type {title(y)} for second argument"
        )
    return deliver(POLAR(abs, angle), out)


def real(input: Tensor) -> Tensor:
    """The real parts of a complex tensor, as a view; a real tensor is returned unchanged."""
    return REAL(input) if input._array.dtype.kind == "c" else input


def imag(input: Tensor) -> Tensor:
    """The imaginary parts of a complex tensor, as a view; a real tensor raises a RuntimeError."""
    if input._array.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return IMAG(input)


def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of each element in the complex plane, in radians: 0 or pi for real ones. `out`: a tensor to which the
    result is written.
    """
    return deliver(ANGLE(as_float(input)), out)


def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as pairs of real numbers in a new last dimension of length 2; a view of the same memory.

    >>> import mpigrad
    >>> mpigrad.view_as_real(mpigrad.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if input._array.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return VIEW_AS_REAL(input)


def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers as complex ones; a view of the same memory. The last dimension must have length 2.

    >>> import mpigrad
    >>> mpigrad.view_as_complex(mpigrad.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    array = input._array
    if array.dtype.kind not in "fV":
        raise RuntimeError(f"view_as_complex is only supported for floating point tensors, but got {title(array)}")
    if array.ndim == 0 or array.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if array.strides[-1] != array.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    return VIEW_AS_COMPLEX(input)


def _set_real(self: Tensor, value: Any) -> None:
    real(self).copy_(value)


def _set_imag(self: Tensor, value: Any) -> None:
    imag(self).copy_(value)


method(property(real, _set_real), "real")  # type: ignore[type-var]
method(property(imag, _set_imag), "imag")  # type: ignore[type-var]
method(angle)
method(lambda self: self, "resolve_conj")
method(lambda self: self, "resolve_neg")
method(lambda self: False, "is_conj")
method(lambda self: False, "is_neg")
method(lambda self: self.conj(), "conj_physical")

__all__ = ["angle", "complex", "imag", "polar", "real", "view_as_complex", "view_as_real"]
