"""Looking rows up in a table: embedding, embedding_bag, one_hot."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._device import array_module
from ..._graph.grad_mode import no_grad
from ..._ops._arguments import need_tensors, title
from ..._ops.embedding import embedding as look_up
from ..._tensor import Tensor, wrap


def _check_indices(name: str, indices: Any, rows: int) -> None:
    if indices.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"mpigrad.{title(indices)}Tensor instead (while checking arguments for {name})"
        )
    if indices.size and (indices.min() < 0 or indices.max() >= rows):
        raise IndexError("index out of range in self")


def _padding(padding_idx: int | None, rows: int) -> int:
    if padding_idx is None:
        return -1
    if padding_idx >= rows or padding_idx < -rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


def _renormalize(weight: Tensor, indices: Any, max_norm: float, norm_type: float) -> None:
    """Shorten the rows about to be read to `max_norm`, in place."""
    with no_grad():
        used = array_module(indices).unique(indices)
        rows = weight._array[used]
        length = (abs(rows) ** norm_type).sum(axis=1, keepdims=True) ** (1.0 / norm_type)
        weight._array[used] = np.where(length > max_norm, rows * (max_norm / (length + 1e-7)), rows).astype(rows.dtype)
        weight._counter = weight._counter or [0]
        weight._counter[0] += 1


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` that `input` names.

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
    _check_indices("embedding", input._array, rows)
    if max_norm is not None:
        _renormalize(weight, input._array, max_norm, norm_type)
    return look_up(weight, input, padding_idx=padding, scale=scale_grad_by_freq, sparse=sparse)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Integers as rows of zeros with a single one.

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


__all__ = ["embedding", "one_hot"]
