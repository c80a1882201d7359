"""Sparse implementations of operators (`Operator.sparse`), and operators of sparse tensors only."""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import array_module
from mpigrad._array.sparse.array import SparseArray, refuse_divisor, with_row
from mpigrad._array.sparse.products import matrix, sampled, times_dense, transposed_times_dense
from mpigrad._graph.namespace import DIFF
from mpigrad._tensor import Tensor

from .._define import unbroadcast
from .._define.operator import Operator, operator, refuse_sparse
from .._define.sparse_calls import in_common, on_arrays
from ..elementwise import arithmetic
from ..linalg import matmul
from ..reduce import norms, sums
from ..shape import joining
from ..tensor import convert
from .forms import is_sparse_array, values_op

__all__: list[str] = []

# Imported first: these operators get sparse implementations below.
_DEFINED = (arithmetic, convert, unbroadcast, joining, matmul, norms, sums)


def _need_no_sparse_first(a: Any, b: Any, name: str) -> None:
    if is_sparse_array(a) and not is_sparse_array(b):
        raise RuntimeError(f"{name}(sparse, dense) is not supported. Use {name}(dense, sparse) instead.")


def _add(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    a, b = in_common(inputs)
    _need_no_sparse_first(a, b, "add")
    alpha = kw.get("alpha", 1)
    return op.finish(inputs, a + (b if alpha == 1 else b * alpha), kw)


def _sub(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    a, b = in_common(inputs)
    _need_no_sparse_first(a, b, "add")
    return op.finish(inputs, a + b * -kw.get("alpha", 1), kw)


def _mul(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    a, b = in_common(inputs)
    return op.finish(inputs, a * b, kw)


def _div(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    a, b = in_common(inputs, to_float=True)
    if is_sparse_array(b):
        refuse_divisor(b)
    return op.finish(inputs, a / b, kw)


def _negative(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    return op.finish(inputs, -inputs[0]._array, kw)


def _sum_all(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    values = inputs[0]._array.values
    return op.finish(inputs, array_module(values).asarray(values.sum(dtype=values.dtype)), kw)


def _copied(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    return op.finish(inputs, inputs[0]._array.copy(), kw)


def _install() -> None:
    for name, how in {"add": _add, "sub": _sub, "mul": _mul, "div": _div, "neg": _negative, "sum_all": _sum_all}.items():
        getattr(DIFF, name).sparse = how
    for name in ("cast_from", "conj_of_complex"):
        getattr(DIFF, name).sparse = on_arrays
    for name in ("clone", "clone_contiguous", "copied"):
        getattr(DIFF, name).sparse = _copied
    DIFF.stack.sparse, DIFF.cat.sparse = _stack, _cat  # type: ignore[attr-defined]
    DIFF.mm.sparse, DIFF.addmm.sparse = _mm, _addmm  # type: ignore[attr-defined]


# -- joining -------------------------------------------------------------------------------------------------------------
def _need_all_sparse(name: str, inputs: Any) -> list[SparseArray]:
    for place, each in enumerate(inputs):
        if not each.is_sparse:
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {place}.")
        if each._array.sparse_dim != inputs[0]._array.sparse_dim:
            raise RuntimeError(
                f"{name}: all tensors must have the same number of sparse dimensions, but {each._array.sparse_dim} at position "
                f"{place} is not {inputs[0]._array.sparse_dim}"
            )
    return [each._array for each in inputs]


def _stack_raw(*arrays: SparseArray, dim: int) -> SparseArray:
    xp = array_module(arrays[0].values)
    if dim > arrays[0].sparse_dim:
        last = arrays[0].sparse_dim
        raise RuntimeError(f"stack: sparse tensors can be stacked along dimensions 0 to {last}, not {dim}")
    rows = [with_row(each.indices, dim, place) for place, each in enumerate(arrays)]
    shape = list(arrays[0].shape)
    shape.insert(dim, len(arrays))
    return SparseArray(xp.concatenate(rows, axis=1), xp.concatenate([each.values for each in arrays]), tuple(shape))


def _cat_raw(*arrays: SparseArray, dim: int) -> SparseArray:
    xp, start = array_module(arrays[0].values), 0
    if dim >= arrays[0].sparse_dim:
        return _cat_values(xp, arrays, dim)
    rows = []
    for each in arrays:
        moved = each.indices.copy()
        moved[dim] += start
        rows.append(moved)
        start += each.shape[dim]
    shape = (*arrays[0].shape[:dim], start, *arrays[0].shape[dim + 1 :])
    return SparseArray(xp.concatenate(rows, axis=1), xp.concatenate([each.values for each in arrays]), shape)


def _cat_values(xp: Any, arrays: tuple[SparseArray, ...], dim: int) -> SparseArray:
    """Join sparse arrays along a dense dimension: each value is padded with zeros at the positions of the other arrays."""
    first, start = arrays[0], 0
    total = sum(each.shape[dim] for each in arrays)
    axis, parts = dim - first.sparse_dim + 1, []
    for each in arrays:
        before, after = start, total - start - each.shape[dim]
        widths = [(0, 0)] * each.values.ndim
        widths[axis] = (before, after)
        parts.append(xp.pad(each.values, widths))
        start += each.shape[dim]
    shape = (*first.shape[:dim], total, *first.shape[dim + 1 :])
    return SparseArray(xp.concatenate([each.indices for each in arrays], axis=1), xp.concatenate(parts), shape)


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
def _stack(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    _need_all_sparse("stack", inputs)
    return sparse_stack(*inputs, **kw)


def _cat(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    _need_all_sparse("cat", inputs)
    return sparse_cat(*inputs, **kw)


# -- products --------------------------------------------------------------------------------------------------------------
def _mm_raw(a: Any, b: Any) -> Any:
    return times_dense(matrix(a, "mm"), b)


def _transposed_raw(a: Any, g: Any) -> Any:
    return transposed_times_dense(a, g)


def _both_factors(F: Any, needs: tuple[bool, ...], g: Any, a: Any, b: Any) -> tuple[Any, Any]:
    return F.sampled_product(a, g, b) if needs[0] else None, F.sparse_tmm(a, g) if needs[1] else None


def _dense_mm_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    return F.mm(g, F.mt(b)) if node.needs[0] else None, F.sparse_tmm(a, g) if node.needs[1] else None


def _tmm_backward(F: Any, node: Any, h: Any, a: Any, g: Any) -> Any:
    return F.sampled_product(a, g, h) if node.needs[0] else None, F.sparse_mm(a, h) if node.needs[1] else None


def _sampled_backward(F: Any, node: Any, s: Any, a: Any, g: Any, b: Any) -> Any:
    s = F.mask_like(s, like=getattr(a, "_array", a))
    return None, F.sparse_mm(s, b) if node.needs[1] else None, F.sparse_tmm(s, g) if node.needs[2] else None


def _addmm_raw(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    made = _mm_raw(a, b)
    if alpha != 1:
        made *= made.dtype.type(alpha)
    if c is not None and beta != 0:  # with 0, even nan in c is ignored
        made += c if beta == 1 else c * c.dtype.type(beta)
    return made


def _addmm_gradients(F: Any, node: Any, g: Any, a: Any, b: Any, sparse: bool) -> tuple[Any, Any, Any]:
    kw, needs = node.kw, node.needs
    into_c = None
    if needs[0]:
        into_c = F.sum_to(g if kw.get("beta", 1) == 1 else g * kw["beta"], shape=node.shapes[0])
    g = g if kw.get("alpha", 1) == 1 else g * kw["alpha"]
    into_a = None if not needs[1] else F.sampled_product(a, g, b) if sparse else F.mm(g, F.mt(b))
    return into_c, into_a, F.sparse_tmm(a, g) if needs[2] else None


def _addmm(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    c, a, b = inputs
    if c.is_sparse:
        raise RuntimeError("addmm_sparse_dense: expected strided result tensor, got tensor with layout Sparse")
    if b.is_sparse:
        raise NotImplementedError("addmm: the second factor is sparse; use to_dense() on it first")
    return addmm_of_sparse(c, a, b, beta=kw.get("beta", 1), alpha=kw.get("alpha", 1))


sparse_addmm = operator(
    "sparse_addmm", _addmm_raw, lambda F, node, g, a, b: _addmm_gradients(F, node, g, a, b, True), (1, 2),
    node="SparseAddmmBackward0",
)  # fmt: skip
addmm_of_sparse = operator(
    "addmm_of_sparse", _addmm_raw, lambda F, node, g, a, b: _addmm_gradients(F, node, g, a, b, False), (1, 2),
    node="AddmmBackward0",
)  # fmt: skip
sparse_mm = operator(
    "sparse_mm", _mm_raw, lambda F, node, g, a, b: _both_factors(F, node.needs, g, a, b), (0, 1), node="MmBackward0"
)
mm_of_sparse = operator("mm_of_sparse", _mm_raw, _dense_mm_backward, (0, 1), node="MmBackward0")
sparse_tmm = operator("sparse_tmm", _transposed_raw, _tmm_backward, (0, 1), node="MmBackward0")
sampled_product = operator("sampled_product", sampled, _sampled_backward, (0, 1, 2), node="SparseSampledBackward0")
for _each in (sparse_addmm, addmm_of_sparse, sparse_mm, mm_of_sparse, sparse_tmm, sampled_product, sparse_stack, sparse_cat):
    _each.sparse = on_arrays


def _mm(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    a, b = inputs
    if not a.is_sparse:
        return mm_of_sparse(b.t(), a.t()).t()
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
    return SparseArray(x.indices[kept], values, shape, x.is_coalesced and not sparse_dims).coalesce()


def _sum_dims_backward(F: Any, node: Any, g: Any) -> Any:
    return F.sparse_spread(g, dim=node.kw["dim"], like=node.kw["places"])


def _spread(g: Any, *, dim: tuple[int, ...], like: SparseArray) -> SparseArray:
    """The gradient of a sum over dimensions: each stored element gets the gradient of the sum to which it was added."""
    like, xp = like.distinct(), array_module(like.values)
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


def _sum_spread(F: Any, h: Any, dim: tuple[int, ...], like: SparseArray) -> Any:
    return F.sparse_sum_dims(F.mask_like(h, like=like), dim=dim, places=like)


sum_dims = operator("sparse_sum_dims", _sum_dims, _sum_dims_backward, node="SparseSumBackward0")
sparse_spread = operator(
    "sparse_spread", _spread, lambda F, node, h: _sum_spread(F, h, node.kw["dim"], node.kw["like"]),
    node="SparseSumBackwardBackward0",
)  # fmt: skip
sum_dims.sparse = sparse_spread.sparse = on_arrays


def _sum_method(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    """`x.sum(dim)`: sparse, unless all sparse dimensions are summed over."""
    if kw["keepdim"]:
        refuse_sparse("sum with keepdim=True", inputs[0])
    dims = (kw["dim"],) if isinstance(kw["dim"], int) else tuple(kw["dim"])
    return sum_dims(inputs[0], dim=dims, places=inputs[0]._array.frozen())


def _mv(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    matrix_, vector = inputs
    return _mm(op, (matrix_, vector.unsqueeze(1)), {}).squeeze(1)


def _norm(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    """Norms of all elements: elements that are not stored are zero and add nothing."""
    found = inputs[0].coalesce()
    return op(values_op(found, places=found._array.frozen()).reshape(-1), **kw)


DIFF.sum_dim.sparse = _sum_method  # type: ignore[attr-defined]
DIFF.mv.sparse = _mv  # type: ignore[attr-defined]
DIFF.vector_norm.sparse = _norm  # type: ignore[attr-defined]
