"""Division with rounding and its remainders: floor_divide, remainder, fmod, div with a rounding mode."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._tensor import Tensor, method

from .._define.arguments import title
from .._define.binary import NUMBERS, OPERANDS, Binary, binary, common_dtype
from .._define.foreign import leave_to
from .._define.inplace import in_place
from .._define.operator import OpNode
from .._define.out import deliver


def _check_zero(y: Any) -> None:
    if y.dtype.kind in "biu" and not y.all():
        raise RuntimeError("ZeroDivisionError")


def _floor(x: Any, y: Any) -> Any:
    _check_zero(y)
    return np.floor_divide(x, y)


def _trunc(x: Any, y: Any) -> Any:
    if x.dtype.kind in "fV":
        return np.trunc(x / y)
    _check_zero(y)
    whole = np.floor_divide(x, y)
    return whole + ((whole < 0) & (whole * y != x)).astype(x.dtype)


def _remainder(x: Any, y: Any) -> Any:
    _check_zero(y)
    return np.remainder(x, y)


def _fmod(x: Any, y: Any) -> Any:
    _check_zero(y)
    return np.fmod(x, y)


def _no_bits(name: str) -> Any:
    """A check that raises PyTorch's error for types that have no such division: booleans and complex numbers."""

    def refuse(a: Any, b: Any) -> None:
        kind = common_dtype((a, b))
        if kind.category in (0, 3):
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{title(np.empty(0, kind.numpy))}'")

    return refuse


class _NoDerivative(OpNode):
    """The node of an operation that PyTorch records without a derivative: its backward raises an error."""

    __slots__ = ()

    def name(self) -> str:
        return "torch::autograd::NotImplemented"


def _refuse(F: Any, node: Any, g: Any) -> Any:
    raise RuntimeError(f"derivative for aten::{node.operator.name} is not implemented")


def _zeros(F: Any, node: Any, g: Any) -> Any:
    return g * 0, g * 0


def _remainder_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    return g, -g * F.div_floor(x, y) if node.needs[1] else None


def _fmod_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    return g, -g * F.div_trunc(x, y) if node.needs[1] else None


FLOOR_DIVIDE = binary(
    "floor_divide", np.floor_divide, _refuse, node="NotImplemented", forward=_floor, base=_NoDerivative,
    refuse_bool=_no_bits("div_floor"),
)  # fmt: skip
DIV_FLOOR = binary("div_floor", np.floor_divide, _zeros, node="DivBackward2", forward=_floor,
                   refuse_bool=_no_bits("div_floor"))  # fmt: skip
DIV_TRUNC = binary("div_trunc", _trunc, _zeros, node="DivBackward2", refuse_bool=_no_bits("div_trunc"))
REMAINDER = binary(
    "remainder", np.remainder, _remainder_backward, (0, 1), node="RemainderBackward1", forward=_remainder,
    refuse_bool=_no_bits("remainder"),
)  # fmt: skip
REMAINDER_NUMBER = binary("remainder_number", np.remainder, lambda F, node, g: (g, None), node="RemainderBackward0",
                          forward=_remainder, refuse_bool=_no_bits("remainder"))  # fmt: skip
REMAINDER_OF_NUMBER = binary("remainder_of_number", np.remainder, _refuse, node="NotImplemented", forward=_remainder,
                             base=_NoDerivative, refuse_bool=_no_bits("remainder"))  # fmt: skip
FMOD = binary("fmod", np.fmod, _fmod_backward, (0, 1), node="FmodBackward1", forward=_fmod,
              refuse_bool=_no_bits("fmod"))  # fmt: skip
FMOD_NUMBER = binary("fmod_number", np.fmod, lambda F, node, g: (g, None), node="FmodBackward0", forward=_fmod,
                     refuse_bool=_no_bits("fmod"))  # fmt: skip


def div_rounded(input: Any, other: Any, rounding_mode: str) -> Tensor:
    """`div` with a rounding mode: "trunc" or "floor"."""
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return (DIV_FLOOR if rounding_mode == "floor" else DIV_TRUNC).general(input, other)


def floor_divide(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """`input / other`, rounded down, element by element. Either may be a number. `out`: a tensor to which the result
    is written.

    >>> import mpigrad
    >>> mpigrad.floor_divide(mpigrad.tensor([-7, 7]), 2)
    tensor([-4,  3])
    """
    return deliver(FLOOR_DIVIDE.general(input, other), out)


def remainder(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """The remainder of `input / other`, with the sign of `other`: Python's `%`. Either may be a number. `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.remainder(mpigrad.tensor([-7.0, 7.0]), 3)
    tensor([2., 1.])
    """
    return deliver(_by_kind(input, other).general(input, other), out)


def _by_kind(input: Any, other: Any) -> Binary:
    if isinstance(input, NUMBERS):
        return REMAINDER_OF_NUMBER
    return REMAINDER_NUMBER if isinstance(other, NUMBERS) else REMAINDER


def fmod(input: Tensor, other: Any, *, out: Tensor | None = None) -> Tensor:
    """The remainder of `input / other`, with the sign of `input`: C's fmod. `other` may be a number. `out`: a tensor
    to which the result is written.

    >>> import mpigrad
    >>> mpigrad.fmod(mpigrad.tensor([-7.0, 7.0]), 3)
    tensor([-1.,  1.])
    """
    return deliver((FMOD_NUMBER if isinstance(other, NUMBERS) else FMOD).general(input, other), out)


def _integers(name: str, ufunc: Any, doc: str) -> Any:
    made = binary(name, ufunc, _refuse, forward=lambda x, y: getattr(array_module(x), name)(x, y))

    def call(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        for each in (input, other):
            if isinstance(each, Tensor) and each._array.dtype.kind not in "iu":
                raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{title(each._array)}'")
        return deliver(made.general(input, other), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{doc} Both are tensors, which are broadcast. `out`: a tensor to which the result is written."
    method(call)
    method(in_place(call), name + "_")
    return call


gcd = _integers("gcd", np.gcd, "The greatest common divisor of each pair of integers.")
lcm = _integers("lcm", np.lcm, "The least common multiple of each pair of integers.")


def _dunders(fn: Any, title: str) -> None:
    def forward(self: Tensor, other: Any) -> Any:
        return fn(self, other) if isinstance(other, OPERANDS) else leave_to(other)

    def reflected(self: Tensor, other: Any) -> Any:
        return fn(other, self) if isinstance(other, OPERANDS) else leave_to(other)

    changing = in_place(fn)
    method(fn)
    method(changing, fn.__name__ + "_")
    if title:
        method(forward, f"__{title}__")
        method(reflected, f"__r{title}__")
        method(changing, f"__i{title}__")


_dunders(floor_divide, "floordiv")
_dunders(remainder, "mod")
_dunders(fmod, "")

__all__ = ["floor_divide", "fmod", "gcd", "lcm", "remainder"]
