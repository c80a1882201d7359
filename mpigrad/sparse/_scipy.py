"""SciPy's sparse arrays and matrices as sparse tensors, and back; an addition to PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.dtype import dtype as DType
from .._ops.sparse.forms import sparse_coo_tensor
from .._tensor import Tensor


def from_scipy(matrix: Any, *, dtype: DType | None = None, requires_grad: bool = False) -> Tensor:
    """A sparse tensor with a copy of the elements of one of SciPy's sparse arrays or matrices, of any format.

    `dtype`: convert to this type, by default that of the matrix. `requires_grad`: record operations on the result for
    gradients.

    >>> import mpigrad, scipy.sparse
    >>> mpigrad.sparse.from_scipy(scipy.sparse.csr_array([[0.0, 3.0], [4.0, 0.0]])).coalesce().values()
    tensor([3., 4.], dtype=mpigrad.float64)
    """
    if not hasattr(matrix, "tocoo"):
        raise TypeError(f"from_scipy(): expected a sparse array or matrix of SciPy, got {type(matrix).__name__}")
    found = matrix.tocoo()
    places = found.coords if hasattr(found, "coords") else (found.row, found.col)
    indices = np.stack([np.asarray(each, np.int64) for each in places])
    values = np.array(found.data)
    return sparse_coo_tensor(indices, values, tuple(found.shape), dtype=dtype, requires_grad=requires_grad)


def to_scipy(tensor: Tensor) -> Any:
    """SciPy's `coo_array` with the elements of a sparse tensor on the CPU; its method `tocsr()` and others convert it
    further.

    >>> import mpigrad
    >>> made = mpigrad.sparse.to_scipy(mpigrad.sparse_coo_tensor([[0, 1], [1, 0]], [3.0, 4.0], (2, 2)))
    >>> made.tocsr() @ [1.0, 10.0]
    array([30.,  4.])
    """
    from scipy.sparse import coo_array  # type: ignore[import-untyped, unused-ignore]

    if not isinstance(tensor, Tensor) or not tensor.is_sparse:
        raise TypeError("to_scipy(): expected a sparse tensor; to_sparse() makes one of a dense tensor")
    if tensor.dense_dim():
        raise ValueError(f"to_scipy(): SciPy has no arrays with dense dimensions, and the tensor has {tensor.dense_dim()}")
    whole = tensor.coalesce()
    return coo_array((whole.values().numpy(), tuple(whole.indices().numpy())), shape=tuple(tensor.shape))
