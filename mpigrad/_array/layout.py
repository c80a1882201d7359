"""Layouts (`mpigrad.strided`, `mpigrad.sparse_coo`) and the memory formats of strided tensors."""

from __future__ import annotations


class layout:
    """How a tensor is stored: `mpigrad.strided` (dense) or `mpigrad.sparse_coo` (only some elements, as indices and
    values).
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"mpigrad.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class memory_format(layout):
    """The order of a dense tensor's dimensions in memory: `mpigrad.contiguous_format`, `preserve_format`,
    `channels_last` or `channels_last_3d`.
    """


strided, sparse_coo = layout("strided"), layout("sparse_coo")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")

# The order of dimensions in memory, from the slowest to the fastest.
ORDERS = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}


def order_of(format: memory_format, ndim: int) -> tuple[int, ...]:
    """The order of dimensions of a channels-last format, for a tensor with the right number of dimensions."""
    order = ORDERS[format]
    if ndim != len(order):
        raise RuntimeError(f"required rank {len(order)} tensor to use {format._name} format")
    return order
