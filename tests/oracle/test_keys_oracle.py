"""Keys of every kind, drawn at random: reading and assigning with them, beside PyTorch."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import mpigrad

torch = pytest.importorskip("torch")
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)
INTS = st.integers(-5, 4)
EDGES = st.none() | INTS
SLICES = st.builds(slice, EDGES, EDGES, st.none() | st.integers(1, 3))


def arrays(kind: Any, low: int, high: int) -> Any:
    """Small nested lists of one shape: vectors and matrices."""
    shapes = st.lists(st.integers(0, 3), min_size=1, max_size=2)
    return shapes.flatmap(
        lambda shape: st.lists(st.integers(low, high), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))).map(
            lambda values: np.array(values, kind).reshape(shape)
        )
    )


ITEMS = st.one_of(INTS, SLICES, st.none(), st.just(...), st.booleans(), arrays(np.int64, -3, 3), arrays(np.bool_, 0, 1))
KEYS = (
    st.lists(ITEMS, min_size=1, max_size=4).map(tuple).filter(lambda key: [each is ... for each in key].count(True) < 2)
    | ITEMS
)
SETTINGS = hypothesis.settings(max_examples=120, deadline=None, derandomize=True)


def spelled(T: Any, key: Any) -> Any:
    """A key with its arrays as tensors of a library."""
    if isinstance(key, tuple):
        return tuple(spelled(T, each) for each in key)
    return T.from_numpy(key.copy()) if isinstance(key, np.ndarray) else key


def start(T: Any, shape: tuple[int, ...]) -> Any:
    values = np.sin(np.arange(np.prod(shape, dtype=int), dtype="f8") + 1).reshape(shape)
    return T.from_numpy(values).requires_grad_()


def read(T: Any, shape: tuple[int, ...], key: Any) -> Any:
    x = start(T, shape)
    try:
        found = (x * 1)[spelled(T, key)]
    except Exception as error:
        return type(error)
    found.backward(T.from_numpy(np.cos(np.arange(found.numel(), dtype="f8")).reshape(tuple(found.shape))))
    # whether a slice of everything counts as a step is left to each library
    name = found.grad_fn.name().replace("Alias", "Slice")
    return tuple(found.shape), found._base is not None, name, found.tolist(), x.grad.tolist()


def assign(T: Any, shape: tuple[int, ...], key: Any, value: Any) -> Any:
    x, source = start(T, shape), start(T, value) if isinstance(value, tuple) else value
    made = x * 2
    try:
        made[spelled(T, key)] = source
    except Exception as error:
        return type(error)
    (made * made).sum().backward()
    others = None if not isinstance(value, tuple) else source.grad is not None and source.grad.tolist()
    name = re.sub("CopySlices|FillBackward3|CopyBackwards", "a write", made.grad_fn.name())
    return made.tolist(), name.replace("torch::autograd::", ""), np.round(x.grad.numpy(), 9).tolist(), others


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, type) or isinstance(found, type):
        assert found == expected
        return
    assert found == pytest.approx(expected) if isinstance(expected, float) else _close(found, expected), (
        found,
        expected,
    )


def _close(found: Any, expected: Any) -> bool:
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(_close, found, expected))
    return found == pytest.approx(expected) if isinstance(expected, float) else found == expected


@SETTINGS
@hypothesis.given(SHAPES, KEYS)
def test_reading(shape: tuple[int, ...], key: Any) -> None:
    found = read(mpigrad, shape, key)
    if found is not IndexError or 0 not in shape:  # PyTorch looks at no index when the result is empty; we do
        same(found, read(torch, shape, key))


def _repeats(shape: tuple[int, ...], key: Any) -> bool:
    """Whether a key names an element more than once: which value stays is not defined then."""
    try:
        found = mpigrad.arange(int(np.prod(shape, dtype=int))).reshape(shape)[spelled(mpigrad, key)]
    except Exception:
        return False
    return found.unique().numel() != found.numel()


@SETTINGS
@hypothesis.given(SHAPES, KEYS, st.just(2.5) | SHAPES)
def test_assigning(shape: tuple[int, ...], key: Any, value: Any) -> None:
    hypothesis.assume(not _repeats(shape, key))
    found = assign(mpigrad, shape, key, value)
    if found is not IndexError or 0 not in shape:
        same(found, assign(torch, shape, key, value))
