"""gelu, exactly and by the formula with tanh, and the gradients of both."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._array.device import array_module
from .._core import kernels
from .kernel import Kernel, blocks_for, either, launch, letters_of
from .special import erf

_ROOT_HALF, _ROOT_2_PI = math.sqrt(0.5), math.sqrt(2 * math.pi)
_TANH_SCALE, _CUBE = math.sqrt(2 / math.pi), 0.044715

_OF_ONE, _OF_TWO = "const T* x, T* made, i64 n", "const T* g, const T* x, T* made, i64 n"
GELU = Kernel("gelu", _OF_ONE, f"""
  EACH(i, n) {{
    A v = x[i];
    made[i] = (T)(v * (A(0.5) * (1 + erf(v * A({_ROOT_HALF!r})))));
  }}""")  # fmt: skip
GELU_BACKWARD = Kernel("gelu_backward", _OF_TWO, f"""
  EACH(i, n) {{
    A v = x[i], below = A(0.5) * (1 + erf(v * A({_ROOT_HALF!r})));
    made[i] = (T)((A)g[i] * (below + v * (exp(v * v * A(-0.5)) / A({_ROOT_2_PI!r}))));
  }}""")  # fmt: skip
GELU_TANH = Kernel("gelu_tanh", _OF_ONE, f"""
  EACH(i, n) {{
    A v = x[i], inner = (v * v * A({_CUBE}) + 1) * v;
    made[i] = (T)(A(0.5) * v * (1 + tanh(inner * A({_TANH_SCALE!r}))));
  }}""")  # fmt: skip
GELU_TANH_BACKWARD = Kernel("gelu_tanh_backward", _OF_TWO, f"""
  EACH(i, n) {{
    A v = x[i], square = v * v;
    A t = tanh(v * (square * A({_CUBE}) + 1) * A({_TANH_SCALE!r}));
    A slope = (square * A({3 * _CUBE!r}) + 1) * A({_TANH_SCALE!r});
    made[i] = (T)((A)g[i] * (A(0.5) * (1 + t) + A(0.5) * v * (1 - t * t) * slope));
  }}""")  # fmt: skip


def _each(kernel: Kernel, *arrays: Any) -> Any:
    xp, first = array_module(arrays[0]), arrays[0]
    made = xp.empty(first.shape, first.dtype)
    given = [xp.ascontiguousarray(each, dtype=first.dtype) for each in arrays]
    launch(xp, kernel, letters_of(first), blocks_for(first.size), 256, *given, made, first.size)
    return made


def _compiled_each(number: int, *arrays: Any) -> Any:
    """Run the compiled kernel on contiguous arrays of one shape; None if it does not apply."""
    first = arrays[0]
    if number < 0 or first.__class__ is not np.ndarray or arrays[-1].shape != first.shape:
        return None
    made = np.empty(first.shape, first.dtype)
    return made if kernels.run(number, (*arrays, made, first.size)) else None


_GELU, _GELU_BACKWARD = kernels.find("gelu"), kernels.find("gelu_backward")
_GELU_TANH, _GELU_TANH_BACKWARD = kernels.find("gelu_tanh"), kernels.find("gelu_tanh_backward")
_F32 = np.dtype("f4")  # only single precision: NumPy's tanh is as fast in double precision


def _gelu(x: Any) -> Any:
    """x times the cumulative normal distribution of x."""
    if (found := _compiled_each(_GELU, x)) is not None:
        return found
    return x * (0.5 * (1 + erf(x * x.dtype.type(_ROOT_HALF))))


def _gelu_backward(g: Any, x: Any) -> Any:
    """The gradient of gelu with respect to its input `x`."""
    if (found := _compiled_each(_GELU_BACKWARD, g, x)) is not None:
        return found
    below = 0.5 * (1 + erf(x * x.dtype.type(_ROOT_HALF)))
    density = np.exp(x * x * -0.5) / _ROOT_2_PI
    return g * (below + x * density)


def _gelu_tanh(x: Any) -> Any:
    """gelu, approximated with tanh."""
    if x.dtype is _F32 and (found := _compiled_each(_GELU_TANH, x)) is not None:
        return found
    inner = x * x
    inner *= _CUBE
    inner += 1
    inner *= x
    return 0.5 * x * (1 + np.tanh(inner * x.dtype.type(_TANH_SCALE)))


def _gelu_tanh_backward(g: Any, x: Any) -> Any:
    """The gradient of the tanh approximation with respect to its input `x`."""
    if x.dtype is _F32 and (found := _compiled_each(_GELU_TANH_BACKWARD, g, x)) is not None:
        return found
    squared = x * x
    t = np.tanh(x * (squared * _CUBE + 1) * _TANH_SCALE)
    slope = (squared * (3 * _CUBE) + 1) * _TANH_SCALE
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)


gelu = either(_gelu, lambda x: _each(GELU, x))
gelu_backward = either(_gelu_backward, lambda g, x: _each(GELU_BACKWARD, g, x))
gelu_tanh = either(_gelu_tanh, lambda x: _each(GELU_TANH, x))
gelu_tanh_backward = either(_gelu_tanh_backward, lambda g, x: _each(GELU_TANH_BACKWARD, g, x))
