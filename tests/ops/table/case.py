"""A case of the table: a function, and the inputs on which its gradients are checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mpigrad

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Input:
    """A random tensor, described by its shape and the values that suit the operator."""

    shape: Shape
    kind: str = "real"
    grad: bool = True

    def make(self, random: np.random.Generator, dtype: Any) -> mpigrad.Tensor:
        array = _KINDS[self.kind](random, self.shape)
        if array.dtype.kind in "iub":
            return mpigrad.tensor(array)
        wanted = (
            dtype if array.dtype.kind == "f" else mpigrad.complex128 if dtype is mpigrad.float64 else mpigrad.complex64
        )
        return mpigrad.tensor(array, dtype=wanted, requires_grad=self.grad)


def _apart(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Values that differ by more than any step of the check: maxima and orders do not change."""
    size = int(np.prod(shape))
    return (random.permutation(size) - size / 2 + 0.25).reshape(shape) * 0.37


_KINDS: dict[str, Callable[[np.random.Generator, Shape], np.ndarray]] = {
    "real": lambda random, shape: np.asarray(random.uniform(0.25, 1.6, shape) * random.choice([-1.0, 1.0], shape)),
    "positive": lambda random, shape: np.asarray(random.uniform(0.4, 1.6, shape)),
    "unit": lambda random, shape: np.asarray(random.uniform(0.1, 0.85, shape) * random.choice([-1.0, 1.0], shape)),
    "probability": lambda random, shape: np.asarray(random.uniform(0.15, 0.85, shape)),
    "above one": lambda random, shape: np.asarray(random.uniform(1.2, 2.5, shape)),
    "apart": _apart,
    "complex": lambda random, shape: np.asarray(
        random.uniform(0.3, 1.2, shape) + 1j * random.uniform(-1.2, -0.3, shape)
    ),
    "index": lambda random, shape: np.asarray(random.integers(0, 3, shape)),
    "mask": lambda random, shape: np.asarray(random.integers(0, 2, shape, dtype=bool)),
    "spd": lambda random, shape: _spd(random, shape),  # symmetric, positive, eigenvalues apart
    "well": lambda random, shape: _well(random, shape),
    "complex well": lambda random, shape: _well(random, shape) + 1j * random.uniform(-1, 1, shape),
    "signs": lambda random, shape: np.asarray(random.choice([-1.0, 1.0], shape)),
}


def _well(random: np.random.Generator, shape: Shape) -> np.ndarray:
    return random.uniform(-1, 1, shape) + 3 * np.eye(shape[-1])


def _spd(random: np.random.Generator, shape: Shape) -> np.ndarray:
    half = random.uniform(-1, 1, shape)
    return half @ half.swapaxes(-1, -2) + np.diag(np.arange(1.0, shape[-1] + 1))


@dataclass(frozen=True)
class Case:
    """One check: a function of tensors, its inputs, and whether second derivatives exist."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[Input, ...]
    second: bool = True
    single: bool = True  # whether float32 is checked too

    def make(self, dtype: Any, seed: int = 0) -> tuple[mpigrad.Tensor, ...]:
        random = np.random.default_rng([seed, *self.name.encode()])
        return tuple(each.make(random, dtype) for each in self.inputs)


def real(*shape: int) -> Input:
    return Input(shape)


def const(*shape: int, kind: str = "real") -> Input:
    return Input(shape, kind, grad=False)


def of(kind: str, *shape: int) -> Input:
    return Input(shape, kind)


UNARY_SHAPES: tuple[Shape, ...] = ((), (0, 2), (3,), (2, 1, 2))
BINARY_SHAPES: tuple[tuple[Shape, Shape], ...] = (
    ((3,), (3,)),
    ((2, 1), (3,)),
    ((), (2, 2)),
    ((0, 2), (1, 2)),
    ((), ()),
)


def clone_then(x: Any, change: Callable[[Any], Any]) -> Any:
    made = x.clone()
    change(made)
    return made * made
