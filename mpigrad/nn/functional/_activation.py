"""Activation functions with an `inplace` argument, as the activation modules call them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._ops._define.arguments import need_tensors
from mpigrad._ops._define.guarded import guarded
from mpigrad._ops._define.inplace import change
from mpigrad._ops.create.random import rand
from mpigrad._ops.nn import activation, gates

from ..._core.tensor import wrap
from ..._tensor import Tensor


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Replace negative elements by 0: max(x, 0) for each element x. With `inplace=True` the result overwrites
    `input`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.relu(mpigrad.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return input.relu_() if inplace else input.relu()


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)) for each element x.

    >>> import mpigrad
    >>> mpigrad.nn.functional.sigmoid(mpigrad.zeros(1))
    tensor([0.5000])
    """
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element.

    >>> import mpigrad
    >>> mpigrad.nn.functional.tanh(mpigrad.ones(1))
    tensor([0.7616])
    """
    return input.tanh()


def _dim(name: str, ndim: int) -> int:
    """The dimension that PyTorch uses for softmax if none is given: 0 for 0, 1 or 3 dimensions, otherwise 1; gives
    its deprecation warning.
    """
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Turn scores into probabilities: exp(x) divided by its sum along `dim`, so that the results along `dim` add up
    to 1.

    Without `dim` a dimension is guessed and a warning is given (deprecated). `dtype`: convert the input to this type
    first (default: keep its type). `_stacklevel` is private.

    >>> import mpigrad
    >>> mpigrad.nn.functional.softmax(mpigrad.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    dim = _dim("softmax", input.dim()) if dim is None else dim
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax(input, dim)`, computed without overflow. The arguments are those of `softmax`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.log_softmax(mpigrad.zeros(2), dim=0)
    tensor([-0.6931, -0.6931])
    """
    dim = _dim("log_softmax", input.dim()) if dim is None else dim
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax(-input, dim)`: the smallest element gets the largest probability. The arguments are those of
    `softmax`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.softmin(mpigrad.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    dim = _dim("softmin", input.dim()) if dim is None else dim
    return softmax(-input, dim, dtype=dtype)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x) for each element x (also called swish). With `inplace=True` the result overwrites `input`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.silu(mpigrad.zeros(1))
    tensor([0.])
    """
    return change(input, activation.silu) if inplace else activation.silu(input)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Set elements with |x| <= `lambd` to 0 and keep the others.

    >>> import mpigrad
    >>> mpigrad.nn.functional.hardshrink(mpigrad.tensor([0.2, 2.0]))
    tensor([0., 2.])
    """
    need_tensors("hardshrink", input=input)
    return gates.hardshrink(input, limit=lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Move each element towards 0 by `lambd`; elements with |x| <= `lambd` become 0. `lambd` must not be negative.

    >>> import mpigrad
    >>> mpigrad.nn.functional.softshrink(mpigrad.tensor([0.2, 2.0]))
    tensor([0.0000, 1.5000])
    """
    need_tensors("softshrink", input=input)
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return gates.softshrink(input, limit=lambd)


def _in_place(operator: Any, input: Tensor, inplace: bool, **kw: Any) -> Tensor:
    return change(input, lambda old: operator(old, **kw)) if inplace else operator(input, **kw)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x) for each element x: an approximation of `silu` without exponentials. With `inplace=True` the
    result overwrites `input`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.hardswish(mpigrad.tensor([-4.0, 0.0, 3.0]))
    tensor([-0., 0., 3.])
    """
    need_tensors("hardswish", input=input)
    return _in_place(gates.hardswish, input, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """A piecewise linear sigmoid: 0 below -3, 1 above 3, x / 6 + 1 / 2 between. With `inplace=True` the result
    overwrites `input`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.hardsigmoid(mpigrad.tensor([-4.0, 0.0, 3.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    need_tensors("hardsigmoid", input=input)
    return _in_place(gates.hardsigmoid, input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x)) for each element x. With `inplace=True` the result overwrites `input`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.mish(mpigrad.zeros(1))
    tensor([0.])
    """
    need_tensors("mish", input=input)
    return _in_place(gates.mish, input, inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Keep elements larger than `threshold` and replace the others by `value`. With `inplace=True` the result
    overwrites `input`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.threshold(mpigrad.tensor([0.0, 2.0]), 1.0, 20.0)
    tensor([20.,  2.])
    """
    need_tensors("threshold", input=input)
    return _in_place(gates.threshold, input, inplace, threshold=threshold, value=value)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The gated linear unit: cut `input` in two halves a and b along `dim`, and return a * sigmoid(b).

    Raises a RuntimeError if the length of `dim` is odd.

    >>> import mpigrad
    >>> mpigrad.nn.functional.glu(mpigrad.tensor([2.0, 0.0]))
    tensor([1.])
    """
    need_tensors("glu", input=input)
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    place = dim % input.dim()
    if input.shape[place] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {place} is size {input.shape[place]}")
    return gates.glu(input, dim=place)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Keep positive elements, and multiply the others by a slope, usually a parameter.

    `weight`: the slopes, a tensor with one element, or with one for each channel (dimension 1 of `input`).

    >>> import mpigrad
    >>> mpigrad.nn.functional.prelu(mpigrad.tensor([-1.0, 2.0]), mpigrad.tensor([0.5]))
    tensor([-0.5000,  2.0000])
    """
    need_tensors("prelu", input=input, weight=weight)
    count, shape = weight._array.size, input._array.shape
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if input._array.dtype != weight._array.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype.name} and {weight.dtype.name}")
    if count != 1:
        channels = shape[1] if len(shape) > 1 else 1
        if not shape:
            raise RuntimeError("Not allow zero-dim input tensor.")
        if channels != count:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel "
                f"size = {channels}."
            )
        return gates.prelu(input, weight.view(-1, *(1,) * (len(shape) - 2)))
    return gates.prelu(input, weight.reshape((1,) * len(shape)))


@guarded
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Keep positive elements, and multiply the others by a slope.

    With `training=True` each element gets a random slope, uniform in [`lower`, `upper`]; otherwise the slope is their
    mean. With `inplace=True` the result overwrites `input`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.rrelu(mpigrad.tensor([-1.0, 2.0]), 0.5, 0.5)
    tensor([-0.5000,  2.0000])
    """
    need_tensors("rrelu", input=input)
    x = input._array
    if training:
        slope: Any = rand(*x.shape, dtype=input.dtype, device=input.device)._array * (upper - lower) + lower
    else:
        slope = (lower + upper) / 2
    factor = wrap(np.where(x > 0, 1.0, slope).astype(x.dtype))
    return change(input, lambda old: gates.scaled_by(old, factor)) if inplace else gates.scaled_by(input, factor)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|) for each element x: a function from -1 to 1, like tanh.

    >>> import mpigrad
    >>> mpigrad.nn.functional.softsign(mpigrad.tensor([1.0]))
    tensor([0.5000])
    """
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x) for each element x.

    >>> import mpigrad
    >>> mpigrad.nn.functional.tanhshrink(mpigrad.zeros(1))
    tensor([0.])
    """
    return input - input.tanh()


@guarded
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draw random vectors of the Gumbel-softmax distribution: differentiable approximations of one-hot samples.

    - `logits`: unnormalised log probabilities of the classes along `dim`.
    - `tau`: the temperature (> 0); the smaller, the closer are samples to one-hot vectors.
    - `hard`: return exact one-hot vectors, but with the gradients of the soft samples.
    - `eps`: deprecated, no effect.

    >>> import mpigrad
    >>> mpigrad.nn.functional.gumbel_softmax(mpigrad.zeros(3, 2), hard=True).sum()
    tensor(3.)
    """
    drawn = rand(*logits.shape, dtype=logits.dtype, device=logits.device)._array
    tiny = np.finfo("f4" if drawn.dtype.kind == "V" else drawn.dtype).tiny
    noise = wrap(-np.log(np.maximum(-np.log(np.maximum(drawn, tiny)), tiny)))
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    best = np.expand_dims(soft._array.argmax(axis=dim), dim)
    made = np.zeros_like(soft._array)
    np.put_along_axis(made, best, 1, axis=dim)
    return wrap(made) - soft.detach() + soft


def relu_(input: Tensor) -> Tensor:
    """`relu` in place: overwrites `input` and returns it. The arguments are those of `relu`."""
    return relu(input, inplace=True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place: overwrites `input` and returns it. The arguments are those of `elu`."""
    return activation.elu(input, alpha, inplace=True)


def selu_(input: Tensor) -> Tensor:
    """`selu` in place: overwrites `input` and returns it. The arguments are those of `selu`."""
    return activation.selu(input, inplace=True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place: overwrites `input` and returns it. The arguments are those of `celu`."""
    return activation.celu(input, alpha, inplace=True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place: overwrites `input` and returns it. The arguments are those of `leaky_relu`."""
    return activation.leaky_relu(input, negative_slope, inplace=True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place: overwrites `input` and returns it. The arguments are those of `hardtanh`."""
    return activation.hardtanh(input, min_val, max_val, inplace=True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place: overwrites `input` and returns it. The arguments are those of `threshold`."""
    return _in_place(gates.threshold, input, True, threshold=threshold, value=value)


@guarded
def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place: overwrites `input` and returns it. The arguments are those of `rrelu`."""
    return rrelu(input, lower, upper, training, inplace=True)


__all__ = [
    "celu_",
    "elu_",
    "hardtanh_",
    "leaky_relu_",
    "relu_",
    "rrelu_",
    "selu_",
    "threshold_",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "log_softmax",
    "mish",
    "prelu",
    "relu",
    "rrelu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]
