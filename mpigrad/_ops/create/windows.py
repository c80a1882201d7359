"""Window functions of signal processing: vectors by which a piece of a signal is multiplied before a Fourier
transform.

`periodic` (default) gives one period of a periodic function, for transforms; False gives a window whose first and
last element are equal, for filters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mpigrad._array.dtype import dtype, get_default_dtype
from mpigrad._kernels.bessel import i0
from mpigrad._tensor import Tensor

from .create import Place, tensor

_Shape = Callable[[np.ndarray], np.ndarray]  # position in the window, from 0 to 1 -> weight


def _window(
    name: str, length: int, periodic: bool, shape: _Shape, kind: dtype | None, place: Place, grad: bool
) -> Tensor:
    kind = get_default_dtype() if kind is None else kind
    if kind.category < 2:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    steps = length if periodic else length - 1
    made = shape(np.arange(length) / steps) if length > 1 else np.ones(length)
    return tensor(made, dtype=kind, device=place, requires_grad=grad)


def _cosines(*factors: float) -> _Shape:
    return lambda where: sum(  # type: ignore[return-value]
        (-1) ** k * each * np.cos(2 * math.pi * k * where) for k, each in enumerate(factors)
    )


def hann_window(window_length: int, periodic: bool = True, *, dtype: dtype | None = None, layout: Any = None,
                device: Place = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The Hann window, one period of a raised cosine: a vector of `window_length` elements.

    `periodic=False`: a symmetric window. `dtype` (by default the default float type), `device` and `requires_grad`
    are those of the new tensor. `layout` and `pin_memory` are ignored.

    >>> import mpigrad
    >>> mpigrad.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", window_length, periodic, _cosines(0.5, 0.5), dtype, device, requires_grad)


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
                   dtype: dtype | None = None, layout: Any = None, device: Place = None, pin_memory: bool = False,
                   requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The Hamming window alpha - beta * cos(2 pi k / n), which does not reach zero at its ends: a vector of
    `window_length` elements.

    `periodic=False`: a symmetric window. `dtype` (by default the default float type), `device` and `requires_grad`
    are those of the new tensor. `layout` and `pin_memory` are ignored.

    >>> import mpigrad
    >>> mpigrad.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _window("hamming_window", window_length, periodic, _cosines(alpha, beta), dtype, device, requires_grad)


def blackman_window(window_length: int, periodic: bool = True, *, dtype: dtype | None = None, layout: Any = None,
                    device: Place = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The Blackman window, a sum of three cosine terms with little spectral leakage: a vector of `window_length`
    elements.

    `periodic=False`: a symmetric window. `dtype` (by default the default float type), `device` and `requires_grad`
    are those of the new tensor. `layout` and `pin_memory` are ignored.

    >>> import mpigrad
    >>> mpigrad.blackman_window(4).round(decimals=2).abs()
    tensor([0.0000, 0.3400, 1.0000, 0.3400])
    """
    shape = _cosines(0.42, 0.5, 0.08)
    return _window("blackman_window", window_length, periodic, shape, dtype, device, requires_grad)


def bartlett_window(window_length: int, periodic: bool = True, *, dtype: dtype | None = None, layout: Any = None,
                    device: Place = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The triangular window: a vector of `window_length` elements. `periodic=False`: a symmetric window.

    `dtype` (by default the default float type), `device` and `requires_grad` are those of the new tensor. `layout` and
    `pin_memory` are ignored.

    >>> import mpigrad
    >>> mpigrad.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def shape(where: np.ndarray) -> np.ndarray:
        return 1 - np.abs(2 * where - 1)

    return _window("bartlett_window", window_length, periodic, shape, dtype, device, requires_grad)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: dtype | None = None,
                  layout: Any = None, device: Place = None, pin_memory: bool = False,
                  requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The Kaiser window: a vector of `window_length` elements; a larger `beta` means less spectral leakage and less
    resolution.

    `periodic=False`: a symmetric window. `dtype` (by default the default float type), `device` and `requires_grad`
    are those of the new tensor. `layout` and `pin_memory` are ignored.

    >>> import mpigrad
    >>> mpigrad.kaiser_window(3, beta=0.0)
    tensor([1., 1., 1.])
    """

    def shape(where: np.ndarray) -> np.ndarray:
        return i0(beta * np.sqrt(np.maximum(1 - (2 * where - 1) ** 2, 0))) / i0(np.asarray(float(beta)))

    return _window("kaiser_window", window_length, periodic, shape, dtype, device, requires_grad)


__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]
