"""Views by strides: diagonal, unfold, as_strided; and resize_, which changes the memory of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpigrad._array.device import array_module, device_of, move, pointer
from mpigrad._tensor import Tensor, counter, method

from .._define.dims import as_int, wrap_dim
from .._define.guarded import guarded
from .._define.operator import operator
from .._define.sizes import sizes_of
from .._define.views import view_operator


def _diagonal(x: Any, *, offset: int, dim1: int, dim2: int) -> Any:
    found = x.diagonal(offset, dim1, dim2)
    if found.__class__ is np.ndarray and x.flags.writeable:
        found.flags.writeable = True  # NumPy's diagonals are read-only
    return found


def _place_diagonal(x: Any, *, shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Any:
    made = array_module(x).zeros(shape, x.dtype)
    _diagonal(made, offset=offset, dim1=dim1, dim2=dim2)[...] = x
    return made


def _without_shape(kw: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kw.items() if name != "shape"}


DIAGONAL = view_operator(
    "diagonal",
    _diagonal,
    lambda F, node, g: F.place_diagonal(g, shape=node.shapes[0], **node.kw),
    "DiagonalBackward0",
)
PLACE_DIAGONAL = operator(
    "place_diagonal",
    _place_diagonal,
    lambda F, node, g: F.diagonal(g, **_without_shape(node.kw)),
    node="DiagEmbedBackward0",
)


@method
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of the dimensions `dim1` and `dim2`, as the last dimension of a view. `offset`: above (positive)
    or below the main diagonal.

    >>> import mpigrad
    >>> mpigrad.tensor([[1, 2], [3, 4]]).diagonal()
    tensor([1, 4])
    """
    ndim = input._array.ndim
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return DIAGONAL(input, offset=offset, dim1=first, dim2=second)


def _unfold(x: Any, *, dim: int, size: int, step: int) -> Any:
    if not x.ndim:
        return x.reshape(1)[:size]
    count = (x.shape[dim] - size) // step + 1
    shape = (*x.shape[:dim], count, *x.shape[dim + 1 :], size)
    strides = (*x.strides[:dim], x.strides[dim] * step, *x.strides[dim + 1 :], x.strides[dim])
    return array_module(x).lib.stride_tricks.as_strided(x, shape, strides)


def _fold_back(x: Any, *, shape: tuple[int, ...], dim: int, size: int, step: int) -> Any:
    """Add overlapping windows to the elements from which they were taken: one slice for each position in the window."""
    made = array_module(x).zeros(shape, x.dtype)
    if not shape:
        return made + x.sum()
    before, count = (slice(None),) * dim, x.shape[dim]
    for place in range(size):
        made[(*before, slice(place, place + step * (count - 1) + 1, step))] += x[..., place]
    return made


_UNFOLD = view_operator(
    "unfold", _unfold, lambda F, node, g: F.fold_back(g, shape=node.shapes[0], **node.kw), "UnfoldBackward0"
)
operator(
    "fold_back", _fold_back, lambda F, node, g: F.unfold(g, **_without_shape(node.kw)), node="UnfoldBackwardBackward0"
)


@method
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` elements along a dimension, `step` apart, in a new last dimension; a view.

    >>> import mpigrad
    >>> mpigrad.tensor([1, 2, 3]).unfold(0, 2, 1)
    tensor([[1, 2],
            [2, 3]])
    """
    dim = wrap_dim(dimension, self._array.ndim)
    length = self._array.shape[dim] if self._array.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return _UNFOLD(self, dim=dim, size=size, step=step)


Layout = tuple[
    tuple[int, ...], tuple[int, ...], int, int
]  # shape, strides and offset in elements, and the memory's length


def _layout(x: Any) -> Layout:
    """Shape, strides and offset of an array in elements, and the length of its memory block."""
    root = _memory(x)
    offset = (pointer(x) - pointer(root)) // x.itemsize if x.size else 0
    return x.shape, tuple(each // x.itemsize for each in x.strides), offset, root.size


def _memory(x: Any) -> Any:
    """The whole memory block of which an array is a part, as a vector."""
    root = x
    while isinstance(root.base, type(root)) and root.base.dtype == x.dtype:
        root = root.base
    flat = root.ravel(order="K")
    return flat if np.may_share_memory(flat, root) else x.ravel(order="K")


def _places(like: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
    """The memory offset of each element, as an array on the device of `like`."""
    made = np.full(shape, offset, np.int64)
    for dim, (length, stride) in enumerate(zip(shape, strides)):
        made += (np.arange(length) * stride).reshape((length,) + (1,) * (len(shape) - dim - 1))
    return move(made, device_of(like._array if isinstance(like, Tensor) else like))


def _as_strided(x: Any, *, size: tuple[int, ...], stride: tuple[int, ...], offset: int, of: Layout) -> Any:
    here = _layout(x)
    if here != of:  # a gradient with other strides: copy it to the tensor's layout
        memory = array_module(x).zeros(of[3], x.dtype)
        memory[_places(x, *of[:3])] = x
    else:
        memory = _memory(x)
    steps = tuple(each * x.itemsize for each in stride)
    return array_module(x).lib.stride_tricks.as_strided(memory[offset:], size, steps)


def _as_strided_backward(F: Any, node: Any, g: Any) -> Any:
    size, stride, offset, of = (node.kw[name] for name in ("size", "stride", "offset", "of"))
    memory = F.spread_index(g, shape=(of[3],), key=(_places(g, size, stride, offset),))
    return F.index(memory, key=(_places(g, *of[:3]),))


_AS_STRIDED = view_operator("as_strided", _as_strided, _as_strided_backward, "AsStridedBackward0")


@method
@guarded
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view with any shape `size`, strides (in elements) and offset into the tensor's memory; errors if it would
    leave the memory.

    >>> import mpigrad
    >>> mpigrad.arange(6).as_strided((2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    shape, steps = sizes_of((size,)), sizes_of((stride,))
    if len(shape) != len(steps):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(step < 0 for step in steps):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(steps)}")
    of = _layout(input._array)
    offset = of[2] if storage_offset is None else as_int(storage_offset)
    needed = offset + sum((length - 1) * step for length, step in zip(shape, steps)) + 1 if 0 not in shape else 0
    if needed > of[3]:
        bytes_needed, item = needed * input._array.itemsize, input._array.itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {offset}, and itemsize "
            f"{item} requiring a "
            f"storage size of {bytes_needed} are out of bounds for storage of size {of[3] * item}"
        )
    return _AS_STRIDED(input, size=shape, stride=steps, offset=offset, of=of)


@guarded
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy of the tensor, with `src` written to the elements that `as_strided` with these arguments would return.

    >>> import mpigrad
    >>> mpigrad.as_strided_scatter(mpigrad.zeros(4), mpigrad.ones(2), (2,), (3,))
    tensor([1., 0., 0., 1.])
    """
    made = input.clone() if input._array.flags.c_contiguous else input.contiguous()
    made = made if made is not input else input.clone()
    made.as_strided(size, stride, storage_offset).copy_(src)
    return made


method(as_strided_scatter)


@method
@guarded
def as_strided_(
    self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """Give this tensor another shape `size`, other strides (in elements) and offset into its memory, in place;
    returns the tensor.
    """
    if self._requires:
        raise RuntimeError("as_strided_ of a tensor that requires grad is not supported: use as_strided")
    self._array = as_strided(self, size, stride, storage_offset)._array
    counter(self)[0] += 1
    return self


@method
@guarded
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None, **names: Any) -> Tensor:
    """Resize this tensor to the shape `sizes`, in place; the elements that fit are kept in memory order, new ones are
    not initialised.
    """
    if self._requires:
        raise RuntimeError("cannot resize variables that require grad")
    shape = sizes_of((names["size"],) if "size" in names else sizes)
    array = self._array
    count = int(np.prod(shape, dtype=np.int64))
    memory = _memory(array) if array.flags.c_contiguous else array.ravel()
    if memory.size < count:
        grown = array_module(array).empty(count, array.dtype)
        grown[: memory.size] = memory
        memory = grown
    self._array = memory[:count].reshape(shape)
    counter(self)[0] += 1
    return self


@method
def resize_as_(self: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """Resize this tensor to the shape of `other`, in place; see `resize_`."""
    return resize_(self, other._array.shape)


__all__ = ["as_strided", "as_strided_scatter", "diagonal"]
