"""Changing shapes: reshape, view and others, adding and removing dimensions. Results are views where possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpigrad._array.device import array_module, guard
from mpigrad._array.dtype import dtype as Dtype
from mpigrad._graph.namespace import add_to_both
from mpigrad._tensor import Tensor, method

from .._define.dims import wrap_dim, wrap_dims
from .._define.inplace import reshape_in_place
from .._define.operator import operator
from .._define.sizes import resolve, sizes_of
from .._define.views import view_operator

_ALL = slice(None)


def _as(x: Any, *, shape: tuple[int, ...]) -> Any:
    return x.reshape(shape)


def _back_to_shape(F: Any, node: Any, g: Any) -> Any:
    return F.reshape(g, shape=node.shapes[0])


def _insert(x: Any, *, dim: int) -> Any:
    return x[(_ALL,) * dim + (None,)]


def _remove(x: Any, *, dims: tuple[int, ...]) -> Any:
    return x.squeeze(dims)


VIEW = view_operator("view", _as, _back_to_shape, "ViewBackward0")
_ALIAS = view_operator("reshape_alias", _as, _back_to_shape, "ReshapeAliasBackward0")
_COPIED = operator("reshape_copied", _as, _back_to_shape, node="UnsafeViewBackward0")
_INSERT = view_operator(
    "insert_dim", _insert, lambda F, node, g: F.remove_dims(g, dims=(node.kw["dim"],)), "UnsqueezeBackward0"
)
_INSERT_ = view_operator(
    "insert_dim_", _insert, lambda F, node, g: F.remove_dims(g, dims=(node.kw["dim"],)), "UnsqueezeBackward1"
)
_SQUEEZE = [
    view_operator("remove_dims" + str(i or ""), _remove, _back_to_shape, f"SqueezeBackward{i}") for i in range(6)
]


def _reshape(input: Tensor, given: tuple[int, ...]) -> Tensor:
    array = input._array
    shape = resolve(given, array.size)
    if array.flags.c_contiguous:
        return VIEW(input, shape=shape)
    if _fits(array, shape):
        return _ALIAS(input, shape=shape)
    return _COPIED(input, shape=shape)


def _fits(array: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array can get the shape `shape` without a copy."""
    with guard(array):
        return array.size == 0 or array_module(array).may_share_memory(array.reshape(shape), array)


add_to_both("reshape", _as, lambda input, *, shape: _reshape(input, shape))


def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor with the same elements in the shape `shape`; a view of `input` if possible, otherwise a copy.

    -1 stands for the length that follows from the others; a RuntimeError if the number of elements does not fit.

    >>> import mpigrad
    >>> mpigrad.reshape(mpigrad.tensor([1, 2, 3, 4]), (2, -1))
    tensor([[1, 2],
            [3, 4]])
    """
    return _reshape(input, sizes_of((shape,)))


def _reshape_method(self: Tensor, *shape: Any) -> Tensor:
    """A tensor with the same elements in another shape: `x.reshape(2, 3)` or `x.reshape((2, 3))`; see
    `mpigrad.reshape`.
    """
    return _reshape(self, sizes_of(shape))


method(_reshape_method, "reshape")


@method
def view(self: Tensor, *shape: Any, **names: Any) -> Tensor:
    """A view of the same memory in another shape: `x.view(2, -1)`; a RuntimeError if that would need a copy.

    `x.view(dtype)` reads the same bytes as another type.
    """
    if names:
        shape = (*shape, names["dtype"] if "dtype" in names else names["size"])
    if len(shape) == 1 and isinstance(shape[0], Dtype):
        return _view_as_type(self, shape[0])
    array = self._array
    sizes = resolve(sizes_of(shape), array.size)
    if not array.flags.c_contiguous and not _fits(array, sizes):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return VIEW(self, shape=sizes)


def _retype(x: Any, *, dtype: Any) -> Any:
    return x.view(dtype)


_RETYPE = view_operator("retype", _retype, lambda F, node, g: None, "ViewBackward1")


def _view_as_type(self: Tensor, wanted: Dtype) -> Tensor:
    if self.dtype is wanted:
        return VIEW(self, shape=self._array.shape)
    if wanted.itemsize != self.dtype.itemsize and (
        self._array.ndim == 0 or self._array.strides[-1] != self.dtype.itemsize
    ):
        raise RuntimeError(
            f"self.stride(-1) must be 1 to view {self.dtype} as {wanted} (different element sizes), but the "
            "tensor is not "
            "contiguous in its last dimension"
        )
    made = _RETYPE(self, dtype=wanted.numpy)
    made._grad_fn, made._requires = None, False
    return made


@method
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """View this tensor in the shape of `other`."""
    return self.view(other._array.shape)


@method
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Reshape this tensor to the shape of `other`."""
    return _reshape(self, other._array.shape)


@method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the dimensions from `start_dim` to `end_dim` (included; default: all) into one; a view if possible.

    >>> import mpigrad
    >>> mpigrad.ones(2, 3, 4).flatten(1).shape
    mpigrad.Size([2, 12])
    """
    shape = input._array.shape
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return _reshape(input, (1,))
    if start == end:
        return input
    count = 1
    for length in shape[start : end + 1]:
        count *= length
    return _reshape(input, (*shape[:start], count, *shape[end + 1 :]))


@method
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split the dimension `dim` into several, of the lengths `sizes`; -1 for a length that follows from the others. A
    view.
    """
    shape = input._array.shape
    at, parts = wrap_dim(dim, len(shape)), sizes_of((sizes,))
    if not parts:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        inner = resolve(parts, shape[at])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of dim {at} ({shape[at]}) in "
            "the input "
            "tensor"
        ) from None
    return _reshape(input, (*shape[:at], *inner, *shape[at + 1 :]))


@method
def ravel(input: Tensor) -> Tensor:
    """All elements as a vector; a view if possible, otherwise a copy."""
    return _reshape(input, (-1,) if input._array.size else (0,))


def _removable(input: Tensor, dim: Any) -> tuple[int, ...]:
    shape = input._array.shape
    dims = range(len(shape)) if dim is None else wrap_dims(dim, len(shape)) or ()
    return tuple(i for i in dims if shape and shape[i] == 1)


def _squeeze_kind(dim: Any) -> int:
    return 0 if dim is None else 2 if isinstance(dim, (tuple, list)) else 1


@method
def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Remove dimensions of length 1: all of them, or those of `dim` (an int or a tuple); a view. Longer dimensions
    stay.

    >>> import mpigrad
    >>> mpigrad.ones(1, 2, 1).squeeze(-1).shape
    mpigrad.Size([1, 2])
    """
    return _SQUEEZE[_squeeze_kind(dim)](input, dims=_removable(input, dim))


@method
def squeeze_(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Remove dimensions of length 1 from this tensor, in place: all of them, or those of `dim`; returns the tensor."""
    undo = {"shape": self._array.shape}
    return reshape_in_place(self, _SQUEEZE[3 + _squeeze_kind(dim)], VIEW, {"dims": _removable(self, dim)}, undo)


@method
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert a dimension of length 1, which becomes dimension `dim` of the result; a view.

    >>> import mpigrad
    >>> mpigrad.ones(2).unsqueeze(0).shape
    mpigrad.Size([1, 2])
    """
    return _INSERT(input, dim=wrap_dim(dim, input._array.ndim + 1))


@method
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Insert a dimension of length 1 into this tensor, in place, as dimension `dim`; returns the tensor."""
    at = wrap_dim(dim, self._array.ndim + 1)
    return reshape_in_place(self, _INSERT_, _SQUEEZE[1], {"dim": at}, {"dims": (at,)})


__all__ = ["flatten", "ravel", "reshape", "squeeze", "unflatten", "unsqueeze"]
