"""softmax and log_softmax along one axis, and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._array.device import array_module
from .._core import kernels
from .kernel import Kernel, either, launch, letters_of, teams_for
from .reduction import add_reduce, max_reduce

_ROW = """
  __shared__ A shared[THREADS];
  EACH_ROW(row, rows, team) {
    i64 at = row / inner * length * inner + row % inner;
"""
_TOP_AND_SUM = """
    A top = x[at];
    EACH_OF_TEAM(k, length, team) top = Largest::join(top, (A)x[at + k * inner]);
    top = joined<Largest>(top, team, shared);
    A sum = 0;
    EACH_OF_TEAM(k, length, team) sum += exp((A)x[at + k * inner] - top);
    sum = joined<Sum>(sum, team, shared);
"""
_OF_ONE = "const T* x, T* made, i64 rows, i64 length, i64 inner, i64 team"
_OF_TWO = "const T* g, const T* y, T* made, i64 rows, i64 length, i64 inner, i64 team"

SOFTMAX = Kernel("softmax", _OF_ONE, _ROW + _TOP_AND_SUM + """
    EACH_OF_TEAM(k, length, team) made[at + k * inner] = (T)(exp((A)x[at + k * inner] - top) / sum);
  }""", together=True)  # fmt: skip
LOG_SOFTMAX = Kernel("log_softmax", _OF_ONE, _ROW + _TOP_AND_SUM + """
    sum = log(sum);
    EACH_OF_TEAM(k, length, team) made[at + k * inner] = (T)((A)x[at + k * inner] - top - sum);
  }""", together=True)  # fmt: skip
SOFTMAX_BACKWARD = Kernel("softmax_backward", _OF_TWO, _ROW + """
    A sum = 0;
    EACH_OF_TEAM(k, length, team) sum += (A)g[at + k * inner] * (A)y[at + k * inner];
    sum = joined<Sum>(sum, team, shared);
    EACH_OF_TEAM(k, length, team) {
      A each = y[at + k * inner];
      made[at + k * inner] = (T)((A)g[at + k * inner] * each - each * sum);
    }
  }""", together=True)  # fmt: skip
LOG_SOFTMAX_BACKWARD = Kernel("log_softmax_backward", _OF_TWO, _ROW + """
    A sum = 0;
    EACH_OF_TEAM(k, length, team) sum += (A)g[at + k * inner];
    sum = joined<Sum>(sum, team, shared);
    EACH_OF_TEAM(k, length, team)
      made[at + k * inner] = (T)((A)g[at + k * inner] - exp((A)y[at + k * inner]) * sum);
  }""", together=True)  # fmt: skip


def _by_rows(kernel: Kernel, arrays: tuple[Any, ...], dim: int) -> Any:
    first = arrays[0]
    xp, shape = array_module(first), first.shape or (1,)
    made = xp.empty(first.shape, first.dtype)
    if first.size:
        length, inner = shape[dim], math.prod(shape[dim + 1 :])
        rows = first.size // length
        blocks, threads, team = teams_for(rows, length, inner)
        given = [xp.ascontiguousarray(each, dtype=first.dtype) for each in arrays]
        launch(xp, kernel, letters_of(first), blocks, threads, *given, made, rows, length, inner, team)
    return made


def _compiled_rows(number: int, arrays: tuple[Any, ...], dim: int) -> Any:
    """Run the compiled kernel on contiguous rows; None if it does not apply."""
    first = arrays[0]
    if number < 0 or dim != first.ndim - 1 or not first.size:
        return None
    made, length = np.empty(first.shape, first.dtype), first.shape[dim]
    return made if kernels.run(number, (*arrays, made, first.size // length, length)) else None


# Only single precision: NumPy's exp is as fast in double precision.
_SOFTMAX_ROWS, _LOG_SOFTMAX_ROWS = kernels.find("softmax"), kernels.find("log_softmax")
_SOFTMAX_BACK, _LOG_SOFTMAX_BACK = kernels.find("softmax_backward"), kernels.find("log_softmax_backward")
_F32 = np.dtype("f4")
_FEW = 1024  # elements; up to this size one call is faster than several of NumPy's, despite their wider vectors


def _softmax(x: Any, *, dim: int) -> Any:
    """exp(x) / sum(exp(x)) along one axis, without overflow."""
    if x.dtype is _F32 and x.size <= _FEW and (found := _compiled_rows(_SOFTMAX_ROWS, (x,), dim)) is not None:
        return found
    if x.ndim == 0 or x.size == 0:
        return x - x + x.dtype.type(1)
    if x.dtype.itemsize == 2:
        return _softmax(x.astype("f4"), dim=dim).astype(x.dtype)
    made = x - max_reduce(x, axis=dim, keepdims=True)
    np.exp(made, made)
    made /= add_reduce(made, axis=dim, keepdims=True)
    return made


def _log_softmax(x: Any, *, dim: int) -> Any:
    """x - log(sum(exp(x))) along one axis, without overflow."""
    if x.dtype is _F32 and x.size <= _FEW and (found := _compiled_rows(_LOG_SOFTMAX_ROWS, (x,), dim)) is not None:
        return found
    if x.ndim == 0 or x.size == 0:
        return x - x
    if x.dtype.itemsize == 2:
        return _log_softmax(x.astype("f4"), dim=dim).astype(x.dtype)
    made = x - max_reduce(x, axis=dim, keepdims=True)
    made -= np.log(add_reduce(np.exp(made), axis=dim, keepdims=True))
    return made


def _softmax_backward(g: Any, y: Any, *, dim: int) -> Any:
    """The gradient of softmax's input, from that of its result `y`."""
    if g.shape == y.shape and (found := _compiled_rows(_SOFTMAX_BACK, (g, y), dim)) is not None:
        return found
    inner = g * y
    if inner.ndim:
        inner -= y * add_reduce(inner, axis=dim, keepdims=True)
        return inner
    return inner - y * inner


def _log_softmax_backward(g: Any, y: Any, *, dim: int) -> Any:
    """The gradient of log_softmax's input, from that of its result `y`."""
    if y.dtype is _F32 and g.shape == y.shape and (found := _compiled_rows(_LOG_SOFTMAX_BACK, (g, y), dim)) is not None:
        return found
    made = np.exp(y)
    if made.ndim == 0:
        return g - made * g
    made *= add_reduce(g, axis=dim, keepdims=True)
    return np.subtract(g, made, out=made)


softmax = either(_softmax, lambda x, *, dim: _by_rows(SOFTMAX, (x,), dim))
log_softmax = either(_log_softmax, lambda x, *, dim: _by_rows(LOG_SOFTMAX, (x,), dim))
softmax_backward = either(_softmax_backward, lambda g, y, *, dim: _by_rows(SOFTMAX_BACKWARD, (g, y), dim))
log_softmax_backward = either(_log_softmax_backward, lambda g, y, *, dim: _by_rows(LOG_SOFTMAX_BACKWARD, (g, y), dim))
