"""Normalisation of rows to mean 0 and variance 1, with a weight and a bias along the row, and its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.device import array_module
from .._core import kernels
from .kernel import THREADS, Kernel, blocks_for, either, launch, letters_of, teams_for

_MOST_SLABS = 64

LAYER_NORM = Kernel(
    "layer_norm",
    "const T* x, const T* w, const T* b, T* made, T* means, T* vars, i64 rows, i64 length, i64 team, double eps",
    """
  __shared__ A shared[THREADS];
  EACH_ROW(row, rows, team) {
    const T *of = x + row * length;
    A sum = 0, squares = 0;
    EACH_OF_TEAM(k, length, team) sum += (A)of[k];
    A mean = joined<Sum>(sum, team, shared) / (A)length;
    EACH_OF_TEAM(k, length, team) squares += ((A)of[k] - mean) * ((A)of[k] - mean);
    A var = joined<Sum>(squares, team, shared) / (A)length, rstd = 1 / sqrt(var + (A)eps);
    EACH_OF_TEAM(k, length, team) {
      A y = ((A)of[k] - mean) * rstd;
      if (w) y *= (A)w[k];
      if (b) y += (A)b[k];
      made[row * length + k] = (T)y;
    }
    if (team == 1 || threadIdx.x == 0) { means[row] = (T)mean; vars[row] = (T)var; }
  }""",
    together=True,
)
LAYER_NORM_BACKWARD = Kernel(
    "layer_norm_backward",
    "const T* g, const T* x, const T* w, const T* means, const T* vars, T* made, i64 rows, i64 length, i64 team, double eps",
    """
  __shared__ A shared[THREADS];
  EACH_ROW(row, rows, team) {
    A mean = means[row], rstd = 1 / sqrt((A)vars[row] + (A)eps), first = 0, second = 0;
    EACH_OF_TEAM(k, length, team) {
      A up = (A)g[row * length + k] * (w ? (A)w[k] : (A)1);
      first += up;
      second += up * ((A)x[row * length + k] - mean) * rstd;
    }
    first = joined<Sum>(first, team, shared) / (A)length;
    second = joined<Sum>(second, team, shared) / (A)length;
    EACH_OF_TEAM(k, length, team) {
      A up = (A)g[row * length + k] * (w ? (A)w[k] : (A)1), hat = ((A)x[row * length + k] - mean) * rstd;
      made[row * length + k] = (T)((up - hat * second - first) * rstd);
    }
  }""",
    together=True,
)
# Each thread sums one column of one slab of rows; the sums of the slabs are added afterwards.
LAYER_NORM_PARAMETERS = Kernel(
    "layer_norm_parameters",
    "const T* g, const T* x, const T* means, const T* vars, A* into_w, A* into_b, i64 rows, i64 length, i64 slabs, double eps",
    """
  EACH(i, slabs * length) {
    i64 slab = i / length, k = i % length, height = (rows + slabs - 1) / slabs, end = (slab + 1) * height;
    A w = 0, b = 0;
    for (i64 row = slab * height; row < rows && row < end; row++) {
      A up = g[row * length + k];
      w += up * (((A)x[row * length + k] - (A)means[row]) * (1 / sqrt((A)vars[row] + (A)eps)));
      b += up;
    }
    into_w[i] = w;
    into_b[i] = b;
  }""",
)


_ROWS, _BACK, _PARAMETERS = map(kernels.find, ("layer_norm", "layer_norm_backward", "layer_norm_parameters"))


def _layer_norm(x: Any, w: Any, b: Any, *, eps: float) -> tuple[Any, Any, Any]:
    """Rows of a matrix normalised, times `w` plus `b` (either may be None); and the mean and variance of each row."""
    if _ROWS >= 0 and x.__class__ is np.ndarray and x.size:
        shape = len(x), 1
        made = np.empty(x.shape, x.dtype), np.empty(shape, x.dtype), np.empty(shape, x.dtype)
        if kernels.run(_ROWS, (x, w, b, *made, *x.shape, eps)):
            return made
    xp, length, kind = array_module(x), x.shape[1], x.dtype.type
    mean = (x @ xp.full(length, 1 / length, dtype=x.dtype)).reshape(-1, 1)  # a matrix-vector product is faster than a sum
    y = x - mean
    var = xp.einsum("ij,ij->i", y, y).reshape(-1, 1) / kind(length)
    y *= 1 / np.sqrt(var + kind(eps))
    if w is not None:
        y *= w
    if b is not None:
        y += b
    return y, mean, var


def _layer_norm_on_device(x: Any, w: Any, b: Any, *, eps: float) -> tuple[Any, Any, Any]:
    xp, (rows, length) = array_module(x), x.shape
    made, mean, var = xp.empty(x.shape, x.dtype), xp.empty((rows, 1), x.dtype), xp.empty((rows, 1), x.dtype)
    blocks, threads, team = teams_for(rows, length, 1)
    w, b = (None if each is None else xp.ascontiguousarray(each, dtype=x.dtype) for each in (w, b))
    launch(xp, LAYER_NORM, letters_of(x), blocks, threads, xp.ascontiguousarray(x), w, b, made, mean, var, rows, length, team,
           eps)  # fmt: skip
    return made, mean, var


def _layer_norm_backward(g: Any, x: Any, w: Any, mean: Any, var: Any, *, eps: float) -> tuple[Any, Any, Any]:
    """The gradients of the rows, of the weight (which must be given) and of the bias."""
    if _BACK >= 0 and x.__class__ is np.ndarray and x.size and g.shape == x.shape:
        made, slabs = np.empty(x.shape, x.dtype), max(1, min(_MOST_SLABS, len(x) // 8))
        parts = np.empty((2, slabs, x.shape[1]), x.dtype)
        if kernels.run(_BACK, (g, x, w, mean, var, made, *x.shape, eps)) and kernels.run(
            _PARAMETERS, (g, x, mean, var, parts[0], parts[1], *x.shape, slabs, eps)
        ):
            into_w, into_b = parts.sum(axis=1)
            return made, into_w, into_b
    xp, count = array_module(g), g.dtype.type(w.size)
    rstd = 1 / np.sqrt(var + var.dtype.type(eps))
    hat = x - mean
    hat *= rstd
    ones = xp.ones(g.shape[0], g.dtype)
    both = g * hat
    first, second = (g @ w) / count, (both @ w) / count
    into_w, into_b = ones @ both, ones @ g
    np.multiply(g, w, out=both)
    hat *= second[:, None]
    both -= hat
    both -= first[:, None]
    both *= rstd
    return both, into_w, into_b


def _layer_norm_backward_on_device(g: Any, x: Any, w: Any, mean: Any, var: Any, *, eps: float) -> tuple[Any, Any, Any]:
    xp, (rows, length) = array_module(x), x.shape
    g, x, w, mean, var = (xp.ascontiguousarray(each, dtype=x.dtype) for each in (g, x, w, mean, var))
    made, letters = xp.empty(x.shape, x.dtype), letters_of(x)
    blocks, threads, team = teams_for(rows, length, 1)
    launch(xp, LAYER_NORM_BACKWARD, letters, blocks, threads, g, x, w, mean, var, made, rows, length, team, eps)
    slabs = max(1, min(_MOST_SLABS, rows // 8))
    parts = xp.empty((2, slabs, length), np.float64 if x.dtype == np.float64 else np.float32)
    launch(xp, LAYER_NORM_PARAMETERS, letters, blocks_for(slabs * length), THREADS,
           g, x, mean, var, parts[0], parts[1], rows, length, slabs, eps)  # fmt: skip
    into_w, into_b = parts.sum(axis=1).astype(x.dtype, copy=False)
    return made, into_w, into_b


layer_norm = either(_layer_norm, _layer_norm_on_device)
layer_norm_backward = either(_layer_norm_backward, _layer_norm_backward_on_device)
