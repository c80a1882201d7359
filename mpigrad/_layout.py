"""How a tensor's elements are held: `mpigrad.strided` or `mpigrad.sparse_coo`; memory formats of strided ones."""

from __future__ import annotations


class layout:
    """Either `mpigrad.strided` (dense) or `mpigrad.sparse_coo`."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"mpigrad.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class memory_format(layout):
    """The order of elements in memory: `mpigrad.contiguous_format` or `mpigrad.preserve_format`."""


strided, sparse_coo = layout("strided"), layout("sparse_coo")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
