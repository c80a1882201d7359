"""Operators that know sparse tensors: what `Operator.sparse` is for each of them, and the few that only sparse ones have."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._device import array_module
from .._graph.namespace import DIFF
from .._sparse_array.array import SparseArray
from .._sparse_array.products import matrix, sampled, times_dense, transposed_times_dense
from .._tensor import Tensor, wrap
from . import activation, arithmetic, convert, elementwise, fitting, joining, matmul, powers, rounding, sums, transposing
from ._define import Operator, operator
from .sparse_forms import is_sparse_array, sparse_like, values_like, values_op

__all__: list[str] = []

# What is given sparse versions below must be defined first.
_DEFINED = (activation, arithmetic, convert, elementwise, fitting, joining, matmul, powers, rounding, sums, transposing)


def _on_arrays(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    """For operators whose forward works on sparse arrays as it is."""
    return op.finish(inputs, op.forward(*(each._array for each in inputs), **kw), kw)


def _need_no_sparse_first(a: Any, b: Any, name: str) -> None:
    if is_sparse_array(a) and not is_sparse_array(b):
        raise RuntimeError(f"{name}(sparse, dense) is not supported. Use {name}(dense, sparse) instead.")


def _add(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    a, b = (each._array for each in inputs)
    _need_no_sparse_first(a, b, "add")
    alpha = kw.get("alpha", 1)
    return op.finish(inputs, a + (b if alpha == 1 else b * alpha), kw)


def _sub(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    a, b = (each._array for each in inputs)
    _need_no_sparse_first(a, b, "add")
    return op.finish(inputs, a + b * -kw.get("alpha", 1), kw)


def _mul(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    a, b = (each._array for each in inputs)
    return op.finish(inputs, a * b, kw)


def _div(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    a, b = (each._array for each in inputs)
    if not is_sparse_array(a):
        raise RuntimeError("div: a dense tensor cannot be divided by a sparse one")
    return op.finish(inputs, a / b, kw)


def _negative(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    return op.finish(inputs, -inputs[0]._array, kw)


def _through_values(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    """For functions that map zero to zero: apply them to the values of the coalesced tensor."""
    found = inputs[0].coalesce()
    places = found._array
    return sparse_like(op(values_op(found, places=places), *inputs[1:], **kw), like=places)


def _sum_all(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    values = inputs[0]._array.values
    return op.finish(inputs, array_module(values).asarray(values.sum(dtype=values.dtype)), kw)


def _like_zeros(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    return op.finish(inputs, inputs[0]._array.copy(), kw)


ZERO_TO_ZERO = (
    "abs", "sqrt", "square", "sin", "tan", "sinh", "tanh", "asin", "asinh", "atan", "atanh", "expm1", "log1p", "relu", "sign",
    "floor", "ceil", "round", "trunc", "frac", "erf", "erfinv", "pow_number",
)  # fmt: skip


def _install() -> None:
    for name, how in {"add": _add, "sub": _sub, "mul": _mul, "div": _div, "neg": _negative, "sum_all": _sum_all}.items():
        getattr(DIFF, name).sparse = how
    for name in ("cast_from", "conj_of_complex"):
        getattr(DIFF, name).sparse = _on_arrays
    for name in ("clone", "clone_contiguous", "copied"):
        if name in DIFF.__dict__:
            getattr(DIFF, name).sparse = _like_zeros
    for name in ZERO_TO_ZERO:
        found = DIFF.__dict__.get(name)
        if isinstance(found, Operator):
            found.sparse = _through_values
    DIFF.stack.sparse, DIFF.cat.sparse = _stack, _cat  # type: ignore[attr-defined]
    DIFF.mm.sparse = _mm  # type: ignore[attr-defined]
    for name in ("t", "swap_dims"):
        getattr(DIFF, name).sparse = _transpose


# -- joining -------------------------------------------------------------------------------------------------------------
def _need_all_sparse(name: str, inputs: Any) -> list[SparseArray]:
    if not all(each.is_sparse for each in inputs):
        raise RuntimeError(f"{name}: sparse tensors can only be joined with sparse tensors")
    return [each._array for each in inputs]


def _stack_raw(*arrays: SparseArray, dim: int) -> SparseArray:
    xp = array_module(arrays[0].values)
    if dim > arrays[0].sparse_dim:
        raise RuntimeError(f"stack: sparse tensors can be stacked along their first {arrays[0].sparse_dim + 1} dimensions, not {dim}")
    rows = [xp.insert(each.indices, dim, place, axis=0) for place, each in enumerate(arrays)]
    shape = list(arrays[0].shape)
    shape.insert(dim, len(arrays))
    return SparseArray(xp.concatenate(rows, axis=1), xp.concatenate([each.values for each in arrays]), tuple(shape))


def _select(x: Any, *, dim: int, place: int) -> Any:
    """One slice of a gradient, sparse or dense."""
    if not is_sparse_array(x):
        return x.take(place, axis=dim)
    xp = array_module(x.values)
    here = x.indices[dim] == place
    kept = xp.delete(x.indices[:, here], dim, axis=0)
    return SparseArray(kept, x.values[here], x.shape[:dim] + x.shape[dim + 1 :])


def _narrow(x: Any, *, dim: int, start: int, length: int) -> Any:
    """A range of a gradient, sparse or dense."""
    if not is_sparse_array(x):
        return x[(slice(None),) * dim + (slice(start, start + length),)]
    here = (x.indices[dim] >= start) & (x.indices[dim] < start + length)
    kept = x.indices[:, here].copy()
    kept[dim] -= start
    return SparseArray(kept, x.values[here], (*x.shape[:dim], length, *x.shape[dim + 1 :]))


def _cat_raw(*arrays: SparseArray, dim: int) -> SparseArray:
    xp = array_module(arrays[0].values)
    rows, start = [], 0
    for each in arrays:
        moved = each.indices.copy()
        moved[dim] += start
        rows.append(moved)
        start += each.shape[dim]
    shape = (*arrays[0].shape[:dim], start, *arrays[0].shape[dim + 1 :])
    return SparseArray(xp.concatenate(rows, axis=1), xp.concatenate([each.values for each in arrays]), shape)


sparse_stack = operator(
    "sparse_stack", _stack_raw,
    lambda F, node, g: tuple(F.sparse_select(g, dim=node.kw["dim"], place=place) for place in range(len(node.edges))),
    node="StackBackward0",
)  # fmt: skip


def _pieces(F: Any, node: Any, g: Any) -> tuple[Any, ...]:
    dim, start, made = node.kw["dim"], 0, []
    for shape in node.shapes:
        made.append(F.sparse_narrow(g, dim=dim, start=start, length=shape[dim]))
        start += shape[dim]
    return tuple(made)


sparse_cat = operator("sparse_cat", _cat_raw, _pieces, node="CatBackward0")
sparse_select = operator(
    "sparse_select", _select,
    lambda F, node, h: F.sparse_embed(h, dim=node.kw["dim"], start=node.kw["place"], shape=node.shapes[0], insert=True),
    node="SelectBackward0",
)  # fmt: skip
sparse_narrow = operator(
    "sparse_narrow", _narrow,
    lambda F, node, h: F.sparse_embed(h, dim=node.kw["dim"], start=node.kw["start"], shape=node.shapes[0], insert=False),
    node="SliceBackward0",
)  # fmt: skip


def _embed(x: Any, *, dim: int, start: int, shape: tuple[int, ...], insert: bool) -> Any:
    """A slice (`insert`) or a range put back to where it was taken from."""
    if not is_sparse_array(x):
        made = array_module(x).zeros(shape, x.dtype)
        length = 1 if insert else x.shape[dim]
        made[(slice(None),) * dim + (slice(start, start + length),)] = np.expand_dims(x, dim) if insert else x
        return made
    xp = array_module(x.values)
    if insert:
        return SparseArray(xp.insert(x.indices, dim, start, axis=0), x.values, shape)
    moved = x.indices.copy()
    moved[dim] += start
    return SparseArray(moved, x.values, shape)


def _take_back(F: Any, node: Any, g: Any) -> Any:
    dim, start = node.kw["dim"], node.kw["start"]
    if node.kw["insert"]:
        return F.sparse_select(g, dim=dim, place=start)
    return F.sparse_narrow(g, dim=dim, start=start, length=node.shapes[0][dim])


sparse_embed = operator("sparse_embed", _embed, _take_back, node="SelectBackward0")


def _stack(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    _need_all_sparse("stack", inputs)
    return sparse_stack(*inputs, **kw)


def _cat(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    _need_all_sparse("cat", inputs)
    return sparse_cat(*inputs, **kw)


# -- transposition ---------------------------------------------------------------------------------------------------------
def _swapped(x: Any, *, first: int, second: int) -> Any:
    if not is_sparse_array(x):
        return x.swapaxes(first, second)
    if max(first, second) >= x.sparse_dim:
        raise RuntimeError(f"transpose: only the {x.sparse_dim} sparse dimensions of a sparse tensor can be swapped")
    order = list(range(x.sparse_dim))
    order[first], order[second] = order[second], order[first]
    shape = [x.shape[i] for i in order] + list(x.shape[x.sparse_dim :])
    return SparseArray(x.indices[order], x.values, tuple(shape))


sparse_swap = operator(
    "sparse_swap", _swapped, lambda F, node, g: F.sparse_swap(g, **node.kw), node="TBackward0"
)


def _transpose(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    places = [value for value in kw.values() if isinstance(value, int)]
    first, second = places[:2] if len(places) >= 2 else (0, 1)
    return sparse_swap(inputs[0], first=first, second=second)


# -- products --------------------------------------------------------------------------------------------------------------
def _mm_raw(a: Any, b: Any) -> Any:
    return times_dense(matrix(a, "mm"), b)


def _transposed_raw(a: Any, g: Any) -> Any:
    return transposed_times_dense(a, g)


def _sparse_mm_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    return (
        F.sampled_product(a, g, b) if node.needs[0] else None,
        F.sparse_tmm(a, g) if node.needs[1] else None,
    )


def _dense_mm_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    return F.mm(g, F.mt(b)) if node.needs[0] else None, F.sparse_tmm(a, g) if node.needs[1] else None


def _tmm_backward(F: Any, node: Any, h: Any, a: Any, g: Any) -> Any:
    return F.sampled_product(a, g, h) if node.needs[0] else None, F.sparse_mm(a, h) if node.needs[1] else None


def _sampled_backward(F: Any, node: Any, s: Any, a: Any, g: Any, b: Any) -> Any:
    return None, F.sparse_mm(s, b) if node.needs[1] else None, F.sparse_tmm(s, g) if node.needs[2] else None


sparse_mm = operator("sparse_mm", _mm_raw, _sparse_mm_backward, (0, 1), node="SparseAddmmBackward0")
mm_of_sparse = operator("mm_of_sparse", _mm_raw, _dense_mm_backward, (0, 1), node="MmBackward0")
sparse_tmm = operator("sparse_tmm", _transposed_raw, _tmm_backward, (0, 1), node="MmBackward0")
sampled_product = operator("sampled_product", sampled, _sampled_backward, (0, 1, 2), node="SparseSampledBackward0")
for _each in (sparse_mm, mm_of_sparse, sparse_tmm, sampled_product, sparse_stack, sparse_cat, sparse_select, sparse_narrow,
              sparse_embed, sparse_swap):  # fmt: skip
    _each.sparse = _on_arrays


def _mm(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    a, b = inputs
    if not a.is_sparse:
        raise NotImplementedError("mm: a dense matrix times a sparse one is not supported; transpose both, or use to_dense()")
    if b.is_sparse:
        return mm_of_sparse(a, b.to_dense()).to_sparse()
    return mm_of_sparse(a, b)


_install()


# -- sums over dimensions --------------------------------------------------------------------------------------------------
def _sum_dims(x: SparseArray, *, dim: tuple[int, ...], places: SparseArray) -> Any:
    sparse_dims = [d for d in dim if d < x.sparse_dim]
    dense_axes = tuple(d - x.sparse_dim + 1 for d in dim if d >= x.sparse_dim)
    values = x.values.sum(axis=dense_axes) if dense_axes else x.values
    if len(sparse_dims) == x.sparse_dim:
        return values.sum(axis=0)
    kept = [d for d in range(x.sparse_dim) if d not in sparse_dims]
    shape = tuple(length for d, length in enumerate(x.shape) if d not in dim)
    return SparseArray(x.indices[kept], values, shape).coalesce() if sparse_dims else SparseArray(x.indices, values, shape, x.is_coalesced)


def _sum_dims_backward(F: Any, node: Any, g: Any) -> Any:
    return F.sparse_spread(g, dim=node.kw["dim"], like=node.kw["places"])


def _spread(g: Any, *, dim: tuple[int, ...], like: SparseArray) -> SparseArray:
    """The gradient of a sum over dimensions: each place gets that of the sum it went into."""
    xp = array_module(like.values)
    kept = [d for d in range(like.sparse_dim) if d not in dim]
    if not kept:
        values = g[None]
    elif is_sparse_array(g):
        values = g.values_at(like.indices[kept])
    else:
        values = g[tuple(like.indices[kept])]
    for d in dim:
        if d >= like.sparse_dim:
            values = xp.expand_dims(values, d - like.sparse_dim + 1)
    return like.with_values(xp.broadcast_to(values, like.values.shape).astype(like.values.dtype))


sum_dims = operator("sparse_sum_dims", _sum_dims, _sum_dims_backward, node="SparseSumBackward0")
sparse_spread = operator(
    "sparse_spread", _spread, lambda F, node, h: F.sparse_sum_dims(h, dim=node.kw["dim"], places=node.kw["like"]),
    node="SparseSumBackwardBackward0",
)  # fmt: skip
sum_dims.sparse = sparse_spread.sparse = _on_arrays


def values_at_places(tensor: Tensor, like: SparseArray) -> Tensor:
    """The elements of a tensor at a sparse array's places."""
    return values_like(tensor, like=like)


def empty_like(array: SparseArray) -> Tensor:
    """A sparse tensor like `array` that holds nothing."""
    xp = array_module(array.values)
    made = SparseArray(
        xp.zeros((array.sparse_dim, 0), np.int64), xp.zeros((0, *array.values.shape[1:]), array.dtype), array.shape, True
    )
    return wrap(made)
