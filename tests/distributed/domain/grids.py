"""What the tests of domain decomposition share: all grids of some ranks, and global arrays that every rank knows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import prod

import numpy as np

import mpigrad
from mpigrad.distributed.domain import Layout


def shapes(size: int, ndim: int) -> Iterator[tuple[int, ...]]:
    """Every shape of a grid of `size` ranks."""
    divisors = [each for each in range(1, size + 1) if size % each == 0]
    return (shape for shape in itertools.product(divisors, repeat=ndim) if prod(shape) == size)


def array(shape: tuple[int, ...], seed: int = 0, complex_numbers: bool = False) -> np.ndarray:
    """The same random numbers on every rank."""
    chance = np.random.default_rng(seed)
    made = chance.standard_normal(shape)
    return made + 1j * chance.standard_normal(shape) if complex_numbers else made


def block(whole: np.ndarray, layout: Layout, grad: bool = False) -> mpigrad.Tensor:
    """This rank's block of a global array."""
    return mpigrad.tensor(whole[layout.local].copy(), requires_grad=grad)
