"""Direct calls of operators in compiled graphs, without Python's operator dispatch and optional arguments.

Facts that are known at compile time are not looked up at run time: the operator, constant operands, the sizes of a view.
`benchmarks/jit_calls.py` measures each of these; operators that gain nothing are called as written.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mpigrad._core.node import record_one, record_two
from mpigrad._ops._define.binary import PLAIN, Binary
from mpigrad._ops._define.operator import Operator
from mpigrad._ops._define.sizes import resolve
from mpigrad._ops._define.unary import OPERATORS
from mpigrad._ops._define.views import ViewOperator
from mpigrad._ops.elementwise import arithmetic
from mpigrad._ops.linalg import matmul
from mpigrad._ops.reduce import sums
from mpigrad._ops.shape.reshape import VIEW
from mpigrad._tensor import Tensor

from .._ir.graph import Node
from .._ir.types import FLOAT, INT, TENSOR
from .variants import is_constant, written

_SIGNS: dict[str, tuple[Binary, Callable[[Any, Any], Any]]] = {
    "+": (arithmetic.ADD, operator.add), "-": (arithmetic.SUB, operator.sub), "*": (arithmetic.MUL, operator.mul),
    "/": (arithmetic.DIV, operator.truediv),
}  # fmt: skip
_TWO: dict[Any, Binary] = {
    arithmetic.add: arithmetic.ADD, arithmetic.sub: arithmetic.SUB, arithmetic.mul: arithmetic.MUL, arithmetic.div: arithmetic.DIV
}  # fmt: skip
_ALL: dict[Any, Operator] = {sums.sum: sums.SUM_ALL, sums.mean: sums.MEAN_ALL}
_PRODUCTS = (matmul.matmul, matmul.mm)
_view: Any = ViewOperator.__call__  # the plain function, as calling an object costs more


class Direct(NamedTuple):
    """The function to call, and the inputs that it takes."""

    function: Callable[..., Any]
    places: tuple[int, ...]


def direct_sign(sign: str, node: Node) -> Direct | None:
    """The direct call of one of Python's operators; None if it would gain nothing."""
    kinds = [each.type for each in node.inputs]
    if sign == "@" and kinds == [TENSOR, TENSOR]:
        return Direct(_product(operator.matmul), (0, 1))
    if sign not in _SIGNS or TENSOR not in kinds:
        return None
    if kinds == [TENSOR, TENSOR]:
        return Direct(_two(*_SIGNS[sign]), (0, 1))
    first = kinds.index(TENSOR)
    number = _number(node, 1 - first)
    if first == 1 and (number is None or sign not in "+*"):
        return None  # the operands would be swapped
    made = _with_any_number(*_SIGNS[sign]) if number is None else _with_number(*_SIGNS[sign], number)
    return Direct(made, (first, 1 - first))


def direct_function(function: Any, node: Node) -> Direct | None:
    """The direct call of a function of the library with only tensors as arguments; None if it would gain nothing."""
    if node.keywords or any(each.type != TENSOR for each in node.inputs):
        return None
    if len(node.inputs) == 1:
        found = _one(function) if function in OPERATORS else _all(function) if function in _ALL else None
        return None if found is None else Direct(found, (0,))
    if len(node.inputs) == 2 and (function in _TWO or function in _PRODUCTS):
        return Direct(_two(_TWO[function], function) if function in _TWO else _product(function), (0, 1))
    return None


def direct_method(name: str, node: Node) -> Direct | None:
    """The direct call of a method of tensors; None if it would gain nothing."""
    return direct_function(getattr(Tensor, name, None), node)


def _number(node: Node, place: int) -> Any:
    """The value of operand number `place` of a node if it is a constant number; None otherwise."""
    source = node.inputs[place].node
    value = source.attributes.get("value") if source is not None and source.op == "prim::Constant" else None
    return value if node.inputs[place].type in (INT, FLOAT) and is_constant(value) else None


_TWO_TENSORS = "record_two(node_type, made, x0, x1, no_kw, saves)"
_TENSOR_AND_NUMBER = "record_two(node_type, made, x0, b1, no_kw, saves)"


def _uses(made: Operator, **more: Any) -> dict[str, Any]:
    """The objects, by name, that the generated statements of an operator use."""
    return {"node_type": made.node_type, "no_kw": {}, "record_one": record_one, "record_two": record_two, **more}


def _uses_of_two(op: Binary) -> dict[str, Any]:
    return _uses(op.operator, ufunc=op.ufunc, saves=op.operator.saves_of_two())


@functools.cache
def _two(op: Binary, plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return written(2, (0, 1), ["out = ufunc(a0, a1)"], _otherwise(op, plain), _uses_of_two(op), recording=_TWO_TENSORS)


def _with_number(op: Binary, plain: Callable[[Any, Any], Any], number: float) -> Callable[[Any, Any], Any]:
    uses, numbers = _uses_of_two(op), {1: number}
    return written(2, (0,), ["out = ufunc(a0, a1)"], _otherwise(op, plain), uses, numbers=numbers, recording=_TENSOR_AND_NUMBER)


@functools.cache
def _with_any_number(op: Binary, plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    uses = {**_uses_of_two(op), "array": np.array}
    steps = ["a1 = array(x1, kind)", "out = ufunc(a0, a1)"]
    number = "(x1.__class__ is float or x1.__class__ is int)"
    return written(2, (0,), steps, _otherwise(op, plain), uses, also=number, recording="b1 = wrap(a1); " + _TENSOR_AND_NUMBER)


def _otherwise(op: Binary, plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    fast = op.fast

    def otherwise(a: Any, b: Any) -> Any:
        return fast(a, b) if a.__class__ in PLAIN else plain(a, b)

    return otherwise


@functools.cache
def _one(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    op = OPERATORS[function]
    uses = _uses(op, forward=op.forward, place=(*op.places, None)[0])
    recording = "record_one(node_type, made, x0, no_kw, None, place)"
    return written(1, (0,), ["out = forward(a0)"], function, uses, recording=recording)


@functools.cache
def _all(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    uses = _uses(_ALL[function], forward=_ALL[function].forward)
    recording = "record_one(node_type, made, x0, no_kw, (a0.shape,))"
    return written(1, (0,), ["out = forward(a0)"], function, uses, recording=recording)


@functools.cache
def _product(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A fast path for matrices of matching shapes; `function` handles vectors, batches and errors."""
    uses = _uses(matmul.mm_op, product=np.matmul, saves=matmul.mm_op.saves_of_two())
    fit = "a0.ndim == 2 and a1.ndim == 2 and a0.shape[1] == a1.shape[0]"
    recording = "record_two(node_type, made, x0, x1, no_kw, saves, (a0.shape, a1.shape))"
    return written(2, (0, 1), ["out = product(a0, a1)"], function, uses, also=fit, same_shape=False, recording=recording)


def direct_shape(name: str, node: Node) -> Callable[[Any], Any] | None:
    """The direct call of `x.view(2, 3)` and `x.reshape(2, 3)` with constant sizes: a function of the tensor alone."""
    first, *lengths = node.inputs
    if name not in ("view", "reshape") or node.keywords or first.type != TENSOR or not lengths:
        return None
    values = tuple(None if each.node is None or each.node.op != "prim::Constant" else each.node.attributes.get("value")
                   for each in lengths)  # fmt: skip
    return _shaped(name, values) if all(type(each) is int for each in values) else None


def _shaped(name: str, lengths: tuple[Any, ...]) -> Callable[[Any], Any]:
    # dtype=object: sizes from a file may be too large for 64 bits
    count = -1 if -1 in lengths else int(np.prod(lengths, dtype=object))

    def call(a: Any) -> Any:
        if a.__class__ is Tensor:
            array = a._array
            if array.__class__ is np.ndarray and array.flags.c_contiguous and (array.size == count or count < 0):
                return _view(VIEW, a, shape=lengths if count >= 0 else resolve(lengths, array.size))
        return getattr(a, name)(*lengths)

    return call
