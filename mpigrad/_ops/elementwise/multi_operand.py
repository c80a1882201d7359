"""Functions of several tensors, element by element: lerp, addcmul, addcdiv, atan2, hypot, xlogy, logaddexp ..."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._array.device import array_module, on_device
from mpigrad._tensor import Tensor, method

from .._define.arguments import c_name, need_tensors, title
from .._define.binary import NUMBERS, Binary, as_common, binary, check_shapes, common_dtype
from .._define.inplace import in_place
from .._define.operator import on_one_device, operator
from .._define.out import deliver


def _lerp(x: Any, end: Any, weight: Any = None, *, number: Any = None) -> Any:
    w = x.dtype.type(number) if weight is None else weight
    return x + w * (end - x)


def _lerp_number_backward(F: Any, node: Any, g: Any) -> Any:
    w = node.kw["number"]
    return g * (1 - w), g * w


def _lerp_backward(F: Any, node: Any, g: Any, x: Any, end: Any, w: Any) -> Any:
    return g * F.conj(1 - w), g * F.conj(w), g * F.conj(end - x)


def _addcmul_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    v = node.kw["value"]
    return g, g * F.conj(b) * v, g * F.conj(a) * v


def _addcdiv_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    v = node.kw["value"]
    into_a = g / F.conj(b) * v
    return g, into_a, -into_a * F.conj(a / b)


LERP_NUMBER = operator("lerp_number", _lerp, _lerp_number_backward, node="LerpBackward0", broadcasts=True)
LERP = operator("lerp", _lerp, _lerp_backward, saves=(0, 1, 2), node="LerpBackward1", broadcasts=True)
ADDCMUL = operator(
    "addcmul",
    lambda x, a, b, *, value: x + x.dtype.type(value) * a * b,
    _addcmul_backward,
    saves=(1, 2),
    broadcasts=True,
)
ADDCDIV = operator(
    "addcdiv",
    lambda x, a, b, *, value: x + x.dtype.type(value) * a / b,
    _addcdiv_backward,
    saves=(1, 2),
    broadcasts=True,
)


def _several(op: Any, inputs: tuple[Tensor, ...], **kw: Any) -> Tensor:
    """Call an operator of several tensors after converting them to a common element type."""
    kind = common_dtype(inputs)
    inputs, place = on_one_device(op.name, inputs)
    with on_device(place):
        arrays = as_common(inputs, kind)
        for i, x in enumerate(arrays):
            for y in arrays[i + 1 :]:
                check_shapes(x, y)
        return op.finish(inputs, op.forward(*arrays, **kw), kw)


def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
    """Linear interpolation: `input + weight * (end - input)`; `weight` is a number or a tensor. `out`: a tensor to
    which the result is written.

    >>> import mpigrad
    >>> mpigrad.lerp(mpigrad.zeros(2), mpigrad.ones(2), 0.25)
    tensor([0.2500, 0.2500])
    """
    need_tensors("lerp", input=input, end=end)
    given = {"end": end, **({"weight": weight} if isinstance(weight, Tensor) else {})}
    for name, each in given.items():
        if each._array.dtype != input._array.dtype:
            raise RuntimeError(
                f"expected dtype {c_name(input._array)} for `{name}` but got dtype {c_name(each._array)}"
            )
    if input._array.dtype.kind not in "fcV":
        raise NotImplementedError(f"\"lerp_kernel_scalar\" not implemented for '{title(input._array)}'")
    if isinstance(weight, Tensor):
        return deliver(_several(LERP, (input, end, weight)), out)
    return deliver(_several(LERP_NUMBER, (input, end), number=weight), out)


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 * tensor2`, element by element, with broadcasting. `out`: a tensor to which the result
    is written.

    >>> import mpigrad
    >>> mpigrad.addcmul(mpigrad.ones(2), mpigrad.ones(2), mpigrad.ones(2), value=0.5)
    tensor([1.5000, 1.5000])
    """
    need_tensors("addcmul", input=input, tensor1=tensor1, tensor2=tensor2)
    return deliver(_several(ADDCMUL, (input, tensor1, tensor2), value=value), out)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 / tensor2`, element by element, with broadcasting.

    Raises a RuntimeError if both divided tensors have integers. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.addcdiv(mpigrad.ones(2), mpigrad.ones(2), mpigrad.ones(2) * 4)
    tensor([1.2500, 1.2500])
    """
    need_tensors("addcdiv", input=input, tensor1=tensor1, tensor2=tensor2)
    if tensor1._array.dtype.kind not in "fcV" and tensor2._array.dtype.kind not in "fcV":
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported: give at least one tensor of a "
            "floating point type, or use "
            "(input + value * mpigrad.trunc(tensor1 / tensor2)).to(input.dtype)"
        )
    return deliver(_several(ADDCDIV, (input, tensor1, tensor2), value=value), out)


def _atan2_backward(F: Any, node: Any, g: Any, y: Any, x: Any) -> Any:
    scaled = g / (x * x + y * y)
    return scaled * x, -scaled * y


def _hypot_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    scaled = g / F.hypot(x, y)
    return scaled * x, scaled * y


def _xlogy(x: Any, y: Any) -> Any:
    xp = array_module(x)
    return xp.where((x == 0) & ~np.isnan(y), x.dtype.type(0), x * np.log(xp.where(x == 0, 1, y)))


def _xlogy_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    into_x = F.keep(g * F.log(y), ~((x == 0) & (y <= 0))) if node.needs[0] else None
    return into_x, g * x / y if node.needs[1] else None


def _logaddexp_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    share = F.sigmoid(x - y)
    return g * share, g * (1 - share)


def _copysign_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    ratio = F.sgn(x) * F.sgn(F.copysign(F.abs(x), y))
    return g * ratio, g * 0


def _ldexp_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    scale = F.exp2(y)
    return g * scale, g * x * scale * math.log(2)


def _heaviside(x: Any, values: Any) -> Any:
    return array_module(x).where(x == 0, values, (x > 0).astype(x.dtype))


_TWO = 1 / math.log(2)
ATAN2 = binary("atan2", np.arctan2, _atan2_backward, (0, 1), to_float=True)
HYPOT = binary("hypot", np.hypot, _hypot_backward, (0, 1))
XLOGY = binary("xlogy", _xlogy, _xlogy_backward, (0, 1), to_float=True)
XLOGY_OF = binary("xlogy_of", _xlogy, _xlogy_backward, (0, 1), to_float=True, node="XlogyBackward1")
XLOGY_BY = binary("xlogy_by", _xlogy, _xlogy_backward, (0, 1), to_float=True, node="XlogyBackward2")
LOGADDEXP = binary("logaddexp", np.logaddexp, _logaddexp_backward, (0, 1))
LOGADDEXP2 = binary("logaddexp2", np.logaddexp2, lambda F, node, g, x, y: _logaddexp_backward(
    F, node, g, x / _TWO, y / _TWO), (0, 1))  # fmt: skip
COPYSIGN = binary("copysign", np.copysign, _copysign_backward, (0, 1), to_float=True)
COPYSIGN_NUMBER = binary(
    "copysign_number", np.copysign, _copysign_backward, (0, 1), to_float=True, node="CopysignBackward1"
)
LDEXP = binary("ldexp", lambda x, y: x * np.exp2(y), _ldexp_backward, (0, 1), to_float=True)
HEAVISIDE = binary("heaviside", _heaviside, lambda F, node, g: (g * 0, g * 0))
NEXTAFTER = binary("nextafter", np.nextafter, lambda F, node, g: (g, None))


def _public(name: str, op: Binary, doc: str, floats: bool = False) -> Any:
    def call(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        need_tensors(name, input=input, other=other)
        if floats and input._array.dtype.kind not in "fV":
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{title(input._array)}'")
        return deliver(op.general(input, other), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{doc} Both are tensors, which are broadcast. `out`: a tensor to which the result is written."
    call.__module__ = "mpigrad"
    method(call)
    method(in_place(call), name + "_")
    return call


atan2 = _public(
    "atan2", ATAN2,
    "The angle of the point (x=other, y=input) in radians, from -pi to pi: arctan(input / other) in the right quadrant."
)
arctan2 = atan2
method(atan2, "arctan2")
hypot = _public("hypot", HYPOT, "sqrt(input ** 2 + other ** 2), element by element, without overflow.", floats=True)
logaddexp = _public("logaddexp", LOGADDEXP, "log(exp(input) + exp(other)), element by element, without overflow.", floats=True)
logaddexp2 = _public(
    "logaddexp2", LOGADDEXP2, "log2(2 ** input + 2 ** other), element by element, without overflow.", floats=True
)


@method
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The step function: 0 where `input` is negative, 1 where it is positive, and the element of `values` where it is
    0. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.heaviside(mpigrad.tensor([-1.0, 0.0, 2.0]), mpigrad.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    need_tensors("heaviside", input=input, values=values)
    return deliver(HEAVISIDE.general(input, values), out)


method(in_place(heaviside), "heaviside_")
nextafter = _public("nextafter", NEXTAFTER, "The next number from `input` towards `other`.", floats=True)


def copysign(input: Tensor, other: Any, *, out: Tensor | None = None) -> Tensor:
    """The absolute values of `input` with the signs of `other`, a tensor or a number. `out`: a tensor to which the
    result is written.

    >>> import mpigrad
    >>> mpigrad.copysign(mpigrad.tensor([1.0, 2.0]), -1)
    tensor([-1., -2.])
    """
    return deliver((COPYSIGN_NUMBER if isinstance(other, NUMBERS) else COPYSIGN).general(input, other), out)


def xlogy(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`, and 0 where `input` is 0. Either may be a number. `out`: a tensor to which the result is
    written.

    >>> import mpigrad
    >>> mpigrad.xlogy(mpigrad.tensor([0.0, 2.0]), mpigrad.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    op = XLOGY_OF if isinstance(input, NUMBERS) else XLOGY_BY if isinstance(other, NUMBERS) else XLOGY
    return deliver(op.general(input, other), out)


def ldexp(input: Tensor, other: Any, *, out: Tensor | None = None) -> Tensor:
    """`input * 2 ** other`, element by element. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.ldexp(mpigrad.tensor([1.0]), mpigrad.tensor([3]))
    tensor([8.])
    """
    return deliver(LDEXP.general(input, other), out)


for _fn in (lerp, addcmul, addcdiv, copysign, xlogy, ldexp):
    method(_fn)
    method(in_place(_fn), _fn.__name__ + "_")

__all__ = [
    "addcdiv", "addcmul", "arctan2", "atan2", "copysign", "heaviside", "hypot", "ldexp", "lerp",
    "logaddexp", "logaddexp2",
    "nextafter", "xlogy",
]  # fmt: skip
