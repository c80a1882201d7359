"""`Replicate` and `Shard`: how a tensor is placed on the ranks of a mesh, for the layouts of `tensor.parallel`.

PyTorch's `DTensor`, a tensor class with a placement, does not exist here.
"""

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from ._placements import Replicate, Shard
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = ["Replicate", "Shard"]
