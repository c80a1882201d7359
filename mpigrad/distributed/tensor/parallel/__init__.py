"""Tensor parallelism, as `torch.distributed.tensor.parallel`: `Linear` and `Embedding` cut over the ranks of a mesh.

Parameters become this rank's pieces, as plain parameters: `state_dict` has pieces, not `DTensor`s.
"""

from ._styles import ColwiseParallel, ParallelStyle, RowwiseParallel, parallelize_module

__all__ = ["ColwiseParallel", "ParallelStyle", "RowwiseParallel", "parallelize_module"]
