"""Discrete Fourier transforms of arrays, between complex and real numbers, and their derivatives.

A transform is a matrix times a factor; the derivative is its adjoint, which is the transform in the other direction
with the same factor. `factor` is given to the operators, so that no derivative has to know of normalisations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module

from .._define.operator import operator

Dims = tuple[int, ...]


def _fitting(made: Any, like: Any) -> Any:
    """Run a transform in the precision of its input; NumPy before 2.0 always computes in double precision."""
    small = like.dtype.itemsize == (8 if like.dtype.kind == "c" else 4)
    wanted = ("c8" if small else "c16") if made.dtype.kind == "c" else ("f4" if small else "f8")
    return made.astype(wanted, copy=False)


def _scaled(made: Any, factor: float) -> Any:
    if factor != 1:
        made *= made.dtype.type(factor)
    return made


def _complex(x: Any, *, dim: Dims, factor: float, forward: bool) -> Any:
    fft = array_module(x).fft
    # both without normalisation: `factor` has it
    made = fft.fftn(x, axes=dim) if forward else fft.ifftn(x, axes=dim, norm="forward")
    return _scaled(_fitting(made, x), factor)


def _from_real(x: Any, *, dim: Dims, factor: float, half: bool) -> Any:
    fft = array_module(x).fft
    return _scaled(_fitting(fft.rfftn(x, axes=dim) if half else fft.fftn(x, axes=dim), x), factor)


def _to_real(x: Any, *, dim: Dims, factor: float, length: int) -> Any:
    sizes = [x.shape[each] for each in dim[:-1]] + [length]
    made = array_module(x).fft.irfftn(x, sizes, axes=dim, norm="forward")
    return _scaled(_fitting(made, x), factor)


def _from_real_backward(F: Any, node: Any, g: Any) -> Any:
    shape, dim, factor = node.shapes[0], node.kw["dim"], node.kw["factor"]
    if node.kw["half"]:  # the half of the spectrum that is left out has no influence on the result
        sides = tuple((0, shape[i] - (shape[i] // 2 + 1) if i == dim[-1] else 0) for i in range(len(shape)))
        g = F.constant_pad(g, sides=sides, value=0)
    return F.real(F.fft_complex(g, dim=dim, factor=factor, forward=False))


def _double(x: Any, *, dim: int, count: int) -> Any:
    made = x.copy()
    made[(slice(None),) * dim + (slice(1, 1 + count),)] *= 2
    return made


def _to_real_backward(F: Any, node: Any, g: Any) -> Any:
    dim, length = node.kw["dim"], node.kw["length"]
    made = F.fft_from_real(g, dim=dim, factor=node.kw["factor"], half=True)
    # each inner frequency of the half spectrum stands for its mirror image as well
    return F.fft_double(made, dim=dim[-1], count=length - (length // 2 + 1))


fft_complex = operator(
    "fft_complex",
    _complex,
    lambda F, node, g: F.fft_complex(
        g, dim=node.kw["dim"], factor=node.kw["factor"], forward=not node.kw["forward"]
    ),
    node="FftC2CBackward0",
)
fft_from_real = operator("fft_from_real", _from_real, _from_real_backward, node="FftR2CBackward0")
fft_to_real = operator("fft_to_real", _to_real, _to_real_backward, node="FftC2RBackward0")
operator("fft_double", _double, lambda F, node, g: F.fft_double(g, **node.kw), node="MulBackward0")


def frequencies(count: int, spacing: float, half: bool) -> Any:
    """The sample frequencies of a transform, in cycles per unit of the sample spacing."""
    return np.fft.rfftfreq(count, spacing) if half else np.fft.fftfreq(count, spacing)


__all__: list[str] = []
