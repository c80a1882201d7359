"""Comparisons, logic and bits: results that have no gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mpigrad._array.device import NOWHERE, guard, on_device
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._graph.namespace import add_to_both
from mpigrad._graph.tracing import around_operator
from mpigrad._tensor import Tensor, extra, method

from .._define.arguments import invalid_combination, need_tensors, title
from .._define.binary import (
    F32,
    F64,
    NUMBERS,
    OPERANDS,
    PLAIN,
    as_common,
    check_shapes,
    common_dtype,
    ndarray,
    operand,
)
from .._define.foreign import instead_of_tensor, leave_to
from .._define.inplace import in_place
from .._define.operator import on_one_device, refuse_sparse
from .._define.out import deliver

Forward = Callable[..., Any]


def plain(array: Any) -> Tensor:
    """Wrap a result array in a tensor that does not require grad."""
    made = wrap(np.asarray(array) if isinstance(array, np.generic) else array)
    if MODE.inference:
        extra(made).inference = True
    return made


def _operands(name: str, a: Any, b: Any) -> list[Any]:
    """Both operands as arrays of one type."""
    values = []
    for position, (label, each) in enumerate((("input", a), ("other", b)), start=1):
        if isinstance(each, np.generic):
            each = each.item()
        found = operand(each)
        if found is None and not isinstance(each, NUMBERS):
            if not name.startswith("logical"):
                raise invalid_combination(name, (a, b), "Tensor input, Tensor other", "Tensor input, Number other")
            raise TypeError(
                f"{name}(): argument '{label}' (position {position}) must be {instead_of_tensor(each)}"
            )
        values.append(each if found is None else found)
    for each in values:
        if isinstance(each, Tensor) and each.is_sparse:
            refuse_sparse(name, each)
    kind = common_dtype(values)
    placed, place = on_one_device(name, values)
    with on_device(place):
        arrays = as_common(placed, kind)
    check_shapes(arrays[0], arrays[1])
    return arrays


def two(name: str, forward: Forward, doc: str, refuse: Callable[[str, Any], None] | None = None) -> Any:
    """Define a function of two operands without a gradient: (public function, method for Python's operator)."""

    def general(input: Any, other: Any) -> Tensor:
        x, y = _operands(name, input, other)
        if refuse is not None:
            refuse(name, x)
        with around_operator("aten::" + name) if TRACING.on else NOWHERE, guard(x), guard(y):
            return plain(forward(x, y))

    def quick(a: Any, b: Any) -> Any:
        """The method behind Python's comparison operator, with a fast path for two float tensors of the same type, or a tensor
        and a number.
        """
        if a.__class__ in PLAIN and not TRACING.detour:
            x = a._array
            kind = x.__class__ is ndarray and x.dtype
            if (kind is F32 or kind is F64) and refuse not in (_refuse_floats, _refuse_shifts):
                if b.__class__ is float or b.__class__ is int:
                    return plain(forward(x, kind.type(b)))
                if b.__class__ in PLAIN and b._array.__class__ is ndarray and b._array.dtype is kind:
                    y = b._array
                    if y.shape == x.shape:
                        return plain(forward(x, y))
        if isinstance(b, OPERANDS):
            return general(a, b)
        return NotImplemented if name in ("eq", "ne") else leave_to(b)  # tensors and objects of unknown types are not equal

    def public(input: Tensor, other: Any, *, out: Tensor | None = None) -> Tensor:
        return deliver(general(input, other), out)

    public.__name__ = public.__qualname__ = name
    public.__doc__ = (
        f"{doc}\n\n`other` is a tensor, broadcast with `input`, or a number. `out`: a tensor to which the result is written."
    )
    public.__module__ = "mpigrad"
    method(public)
    method(in_place(public), name + "_")
    return public, quick


def _refuse_complex(name: str, x: Any) -> None:
    if x.dtype.kind == "c":
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{title(x)}'")


def _refuse_floats(name: str, x: Any) -> None:
    if x.dtype.kind in "fcV":
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{title(x)}'")


def _refuse_shifts(name: str, x: Any) -> None:
    if x.dtype.kind in "bfcV":
        short = "lshift" if "left" in name else "rshift"
        raise NotImplementedError(f"\"{short}_cpu\" not implemented for '{title(x)}'")


eq, _eq = two("eq", np.equal, "Whether elements are equal: a tensor of bools.")
ne, _ne = two("ne", np.not_equal, "Whether elements differ: a tensor of bools.")
lt, _lt = two("lt", np.less, "Whether elements of `input` are less than those of `other`: a tensor of bools.", _refuse_complex)
le, _le = two(
    "le", np.less_equal,
    "Whether elements of `input` are less than or equal to those of `other`: a tensor of bools.",
    _refuse_complex
)
gt, _gt = two(
    "gt", np.greater, "Whether elements of `input` are greater than those of `other`: a tensor of bools.", _refuse_complex
)
ge, _ge = two(
    "ge", np.greater_equal,
    "Whether elements of `input` are greater than or equal to those of `other`: a tensor of bools.",
    _refuse_complex
)
for _name, _fn in (
    ("__eq__", _eq),
    ("__ne__", _ne),
    ("__lt__", _lt),
    ("__le__", _le),
    ("__gt__", _gt),
    ("__ge__", _ge),
):
    method(_fn, _name)
less, less_equal, greater, greater_equal, not_equal = lt, le, gt, ge, ne
for _name, _fn in (("less", lt), ("less_equal", le), ("greater", gt), ("greater_equal", ge), ("not_equal", ne)):
    method(_fn, _name)

logical_and, _ = two("logical_and", np.logical_and, "Whether both elements are nonzero: a tensor of bools.")
logical_or, _ = two("logical_or", np.logical_or, "Whether at least one of the two elements is nonzero: a tensor of bools.")
logical_xor, _ = two("logical_xor", np.logical_xor, "Whether exactly one of the two elements is nonzero: a tensor of bools.")
bitwise_and, _and = two(
    "bitwise_and", np.bitwise_and, "The bits that both elements have (and), of integers or booleans.", _refuse_floats
)
bitwise_or, _or = two(
    "bitwise_or", np.bitwise_or,
    "The bits that at least one of the two elements has (or), of integers or booleans.",
    _refuse_floats
)
bitwise_xor, _xor = two(
    "bitwise_xor", np.bitwise_xor,
    "The bits that exactly one of the two elements has (exclusive or), of integers or booleans.",
    _refuse_floats
)
bitwise_left_shift, _lshift = two(
    "bitwise_left_shift", np.left_shift,
    "The bits of `input` shifted left by `other`: input * 2 ** other, of integers.",
    _refuse_shifts
)
bitwise_right_shift, _rshift = two(
    "bitwise_right_shift", np.right_shift,
    "The bits of `input` shifted right by `other`: input / 2 ** other rounded down, of integers.",
    _refuse_shifts
)


def _reflected(fn: Any) -> Any:
    return lambda self, other: fn(other, self) if isinstance(other, OPERANDS) else leave_to(other)


for _title, _public, _fn in (
    ("and", bitwise_and, _and),
    ("or", bitwise_or, _or),
    ("xor", bitwise_xor, _xor),
    ("lshift", bitwise_left_shift, _lshift),
    ("rshift", bitwise_right_shift, _rshift),
):
    method(_fn, f"__{_title}__")
    method(_reflected(_public), f"__r{_title}__")
    method(in_place(_public), f"__i{_title}__")


def one(name: str, forward: Forward, doc: str, of_zero: bool = True) -> Any:
    """Define a function of one operand without a gradient. If its value `of_zero` is False, it is defined for sparse tensors as
    well.
    """

    def public(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        need_tensors(name, input=input)
        with guard(input._array):
            if input.is_sparse:
                if of_zero:
                    refuse_sparse(name, input)
                each = input._array.coalesce()
                return deliver(plain(each.with_values(forward(each.values))), out)
            return deliver(plain(forward(input._array)), out)

    public.__name__ = public.__qualname__ = name
    public.__doc__ = f"{doc}\n\n`out`: a tensor to which the result is written."
    public.__module__ = "mpigrad"
    method(public)
    add_to_both(name, forward, public)
    return public


def _bitwise_not(x: Any) -> Any:
    if x.dtype.kind in "fcV":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return np.invert(x)


def _for_floats(ufunc: Any, otherwise: bool) -> Forward:
    """Apply a test such as isnan to floats; for integers the result is `otherwise` everywhere."""
    return lambda x: ufunc(x) if x.dtype.kind in "fcV" else ~(x != x) if otherwise else x != x


logical_not = one("logical_not", np.logical_not, "Whether elements are zero: a tensor of bools.")
bitwise_not = one("bitwise_not", _bitwise_not, "Every bit inverted, of integers; logical not of booleans.")
isnan = one("isnan", _for_floats(np.isnan, False), "Whether elements are nan: a tensor of bools.", of_zero=False)
isinf = one("isinf", _for_floats(np.isinf, False), "Whether elements are infinite: a tensor of bools.", of_zero=False)
isfinite = one("isfinite", _for_floats(np.isfinite, True), "Whether elements are neither infinite nor nan: a tensor of bools.")
isposinf = one(
    "isposinf", _for_floats(lambda x: x == np.inf, False), "Whether elements are inf: a tensor of bools.", of_zero=False
)
isneginf = one(
    "isneginf", _for_floats(lambda x: x == -np.inf, False), "Whether elements are -inf: a tensor of bools.", of_zero=False
)
signbit = one(
    "signbit", lambda x: np.signbit(x) if x.dtype.kind in "fV" else x < 0,
    "Whether elements have a minus sign (also -0.0): a tensor of bools.",
    of_zero=False
)
isreal = one("isreal", lambda x: x.imag == 0, "Whether the imaginary part of elements is zero: a tensor of bools.")
method(bitwise_not, "__invert__")
method(in_place(logical_not), "logical_not_")
method(in_place(bitwise_not), "bitwise_not_")
add_to_both("is_complex", lambda x: x.dtype.kind == "c", lambda x: x._array.dtype.kind == "c")

__all__ = [
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "eq", "ge",
    "greater", "greater_equal", "gt", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "le", "less",
    "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "ne", "not_equal", "signbit",
]  # fmt: skip
