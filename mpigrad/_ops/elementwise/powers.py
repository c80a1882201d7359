"""Powers: tensor ** number, tensor ** tensor, number ** tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._array.dtype import complex128, float64
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.binary import NUMBERS, OPERANDS, binary, common_dtype
from .._define.foreign import instead_of_tensor, leave_to
from .._define.inplace import in_place
from .._define.operator import OpNode, operator
from .._define.out import deliver
from .._define.unbroadcast import to_dtype
from .functions import square


def _pow_number(x: Any, *, exponent: Any) -> Any:
    if x.dtype.kind not in "fcV":
        return np.power(x, exponent)
    if exponent == 2:
        return x * x
    if exponent == 1:
        return x.copy()
    if exponent == 3:
        return x * x * x
    if exponent == 0.5:
        return np.sqrt(x)
    if exponent == -1:
        return 1 / x
    return np.power(x, x.dtype.type(exponent))


def _pow_number_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    p = node.kw["exponent"]
    if p == 0:
        return g * 0
    slope = F.pow_number(x, exponent=p - 1) * p
    return g * F.conj(slope)


def _pow(x: Any, y: Any) -> Any:
    if x.dtype.kind == "b":
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    if x.dtype.kind in "biu":
        return _integer_pow(x, y)
    return np.power(x, y)


def _integer_pow(x: Any, y: Any) -> Any:
    """x ** y for integers; negative powers are 0, except those of 1 and -1."""
    xp = array_module(x)
    negative = y < 0
    made = np.power(x, xp.where(negative, 0, y))
    odd = xp.where(y % 2 == 0, 1, -1)
    return xp.where(negative, xp.where(x == 1, 1, xp.where(x == -1, odd, 0)), made).astype(x.dtype)


def _pow_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    into_x = into_y = None
    if node.needs[0]:
        into_x = F.keep(g * F.conj(y * F.pow(x, y - 1)), y != 0)
    if node.needs[1]:
        into_y = F.keep(g * F.conj(F.pow(x, y) * F.log(x)), (x != 0) | _negative(y))
    return into_x, into_y


def _negative(y: Any) -> Any:
    kind = getattr(getattr(y, "_array", y), "dtype", None)
    return y != y if kind is not None and kind.kind == "c" else y < 0


def _rpow(x: Any, *, base: Any) -> Any:
    return np.power(x.dtype.type(base), x)


def _rpow_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    base = node.kw["base"]
    if base == 0:
        return F.keep(g * (F.rpow(x, base=base) * -math.inf), x < 0)
    factor = np.log(complex(base)) if isinstance(base, complex) else math.log(base) if base > 0 else math.nan
    return g * F.conj(F.rpow(x, base=base) * factor)


class _PowNode(OpNode):
    """The node of `tensor ** number`, whose derivative multiplies the gradient by a factor."""

    __slots__ = ()
    multiplies = True


POW_NUMBER = operator("pow_number", _pow_number, _pow_number_backward, saves=(0,), node="PowBackward0", base=_PowNode)
POW = binary("pow", np.power, _pow_backward, (0, 1), node="PowBackward1", forward=_pow)
RPOW = operator("rpow", _rpow, _rpow_backward, saves=(0,), node="PowBackward2")


def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """`input` to the power of `exponent`, element by element; one of them may be a number.

    Integers to negative powers raise a RuntimeError. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.pow(mpigrad.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    if isinstance(exponent, (int, float, complex, np.generic)):
        return deliver(_to_number(input, exponent), out)
    if isinstance(input, (int, float, complex, np.generic)):
        return deliver(_of_number(input, exponent), out)
    return deliver(POW.general(input, exponent), out)


def _to_number(x: Any, exponent: Any) -> Tensor:
    p = exponent.item() if isinstance(exponent, np.generic) else exponent
    if not isinstance(x, Tensor):
        raise TypeError(f"pow(): argument 'input' (position 1) must be {instead_of_tensor(x)}")
    kind = common_dtype((x, p))
    if kind.category < 2 and p < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if kind.category == 0:
        return wrap(x._array.copy() if p else np.ones_like(x._array))
    if p == 2 and kind.category >= 2:
        return square(to_dtype(x, kind))
    return POW_NUMBER(to_dtype(x, kind), exponent=p)


def _of_number(base: Any, x: Any) -> Tensor:
    base = base.item() if isinstance(base, np.generic) else base
    if not isinstance(x, Tensor):
        raise TypeError(f"pow(): argument 'exponent' (position 2) must be {instead_of_tensor(x)}")
    kind = common_dtype((x, base))
    if kind.category < 2:
        return POW.general(base, x)
    return RPOW(to_dtype(x, kind), base=base)


def _dunder(self: Tensor, other: Any) -> Any:
    if other.__class__ is int and other == 2 and self._array.dtype.kind in "fcV":
        return square(self)
    return pow(self, other) if isinstance(other, OPERANDS) else leave_to(other)


def _reflected(self: Tensor, other: Any) -> Any:
    return pow(other, self) if isinstance(other, OPERANDS) else leave_to(other)


_changing = in_place(pow)
method(_dunder, "__pow__")
method(_reflected, "__rpow__")
method(pow)
method(_changing, "pow_")
method(_changing, "__ipow__")


def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """A power computed in double precision: the result is float64 or complex128. `input` or `exponent` may be a
    number. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.float_power(mpigrad.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=mpigrad.float64)
    """
    kind = complex128 if common_dtype((input, exponent)).is_complex else float64
    a, b = (each if isinstance(each, NUMBERS) else to_dtype(each, kind) for each in (input, exponent))
    return deliver(pow(a, b), out)


method(float_power)

__all__ = ["float_power", "pow"]
