"""Lookup of rows in a table: embedding, embedding_bag, one_hot."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._ops._define.arguments import need_tensors, title
from mpigrad._ops._define.guarded import guarded
from mpigrad._ops.nn.embedding import bag_max, bag_sum, embedding_bags
from mpigrad._ops.nn.embedding import embedding as look_up
from mpigrad._ops.nn.pooling import gather_windows

from ..._core.tensor import wrap
from ..._graph.grad_mode import no_grad
from ..._kernels.runs import largest_of_bags
from ..._tensor import Tensor, counter

_INDICES = (np.dtype("i8"), np.dtype("i4"))
_UNSIGNED = {8: np.dtype("u8"), 4: np.dtype("u4")}


def _check_indices(name: str, indices: Any) -> None:
    if indices.dtype not in _INDICES:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"mpigrad.{title(indices)}Tensor instead (while checking arguments for {name})"
        )


def _outside(indices: Any, rows: int) -> bool:
    """Whether an index is out of range. Indices are compared as unsigned numbers, so that negative ones are too large."""
    return bool(indices.size and indices.view(_UNSIGNED[indices.dtype.itemsize]).max() >= rows)


def _check_rows_of_bags(indices: Any, rows: int, mode: str) -> None:
    if _outside(indices, rows):
        place = int(((indices < 0) | (indices >= rows)).argmax())
        if mode == "max":
            raise RuntimeError(
                f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {int(indices[place])}"
            )
        raise RuntimeError(
            f"Index {place} of input takes value {int(indices[place])} which is not in the valid range [0, {rows})"
        )


def _padding(padding_idx: int | None, rows: int) -> int:
    if padding_idx is None:
        return -1
    if padding_idx >= rows or padding_idx < -rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


def _renormalize(weight: Tensor, indices: Any, max_norm: float, norm_type: float) -> None:
    """Scale down, in place, those rows that are about to be read and whose norm is larger than `max_norm`."""
    with no_grad():
        used = array_module(indices).unique(indices)
        rows = weight._array[used]
        length = (abs(rows) ** norm_type).sum(axis=1, keepdims=True) ** (1.0 / norm_type)
        weight._array[used] = np.where(length > max_norm, rows * (max_norm / (length + 1e-7)), rows).astype(rows.dtype)
        counter(weight)[0] += 1


@guarded
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up rows of a table: the rows of `weight` at the indices `input`.

    - `input`: int64 or int32 indices of any shape; `weight`: (rows, features). The result is (*input.shape,
      features). An index out of range raises an IndexError.
    - `padding_idx`: this row gets no gradient.
    - `max_norm`: rows that are read and have a larger `norm_type`-norm are first scaled down to it, in place in
      `weight`.
    - `scale_grad_by_freq`: divide a row's gradient by the number of times that it was read.
    - `sparse`: the gradient of `weight` is a sparse tensor that has only the rows read.

    >>> import mpigrad
    >>> mpigrad.nn.functional.embedding(mpigrad.tensor([1, 0]), mpigrad.eye(2))
    tensor([[0., 1.],
            [1., 0.]])
    """
    need_tensors("embedding", input=input, weight=weight)
    if weight._array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    rows = weight._array.shape[0]
    padding = _padding(padding_idx, rows)
    _check_indices("embedding", input._array)
    if _outside(input._array, rows):
        raise IndexError("index out of range in self")
    if max_norm is not None:
        _renormalize(weight, input._array, max_norm, norm_type)
    return look_up(weight, input, padding_idx=padding, scale=scale_grad_by_freq, sparse=sparse)


@guarded
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Look up rows of a table in groups (bags), and return the sum, mean or maximum of each bag's rows: (bags,
    features).

    - `input`: indices, (bags, length), each row a bag; or a vector, with `offsets` that say at which position each
      bag begins.
    - `mode`: "mean" (default), "sum" or "max". An empty bag gives zeros.
    - `per_sample_weights`: factors of the rows, of the shape of `input`; for `mode="sum"` only.
    - `include_last_offset`: the last element of `offsets` is the end of the last bag.
    - `padding_idx`: indices of this value are left out of their bag.
    - `max_norm`, `norm_type`, `scale_grad_by_freq` and `sparse` are those of `embedding`.

    >>> import mpigrad
    >>> ids, starts = mpigrad.tensor([0, 1, 1]), mpigrad.tensor([0, 1])
    >>> mpigrad.nn.functional.embedding_bag(ids, mpigrad.eye(2), starts, mode="sum")
    tensor([[1., 0.],
            [0., 2.]])
    """
    need_tensors("embedding_bag", input=input, weight=weight, offsets=offsets, per_sample_weights=per_sample_weights)
    if weight._array.dtype.kind == "i" and input._array.dtype.kind in "fV":
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=3,
        )
        input, weight = weight, input
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and (scale_grad_by_freq or sparse):
        kind = "scaling the gradient by the frequency" if scale_grad_by_freq else "sparse weights"
        raise ValueError(f"max mode does not support {kind}")
    _check_samples(input, per_sample_weights, mode)
    starts = _starts(input, offsets, include_last_offset)
    rows, ids = weight._array.shape[0], input._array.reshape(-1)
    padding = _padding(padding_idx, rows)
    _check_indices("embedding_bag", ids)
    _check_rows_of_bags(ids, rows, mode)
    if max_norm is not None:
        _renormalize(weight, ids, max_norm, norm_type)
    if padding >= 0:
        kept = ids != padding
        ids, starts = ids[kept], _starts_of_kept(starts, kept)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)[wrap(kept)]
    how = {"padding_idx": -1, "scale": scale_grad_by_freq, "sparse": sparse}
    if per_sample_weights is None and mode != "max":
        by = _lengths(starts, weight._array.dtype) if mode == "mean" else None
        return embedding_bags(weight, wrap(ids), wrap(starts), by, **how)
    taken = look_up(weight, wrap(ids), **how)
    if per_sample_weights is not None:
        return bag_sum(taken * per_sample_weights.reshape(-1, 1), wrap(starts))
    return bag_max(_bag_max(taken, starts))


def _starts_of_kept(starts: Any, kept: Any) -> Any:
    """The starts of the bags after those elements were removed for which `kept` is False."""
    before = array_module(kept).zeros(kept.shape[0] + 1, np.int64)
    kept.cumsum(out=before[1:])
    return before[starts]


def _lengths(starts: Any, kind: Any) -> Tensor:
    """The number of rows of each bag, at least one, as divisor of the mean: a column of the element type `kind`."""
    return wrap(np.maximum(array_module(starts).diff(starts), 1).astype(kind)[:, None])


def _check_samples(input: Tensor, per_sample_weights: Tensor | None, mode: str) -> None:
    if per_sample_weights is None:
        return
    if tuple(per_sample_weights.shape) != tuple(input.shape):
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, then it must have "
            f"the same shape as the input ({list(input.shape)})"
        )
    if mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}')."
        )


def _starts(input: Tensor, offsets: Tensor | None, include_last: bool) -> Any:
    """The start of each bag, followed by the end of the last one."""
    x = input._array
    xp = array_module(x)
    if x.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        return xp.arange(x.shape[0] + 1) * x.shape[1]
    if x.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {x.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    starts = offsets._array
    if starts.size and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {int(starts[0])}"
        )
    if starts.size and starts[-1] > x.shape[0]:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {x.shape[0]} but got offsets[-1] of {int(starts[-1])}"
        )
    made = xp.empty(starts.size + (not include_last), np.int64)
    made[: made.size - 1] = starts[: made.size - 1]
    made[-1:] = x.shape[0]
    return made


def _bag_max(taken: Tensor, starts: Any) -> Tensor:
    """The largest element of each bag, feature by feature; 0 for empty bags."""
    values = taken._array
    count = starts.shape[0] - 1
    if not values.size:
        return taken.sum(0).expand(count, -1) * 0
    where, empty = np.maximum(largest_of_bags(values, starts), 0), starts[1:] == starts[:-1]
    best = gather_windows(taken.t(), wrap(where.T), size=(values.shape[0],)).t()
    return best * wrap((~empty).astype(values.dtype)[:, None]) if empty.any() else best


@guarded
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """One-hot vectors, along a new last dimension: for each integer, zeros with a one at its index.

    `tensor` is int64 without negative numbers. `num_classes` is the length of the vectors, by default the largest
    number plus 1; a RuntimeError is raised if it is too small.

    >>> import mpigrad
    >>> mpigrad.nn.functional.one_hot(mpigrad.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    need_tensors("one_hot", tensor=tensor)
    found = tensor._array
    if found.dtype.name != "int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not found.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
    elif found.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    elif num_classes == -1:
        num_classes = int(found.max()) + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    elif found.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    xp = array_module(found)
    return wrap((found[..., None] == xp.arange(num_classes)).astype("i8"))


__all__ = ["embedding", "embedding_bag", "one_hot"]
