"""Tensor parallelism: `Linear` and `Embedding` modules cut over the ranks of a mesh.

The names are those of `torch.distributed.tensor.parallel`. After `parallelize_module`, each parameter of a cut module is
this rank's piece, a plain parameter; so `state_dict` has the pieces, not `DTensor`s as in PyTorch.
"""

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from ._styles import ColwiseParallel, ParallelStyle, RowwiseParallel, parallelize_module
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = ["ColwiseParallel", "ParallelStyle", "RowwiseParallel", "parallelize_module"]
