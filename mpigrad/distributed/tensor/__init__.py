"""Placements of tensors on a mesh, `Replicate` and `Shard`, as layouts of `tensor.parallel`. There are no `DTensor`s."""

from ._placements import Replicate, Shard

__all__ = ["Replicate", "Shard"]
