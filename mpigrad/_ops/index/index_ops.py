"""Changing whole slices or single elements by index: index_add, index_copy, index_fill, index_put, take, put."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._core.engine import as_array
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors, title
from .._define.dims import wrap_dim
from .._define.guarded import guarded
from .._define.inplace import in_place
from .._define.operator import operator
from .._define.out import deliver
from .add_at import add_at
from .gather import check_index
from .getitem import split_key
from .setitem import PUT, fit_source
from .setitem import put_ as put_at

_ALL = slice(None)


def _slices(index: Any, dim: int) -> tuple[Any, ...]:
    return (_ALL,) * dim + (index.reshape(-1),)


def _row(x: Any) -> Any:
    """A zero-dimensional array as a view with one dimension, as PyTorch treats it here."""
    return x if x.ndim else x.reshape(1)


def _index_add(x: Any, index: Any, source: Any, *, dim: int, alpha: Any = 1) -> Any:
    made = as_array(x).copy()
    source = source if alpha == 1 else as_array(source * np.asarray(alpha).astype(x.dtype)[()])
    add_at(_row(made), _slices(index, dim), _row(source))
    return made


def _index_copy(x: Any, index: Any, source: Any, *, dim: int) -> Any:
    made = as_array(x).copy()
    _row(made)[_slices(index, dim)] = _row(source)
    return made


def _index_fill(x: Any, index: Any, value: Any = None, *, dim: int, number: Any = 0) -> Any:
    made = as_array(x).copy()
    _row(made)[_slices(index, dim)] = number if value is None else value
    return made


def _source_back(F: Any, node: Any, g: Any, index: Any) -> Any:
    return F.index_select(g, index, dim=node.kw["dim"]).reshape(node.shapes[2]) if node.needs[2] else None


def _index_add_backward(F: Any, node: Any, g: Any, index: Any) -> Any:
    into = _source_back(F, node, g, index)
    alpha = node.kw.get("alpha", 1)
    return g, None, into if into is None or alpha == 1 else into * alpha


def _zeroed(F: Any, node: Any, g: Any, index: Any) -> Any:
    return F.index_fill_number(g, index, dim=node.kw["dim"], number=0)


INDEX_ADD = operator("index_add", _index_add, _index_add_backward, saves=(1,))
INDEX_COPY = operator(
    "index_copy",
    _index_copy,
    lambda F, node, g, index: (_zeroed(F, node, g, index), None, _source_back(F, node, g, index)),
    saves=(1,),
)
INDEX_FILL_NUMBER = operator(
    "index_fill_number",
    _index_fill,
    lambda F, node, g, index: (_zeroed(F, node, g, index), None),
    saves=(1,),
    node="IndexFillBackward0",
)
INDEX_FILL = operator(
    "index_fill",
    _index_fill,
    lambda F, node, g, index: (
        _zeroed(F, node, g, index),
        None,
        F.sum_to(g - _zeroed(F, node, g, index), shape=()) if node.needs[2] else None,
    ),
    saves=(1,),
    node="IndexFillBackward1",
)


def _check_slices(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor | None) -> int:
    need_tensors(name, index=index, source=source)
    at = wrap_dim(dim, input._array.ndim)
    if index._array.ndim > 1:
        raise IndexError(f"{name}_(): Index is supposed to be a vector, but got dim: {index._array.ndim}")
    if index._array.dtype.kind != "i":
        raise IndexError(f"{name}_(): Expected dtype int64 for index.")
    if source is not None:
        _check_source(name, input, at, index, source)
    length = input._array.shape[at] if input._array.ndim else 1
    if index._array.size and (index._array.min() < 0 or index._array.max() >= length):
        raise IndexError("index out of range in self")
    return at


def _check_source(name: str, input: Tensor, at: int, index: Tensor, source: Tensor) -> None:
    shape, other = input._array.shape, source._array.shape
    if source._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"{name}_(): self ({title(input._array)}) and source ({title(source._array)}) must have the same "
            "scalar type"
        )
    count = other[at] if other else 1
    if index._array.size != count:
        text = f"{name}_(): Number of indices ({index._array.size}) should be equal to source.size(dim)"
        if name == "index_add":
            raise RuntimeError(f"{text}: ({count}), for dim: {at}")
        raise IndexError(f"{text} ({count})")
    if (*shape[:at], *shape[at + 1 :]) != (*other[:at], *other[at + 1 :]):
        raise RuntimeError(
            f"{name}_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{[*shape[:at], *shape[at + 1 :]]} at dimension {at} and source slice shape: "
            f"{[*other[:at], *other[at + 1 :]]} at dimension {at}."
        )


@method
@guarded
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1, out: Tensor | None = None
) -> Tensor:
    """A copy of `input` with the slices of `source`, times `alpha`, added to the slices of dimension `dim` at the
    indices `index`.

    `index` is a vector with an index for each slice of `source`; repeated indices add up. `out`: a tensor to which
    the result is written.

    >>> import mpigrad
    >>> mpigrad.zeros(2, 2).index_add(0, mpigrad.tensor([1, 1]), mpigrad.ones(2, 2))
    tensor([[0., 0.],
            [2., 2.]])
    """
    at = _check_slices("index_add", input, dim, index, source)
    kw = {} if alpha == 1 else {"alpha": alpha}
    return deliver(INDEX_ADD(input, index, source, dim=at, **kw), out)


@method
@guarded
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` in which the slices of dimension `dim` at the indices `index` are replaced by those of
    `source`. `out`: a tensor to which the result is written.
    """
    return deliver(INDEX_COPY(input, index, source, dim=_check_slices("index_copy", input, dim, index, source)), out)


@method
@guarded
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy of `input` in which the slices of dimension `dim` at the indices `index` are filled with the number
    `value`.

    >>> import mpigrad
    >>> mpigrad.zeros(3).index_fill(0, mpigrad.tensor([0, 2]), 7)
    tensor([7., 0., 7.])
    """
    at = _check_slices("index_fill", input, dim, index, None)
    if not isinstance(value, Tensor):
        return INDEX_FILL_NUMBER(input, index, dim=at, number=value)
    if value._array.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} "
            "dimension(s)."
        )
    return INDEX_FILL(input, index, value, dim=at)


for _fn in (index_add, index_copy, index_fill):
    method(in_place(_fn), _fn.__name__ + "_")


# -- index_put --------------------------------------------------------------------------------------------------------
def _put_key(input: Tensor, indices: Any) -> tuple[Any, ...]:
    for place, each in enumerate(indices):
        if not isinstance(each, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 0, but got {type(each).__name__}")
    vectors = tuple(each if each._array.ndim else wrap(each._array.reshape(1)) for each in indices)
    _, arrays = split_key(input._array, vectors)
    return tuple(arrays[i].copy() for i in range(len(arrays)))


@method
@guarded
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Assign in place: `self[indices] = values`, or with `accumulate` `self[indices] += values`, where repeated
    indices add up.

    `indices` is a tuple of index tensors (or masks), one for each indexed dimension. Returns the tensor.
    """
    return put_at(self, _put_key(self, indices), values, accumulate, number=False)


@method
@guarded
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of `input` after `copy[indices] = values`, or with `accumulate` `copy[indices] += values`, where
    repeated indices add up.

    `indices` is a tuple of index tensors (or masks), one for each indexed dimension.

    >>> import mpigrad
    >>> mpigrad.zeros(3).index_put((mpigrad.tensor([1]),), mpigrad.tensor(5.0))
    tensor([0., 5., 0.])
    """
    key = _put_key(input, indices)
    return PUT(input, fit_source(input, key, values, number=False), key=key, accumulate=accumulate)


# -- take and put -----------------------------------------------------------------------------------------------------
def _take(x: Any, index: Any) -> Any:
    return x.reshape(-1)[index]


def _spread_flat(x: Any, index: Any, *, shape: tuple[int, ...]) -> Any:
    made = array_module(x).zeros(shape, x.dtype)
    add_at(made.reshape(-1), (index.reshape(-1),), x.reshape(-1))
    return made


def _put(x: Any, index: Any, source: Any, *, accumulate: bool) -> Any:
    made = as_array(x).copy()
    if accumulate:
        add_at(made.reshape(-1), (index.reshape(-1),), source.reshape(-1))
    else:
        made.reshape(-1)[index.reshape(-1)] = source.reshape(-1)
    return made


def _zero_flat(x: Any, index: Any) -> Any:
    made = as_array(x).copy()
    made.reshape(-1)[index.reshape(-1)] = 0
    return made


def _put_backward(F: Any, node: Any, g: Any, index: Any) -> Any:
    into_x = g if node.kw["accumulate"] else F.zero_flat(g, index)
    return into_x, None, F.reshape(F.take(g, index), shape=node.shapes[2]) if node.needs[2] else None


TAKE = operator(
    "take", _take, lambda F, node, g, index: (F.spread_flat(g, index, shape=node.shapes[0]), None), saves=(1,)
)
operator(
    "spread_flat", _spread_flat, lambda F, node, g, index: (F.take(g, index), None), saves=(1,), node="PutBackward0"
)
operator(
    "zero_flat", _zero_flat, lambda F, node, g, index: (F.zero_flat(g, index), None), saves=(1,), node="PutBackward0"
)
PUT_FLAT = operator("put", _put, _put_backward, saves=(1,))


def _check_flat(input: Tensor, index: Tensor) -> None:
    check_index("take", index, "Long")
    size, places = input._array.size, index._array
    if places.size and (places.min() < -size or places.max() >= size):
        wrong = places[(places < -size) | (places >= size)].reshape(-1)[0]
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {size} elements.")


@method
@guarded
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements at the indices `index` (int64, any shape) of the flattened tensor, with the shape of `index`.
    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.take(mpigrad.tensor([[1, 2], [3, 4]]), mpigrad.tensor([0, 3]))
    tensor([1, 4])
    """
    _check_flat(input, index)
    return deliver(TAKE(input, index), out)


@method
@guarded
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of `input` in which the elements at the indices `index` of the flattened tensor are replaced by those of
    `source`.

    With `accumulate` they are added instead; repeated indices add up.
    """
    _check_flat(input, index)
    if index._array.size != source._array.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source._array.size}, index.numel() = {index._array.size}"
        )
    return PUT_FLAT(input, index, source, accumulate=accumulate)


method(in_place(put), "put_")

__all__ = ["index_add", "index_copy", "index_fill", "index_put", "put", "take"]
