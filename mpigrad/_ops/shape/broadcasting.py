"""Broadcasting without copies: expand, broadcast_to and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpigrad._tensor import Size, Tensor, method

from .._define.sizes import sizes_of
from .._define.unbroadcast import expand as _expand
from .reshape import unsqueeze


def _stretched(input: Tensor, size: tuple[int, ...]) -> tuple[int, ...]:
    shape = input._array.shape
    new = len(size) - len(shape)
    if new < 0:
        raise RuntimeError(
            f"expand({input.type()}{{{list(shape)}}}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    made = []
    for place, length in enumerate(size):
        old = shape[place - new] if place >= new else None
        if length == -1 and old is None:
            raise RuntimeError(
                f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {place}"
            )
        if length == -1 or length == old:
            made.append(old)
        elif old is None or old == 1:
            made.append(length)
        else:
            raise RuntimeError(
                f"The expanded size of the tensor ({length}) must match the existing size ({old}) at "
                "non-singleton dimension "
                f"{place}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
    return tuple(made)  # type: ignore[arg-type]


@method
def expand(self: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """Broadcast this tensor to the shape `sizes`, as a view: dimensions of length 1 are repeated without a copy.

    -1 keeps a dimension's length; more sizes than dimensions add dimensions in front.
    """
    return _expand(self, shape=_stretched(self, sizes_of(sizes if size is None else (size,))))


@method
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Broadcast this tensor to the shape of `other`, as a view; see `expand`."""
    return _expand(self, shape=_stretched(self, other._array.shape))


@method
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """Broadcast a tensor to the shape `size`, as a view; a RuntimeError if the shapes do not fit.

    >>> import mpigrad
    >>> mpigrad.broadcast_to(mpigrad.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return _expand(input, shape=_stretched(input, sizes_of((size,))))


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape to which all given shapes (tuples of ints) can be broadcast; a RuntimeError if there is none.

    >>> import mpigrad
    >>> mpigrad.broadcast_shapes((2, 1), (3,))
    mpigrad.Size([2, 3])
    """
    made: list[int] = []
    for shape in [(each,) if isinstance(each, int) else tuple(each) for each in shapes]:
        made = [1] * (len(shape) - len(made)) + made
        for back, length in enumerate(reversed(shape), start=1):
            if length != 1 and made[-back] not in (1, length):
                raise RuntimeError(
                    "Shape mismatch: objects cannot be broadcast to a single shape; got "
                    + ", ".join(str(list(each) if not isinstance(each, int) else [each]) for each in shapes)
                )
            made[-back] = length if made[-back] == 1 else made[-back]
    return Size(made)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Broadcast tensors to their common shape: a tuple of views."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shape: tuple[int, ...] = ()
    for each in tensors:
        check_pair(shape, each._array.shape)
        shape = tuple(broadcast_shapes(shape, each._array.shape))
    return tuple(each if each._array.shape == shape else _expand(each, shape=shape) for each in tensors)


def check_pair(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """Raise PyTorch's error if two shapes cannot be broadcast."""
    for back, (m, n) in enumerate(zip(a[::-1], b[::-1]), start=1):
        if m != n and m != 1 and n != 1:
            raise RuntimeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension "
                f"{max(len(a), len(b)) - back}"
            )


def _several(tensors: tuple[Any, ...], one: Any) -> Any:
    if len(tensors) == 1:
        given = tensors[0]
        return tuple(one(each) for each in given) if isinstance(given, (tuple, list)) else one(given)
    return tuple(one(each) for each in tensors)


def atleast_1d(*tensors: Any) -> Any:
    """Give zero-dimensional tensors one dimension; others are returned unchanged. Several tensors give a tuple.

    >>> import mpigrad
    >>> mpigrad.atleast_1d(mpigrad.tensor(3))
    tensor([3])
    """
    return _several(tensors, lambda each: each if each._array.ndim else each.reshape(1))


def atleast_2d(*tensors: Any) -> Any:
    """Give tensors with fewer than two dimensions leading dimensions of length 1. Several tensors give a tuple."""
    return _several(tensors, _at_least_2d)


def _at_least_2d(tensor: Tensor) -> Tensor:
    ndim = tensor._array.ndim
    return tensor if ndim > 1 else unsqueeze(tensor, 0) if ndim else tensor.reshape(1, 1)


def atleast_3d(*tensors: Any) -> Any:
    """Give tensors with fewer than three dimensions new dimensions of length 1: (n,) becomes (1, n, 1), (n, m)
    becomes (n, m, 1).

    Several tensors give a tuple.
    """
    return _several(tensors, _at_least_3d)


def _at_least_3d(tensor: Tensor) -> Tensor:
    ndim = tensor._array.ndim
    if ndim > 2:
        return tensor
    if ndim == 2:
        return unsqueeze(tensor, -1)
    return unsqueeze(unsqueeze(tensor, 0), -1) if ndim else tensor.reshape(1, 1, 1)


__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors", "broadcast_to",
]  # fmt: skip
