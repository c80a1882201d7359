"""Initialisation of parameters. Each function fills a tensor in place, without recording, and returns it.

Functions with an argument `generator` draw from that `mpigrad.Generator`, by default from the default generator of
the device.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from .._array.device import array_module
from .._core.tensor import wrap
from .._graph.grad_mode import no_grad
from .._ops._define.guarded import guarded
from .._tensor import Tensor

_LINEAR = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended gain (factor of the standard deviation) for the weights before a nonlinearity; `xavier_*`
    functions accept it.

    `nonlinearity`: "linear", "conv1d" etc. and "sigmoid" (1), "tanh" (5/3), "relu" (sqrt 2), "leaky_relu" (`param` is
    its slope, by default 0.01) or "selu" (3/4). Others raise a ValueError.

    >>> from mpigrad import nn
    >>> round(nn.init.calculate_gain("leaky_relu", 0.2), 4)
    1.3868
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill `tensor` in place with random numbers, uniformly distributed in [a, b), and return it.

    `generator`: the source of random numbers, by default the global one.
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill `tensor` in place with numbers of the normal distribution with the given mean and standard deviation, and
    return it.

    `generator`: the source of random numbers, by default the global one.
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill `tensor` in place with numbers of the normal distribution, without those outside [a, b], and return it.

    `mean` and `std` are those of the distribution before truncation; `a` and `b` are numbers, not multiples of `std`.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    low, high = (_normal_cdf((edge - mean) / std) for edge in (a, b))
    tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
    tensor.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(min=a, max=b)
    return tensor


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill `tensor` in place with the number `val`, and return it."""
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill `tensor` in place with ones, and return it."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill `tensor` in place with zeros, and return it."""
    return constant_(tensor, 0.0)


@no_grad()
@guarded
def eye_(tensor: Tensor) -> Tensor:
    """Set a matrix in place to the identity (also if it is not square), and return it; ValueError unless it has 2
    dimensions.
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    array = tensor._array
    return tensor.copy_(wrap(array_module(array).eye(*array.shape, dtype=array.dtype)))


@no_grad()
@guarded
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution in place so that as many channels as possible pass through unchanged; returns
    it.

    `tensor` has 3, 4 or 5 dimensions (out, in, kernel ...). With `groups`, each group of output channels passes the
    first input channels through.
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    array = tensor._array
    made = array_module(array).zeros(array.shape, array.dtype)
    per_group = array.shape[0] // groups
    middle = tuple(length // 2 for length in array.shape[2:])
    for group in range(groups):
        for channel in range(min(per_group, array.shape[1])):
            made[(group * per_group + channel, channel, *middle)] = 1
    return tensor.copy_(wrap(made))


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform random numbers so that activations and gradients keep their variance (Glorot initialisation);
    returns the tensor.

    The range is +-gain * sqrt(6 / (fan_in + fan_out)). `tensor` has at least 2 dimensions (out, in, kernel ...).
    `generator`: the source of random numbers, by default the global one.
    """
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal random numbers so that activations and gradients keep their variance (Glorot initialisation);
    returns the tensor.

    The standard deviation is gain * sqrt(2 / (fan_in + fan_out)). `tensor` has at least 2 dimensions (out, in, kernel ...).
    `generator`: the source of random numbers, by default the global one.
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def _is_empty(tensor: Tensor) -> bool:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill with uniform random numbers whose variance suits layers followed by a ReLU (He initialisation); returns
    the tensor.

    The range is +-gain * sqrt(3 / fan).

    - `nonlinearity`: the activation that follows, as for `calculate_gain`; `a` is the negative slope of "leaky_relu".
    - `mode`: with "fan_in" activations keep their variance in the forward pass, with "fan_out" gradients in the
      backward pass.
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill with normal random numbers whose variance suits layers followed by a ReLU (He initialisation); returns the
    tensor.

    The standard deviation is gain / sqrt(fan). The arguments are those of `kaiming_uniform_`.
    """
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


@no_grad()
@guarded
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill in place with a random orthogonal matrix times `gain`, and return the tensor.

    `tensor` has at least 2 dimensions; those after the first are merged. If the matrix is not square, its rows or its
    columns are orthonormal. `generator`: the source of random numbers, by default the global one.
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    array = tensor._array
    if array.size == 0:
        return tensor
    xp = array_module(array)
    rows, columns = array.shape[0], array.size // array.shape[0]
    drawn = wrap(xp.empty((max(rows, columns), min(rows, columns)), array.dtype))
    drawn.normal_(0, 1, generator=generator)
    q, r = xp.linalg.qr(drawn._array)
    q = q * xp.sign(xp.diagonal(r))  # fixes the signs of Q, so that the distribution is uniform
    q = q if rows >= columns else q.T
    return tensor.copy_(wrap((q * gain).reshape(array.shape)))


@no_grad()
@guarded
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal random numbers of standard deviation `std`, then set the fraction `sparsity` of each
    column to zero.

    `generator`: the source of random numbers, by default the global one.
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    xp = array_module(tensor._array)
    order = (
        wrap(xp.empty((rows, columns), tensor._array.dtype)).uniform_(0, 1, generator=generator)._array.argsort(axis=0)
    )
    array = tensor._array.copy()
    array[order[:zeros], xp.arange(columns)] = 0
    return tensor.copy_(wrap(array))


__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]
