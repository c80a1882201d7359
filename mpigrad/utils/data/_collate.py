"""Collating: several items become one batch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from mpigrad._array.dtype import float64
from mpigrad._ops.create.create import as_tensor, tensor
from mpigrad._ops.shape.joining import stack

from ..._tensor import Tensor


def default_convert(data: Any) -> Any:
    """Convert NumPy arrays to tensors, also inside containers; other objects are returned unchanged."""
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SU" else as_tensor(data)
    return _rebuilt(data, default_convert) if isinstance(data, (Mapping, Sequence)) and not _is_text(data) else data


def pinned(data: Any) -> Any:
    """Move tensors to pinned memory, also inside containers; other objects are returned unchanged."""
    if isinstance(data, Tensor):
        return data.pin_memory()
    return _rebuilt(data, pinned) if isinstance(data, (Mapping, Sequence)) and not _is_text(data) else data


def _is_text(data: Any) -> bool:
    return isinstance(data, (str, bytes))


def _rebuilt(data: Any, fn: Callable[[Any], Any]) -> Any:
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: fn(value) for key, value in data.items()})
    made = [fn(each) for each in data]
    return type(data)(*made) if _is_named_tuple(data) else made  # plain tuples become lists, as in PyTorch


def _is_named_tuple(data: Any) -> bool:
    return isinstance(data, tuple) and hasattr(data, "_fields")


def _like_mapping(given: Mapping[Any, Any], made: dict[Any, Any]) -> Any:
    if type(given) is dict:
        return made
    if isinstance(given, MutableMapping):
        clone = copy.copy(given)
        clone.update(made)
        return clone
    return type(given)(made)  # type: ignore[call-arg]


def default_collate(batch: Any) -> Any:
    """Make one batch of a list of items: stack tensors, arrays and numbers, also inside dictionaries, tuples and
    lists.

    >>> from mpigrad.utils.data import default_collate
    >>> default_collate([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}])
    {'x': tensor([1, 2]), 'y': ['a', 'b']}
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch), 0)
    if isinstance(first, (np.ndarray, np.generic)):
        if first.dtype.kind in "SUO":
            raise TypeError(_refusal(first.dtype))
        return stack([as_tensor(each) for each in batch], 0)
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if _is_text(first):
        return batch
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: default_collate([each[key] for each in batch]) for key in first})
    if isinstance(first, Sequence):
        return _collated_sequences(batch, first)
    raise TypeError(_refusal(type(first)))


def _collated_sequences(batch: Any, first: Any) -> Any:
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    made = [default_collate(list(each)) for each in zip(*batch)]
    return type(first)(*made) if _is_named_tuple(first) else made


def _refusal(kind: Any) -> str:
    return f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}"
