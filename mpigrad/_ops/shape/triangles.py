"""Triangles and diagonals: tril, triu, diag, diag_embed, trace; and copies in which a part is replaced."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module, move, resolve
from mpigrad._array.dtype import dtype as Dtype
from mpigrad._array.dtype import int64
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.dims import wrap_dim
from .._define.guarded import guarded
from .._define.inplace import in_place
from .._define.operator import operator
from .._define.out import deliver
from .slicing import select as _select_view
from .strided import PLACE_DIAGONAL, _diagonal


def _tril(x: Any, *, diagonal: int) -> Any:
    return array_module(x).tril(x, diagonal)


def _triu(x: Any, *, diagonal: int) -> Any:
    return array_module(x).triu(x, diagonal)


_TRIL = operator("tril", _tril, lambda F, node, g: F.tril(g, **node.kw))
_TRIU = operator("triu", _triu, lambda F, node, g: F.triu(g, **node.kw))
_DIAG = operator(
    "diagonal_copy",
    lambda x, **kw: _diagonal(x, **kw).copy(),
    lambda F, node, g: F.place_diagonal(g, shape=node.shapes[0], **node.kw),
    node="DiagonalBackward0_copy",
)


def _trace_backward(F: Any, node: Any, g: Any) -> Any:
    shape = node.shapes[0]
    return F.place_diagonal(F.expand(g, shape=(min(shape),)), shape=shape, offset=0, dim1=0, dim2=1)


_TRACE = operator("trace", lambda x: x.trace(dtype=x.dtype if x.dtype.kind in "fcV" else np.int64), _trace_backward)


def _check_matrix(name: str, input: Tensor) -> None:
    if input._array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


@method
def tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of matrices (the last two dimensions), with zeros elsewhere; a copy.

    `diagonal`: the last diagonal that is kept; 0 (default) is the main one, positive numbers are above it. `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.tril(mpigrad.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    _check_matrix("tril", input)
    return deliver(_TRIL(input, diagonal=diagonal), out)


@method
def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of matrices (the last two dimensions), with zeros elsewhere; a copy.

    `diagonal`: the first diagonal that is kept; 0 (default) is the main one, positive numbers are above it. `out`: a
    tensor to which the result is written.
    """
    _check_matrix("triu", input)
    return deliver(_TRIU(input, diagonal=diagonal), out)


method(in_place(tril), "tril_")
method(in_place(triu), "triu_")


@method
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices, in the dimensions `dim1` and `dim2` of the result, with the last dimension of `input` on their
    diagonal.

    `offset`: above (positive) or below the main diagonal. Other elements are zero.

    >>> import mpigrad
    >>> mpigrad.diag_embed(mpigrad.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = input._array.ndim + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    *batch, length = input._array.shape
    side = length + abs(offset)
    low, high = sorted((first, second))
    batch.insert(low, side)
    batch.insert(high, side)
    return PLACE_DIAGONAL(input, shape=tuple(batch), offset=offset, dim1=first, dim2=second)


@method
def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """A vector gives a matrix with it on the diagonal, a matrix gives its diagonal as a vector.

    `diagonal`: 0 is the main diagonal, positive numbers are above it. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.diag(mpigrad.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    ndim = input._array.ndim
    if ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    made = diag_embed(input, diagonal) if ndim == 1 else _DIAG(input, offset=diagonal, dim1=0, dim2=1)
    return deliver(made, out)


@method
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of a tensor on its diagonal. `offset`: above (positive) or below the main diagonal."""
    return diag_embed(input.reshape(input._array.size), offset)


@method
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix: a zero-dimensional tensor."""
    if input._array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._array.ndim}")
    return _TRACE(input)


def _indices(find: Any, row: int, col: int, offset: int, dtype: Dtype, device: Any) -> Tensor:
    if row < 0 or col < 0:
        raise RuntimeError(f"row and col must be non-negative, got {row} and {col}")
    pair = find(row, offset, col)
    return wrap(move(np.stack(pair).astype(dtype.numpy), resolve(device)))


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Dtype = int64, device: Any = None, layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The rows and columns of the elements in the lower triangle of a matrix (row, col): a tensor (2, count).

    `offset`: the last diagonal that counts, as `diagonal` of `tril`.

    >>> import mpigrad
    >>> mpigrad.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _indices(np.tril_indices, row, col, offset, dtype, device)


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Dtype = int64, device: Any = None, layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The rows and columns of the elements in the upper triangle of a matrix (row, col): a tensor (2, count).

    `offset`: the first diagonal that counts, as `diagonal` of `triu`.
    """
    return _indices(np.triu_indices, row, col, offset, dtype, device)


@method
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write the number `fill_value` into the main diagonal of this tensor, in place, and return it.

    `wrap`: of a tall matrix, begin the diagonal again after its last column.
    """
    if self._array.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self._array.ndim > 2:
        if len(set(self._array.shape)) != 1:
            raise RuntimeError("all dimensions of input must be of equal length")
        width = self._array.shape[0]
        step = sum(each // self._array.itemsize for each in self._array.strides)
        self.as_strided((width,), (step,)).fill_(fill_value)
        return self
    self.diagonal().fill_(fill_value)
    height, width = self._array.shape
    if wrap:
        for start in range(width + 1, height, width + 1):
            self[start:].diagonal().fill_(fill_value)
    return self


# -- a copy with one part replaced ------------------------------------------------------------------------------------
def _with_part(x: Any, source: Any, *, view: Any) -> Any:
    made = x.copy()
    view(made)[...] = source
    return made


def _with_part_backward(F: Any, node: Any, g: Any) -> Any:
    view = node.kw["view"]
    into = F.zero_part(g, view=view) if node.needs[0] else None
    return into, F.part(g, view=view, shape=node.shapes[0]) if node.needs[1] else None


def _zero_part(x: Any, *, view: Any) -> Any:
    made = x.copy()
    view(made)[...] = 0
    return made


def _spread_part(x: Any, *, view: Any, shape: tuple[int, ...]) -> Any:
    made = array_module(x).zeros(shape, x.dtype)
    view(made)[...] = x
    return made


operator("zero_part", _zero_part, lambda F, node, g: F.zero_part(g, **node.kw))
operator("part", lambda x, *, view, shape: view(x).copy(), lambda F, node, g: F.spread_part(g, **node.kw))
operator("spread_part", _spread_part, lambda F, node, g: F.part(g, **node.kw))
_DIAGONAL_SCATTER = operator("diagonal_scatter", _with_part, _with_part_backward)
_SELECT_SCATTER = operator("select_scatter", _with_part, _with_part_backward)
_SLICE_SCATTER = operator("slice_scatter", _with_part, _with_part_backward)


def _scatter_part(op: Any, input: Tensor, src: Tensor, view: Any) -> Tensor:
    shape = view(input._array).shape
    if src._array.shape != shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src._array.shape)}, slice "
            "size = "
            f"{list(shape)}"
        )
    return op(input, src, view=view)


@method
@guarded
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of `input` with `src` written to a diagonal, that of `diagonal(input, offset, dim1, dim2)`."""
    ndim = input._array.ndim
    kw = {"offset": offset, "dim1": wrap_dim(dim1, ndim), "dim2": wrap_dim(dim2, ndim)}
    return _scatter_part(_DIAGONAL_SCATTER, input, src, lambda x: _diagonal(x, **kw))


@method
@guarded
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of `input` with `src` written to the slice at `index` of dimension `dim`."""
    _select_view(input.detach(), dim, index)
    key = (slice(None),) * wrap_dim(dim, input._array.ndim) + (index, ...)
    return _scatter_part(_SELECT_SCATTER, input, src, lambda x: x[key])


@method
@guarded
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy of `input` with `src` written to the elements `start:end:step` of dimension `dim`."""
    key = (slice(None),) * wrap_dim(dim, input._array.ndim) + (slice(start, end, step),)
    return _scatter_part(_SLICE_SCATTER, input, src, lambda x: x[key])


__all__ = [
    "diag", "diag_embed", "diagflat", "diagonal_scatter", "select_scatter", "slice_scatter", "trace", "tril",
    "tril_indices", "triu", "triu_indices",
]  # fmt: skip
