"""Placements of tensors on a mesh, `Replicate` and `Shard`, as layouts of `tensor.parallel`. There are no `DTensor`s."""

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from ._placements import Replicate, Shard
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = ["Replicate", "Shard"]
