"""Parts of sparse tensors: select, `x[0]`, index_select, unsqueeze, permute. Copies, never views; all differentiable."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._array.sparse.array import SparseArray, with_row
from mpigrad._graph.namespace import DIFF
from mpigrad._tensor import Tensor

from .._define.operator import Operator, operator, refuse_sparse
from .._define.sparse_calls import finish, on_arrays
from ..index import gather
from ..shape import reshape, slicing, transpose
from .forms import is_sparse_array

# Imported first: these operators get sparse implementations below.
_DEFINED = (gather, reshape, slicing, transpose)


def _select(x: Any, *, dim: int, place: int, split: int = 0) -> Any:
    """The slice at position `place` of a dimension of a sparse or dense array; dense if no sparse dimension is left."""
    if not is_sparse_array(x):
        return x.take(place, axis=dim)
    reshape = x.shape[:dim] + x.shape[dim + 1 :]
    if dim >= x.sparse_dim:
        return SparseArray(x.indices, x.values.take(place, axis=dim - x.sparse_dim + 1), reshape, x.is_coalesced)
    xp = array_module(x.values)
    here = x.indices[dim] == place
    if x.sparse_dim == 1:
        return xp.asarray(x.values[here].sum(axis=0, dtype=x.dtype))
    return SparseArray(xp.delete(x.indices[:, here], dim, axis=0), x.values[here], reshape)


def _narrow(x: Any, *, dim: int, start: int, length: int) -> Any:
    """The elements `start` to `start + length - 1` of a dimension of a sparse or dense array."""
    if not is_sparse_array(x):
        return x[(slice(None),) * dim + (slice(start, start + length),)]
    reshape = (*x.shape[:dim], length, *x.shape[dim + 1 :])
    if dim >= x.sparse_dim:
        key = (slice(None),) * (dim - x.sparse_dim + 1) + (slice(start, start + length),)
        return SparseArray(x.indices, x.values[key].copy(), reshape, x.is_coalesced)
    here = (x.indices[dim] >= start) & (x.indices[dim] < start + length)
    kept = x.indices[:, here]
    kept[dim] -= start
    return SparseArray(kept, x.values[here], reshape, x.is_coalesced)


def _embed(x: Any, *, dim: int, start: int, reshape: tuple[int, ...], insert: bool, split: int = 0) -> Any:
    """The derivative of taking a slice (`insert`) or a range: put it back into zeros; `split` is the number of sparse dimensions
    there.
    """
    xp = array_module(getattr(x, "values", x))
    if not is_sparse_array(x):
        if split == 1 and dim == 0 and insert:
            return SparseArray(xp.full((1, 1), start, np.int64), x[None], reshape, True)
        return _embed_dense(xp, x, dim, start, reshape, insert)
    if dim >= x.sparse_dim + insert or split and dim >= split:
        at = dim - x.sparse_dim + 1
        lengths = (x.nnz, *reshape[x.sparse_dim :])
        return SparseArray(x.indices, _embed_dense(xp, x.values, at, start, lengths, insert), reshape, x.is_coalesced)
    if insert:
        return SparseArray(with_row(x.indices, dim, start), x.values, reshape)
    moved = x.indices.copy()
    moved[dim] += start
    return SparseArray(moved, x.values, reshape)


def _embed_dense(xp: Any, x: Any, dim: int, start: int, reshape: tuple[int, ...], insert: bool) -> Any:
    made = xp.zeros(reshape, x.dtype)
    length = 1 if insert else x.shape[dim]
    made[(slice(None),) * dim + (slice(start, start + length),)] = xp.expand_dims(x, dim) if insert else x
    return made


def _take_back(F: Any, node: Any, g: Any) -> Any:
    dim, start = node.kw["dim"], node.kw["start"]
    if node.kw["insert"]:
        return F.sparse_select(g, dim=dim, place=start)
    return F.sparse_narrow(g, dim=dim, start=start, length=node.shapes[0][dim])


def _select_back(F: Any, node: Any, h: Any) -> Any:
    kw = node.kw
    return F.sparse_embed(h, dim=kw["dim"], start=kw["place"], reshape=node.shapes[0], insert=True, split=kw.get("split", 0))


sparse_select = operator("sparse_select", _select, _select_back, node="SelectBackward0")
sparse_narrow = operator(
    "sparse_narrow", _narrow,
    lambda F, node, h: F.sparse_embed(h, dim=node.kw["dim"], start=node.kw["start"], reshape=node.shapes[0], insert=False),
    node="SliceBackward0",
)  # fmt: skip
narrow_copied = operator(
    "narrow_copy", _narrow, lambda F, node, h: sparse_narrow.backward(F, node, h), node="NarrowCopyBackward0"
)
sparse_embed = operator("sparse_embed", _embed, _take_back, node="SelectBackward0")
sparse_narrow.sparse = sparse_embed.sparse = narrow_copied.sparse = on_arrays


def _call_select(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    kw = {**kw, "split": inputs[0]._array.sparse_dim}
    return finish(op, inputs, op.forward(inputs[0]._array, **kw), kw)


sparse_select.sparse = _call_select


# -- index_select --------------------------------------------------------------------------------------------------------
def _index_select(x: Any, *, dim: int, index: Any, length: int) -> Any:
    """The slices of a dimension at the indices `index`."""
    if not is_sparse_array(x):
        return x.take(index, axis=dim)
    reshape = (*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :])
    if dim >= x.sparse_dim:
        return SparseArray(x.indices, x.values.take(index, axis=dim - x.sparse_dim + 1), reshape, x.is_coalesced)
    xp = array_module(x.values)
    order = xp.argsort(x.indices[dim], kind="stable")
    ordered = x.indices[dim][order]
    first = xp.searchsorted(ordered, index, side="left")
    many = xp.searchsorted(ordered, index, side="right") - first
    slots = xp.repeat(xp.arange(index.shape[0]), many)
    ends = xp.cumsum(many)
    taken = order[first[slots] + xp.arange(slots.shape[0]) - (ends - many)[slots]]
    kept = x.indices[:, taken]
    kept[dim] = slots
    return SparseArray(kept, x.values[taken], reshape)


def _index_spread(x: Any, *, dim: int, index: Any, length: int) -> Any:
    """The transpose of `_index_select`: slices added at the indices from which they were taken."""
    reshape = (*x.shape[:dim], length, *x.shape[dim + 1 :])
    if is_sparse_array(x) and dim < x.sparse_dim:
        moved = x.indices.copy()
        moved[dim] = index[moved[dim]]
        return SparseArray(moved, x.values, reshape)
    dense = x.values if is_sparse_array(x) else x
    axis = dim - x.sparse_dim + 1 if is_sparse_array(x) else dim
    xp = array_module(dense)
    made = xp.zeros((length, *(n for d, n in enumerate(dense.shape) if d != axis)), dense.dtype)
    xp.add.at(made, index, xp.moveaxis(dense, axis, 0))
    made = xp.ascontiguousarray(xp.moveaxis(made, 0, axis))
    return SparseArray(x.indices, made, reshape, x.is_coalesced) if is_sparse_array(x) else made


sparse_index_select = operator(
    "sparse_index_select", _index_select, lambda F, node, g: F.sparse_index_spread(g, **node.kw), node="IndexSelectBackward0"
)
sparse_index_spread = operator(
    "sparse_index_spread", _index_spread, lambda F, node, g: F.sparse_index_select(g, **node.kw), node="IndexAddBackward0"
)
sparse_index_select.sparse = sparse_index_spread.sparse = on_arrays


def _call_index_select(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    tensor, index = inputs
    array, places = tensor._array, index._array.reshape(-1).astype(np.int64)
    length = array.shape[kw["dim"]]
    if places.size and int(places.max()) >= length:
        raise IndexError(f"index {int(places.max())} is out of range for a dimension of length {length}")
    return sparse_index_select(tensor, dim=kw["dim"], index=places, length=length)


DIFF.index_select.sparse = _call_index_select  # type: ignore[attr-defined]


# -- x[...] --------------------------------------------------------------------------------------------------------------
def _call_key(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    """`x[key]` for sparse tensors: numbers select, None inserts a dimension; slices raise an error, as they would need strided
    memory.
    """
    found, dim = inputs[0], 0
    for each in kw["key"]:
        if each is Ellipsis or isinstance(each, slice) and each == slice(None):
            dim = found.ndim if each is Ellipsis else dim + 1
        elif each is None:
            found, dim = found.unsqueeze(dim), dim + 1
        elif isinstance(each, int):
            found = _at(found, dim, each)
        else:
            refuse_sparse("as_strided" if isinstance(each, slice) else "index", found)
    return found


def _at(tensor: Tensor, dim: int, place: int) -> Tensor:
    length = tensor._array.shape[dim]
    if not -length <= place < length:
        raise IndexError(f"index {place} is out of bounds for dimension {dim} with size {length}")
    if not tensor.is_sparse:
        return tensor.select(dim, place)
    return sparse_select(tensor, dim=dim, place=place % length)


def _call_unbind(op: Operator, inputs: Any, kw: dict[str, Any]) -> tuple[Tensor, ...]:
    return tuple(_at(inputs[0], kw["dim"], place) for place in range(inputs[0].shape[kw["dim"]]))


for _name in ("take_key", "take_slice", "take_new"):
    getattr(DIFF, _name).sparse = _call_key
DIFF.unbind.sparse = _call_unbind  # type: ignore[attr-defined]


# -- dimensions ----------------------------------------------------------------------------------------------------------
def _insert(x: Any, *, dim: int) -> Any:
    if not is_sparse_array(x):
        return np.expand_dims(x, dim)
    xp, reshape = array_module(x.values), (*x.shape[:dim], 1, *x.shape[dim:])
    if dim > x.sparse_dim:
        return SparseArray(x.indices, xp.expand_dims(x.values, dim - x.sparse_dim + 1), reshape, x.is_coalesced)
    return SparseArray(with_row(x.indices, dim, 0), x.values, reshape)


sparse_insert = operator(
    "sparse_insert", _insert, lambda F, node, g: F.sparse_select(g, dim=node.kw["dim"], place=0), node="UnsqueezeBackward0"
)
sparse_insert.sparse = on_arrays
DIFF.insert_dim.sparse = lambda op, inputs, kw: sparse_insert(inputs[0], dim=kw["dim"])  # type: ignore[attr-defined]
for _name in ("t", "swap_dims", "permute"):
    getattr(DIFF, _name).sparse = on_arrays  # sparse arrays have the methods transpose, swapaxes and T

__all__: list[str] = []
