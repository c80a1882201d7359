"""Tensor parallelism: `Linear` and `Embedding` modules cut over the ranks of a mesh.

The names are those of `torch.distributed.tensor.parallel`. Parameters become this rank's pieces, as plain parameters:
`state_dict` has pieces, not `DTensor`s.
"""

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from ._styles import ColwiseParallel, ParallelStyle, RowwiseParallel, parallelize_module
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = ["ColwiseParallel", "ParallelStyle", "RowwiseParallel", "parallelize_module"]
