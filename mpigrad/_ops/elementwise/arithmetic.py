"""Addition, subtraction, multiplication, division and negation."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.dtype import bool_
from mpigrad._core.node import record_one, take_saved
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._graph.namespace import RAW, add_to_both
from mpigrad._tensor import Tensor, counter, method

from .._define.arguments import need_tensors
from .._define.binary import F32, F64, NUMBERS, OPERANDS, PLAIN, Binary, binary, common_dtype, ndarray
from .._define.foreign import leave_to
from .._define.inplace import change, check_in_place, check_writable
from .._define.operator import OpNode, operator, raise_modified
from .._define.out import deliver
from .._define.unary import unary
from .._define.unbroadcast import to_dtype
from .modular import div_rounded

_LARGE = 1 << 14  # elements; below this, allocating costs less than looking for memory to reuse


class _MulNode(OpNode):
    """The node of a multiplication. Its derivative on arrays is written out, since it is the node that runs most often."""

    __slots__ = ()
    multiplies = uses_up = True

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        saved = self.saved
        if F is not RAW or self.meta is not None or saved is None or grad.dtype.kind == "c":
            return OpNode.run(self, F, grad)
        a, b = saved
        p, q = self.versions
        into_a = into_b = None
        if b is not None:
            count = b._counter
            if count is not None and count[0] != q:
                raise_modified(self, b, q)
            into_a = grad * b._array
        if a is not None:
            count = a._counter
            if count is not None and count[0] != p:
                raise_modified(self, a, p)
            # x * x: both gradients are the same array
            into_b = into_a if a is b else grad * a._array
        return into_a, into_b

    def run_last(self, F: Any, grad: Any) -> tuple[Any, ...]:
        """Compute the gradients in the memory of large saved factors that nothing else refers to, which avoids allocating new
        memory.
        """
        saved: Any = self.saved
        if grad.__class__ is not ndarray or grad.size < _LARGE or F is not RAW or self.meta is not None:
            return self.run(F, grad)
        if saved is None or saved[0] is saved[1] or grad.dtype.kind not in "fV":
            return self.run(F, grad)
        for factor, version in zip(saved, self.versions):
            if factor is not None and factor._counter is not None and factor._counter[0] != version:
                raise_modified(self, factor, version)
        factor = saved = None  # these references must not be counted
        first, second = take_saved(self)
        return _times(grad, *second), _times(grad, *first)


def _times(grad: Any, array: Any, spare: bool) -> Any:
    """The product of the gradient and a saved factor, written over the factor if nothing else refers to it (`spare`)."""
    if array is None:
        return None
    if spare and array.dtype == grad.dtype and array.shape == grad.shape:
        return np.multiply(grad, array, out=array)
    return grad * array


class _AddNode(OpNode):
    """The node of an addition: both operands get the gradient."""

    __slots__ = ()

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        if self.meta is None and not self.kw:
            return grad, grad
        return OpNode.run(self, F, grad)


class _SubNode(OpNode):
    """Subtraction: negates the gradient only if the second operand needs it."""

    __slots__ = ()

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        if self.meta is None and not self.kw:
            return grad, None if self.edges[1] is None else -grad
        return OpNode.run(self, F, grad)


def _add_forward(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return np.add(x, y if alpha == 1 else y * x.dtype.type(alpha))


def _add_backward(F: Any, node: Any, g: Any) -> Any:
    alpha = node.kw.get("alpha", 1)
    return g, g if alpha == 1 else g * alpha


def _sub_forward(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return np.subtract(x, y if alpha == 1 else y * x.dtype.type(alpha))


def _mul_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    return None if b is None else g * F.conj(b), None if a is None else g * F.conj(a)


def _div_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    into_a = g / F.conj(b)
    return into_a, None if a is None else -into_a * F.conj(a / b)


def _conj(x: Any) -> Any:
    return x.conj() if x.dtype.kind == "c" else x


NO_BOOL_SUB = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. "
    "Use the `^` or `logical_xor()` operator instead."
)
NO_BOOL_OPERAND = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert "
    "a mask, use the `~` or "
    "`logical_not()` operator instead."
)


def _refuse_bools(a: Any, b: Any) -> None:
    bools = [
        each is True or each is False or isinstance(each, Tensor) and each._array.dtype.kind == "b" for each in (a, b)
    ]
    if any(bools):
        raise RuntimeError(NO_BOOL_SUB if all(bools) else NO_BOOL_OPERAND)


def _refuse_bool(x: Tensor) -> None:
    if x._array.dtype.kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` "
            "or `logical_not()` operator instead."
        )


def _rsub_backward(F: Any, node: Any, g: Any) -> Any:
    return -(g * node.kw["alpha"]) if "alpha" in node.kw else -g, g


def _reciprocal_backward(F: Any, node: Any, g: Any, y: Any) -> Any:
    y = F.conj(y)
    return -g * (y * y)


ADD = binary("add", np.add, _add_backward, forward=_add_forward, base=_AddNode)
SUB = binary(
    "sub",
    np.subtract,
    lambda F, node, g: (g, -(g * node.kw["alpha"]) if "alpha" in node.kw else -g),
    forward=_sub_forward,
    refuse_bool=_refuse_bools,
    base=_SubNode,
)
MUL = binary("mul", np.multiply, _mul_backward, ((0, 1), (1, 0)), base=_MulNode)
DIV = binary("div", np.true_divide, _div_backward, ((0, 1), 1), to_float=True)
RSUB = binary("rsub", lambda x, y: y - x, _rsub_backward, forward=lambda x, y, alpha=1: _sub_forward(y, x, alpha=alpha),
              refuse_bool=_refuse_bools)  # fmt: skip
RSUB_NUMBER = operator(
    "rsub_number",
    lambda x, *, other, alpha=1: other - (x if alpha == 1 else x * alpha),
    lambda F, node, g: -(g * node.kw["alpha"]) if "alpha" in node.kw else -g,
    node="RsubBackward1",
)
neg = unary("neg", np.negative, lambda F, node, g: -g, doc="The negative of each element.", refuse=_refuse_bool)
reciprocal = unary(
    "reciprocal", np.reciprocal, _reciprocal_backward, saves="result", to_float=True, doc="One over each element."
)
conj_recorded = operator("conj_of_complex", np.conj, lambda F, node, g: F.conj(g), node="ConjBackward0")


def conj(input: Tensor) -> Tensor:
    """The complex conjugate of each element; a real tensor is returned unchanged."""
    return conj_recorded(input) if input._array.dtype.kind == "c" else input


add_to_both("conj", _conj, conj)


def add(input: Tensor, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """`input + alpha * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.add(mpigrad.tensor([1.0, 2.0]), 10.0, alpha=2)
    tensor([21., 22.])
    """
    if alpha.__class__ is int and alpha == 1 and out is None:
        return ADD.fast(input, other)
    return deliver(_with_alpha(ADD, input, other, alpha), out)


def sub(input: Tensor, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """`input - alpha * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.sub(mpigrad.tensor([1.0, 2.0]), 10.0)
    tensor([-9., -8.])
    """
    if alpha.__class__ is int and alpha == 1 and out is None:
        return SUB.fast(input, other)
    return deliver(_with_alpha(SUB, input, other, alpha), out)


def _with_alpha(op: Binary, input: Any, other: Any, alpha: Any) -> Tensor:
    if alpha.__class__ is int and alpha == 1:
        return op.general(input, other)
    if not isinstance(alpha, NUMBERS):
        raise TypeError(f"{op.operator.name}(): argument 'alpha' must be Number, not {type(alpha).__name__}")
    kind = common_dtype([each for each in (input, other) if isinstance(each, OPERANDS)])
    if isinstance(alpha, bool) and kind is not bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, (float, complex)) and kind.category < 2:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not kind.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return op.general(input, other, alpha=alpha)


def mul(input: Tensor, other: Any, *, out: Tensor | None = None) -> Tensor:
    """`input * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a tensor
    to which the result is written.

    >>> import mpigrad
    >>> mpigrad.mul(mpigrad.tensor([1.0, 2.0]), 3.0)
    tensor([3., 6.])
    """
    return MUL.fast(input, other) if out is None else deliver(MUL.general(input, other), out)


def div(input: Tensor, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """`input / other`, element by element; integers give the default float type. `other` is a tensor or a number.

    `rounding_mode`: "trunc" rounds the result towards zero, "floor" down; integers then stay integers. `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.div(mpigrad.tensor([-7.0, 7.0]), 2, rounding_mode="floor")
    tensor([-4.,  3.])
    """
    if rounding_mode is None:
        return DIV.fast(input, other) if out is None else deliver(DIV.general(input, other), out)
    return deliver(div_rounded(input, other, rounding_mode), out)


def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`other - alpha * input`, element by element; `other` is a tensor or a number."""
    if isinstance(other, np.generic):
        other = other.item()
    if not isinstance(other, NUMBERS):
        return _with_alpha(RSUB, input, other, alpha)
    need_tensors("rsub", input=input)
    _refuse_bools(input, other)
    x = to_dtype(input, common_dtype((input, other)))
    return RSUB_NUMBER(x, other=other) if alpha == 1 else RSUB_NUMBER(x, other=other, alpha=alpha)


def _rtruediv(self: Tensor, other: Any) -> Tensor:
    if isinstance(other, (ndarray, Tensor)):
        return DIV.general(other, self)
    return reciprocal(self) * other if isinstance(other, OPERANDS) else leave_to(other)


def _rsub(self: Tensor, other: Any) -> Tensor:
    """`number - tensor`, with a fast path, because `1 - x` is common."""
    x = self._array
    kind = (other.__class__ is float or other.__class__ is int) and x.__class__ is ndarray and x.dtype
    if (kind is F32 or kind is F64) and self.__class__ in PLAIN and not TRACING.detour:
        made = kind.type(other) - x
        result = wrap(made if made.__class__ is ndarray else np.asarray(made))
        if self._requires and MODE.enabled:
            record_one(RSUB_NUMBER.node_type, result, self, {})
        return result
    return rsub(self, other) if isinstance(other, OPERANDS) else leave_to(other)


def _direct(tensor: Tensor, other: Any) -> Any:
    """`other` as an array, if the operation can run in `tensor`'s memory and is not recorded; otherwise None."""
    x = tensor._array
    kind = x.__class__ is ndarray and x.dtype
    if (kind is not F32 and kind is not F64) or TRACING.detour or not x.flags.writeable:
        return None
    if MODE.enabled:
        # recorded, a view (its base must learn of the change) or a tensor with hooks: the general path
        if tensor._requires or tensor._view is not None or tensor._extra is not None:
            return None
    elif tensor._view is not None and 0 in x.strides:  # perhaps expanded: several elements in one memory location
        return None
    if other.__class__ is float or other.__class__ is int:
        return kind.type(other)
    if other.__class__ not in PLAIN or MODE.enabled and other._requires:
        return None
    y = other._array
    return y if y.__class__ is ndarray and y.dtype is kind and y.shape == x.shape else None


def _adds_sparse(tensor: Tensor, other: Any) -> bool:
    """Whether a sparse tensor is added to a dense one without recording: then only the elements at its indices are changed, in
    place.
    """
    if not (isinstance(other, Tensor) and other.is_sparse) or tensor.is_sparse:
        return False
    recorded = MODE.enabled and (tensor._requires or other._requires)
    return not recorded and tensor.shape == other.shape and tensor._array.dtype == other._array.dtype


def _add_sparse(tensor: Tensor, other: Tensor, factor: Any) -> Tensor:
    check_in_place(tensor)
    check_writable(tensor._array)
    (other._array if factor.__class__ is int and factor == 1 else other._array * factor).add_to(tensor._array)
    counter(tensor)[0] += 1
    return tensor


def _in_place(fn: Any, op: Binary, name: str) -> Any:
    """The in-place method of an operator, `fn` for tensors; writes directly into the memory if nothing is recorded."""
    ufunc, takes_alpha = op.ufunc, op is ADD or op is SUB

    def call(self: Tensor, other: Any, **kw: Any) -> Tensor:
        value = _direct(self, other)
        if value is None and takes_alpha and _adds_sparse(self, other):
            return _add_sparse(self, other, (1 if op is ADD else -1) * kw.get("alpha", 1))
        if value is None or kw and not (takes_alpha and len(kw) == 1 and kw.get("alpha").__class__ in (float, int)):
            return change(self, lambda old: fn(old, other, **kw))
        x = self._array
        ufunc(x, value * x.dtype.type(kw["alpha"]) if kw else value, x)
        counter(self)[0] += 1
        return self

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"`{fn.__name__}` in place: overwrite this tensor with the result, and return it. Arguments: those of `{fn.__name__}`."
    )
    return call


def _foreign(fn: Any) -> Any:
    def call(self: Tensor, other: Any) -> Any:
        return fn(self, other) if isinstance(other, OPERANDS) else leave_to(other)

    return call


subtract, multiply, divide = sub, mul, div


def true_divide(input: Tensor, other: Any, *, out: Tensor | None = None) -> Tensor:
    """`input / other`, element by element: `div` without rounding mode. `out`: a tensor to which the result is
    written.
    """
    return div(input, other, out=out)


def positive(input: Tensor) -> Tensor:
    """The tensor itself, as Python's `+x`; booleans raise a RuntimeError."""
    if input._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


negative = neg
for _op, _fn, _names in ((ADD, add, ["add"]), (SUB, sub, ["sub", "subtract"]), (MUL, mul, ["mul", "multiply"]),
                         (DIV, div, ["div", "divide", "true_divide"])):  # fmt: skip
    _changing = _in_place(_fn, _op, _names[0] + "_")
    for _name in _names:
        method(_fn, _name)
        method(_changing, _name + "_")
    _dunder = "truediv" if _op is DIV else _names[0]
    method(_op.dunder, f"__{_dunder}__")
    method(_foreign(_changing), f"__i{_dunder}__")
method(ADD.dunder, "__radd__")
method(MUL.dunder, "__rmul__")
method(_rsub, "__rsub__")
method(_rtruediv, "__rtruediv__")
method(neg, "__neg__")
method(neg, "negative")
method(positive)
method(positive, "__pos__")
method(conj)
method(rsub)

__all__ = [
    "add", "conj", "div", "divide", "mul", "multiply", "neg", "negative", "positive", "reciprocal",
    "rsub", "sub", "subtract",
    "true_divide",
]  # fmt: skip
