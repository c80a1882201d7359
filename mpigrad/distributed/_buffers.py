"""Tensors as MPI buffers: contiguous host memory that MPI may read or fill, and the way back into the tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._device import device_of, host, move
from .._tensor import Tensor, counter


def outgoing(tensor: Tensor) -> np.ndarray:
    """The tensor's elements in contiguous host memory: its own where it can be."""
    _check(tensor)
    return np.ascontiguousarray(host(tensor._array)).reshape(tensor._array.shape)


def incoming(tensor: Tensor) -> np.ndarray:
    """Contiguous host memory for the tensor's elements: its own where it can be. `arrived` brings it into the tensor."""
    _check(tensor)
    array = tensor._array
    if isinstance(array, np.ndarray) and array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.empty(array.shape, array.dtype)


def arrived(tensor: Tensor, buffer: np.ndarray) -> None:
    """Bring what MPI wrote into the tensor, and count the change."""
    if tensor._array is not buffer:
        value = buffer.reshape(tensor._array.shape)
        tensor._array[...] = move(value, device_of(tensor._array))
    counter(tensor)[0] += 1


def as_bytes(array: np.ndarray) -> np.ndarray:
    """The memory of a contiguous array as bytes, for messages whose element type MPI need not know."""
    return array.reshape(-1).view(np.uint8)


def _check(tensor: Any) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `tensor` to be a Tensor, got {type(tensor).__name__}"
        )
    if tensor.is_sparse:
        raise ValueError(
            "collectives take dense tensors; convert this sparse one with to_dense(), or send its indices and values"
        )


def check_list(tensors: Any, size: int, what: str) -> None:
    """One tensor per rank, all of them tensors."""
    if not isinstance(tensors, Sequence) or not all(isinstance(each, Tensor) for each in tensors):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{what}` to be a list of Tensors, got {type(tensors).__name__}"
        )
    if len(tensors) != size:
        raise ValueError(f"{what} must have one tensor per rank of the group: {size}, got {len(tensors)}")


def same_shape(tensors: Sequence[Tensor], like: Tensor, what: str) -> None:
    """Tensors of one shape and type."""
    for each in tensors:
        if each._array.shape != like._array.shape or each._array.dtype != like._array.dtype:
            raise ValueError(
                f"{what}: expected tensors like {like.dtype} {list(like.shape)}, got {each.dtype} {list(each.shape)}"
            )
