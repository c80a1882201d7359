"""Activation functions: relu, gelu, silu, softplus, elu and others."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._graph.namespace import RAW
from mpigrad._kernels import gelu as kernels
from mpigrad._kernels.select import keep
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors
from .._define.inplace import change, in_place
from .._define.operator import operator
from .._define.out import deliver
from .._define.unary import as_float, refuse_kinds, unary
from ..elementwise.functions import _sigmoid

_ROOT_HALF, _ROOT_2_PI = math.sqrt(0.5), math.sqrt(2 * math.pi)
_TANH_SCALE, _CUBE = math.sqrt(2 / math.pi), 0.044715


def _refuse_relu(x: Tensor) -> None:
    if x._array.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    if x._array.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")


def _gelu_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    if F is RAW:
        return kernels.gelu_backward(g, x)
    below = 0.5 * (1 + F.erf(x * _ROOT_HALF))
    density = F.exp(x * x * -0.5) / _ROOT_2_PI
    return g * (below + x * density)


def _gelu_tanh_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    if F is RAW:
        return kernels.gelu_tanh_backward(g, x)
    squared = x * x
    t = F.tanh(x * (squared * _CUBE + 1) * _TANH_SCALE)
    slope = (squared * (3 * _CUBE) + 1) * _TANH_SCALE
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)


def _silu_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    s = F.sigmoid(x)
    return g * (s * (1 + x * (1 - s)))


def _log_sigmoid(x: Any) -> Any:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def _softplus(x: Any, *, beta: float = 1.0, threshold: float = 20.0) -> Any:
    scaled = x * x.dtype.type(beta)
    made = (np.maximum(scaled, 0) + np.log1p(np.exp(-np.abs(scaled)))) / x.dtype.type(beta)
    linear = scaled > threshold
    return np.where(linear, x, made) if linear.any() else made


def _softplus_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    beta, threshold = node.kw.get("beta", 1.0), node.kw.get("threshold", 20.0)
    linear = x * beta > threshold
    return F.keep(g, linear) + F.keep(g * F.sigmoid(x * beta), ~linear)


def _elu(x: Any, *, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    return np.where(x > 0, x * scale, np.expm1(np.minimum(x, 0) * input_scale) * (alpha * scale))


def _elu_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    kw = node.kw
    alpha, scale, inner = kw.get("alpha", 1.0), kw.get("scale", 1.0), kw.get("input_scale", 1.0)
    above = x > 0
    return F.keep(g * scale, above) + F.keep(g * (F.exp(F.keep(x, ~above) * inner) * (alpha * scale * inner)), ~above)


def _leaky(x: Any, *, negative_slope: float = 0.01) -> Any:
    if 0 <= negative_slope <= 1:
        return np.maximum(x, x * x.dtype.type(negative_slope))
    return np.where(x > 0, x, x * x.dtype.type(negative_slope))


def _leaky_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    above = x > 0
    return F.keep(g, above) + F.keep(g * node.kw.get("negative_slope", 0.01), ~above)


def _hardtanh(x: Any, *, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    return np.minimum(np.maximum(x, x.dtype.type(min_val)), x.dtype.type(max_val))


def _hardtanh_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    return F.keep(g, (x > node.kw.get("min_val", -1.0)) & (x < node.kw.get("max_val", 1.0)))


def _relu_backward_backward(F: Any, node: Any, h: Any, y: Any) -> Any:
    return F.keep(h, y > 0), F.zeros_of(y) if node.needs[1] else None


operator("threshold_backward", lambda g, y: keep(g, y > 0), _relu_backward_backward, saves=(1,),
         node="ThresholdBackwardBackward0")  # fmt: skip
relu = unary("relu", lambda x: np.maximum(x, 0), lambda F, node, g, y: F.threshold_backward(g, y), saves="result", refuse=_refuse_relu,
             raw=lambda g, y: keep(g, y > 0), doc="Replace negative elements by 0.")  # fmt: skip
silu = unary("silu", lambda x: x * _sigmoid(x), _silu_backward, saves="input", refuse=refuse_kinds("biu", "silu_cpu"),
             doc="x * sigmoid(x).", attach=False)  # fmt: skip
logsigmoid = unary("log_sigmoid", _log_sigmoid, lambda F, node, g, x: g * F.sigmoid(-x), saves="input", attach=False,
                   node="LogSigmoidBackward0", refuse=refuse_kinds("biu", "log_sigmoid_cpu"), doc="log(sigmoid(x)).")  # fmt: skip
_gelu_none = unary("gelu", kernels.gelu, _gelu_backward, saves="input", refuse=refuse_kinds("biu", "GeluKernelImpl"),
                   attach=False, doc="x times the standard normal distribution function of x.")  # fmt: skip
_gelu_by_tanh = unary("gelu", kernels.gelu_tanh, _gelu_tanh_backward, saves="input", refuse=refuse_kinds("biu", "GeluKernelImpl"),
                      attach=False, known_as="gelu_tanh", doc="gelu, approximated with tanh.")  # fmt: skip
SOFTPLUS = operator("softplus", _softplus, _softplus_backward, saves=(0,))
ELU = operator("elu", _elu, _elu_backward, saves=(0,))
CELU = operator("celu", _elu, _elu_backward, saves=(0,))
LEAKY_RELU = operator("leaky_relu", _leaky, _leaky_backward, saves=(0,), node="LeakyReluBackward0")
HARDTANH = operator("hardtanh", _hardtanh, _hardtanh_backward, saves=(0,))

_refuse_softplus = refuse_kinds("biu", "softplus_cpu")
_refuse_elu = refuse_kinds("biu", "elu_cpu")
_refuse_leaky = refuse_kinds("biu", "leaky_relu_cpu")


def _maybe_in_place(input: Tensor, inplace: bool, compute: Any) -> Tensor:
    return change(input, compute) if inplace else compute(input)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the cumulative distribution function of the standard normal distribution at x, element by element.

    `approximate="tanh"` uses an approximation by tanh; the default "none" is exact.
    """
    if approximate == "none":
        return _gelu_none(input)
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _gelu_by_tanh(input)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * x)) / beta, a smooth ReLU; where beta * x is above `threshold`, x itself."""
    need_tensors("softplus", input=input)
    _refuse_softplus(input)
    return SOFTPLUS(input, beta=beta, threshold=threshold)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, otherwise alpha * (exp(x) - 1). With `inplace=True` the result overwrites `input`."""
    need_tensors("elu", input=input)
    _refuse_elu(input)
    return _maybe_in_place(input, inplace, lambda x: ELU(x, alpha=alpha))


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the scale and alpha for which activations keep mean 0 and variance 1. With `inplace=True` the result
    overwrites `input`.

    >>> import mpigrad
    >>> mpigrad.selu(mpigrad.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    need_tensors("selu", input=input)
    _refuse_elu(input)
    kw = {"alpha": 1.6732632423543772848170429916717, "scale": 1.0507009873554804934193349852946}
    return _maybe_in_place(input, inplace, lambda x: ELU(x, **kw))


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, otherwise alpha * (exp(x / alpha) - 1). With `inplace=True` the result overwrites
    `input`.

    >>> import mpigrad
    >>> mpigrad.celu(mpigrad.tensor([-1.0, 1.0]), alpha=2.0)
    tensor([-0.7869,  1.0000])
    """
    need_tensors("celu", input=input)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    _refuse_elu(input)
    return _maybe_in_place(input, inplace, lambda x: CELU(x, alpha=alpha, input_scale=1.0 / alpha))


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is positive, otherwise negative_slope * x. With `inplace=True` the result overwrites `input`."""
    need_tensors("leaky_relu", input=input)
    _refuse_leaky(input)
    return _maybe_in_place(input, inplace, lambda x: LEAKY_RELU(x, negative_slope=negative_slope))


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Limit each element to the range from `min_val` to `max_val`. With `inplace=True` the result overwrites `input`.
    """
    need_tensors("hardtanh", input=input)
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _maybe_in_place(input, inplace, lambda x: HARDTANH(x, min_val=min_val, max_val=max_val))


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Limit each element to the range from 0 to 6. With `inplace=True` the result overwrites `input`."""
    return hardtanh(input, 0.0, 6.0, inplace)


def _logit(x: Any, *, eps: float | None) -> Any:
    z = x if eps is None else np.clip(x, x.dtype.type(eps), x.dtype.type(1 - eps))
    return np.log(z / (1 - z))


def _logit_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    eps = node.kw["eps"]
    made = g / (x * (1 - x))
    if eps is not None:
        return F.keep(made, (x >= eps) & (x <= 1 - eps))
    outside = F.cast((x < 0) | (x > 1), dtype=getattr(x, "_array", x).dtype)
    return made + F.log(1 - 2 * outside)  # nan outside, as the function itself


LOGIT = operator("logit", _logit, _logit_backward, saves=(0,))


def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of sigmoid, element by element. With `eps`, x is first limited to the range from
    eps to 1 - eps. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.logit(mpigrad.tensor([0.5]))
    tensor([0.])
    """
    need_tensors("logit", input=input)
    return deliver(LOGIT(as_float(input), eps=eps), out)


method(logit)
method(in_place(logit), "logit_")

# PyTorch has these functions also at the top level; the others only in nn.functional.
__all__ = ["celu", "logit", "relu", "selu"]
