"""Random counts: Poisson and binomial distribution, computed by NumPy with a seed from mpigrad's generator."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import CPU, device_of, move
from mpigrad._core.tensor import wrap
from mpigrad._generator import Generator, generator_for
from mpigrad._tensor import Tensor

from .._define.arguments import need_tensors, title
from .._define.guarded import guarded
from .._define.operator import operator

Source = Generator | None


def _numpy(array: Any) -> Any:
    return move(array, CPU)


def _source(generator: Source, like: Any) -> np.random.Generator:
    return np.random.default_rng([int(word) for word in _numpy(generator_for(generator, like).words(4))])


def _poisson(rate: Any, *, generator: Source) -> Any:
    if bool((rate < 0).any()):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    made = np.asarray(_source(generator, rate).poisson(_numpy(rate))).astype(rate.dtype)
    return move(made, device_of(rate))


POISSON = operator("poisson", _poisson, lambda F, node, g: g * 0)


def poisson(input: Tensor, generator: Source = None) -> Tensor:
    """Random counts of Poisson distributions whose means are the elements of `input`, with its shape and type.
    `generator`: the source of random numbers, by default that of the device.

    >>> import mpigrad
    >>> mpigrad.poisson(mpigrad.zeros(3))
    tensor([0., 0., 0.])
    """
    need_tensors("poisson", input=input)
    if input._array.dtype.kind not in "fV":
        raise NotImplementedError(f"\"poisson_cpu\" not implemented for '{title(input._array)}'")
    return POISSON(input, generator=generator)


@guarded
def binomial(count: Tensor, prob: Tensor, generator: Source = None) -> Tensor:
    """Random counts: how many of `count` trials succeed, each with probability `prob`. Both are tensors of floats of
    one shape.

    Not differentiable. `generator`: the source of random numbers, by default that of the device.

    >>> import mpigrad
    >>> mpigrad.binomial(mpigrad.tensor([5.0]), mpigrad.tensor([1.0]))
    tensor([5.])
    """
    need_tensors("binomial", count=count, prob=prob)
    n, p = _numpy(count._array), _numpy(prob._array)
    if n.dtype != p.dtype:
        raise ValueError(f"Found dtype {title(p)} but expected {title(n)}")
    made = np.asarray(_source(generator, count._array).binomial(n.astype("i8"), p)).astype(n.dtype)
    return wrap(move(made, device_of(count._array)))


__all__ = ["binomial", "poisson"]
