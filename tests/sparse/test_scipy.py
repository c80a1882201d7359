"""Sparse tensors of SciPy's sparse arrays, and back."""

from __future__ import annotations

import pytest
import scipy.sparse

import mpigrad
from mpigrad.sparse import from_scipy, to_scipy

pytestmark = pytest.mark.host
DENSE = [[0.0, 3.0, 0.0], [4.0, 0.0, 5.0]]


@pytest.mark.parametrize("kind", ["coo_array", "csr_array", "csc_matrix", "lil_array", "dok_matrix"])
def test_there_and_back(kind: str) -> None:
    matrix = getattr(scipy.sparse, kind)(DENSE)
    tensor = from_scipy(matrix)
    assert tensor.is_sparse and tensor.dtype == mpigrad.float64 and tensor.to_dense().tolist() == DENSE
    assert to_scipy(tensor).toarray().tolist() == DENSE
    matrix *= 2
    assert tensor.to_dense().tolist() == DENSE  # a copy


def test_type_and_gradient() -> None:
    tensor = from_scipy(scipy.sparse.csr_array(DENSE), dtype=mpigrad.float32, requires_grad=True)
    assert tensor.dtype == mpigrad.float32
    mpigrad.sparse.sum(tensor).backward()
    assert tensor.grad.to_dense().tolist() == [[0, 1, 0], [1, 0, 1]]
    with pytest.raises(RuntimeError, match="requires grad"):
        to_scipy(tensor)
    assert to_scipy(tensor.detach()).nnz == 3


def test_indices_that_repeat_are_added() -> None:
    assert to_scipy(mpigrad.sparse_coo_tensor([[1, 1]], [2.0, 3.0], (2,))).toarray().tolist() == [0, 5]


def test_what_is_not_sparse_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a sparse array or matrix of SciPy, got ndarray"):
        from_scipy(mpigrad.ones(2).numpy())
    with pytest.raises(TypeError, match="to_sparse"):
        to_scipy(mpigrad.ones(2))
    with pytest.raises(ValueError, match="dense dimensions, and the tensor has 1"):
        to_scipy(mpigrad.sparse_coo_tensor([[0]], [[1.0, 2.0]], (2, 2)))
