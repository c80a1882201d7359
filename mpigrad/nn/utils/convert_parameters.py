"""Conversion between parameters and one vector."""

from __future__ import annotations

from collections.abc import Iterable

from mpigrad._ops.shape.joining import cat

from ..._tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Join all parameters, flattened, to one vector.

    >>> from mpigrad import nn
    >>> nn.utils.parameters_to_vector(nn.Linear(2, 3).parameters()).shape
    mpigrad.Size([9])
    """
    return cat([each.reshape(-1) for each in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set parameters to consecutive slices of `vec`: the inverse of `parameters_to_vector`. They then share memory
    with it.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected mpigrad.Tensor, but got: {type(vec).__name__}")
    place = 0
    for each in parameters:
        array = each._array
        each._array = vec[place : place + array.size].view(array.shape)._array
        place += array.size


__all__ = ["parameters_to_vector", "vector_to_parameters"]
