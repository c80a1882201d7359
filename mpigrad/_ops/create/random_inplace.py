"""Filling a tensor with random numbers, in place: uniform_, normal_, random_ and others.

All take `generator`, the source of random numbers (by default that of the device), and return the tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._core.tensor import wrap
from mpigrad._generator import Generator, generator_for
from mpigrad._tensor import Tensor, method

from .._define.arguments import title
from .._define.guarded import guarded
from .random import check_bounds, drawn, integers

Source = Generator | None


def _need_float(self: Tensor, kernel: str) -> None:
    if self._array.dtype.kind not in "fcV":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{title(self._array)}'")


def _standard(self: Tensor, how: str, generator: Source) -> Any:
    kind = np.dtype("f4") if self._array.dtype.kind == "V" else self._array.dtype
    return drawn(generator_for(generator, self._array), how, self._array.shape, kind)


@method
@guarded
def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Source = None, **names: Any) -> Tensor:
    """Fill this tensor with random numbers, uniformly distributed in [from, to), and return it. `generator`: the
    source of random numbers, by default that of the device.
    """
    low = names.pop("from", from_)
    _need_float(self, "check_uniform_bounds")
    if low > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={to:g}")
    values = drawn(generator_for(generator, self._array), "uniform", self._array.shape, self._array.dtype)
    start = complex(low, low) if self._array.dtype.kind == "c" else low
    kind = self._array.dtype.type
    values = values * kind(to - low) + kind(start) if (low, to) != (0, 1) else values
    return self.copy_(wrap(np.asarray(values) if isinstance(values, np.generic) else values))


@method
@guarded
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Source = None) -> Tensor:
    """Fill this tensor with numbers of the normal distribution with these parameters, and return it. `generator`: the
    source of random numbers, by default that of the device.
    """
    _need_float(self, "normal_kernel_cpu")
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    values = _standard(self, "normal", generator)
    kind = self._array.dtype.type
    return self.copy_(wrap(_array(values * kind(std) + kind(mean))))


def _array(values: Any) -> Any:
    return np.asarray(values) if isinstance(values, np.generic) else values


@method
@guarded
def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Source = None) -> Tensor:
    """Fill this tensor with numbers whose logarithms have the normal distribution with `mean` and `std`, and return
    it. `generator`: the source of random numbers, by default that of the device.
    """
    _need_float(self, "log_normal")
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    values = _standard(self, "normal", generator)
    kind = self._array.dtype.type
    return self.copy_(wrap(_array(np.exp(values * kind(std) + kind(mean)))))


@method
@guarded
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Source = None) -> Tensor:
    """Fill this tensor with numbers of the exponential distribution with rate `lambd` (mean 1 / lambd), and return
    it. `generator`: the source of random numbers, by default that of the device.
    """
    _need_float(self, "exponential")
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    values = _standard(self, "uniform", generator)
    return self.copy_(wrap(_array(np.log1p(-values) / self._array.dtype.type(-lambd))))


@method
@guarded
def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Source = None) -> Tensor:
    """Fill this tensor with numbers of the Cauchy distribution around `median` with scale `sigma`, and return it.
    `generator`: the source of random numbers, by default that of the device.
    """
    _need_float(self, "cauchy")
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    values, kind = _standard(self, "uniform", generator), self._array.dtype.type
    return self.copy_(wrap(_array(kind(median) + kind(sigma) * np.tan(kind(np.pi) * (values - kind(0.5))))))


@method
@guarded
def geometric_(self: Tensor, p: float, *, generator: Source = None) -> Tensor:
    """Fill this tensor with the numbers (from 1) of trials until the first success, of probability `p`, and return
    it. `generator`: the source of random numbers, by default that of the device.
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    source = generator_for(generator, self._array)
    values = drawn(source, "uniform", self._array.shape, np.dtype("f8"))
    return self.copy_(wrap(_array(np.maximum(np.ceil(np.log1p(-values) / np.log1p(-p)), 1.0))))


@method
@guarded
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Source = None) -> Tensor:
    """Fill this tensor with ones with probability `p` (a number, or a tensor with one for each element), otherwise
    zeros, and return it. `generator`: the source of random numbers, by default that of the device.
    """
    chance = p._array if isinstance(p, Tensor) else p
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    source = generator_for(generator, self._array)
    values = drawn(source, "uniform", self._array.shape, np.dtype("f8" if self._array.dtype.itemsize == 8 else "f4"))
    return self.copy_(wrap(_array(values < chance)))


@method
@guarded
def random_(self: Tensor, from_: Any = None, to: Any = None, *, generator: Source = None, **names: Any) -> Tensor:
    """Fill this tensor with random integers and return it: `random_(from, to)` from [from, to), `random_(to)` from
    [0, to).

    Without arguments, from 0 to the largest number of an integer type, or to the largest integer up to which a
    floating-point type has all. `generator`: the source of random numbers, by default that of the device.
    """
    low = names.pop("from", from_)
    if to is None and low is not None:
        low, to = 0, low
    if to is None:
        low, to = 0 if low is None else low, _end(self._array.dtype)
    low = 0 if low is None else low
    check_bounds(low, to)
    source = generator_for(generator, self._array)
    return self.copy_(wrap(integers(source, self._array.shape, low, to, np.dtype("i8"))))


def _end(kind: np.dtype) -> int:
    if kind.kind == "b":
        return 2
    if kind.kind in "fV":
        return 2 ** (8 if kind.kind == "V" else np.finfo(kind).nmant + 1) + 1
    return min(int(np.iinfo(kind).max) + 1, 2**63)


__all__: list[str] = []
