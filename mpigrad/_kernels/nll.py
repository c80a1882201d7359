"""Negative log likelihood: one class read from each row, weighted, and the gradient written back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._array.device import array_module, host
from .kernel import THREADS, Kernel, blocks_for, either, launch, letters_of
from .select import keep

# x is seen as (batch, classes, inner), target and scale as (batch, inner)
NLL_EACH = Kernel("nll_each", "const T* x, const i64* target, const T* scale, T* made, i64 n, i64 classes, i64 inner", """
  EACH(i, n) made[i] = (T)((A)x[(i / inner * classes + target[i]) * inner + i % inner] * (A)scale[i]);""")  # fmt: skip
NLL_SUM = Kernel("nll_sum", "const T* x, const i64* target, const T* scale, A* parts, i64 n, i64 classes, i64 inner", """
  __shared__ A shared[THREADS];
  A sum = 0;
  EACH(i, n) sum += (A)x[(i / inner * classes + target[i]) * inner + i % inner] * (A)scale[i];
  sum = joined<Sum>(sum, blockDim.x, shared);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;""", together=True)  # fmt: skip
NLL_BACKWARD = Kernel(
    "nll_backward",
    "const T* g, const i64* target, const T* scale, T* made, i64 n, i64 classes, i64 inner, i64 single",
    """
  EACH(i, n) {
    i64 at = i / (classes * inner) * inner + i % inner;
    A by = scale[at];  // what is ignored gets 0 even of a gradient that is nan
    made[i] = i / inner % classes == target[at] && by != 0 ? (T)((A)g[single ? 0 : at] * by) : (T)(A)0;
  }""",
)
NLL_SCALE = Kernel(
    "nll_scale",
    "const I* target, const T* weight, i64* safe, T* scale, double* parts, i64 n, i64 classes, i64 ignored",
    """
  __shared__ double shared[THREADS];
  double sum = 0, wrong = 0;
  EACH(i, n) {
    i64 t = target[i], skip = t == ignored, bad = !skip && (t < 0 || t >= classes);
    safe[i] = skip || bad ? 0 : t;
    A by = skip ? (A)0 : weight ? (A)weight[safe[i]] : (A)1;
    scale[i] = skip ? (T)(A)0 : (T)-by;
    sum += by;
    wrong += bad;
  }
  sum = joined<Sum>(sum, blockDim.x, shared);
  wrong = joined<Sum>(wrong, blockDim.x, shared);
  if (threadIdx.x == 0) { parts[2 * blockIdx.x] = sum; parts[2 * blockIdx.x + 1] = wrong; }""",
    {"T": "efd", "I": "qB"},
    together=True,
)


def pick(x: Any, target: Any) -> Any:
    """The entries x[n, target[n, ...], ...]; target must be within range."""
    if x.ndim == 2:
        return x[array_module(x).arange(x.shape[0]), target]
    return array_module(x).take_along_axis(x, target[:, None], axis=1)[:, 0]


def spread(g: Any, target: Any, classes: int) -> Any:
    """Zeros for `classes` classes, with the entries of `g` at the target classes."""
    xp = array_module(g)
    made = xp.zeros((g.shape[0], classes, *g.shape[1:]), g.dtype)
    if g.ndim == 1:
        made[xp.arange(g.shape[0]), target] = g
    else:
        xp.put_along_axis(made, target[:, None], g[:, None], axis=1)
    return made


def _nll(x: Any, target: Any, scale: Any, *, summed: bool) -> Any:
    """The entries of `x` at the target classes times `scale` (see `_scales`); the sum of these products, if `summed`."""
    found = pick(x, target)
    return (found.ravel() @ scale.ravel()).astype(x.dtype) if summed else found * scale


def _nll_on_device(x: Any, target: Any, scale: Any, *, summed: bool) -> Any:
    xp, n = array_module(x), target.size
    given = xp.ascontiguousarray(x), _places(target), xp.ascontiguousarray(scale, dtype=x.dtype)
    shape = n, x.shape[1], math.prod(x.shape[2:])
    if not summed:
        made = xp.empty(target.shape, x.dtype)
        launch(xp, NLL_EACH, letters_of(x), blocks_for(n), THREADS, *given, made, *shape)
        return made
    parts = xp.zeros(min(blocks_for(n, 1024), 256), np.float64 if x.dtype == np.float64 else np.float32)
    launch(xp, NLL_SUM, letters_of(x), parts.size, THREADS, *given, parts, *shape)
    return parts.sum().astype(x.dtype)


def _places(target: Any) -> Any:
    return array_module(target).ascontiguousarray(target, dtype=np.int64)


def _nll_backward(g: Any, target: Any, scale: Any, *, classes: int) -> Any:
    """The gradient of `x` from that of the result, which is one number or one per target."""
    return spread(keep(g * scale, scale != 0), target, classes)  # ignored targets get 0 even if the gradient is nan


def _nll_backward_on_device(g: Any, target: Any, scale: Any, *, classes: int) -> Any:
    xp = array_module(scale)
    made = xp.empty((target.shape[0], classes, *target.shape[1:]), scale.dtype)
    launch(xp, NLL_BACKWARD, letters_of(scale), blocks_for(made.size), THREADS, xp.ascontiguousarray(g, dtype=scale.dtype),
           _places(target),
           xp.ascontiguousarray(scale), made, made.size, classes, math.prod(target.shape[1:]), g.ndim == 0)  # fmt: skip
    return made


def _scales(x: Any, target: Any, weight: Any, ignored: int) -> tuple[Any, Any, float, int]:
    """What the loss needs to know of each target: returns four values.

    Targets that are safe to index (0 where ignored or invalid), minus the weight of each (0 where ignored), the sum
    of the weights, and the number of invalid targets.
    """
    skip = target == ignored
    some, wrong = bool(skip.any()), 0
    safe = np.where(skip, 0, target) if some else target
    if safe.size and (safe.min() < 0 or safe.max() >= x.shape[1]):
        bad = (safe < 0) | (safe >= x.shape[1])
        wrong, safe = int(bad.sum()), np.where(bad, 0, safe)
    scale = array_module(x).full(target.shape, -1, x.dtype) if weight is None else -weight[safe]
    if some:
        scale[skip] = 0
    total = float(scale.size) if weight is None and not some else -float(scale.sum(dtype=np.float64))
    return safe.astype(np.int64, copy=False), scale, total, wrong


def _scales_on_device(x: Any, target: Any, weight: Any, ignored: int) -> tuple[Any, Any, float, int]:
    xp, n = array_module(x), target.size
    safe, scale = xp.empty(target.shape, np.int64), xp.empty(target.shape, x.dtype)
    parts = xp.zeros((min(blocks_for(n, 1024), 256), 2), np.float64)
    weight = None if weight is None else xp.ascontiguousarray(weight, dtype=x.dtype)
    launch(xp, NLL_SCALE, letters_of(x, target), parts.shape[0], THREADS, xp.ascontiguousarray(target), weight, safe, scale,
           parts, n, x.shape[1], ignored)  # fmt: skip
    total, wrong = host(parts).sum(axis=0)
    return safe, scale, float(total), int(wrong)


nll = either(_nll, _nll_on_device)
nll_backward = either(_nll_backward, _nll_backward_on_device)
scales = either(_scales, _scales_on_device)
