"""Normalises dimension arguments: negative dimensions are converted to positive ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mpigrad._tensor import Tensor


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension as a number from 0 on, from one that may be negative; a zero-dimensional tensor counts as having one dimension.
    """
    length = ndim or 1
    if not -length <= dim < length:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-length}, {length - 1}], but got {dim})"
        )
    return dim + length if dim < 0 else dim


def own_dim(dim: int, ndim: int) -> int:
    """`wrap_dim`, but a zero-dimensional tensor has no valid dimension."""
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


def wrap_dims(dims: int | Iterable[int] | None, ndim: int) -> tuple[int, ...] | None:
    """Several dimensions as numbers from 0 on, without repetitions; None if all dimensions are meant (None or an empty list)."""
    if dims is None:
        return None
    if dims.__class__ is int:
        return (wrap_dim(dims, ndim),)  # type: ignore[arg-type]
    found: list[int] = []
    for each in dims if isinstance(dims, (tuple, list)) else (dims,):
        dim = wrap_dim(as_int(each), ndim)
        if dim in found:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
        found.append(dim)
    return tuple(found) or None


def as_int(value: Any) -> int:
    """An int from an int-like value (a NumPy integer, a tensor with one integer); TypeError for other values."""
    if value.__class__ is int:
        return value
    if not isinstance(value, (float, bool, str)) and hasattr(value, "__index__"):
        return value.__index__()
    raise TypeError(f"a dimension or size must be int, not {type(value).__name__}")


def size_from(name: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape from `zeros(2, 3)`, `zeros((2, 3))` or `zeros([2, 3])`."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    made = []
    for each in size:
        if (
            isinstance(each, (float, bool, str))
            or not hasattr(each, "__index__")
            or isinstance(each, Tensor)
            and each.ndim
        ):
            raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type(each).__name__}")
        length = each.__index__()
        if length < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {list(size)}")
        made.append(length)
    return tuple(made)
