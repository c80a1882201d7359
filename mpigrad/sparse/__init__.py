"""Functions of sparse tensors: `sum`, `mm`, `addmm`, `softmax`, `log_softmax`; `from_scipy` and `to_scipy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from .._ops.sparse.forms import sparse_coo_tensor
    from ._functions import addmm, log_softmax, mm, softmax, sum
    from ._scipy import from_scipy, to_scipy
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = ["addmm", "from_scipy", "log_softmax", "mm", "softmax", "sparse_coo_tensor", "sum", "to_scipy"]
