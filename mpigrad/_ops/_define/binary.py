"""Defines operators of two broadcast operands: a fast path for float tensors, and a general path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mpigrad._array.device import NOWHERE, on_device
from mpigrad._array.dtype import dtype, from_numpy_dtype, get_default_dtype, promote, scalar_dtype
from mpigrad._core.node import record_two
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._graph.tracing import around_operator
from mpigrad._tensor import Tensor

from .foreign import instead_of_tensor, leave_to
from .operator import Operator, OpNode, on_one_device, operator

F32, F64 = np.dtype("f4"), np.dtype("f8")
ndarray = np.ndarray
PLAIN: set[Any] = {Tensor}  # classes whose instances take the fast path; `nn.Parameter` is added
NUMBERS = (bool, int, float, complex)
OPERANDS = (Tensor, *NUMBERS, np.generic, ndarray)


def operand(value: Any) -> Tensor | None:
    """Convert an operand to what `binary` operators take: tensors and numbers unchanged, arrays to tensors; None for
    other types.
    """
    if isinstance(value, Tensor):
        return value
    return wrap(value) if isinstance(value, ndarray) else None


def common_dtype(operands: Sequence[Any], to_float: bool = False) -> dtype:
    """The element type in which an operation on tensors and numbers is computed, by PyTorch's promotion rules.

    With `to_float`, as for a division, integers and booleans give the default float type.
    """
    found = promote([_kind(each) for each in operands])
    return get_default_dtype() if to_float and found.category < 2 else found


def _kind(each: Any) -> tuple[dtype, bool | None]:
    if isinstance(each, Tensor):
        return from_numpy_dtype(each._array.dtype), each._array.ndim > 0
    return scalar_dtype(each), None


def as_common(values: Sequence[Any], kind: dtype) -> list[Any]:
    """Convert tensors and numbers to arrays of one type; next to GPU arrays, numbers stay NumPy scalars, which CuPy accepts."""
    wanted = kind.numpy
    # NumPy would convert Python numbers by its own promotion rules, which differ from PyTorch's: so they get the
    # wanted type first
    made = [
        (each._array if each._array.dtype == wanted else each._array.astype(wanted))
        if isinstance(each, Tensor)
        else np.asarray(each).astype(wanted)
        for each in values
    ]
    if any(isinstance(each, Tensor) and each._array.__class__ is not ndarray for each in values):
        return [array if isinstance(each, Tensor) else array[()] for each, array in zip(values, made)]
    return made


class Binary:
    """An operator of two operands, each a tensor or a number.

    `fast` is the operator as a function; `dunder` is the method behind Python's operator (such as `__add__`), which
    returns NotImplemented for unknown operands.
    """

    __slots__ = ("dunder", "fast", "operator", "refuse_bool", "to_float", "ufunc")

    def __init__(
        self, made: Operator, ufunc: Callable[..., Any], to_float: bool, refuse_bool: Callable[[Any, Any], None] | None
    ) -> None:
        self.operator, self.ufunc, self.to_float, self.refuse_bool = made, ufunc, to_float, refuse_bool
        self.fast, self.dunder = _fast(self, self.general), _fast(self, self.or_not_implemented)

    def or_not_implemented(self, a: Any, b: Any) -> Any:
        """Call `general` for supported operands; return NotImplemented for others, so that Python tries the method of the other
        operand.
        """
        return self.general(a, b) if isinstance(b, OPERANDS) else leave_to(b)

    def general(self, a: Any, b: Any, **kw: Any) -> Any:
        """The general path, for all operands: numbers, mixed types, other devices, sparse arrays."""
        first, second = self._operands(a, b)
        made = self.operator
        sparse = any(isinstance(each, Tensor) and each.is_sparse for each in (first, second))
        if sparse:
            return _sparse_call(made, first, second, kw, self.to_float)
        kind = common_dtype((first, second), self.to_float)
        if self.refuse_bool:
            self.refuse_bool(first, second)
        (first, second), place = on_one_device(made.name, (first, second))
        with on_device(place):
            arrays = as_common((first, second), kind)
            check_shapes(arrays[0], arrays[1])
            inputs = tuple(
                each if isinstance(each, Tensor) else wrap(array) for each, array in zip((first, second), arrays)
            )
            with around_operator("aten::" + made.name, inputs) if TRACING.on else NOWHERE:
                return made.finish(inputs, made.forward(*arrays, **kw), kw)

    def _operands(self, a: Any, b: Any) -> tuple[Any, Any]:
        found = []
        for each in (a, b):
            if isinstance(each, np.generic):
                each = each.item()
            as_tensor = operand(each)
            if as_tensor is None and not isinstance(each, NUMBERS):
                place, title = (1, "input") if each is a else (2, "other")
                raise TypeError(
                    f"{self.operator.name}(): argument '{title}' (position {place}) must be {instead_of_tensor(each)}"
                )
            found.append(each if as_tensor is None else as_tensor)
        # two numbers: make one of them a tensor, so that `add(1, 2)` gives a tensor
        if not any(isinstance(each, Tensor) for each in found):
            found[0] = wrap(np.asarray(found[0], scalar_dtype(found[0]).numpy))
        return found[0], found[1]


def _sparse_call(made: Operator, a: Any, b: Any, kw: dict[str, Any], to_float: bool) -> Any:
    wanted = common_dtype((a, b), to_float).numpy
    inputs = tuple(each if isinstance(each, Tensor) else wrap(np.asarray(each).astype(wanted)) for each in (a, b))
    return made(*inputs, **kw)


def check_shapes(x: Any, y: Any) -> None:
    """Raise PyTorch's error if the shapes of two arrays cannot be broadcast."""
    for back, (m, n) in enumerate(zip(x.shape[::-1], y.shape[::-1]), start=1):
        if m != n and m != 1 and n != 1:
            place = max(x.ndim, y.ndim) - back
            raise RuntimeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension {place}"
            )


def _fast(binary: Binary, general: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The fast path as a closure: for two dense float tensors of the same type and shape, or a tensor and a number."""
    made, ufunc = binary.operator, binary.ufunc
    node_type, saves = made.node_type, made.saves_of_two()
    no_kw: dict[str, Any] = {}

    def broadcast(a: Any, b: Any, x: Any, y: Any) -> Any:
        """The fast path for float tensors of the same type and different shapes."""
        try:
            out = ufunc(x, y)
        except ValueError:
            return general(a, b)  # raises the error about the shapes
        return made.finish((a, b), out, no_kw)

    def call(a: Any, b: Any) -> Any:
        if a.__class__ not in PLAIN or TRACING.detour:
            return general(a, b)
        x = a._array
        # classes and dtypes are compared by `is`, which is faster than isinstance and ==: it counts for small
        # tensors
        kind = x.__class__ is ndarray and x.dtype
        if kind is not F32 and kind is not F64:
            return general(a, b)
        if b.__class__ in PLAIN:
            y = b._array
            if y.__class__ is not ndarray or y.dtype is not kind:
                return general(a, b)
            if x.shape != y.shape:
                return broadcast(a, b, x, y)
        elif b.__class__ is float or b.__class__ is int:
            # the array has the tensor's type, so that a Python number never promotes it, as in PyTorch
            y = np.array(b, kind)
            b = wrap(y)
        else:
            return general(a, b)
        # the ufunc itself, not the operator's forward: types and shapes are checked already
        out = ufunc(x, y)
        result = wrap(out if out.__class__ is ndarray else np.asarray(out))
        if (a._requires or b._requires) and MODE.enabled:
            record_two(node_type, result, a, b, no_kw, saves)
        return result

    return call


def binary(
    name: str,
    ufunc: Callable[..., Any],
    backward: Callable[..., Any],
    saves: Sequence[Any] = (),
    *,
    node: str | None = None,
    forward: Callable[..., Any] | None = None,
    to_float: bool = False,
    refuse_bool: Callable[[Any, Any], None] | None = None,
    base: type[OpNode] = OpNode,
) -> Binary:
    """Define an operator of two operands.

    - `ufunc` is used by the fast path; `forward`, if given, by the general path, with keywords.
    - `saves` may list inputs only, in order: `((0, 1), (1, 0))` saves each input if the other one needs a gradient.
    - `to_float` as in `common_dtype`; `refuse_bool` raises the error for booleans, if the operator does not take
      them.
    """
    made = operator(name, forward or ufunc, backward, saves, node=node, broadcasts=True, base=base)
    return Binary(made, ufunc, to_float, refuse_bool)
