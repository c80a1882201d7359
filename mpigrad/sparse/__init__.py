"""Functions of sparse tensors: `sum`, `mm`, `addmm`, `softmax`, `log_softmax`."""

from __future__ import annotations

from .._ops.sparse.forms import sparse_coo_tensor
from ._functions import addmm, log_softmax, mm, softmax, sum

__all__ = ["addmm", "log_softmax", "mm", "softmax", "sparse_coo_tensor", "sum"]
