"""Joining tensors: cat, stack and others, block_diag, meshgrid, cartesian_prod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpigrad._array.device import array_module
from mpigrad._array.dtype import promote_types
from mpigrad._tensor import Tensor

from .._define.dims import wrap_dim
from .._define.foreign import full_name
from .._define.operator import operator
from .._define.out import deliver
from .._define.unbroadcast import expand as _expand
from .._define.unbroadcast import to_dtype
from .broadcasting import atleast_1d, atleast_2d, atleast_3d

Tensors = Sequence[Tensor]
_ALL = slice(None)


def _cat(*arrays: Any, dim: int) -> Any:
    return array_module(arrays[0]).concatenate(arrays, dim)


def _cat_backward(F: Any, node: Any, g: Any) -> Any:
    dim, at, made = node.kw["dim"], 0, []
    before = (_ALL,) * dim
    for edge, shape in zip(node.edges, node.shapes):
        end = at + shape[dim]
        made.append(None if edge is None else F.take_key(g, key=(*before, slice(at, end))))
        at = end
    return tuple(made)


def _stack(*arrays: Any, dim: int) -> Any:
    key = (_ALL,) * dim + (None,)
    return array_module(arrays[0]).concatenate([each[key] for each in arrays], dim)


def _stack_backward(F: Any, node: Any, g: Any) -> Any:
    before = (_ALL,) * node.kw["dim"]
    return tuple(None if edge is None else F.take_key(g, key=(*before, i, ...)) for i, edge in enumerate(node.edges))


CAT = operator("cat", _cat, _cat_backward, node="CatBackward0")
STACK = operator("stack", _stack, _stack_backward, node="StackBackward0")


def _alike(tensors: Any) -> bool:
    """Whether these are several tensors of the same shape and type, so that no checks are needed."""
    if not tensors or tensors.__class__ is not list and tensors.__class__ is not tuple:
        return False
    first = getattr(tensors[0], "_array", None)
    if first is None or not first.size:
        return False
    shape, kind = first.shape, first.dtype
    for each in tensors:
        array = getattr(each, "_array", None)
        if array is None or array.shape != shape or array.dtype is not kind:
            return False
    return True


def _one_type(tensors: Tensors) -> Tensors:
    first = tensors[0]._array.dtype
    for each in tensors:
        if each._array.dtype is not first:
            break
    else:
        return tensors
    kind = tensors[0].dtype
    for each in tensors:
        kind = promote_types(kind, each.dtype)
    return [to_dtype(each, kind) for each in tensors]


def _check_list(name: str, tensors: Any) -> Tensors:
    if isinstance(tensors, Tensor):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    for place, each in enumerate(tensors):
        if not isinstance(each, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 0, but got {full_name(each)}")
    return tensors


def cat(tensors: Tensors, dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the existing dimension `dim`; their other dimensions must be equal. The type is the common
    one. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.cat([mpigrad.tensor([1, 2]), mpigrad.tensor([3])])
    tensor([1, 2, 3])
    """
    if isinstance(tensors, Tensor):
        raise TypeError("cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    if out is None and _alike(tensors) and -tensors[0]._array.ndim <= dim < tensors[0]._array.ndim:
        return CAT(*tensors, dim=dim if dim >= 0 else dim + tensors[0]._array.ndim)
    found = _check_list("cat", tensors)
    if not found:
        raise ValueError("mpigrad.cat(): expected a non-empty list of Tensors")
    used = [each for each in found if each._array.shape != (0,)]
    if len(used) != len(found) and (not used or used[0]._array.ndim == 1):
        used = list(found)
    at = _check_cat(used, dim)
    used = list(_one_type(used)) if len(used) == len(found) else _typed_like(used, found)
    return deliver(CAT(*used, dim=at), out)


def _typed_like(used: Tensors, found: Tensors) -> list[Tensor]:
    """The tensors to join, converted to the common type of all. Empty vectors are left out, but count for the type, as in
    PyTorch.
    """
    kind = found[0].dtype
    for each in found:
        kind = promote_types(kind, each.dtype)
    return [to_dtype(each, kind) for each in used]


def _check_cat(tensors: Tensors, dim: int) -> int:
    shape = tensors[0]._array.shape
    at = wrap_dim(dim, len(shape))
    if not shape:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    rest = (*shape[:at], *shape[at + 1 :])
    for place, each in enumerate(tensors):
        other = each._array.shape
        if other == shape:
            continue
        if not other:
            raise RuntimeError(f"zero-dimensional tensor (at position {place}) cannot be concatenated")
        if len(other) != len(shape):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(shape)} and {len(other)}")
        if (*other[:at], *other[at + 1 :]) != rest:
            wrong = next(i for i in range(len(shape)) if i != at and shape[i] != other[i])
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {at}. Expected size {shape[wrong]} but got size "
                f"{other[wrong]} for tensor number {place} in the list."
            )
    return at


concat = concatenate = cat


def stack(tensors: Tensors, dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors of the same shape along a new dimension, which becomes dimension `dim` of the result. `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.stack([mpigrad.tensor([1, 2]), mpigrad.tensor([3, 4])], 1)
    tensor([[1, 3],
            [2, 4]])
    """
    if out is None and _alike(tensors) and -tensors[0]._array.ndim <= dim <= tensors[0]._array.ndim:
        return STACK(*tensors, dim=dim if dim >= 0 else dim + tensors[0]._array.ndim + 1)
    found = _check_list("stack", tensors)
    if not found:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = found[0]._array.shape
    for place, each in enumerate(found):
        if each._array.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(each._array.shape)} at entry {place}"
            )
    return deliver(STACK(*_one_type(found), dim=wrap_dim(dim, len(shape) + 1)), out)


def hstack(tensors: Tensors, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 1; vectors along dimension 0. `out`: a tensor to which the result is written."""
    found = _some("hstack", [atleast_1d(each) for each in _check_list("hstack", tensors)])
    return cat(found, 0 if found[0]._array.ndim == 1 else 1, out=out)


def vstack(tensors: Tensors, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 0; vectors become rows. `out`: a tensor to which the result is written."""
    return cat(_some("vstack", [atleast_2d(each) for each in _check_list("vstack", tensors)]), 0, out=out)


def dstack(tensors: Tensors, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 2, after `atleast_3d`. `out`: a tensor to which the result is written."""
    return cat(_some("dstack", [atleast_3d(each) for each in _check_list("dstack", tensors)]), 2, out=out)


def column_stack(tensors: Tensors, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 1; vectors become columns. `out`: a tensor to which the result is written."""
    found = [
        each if each._array.ndim > 1 else each.reshape(-1 if each._array.size else 0, 1)
        for each in _check_list("column_stack", tensors)
    ]
    return hstack(_some("column_stack", found), out=out)


row_stack = vstack


def _some(name: str, tensors: list[Tensor]) -> list[Tensor]:
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


def _block_diag(*arrays: Any) -> Any:
    xp = array_module(arrays[0])
    made = xp.zeros((sum(each.shape[0] for each in arrays), sum(each.shape[1] for each in arrays)), arrays[0].dtype)
    for each, key in zip(arrays, _blocks([each.shape for each in arrays])):
        made[key] = each
    return made


def _blocks(shapes: Sequence[tuple[int, ...]]) -> list[tuple[slice, slice]]:
    row = column = 0
    keys = []
    for height, width in shapes:
        keys.append((slice(row, row + height), slice(column, column + width)))
        row, column = row + height, column + width
    return keys


_BLOCK_DIAG = operator(
    "block_diag",
    _block_diag,
    lambda F, node, g: tuple(
        None if edge is None else F.take_key(g, key=key) for edge, key in zip(node.edges, _blocks(node.shapes))
    ),
    node="BlockDiagBackward0",
)


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere; vectors count as matrices of one row."""
    for place, each in enumerate(tensors):
        if each._array.ndim > 2:
            raise RuntimeError(
                "mpigrad.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{place} has {each._array.ndim} dimensions"
            )
    return _BLOCK_DIAG(*_one_type([atleast_2d(each) for each in tensors]))


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinate grids of vectors: a tuple with one tensor for each vector, all of the shape of their lengths; views.

    `indexing`: with "ij" (default, with a warning if not given) the first vector runs along dimension 0, with "xy"
    along dimension 1.

    >>> import mpigrad
    >>> rows, columns = mpigrad.meshgrid(mpigrad.tensor([1, 2]), mpigrad.tensor([3, 4, 5]), indexing="ij")
    >>> rows.shape
    mpigrad.Size([2, 3])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'mpigrad.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for each in tensors:
        if each._array.ndim > 1:
            raise RuntimeError(
                f"mpigrad.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(each._array.shape)}"
            )
    order = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        order[:2] = 1, 0
    shape = tuple(tensors[place]._array.size for place in order)
    return tuple(_spread(each, place, shape) for each, place in zip(tensors, order))


def _spread(vector: Tensor, dim: int, shape: tuple[int, ...]) -> Tensor:
    line = vector.reshape((1,) * dim + (shape[dim],) + (1,) * (len(shape) - dim - 1))
    return _expand(line, shape=shape)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """The Cartesian product of vectors: each row has one element of each vector.

    >>> import mpigrad
    >>> mpigrad.cartesian_prod(mpigrad.tensor([1, 2]), mpigrad.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for each in tensors:
        if each._array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(each._array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([each.reshape(each._array.size) for each in meshgrid(*tensors, indexing="ij")], 1)


__all__ = [
    "block_diag", "cartesian_prod", "cat", "column_stack", "concat", "concatenate", "dstack", "hstack",
    "meshgrid", "row_stack", "stack", "vstack",
]  # fmt: skip
