"""Resizes sparse tensors in place: tensors with elements only to larger sizes, empty ones to any size."""

from __future__ import annotations

from collections.abc import Sequence

from mpigrad._array.device import array_module, device_of
from mpigrad._array.sparse.array import SparseArray
from mpigrad._tensor import Tensor, method

from .._define.inplace import changed, check_in_place
from ..create.sparse_empty import empty_of_shape

__all__: list[str] = []


@method
def sparse_resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Resize a sparse tensor in place to the shape `size`, with these numbers of sparse and dense dimensions; its
    elements stay.

    >>> import mpigrad
    >>> x = mpigrad.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,))
    >>> x.sparse_resize_((4,), 1, 0).to_dense()
    tensor([1., 2., 0., 0.])
    """
    shape, array = _checked(self, "sparse_resize_", size, sparse_dim, dense_dim), self._array
    if not array.nnz:
        return _become(self, empty_of_shape(device_of(array), shape, sparse_dim, array.dtype))
    for title, before, now in (("sparse", array.sparse_dim, sparse_dim), ("dense", array.dense_dim, dense_dim)):
        if before != now:
            _refuse(f"changing the number of {title} dimensions (from {before} to {now})")
    _refuse_shrinking("sparse", array.shape[:sparse_dim], shape[:sparse_dim])
    _refuse_shrinking("dense", array.shape[sparse_dim:], shape[sparse_dim:])
    values = array.values
    if shape[sparse_dim:] != values.shape[1:]:
        values = array_module(values).zeros((array.nnz, *shape[sparse_dim:]), values.dtype)
        values[(slice(None), *map(slice, array.values.shape[1:]))] = array.values
    return _become(self, SparseArray(array.indices, values, shape, array.is_coalesced))


@method
def sparse_resize_and_clear_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Resize a sparse tensor in place to the shape `size`, with these numbers of sparse and dense dimensions, and
    remove its elements.

    >>> import mpigrad
    >>> x = mpigrad.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,))
    >>> x.sparse_resize_and_clear_((1, 2), 1, 1).to_dense()
    tensor([[0., 0.]])
    """
    shape = _checked(self, "sparse_resize_and_clear_", size, sparse_dim, dense_dim)
    return _become(self, empty_of_shape(device_of(self._array), shape, sparse_dim, self._array.dtype))


def _checked(tensor: Tensor, name: str, size: Sequence[int], sparse_dim: int, dense_dim: int) -> tuple[int, ...]:
    if not tensor.is_sparse:
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: only sparse tensors.")
    check_in_place(tensor)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )
    return tuple(int(length) for length in size)


def _refuse_shrinking(title: str, before: tuple[int, ...], now: tuple[int, ...]) -> None:
    if any(new < old for old, new in zip(before, now)):
        _refuse(f"shrinking the size of {title} dimensions (from {list(before)} to {list(now)})")


def _refuse(what: str) -> None:
    raise RuntimeError(
        f"{what} on a non-empty sparse tensor is not supported.\nYou could try the following options:\n1. If you need an empty "
        "sparse tensor of this size, call `x = mpigrad.sparse_coo_tensor(size)`.\n2. If you need to resize this tensor, call "
        "sparse_resize_and_clear_() first, which drops what it holds."
    )


def _become(tensor: Tensor, array: SparseArray) -> Tensor:
    tensor._array.become(array)
    changed(tensor, None)
    return tensor
