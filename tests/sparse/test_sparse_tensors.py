"""What sparse tensors are and do: making, converting, changing, copying, printing, refusing."""

from __future__ import annotations

import copy
import io
import math
import pickle

import numpy as np
import pytest

import mpigrad
from mpigrad import sparse_coo_tensor as coo

from .functions import sparse


def hybrid():
    return coo([[1, 0, 1]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2))


def held(tensor):
    return tensor._indices().tolist(), tensor._values().tolist()


def test_what_it_is() -> None:
    x = hybrid()
    assert x.is_sparse and x.layout is mpigrad.sparse_coo and x.shape == (3, 2) and x.numel() == 6 and len(x) == 3
    assert (x.sparse_dim(), x.dense_dim(), x._nnz(), x.dtype) == (1, 1, 3, mpigrad.float32)
    assert not x.is_coalesced() and x.coalesce().is_coalesced() and coo([[0]], [1.0]).is_coalesced()
    assert held(x.coalesce()) == ([[0, 1]], [[3.0, 4.0], [6.0, 8.0]])
    y = x.coalesce()
    assert y.coalesce() is y and y.indices().tolist() == [[0, 1]] and y.values().shape == (2, 2)


@pytest.mark.parametrize(
    "kind", [mpigrad.int64, mpigrad.int32, mpigrad.bool, mpigrad.float16, mpigrad.float64, mpigrad.complex64]
)
def test_types(kind) -> None:
    x = coo([[0, 2, 0]], mpigrad.tensor([1, 2, 3]).to(kind), (4,))
    assert x.dtype is kind and x.to_dense().dtype is kind
    assert (x * 2).dtype is (mpigrad.ones(1, dtype=kind) * 2).dtype
    assert (x * 2.5).dtype is (mpigrad.ones(1, dtype=kind) * 2.5).dtype
    assert (x / 2).dtype is (mpigrad.ones(1, dtype=kind) / 2).dtype
    assert (x + coo([[1]], [1.0], (4,))).dtype is (mpigrad.ones(1, dtype=kind) + mpigrad.ones(1)).dtype
    assert x.to(mpigrad.float64).dtype is mpigrad.float64
    assert mpigrad.sparse.sum(x).dtype is mpigrad.ones(1, dtype=kind).sum().dtype


def test_nothing_held() -> None:
    for x in (
        coo(size=(2, 3)),
        mpigrad.zeros_like(sparse()),
        mpigrad.zeros(2, 2, layout=mpigrad.sparse_coo),
        sparse().new_zeros(2),
    ):
        assert x.is_sparse and x.is_coalesced() and x._nnz() == 0 and not x.to_dense().any()
        assert (x * 2 + x)._nnz() == 0 and mpigrad.sparse.sum(x).item() == 0 and x.coalesce() is x
    kept = mpigrad.zeros_like(hybrid(), dtype=mpigrad.int64, requires_grad=False)
    assert (kept.sparse_dim(), kept.dense_dim(), kept.dtype) == (1, 1, mpigrad.int64)
    assert not mpigrad.zeros_like(sparse(), layout=mpigrad.strided).is_sparse


def test_changes_in_place_are_seen_by_those_who_share() -> None:
    x = sparse(False)
    other, values = x.detach(), x._values()
    x.mul_(2)
    assert mpigrad.equal(other, x) and x._version == 1 and values.tolist() != x._values().tolist()
    x.add_(sparse(False), alpha=-2)
    assert not x.to_dense().any()
    x.copy_(sparse(False))
    assert mpigrad.equal(x, sparse(False))
    x.zero_()
    assert x._nnz() == 0 and other._nnz() == 0
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        sparse().mul_(2)


def test_adding_to_a_dense_tensor_in_place_touches_only_what_is_held() -> None:
    dense = mpigrad.zeros(3, 3)
    address = dense.data_ptr()
    dense.add_(sparse(False), alpha=2)
    dense -= sparse(False)
    assert dense.data_ptr() == address and dense._version == 2 and mpigrad.equal(dense, sparse(False).to_dense())


def test_a_recorded_change_in_place() -> None:
    x = sparse()
    y = x * 2
    y.mul_(3)
    y.add_(x)
    mpigrad.sparse.sum(y).backward()
    assert set(x.grad._values().tolist()) == {7.0}


def test_results_share_no_memory_with_their_inputs() -> None:
    x, nothing = sparse(False), mpigrad.zeros_like(sparse(False))
    for made in (x + nothing, nothing + x, x.clone(), x * 1, x.double().float(), copy.deepcopy(x)):
        made._values().fill_(9.0)
    assert mpigrad.equal(x, sparse(False))


def test_equality_and_comparison() -> None:
    x = sparse(False)
    assert mpigrad.equal(x, x.coalesce()) and not mpigrad.equal(x, x * 2) and not mpigrad.equal(x, coo(size=(3, 3)))
    for refused in (lambda: x == x, lambda: x > 1, lambda: x.exp(), lambda: x[0:2], lambda: x[mpigrad.tensor([0])]):
        with pytest.raises(NotImplementedError, match="Sparse.*backend"):
            refused()


@pytest.mark.parametrize(
    "make", [lambda: sparse(False), lambda: sparse(coalesced=True).detach(), hybrid, lambda: coo(size=(2, 0))]
)
def test_copies_travel(make) -> None:
    x = make().requires_grad_()
    file = io.BytesIO()
    mpigrad.save({"x": x}, file)
    file.seek(0)
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), mpigrad.load(file)["x"]):
        assert (
            mpigrad.equal(made, x)
            and made.is_coalesced() == x.is_coalesced()
            and made.requires_grad
            and held(made) == held(x)
        )
        made.detach()._values().zero_()
    assert mpigrad.equal(x, make())
    assert x.to(x.device) is x and (x.cpu() is x) == (x.device.type == "cpu") and not x.detach().requires_grad


def test_parts() -> None:
    x, y = sparse(False), hybrid()
    dense = x.to_dense()
    assert x[2].is_sparse and mpigrad.equal(x[2].to_dense(), dense[2]) and x[2, 0].item() == 1.75 and not y[1].is_sparse
    assert mpigrad.equal(y[:, 1].to_dense(), y.to_dense()[:, 1]) and y[1].tolist() == [6.0, 8.0]
    assert x[None].shape == (1, 3, 3) and [each.to_dense().tolist() for each in x] == dense.tolist()
    assert mpigrad.equal(x.t().to_dense(), dense.t()) and mpigrad.equal(x.permute(1, 0).to_dense(), dense.t())
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 3"):
        x[5]
    with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
        x[0] = 1.0


def test_questions_that_zeros_answer_with_no() -> None:
    x = coo([[0, 2, 0]], [math.nan, -math.inf, 1.0], (4,))
    for name in ("isnan", "isinf", "isposinf", "isneginf", "signbit"):
        found = getattr(x, name)()
        assert found.is_sparse and found.is_coalesced() and found.dtype is mpigrad.bool
        assert mpigrad.equal(found.to_dense(), getattr(x.to_dense(), name)())
    assert x.any().item() and not (sparse(False) * 0).any().item() and not coo(size=(2,)).any().item()
    assert x.stride() == (0,) and x.stride(0) == 0 and not x.is_contiguous()
    for refused in (x.isfinite, x.all, lambda: x.any(0), lambda: mpigrad.allclose(x, x), x.logical_not):
        with pytest.raises(NotImplementedError, match="backend"):
            refused()


@pytest.mark.parametrize(("dim", "start", "length"), [(0, 1, 2), (0, 0, 1), (1, 1, 1), (-1, 0, 2), (0, 3, 0)])
def test_ranges_are_copied(dim: int, start: int, length: int) -> None:
    x = hybrid().requires_grad_()
    found = x.narrow_copy(dim, start, length)
    assert found.is_sparse and found.grad_fn.name() == "NarrowCopyBackward0"
    assert mpigrad.equal(found.to_dense(), x.detach().to_dense().narrow(dim, start, length))
    assert x.detach().coalesce().narrow_copy(dim, start, length).is_coalesced()
    mpigrad.sparse.sum(found * 3).backward()
    expected = mpigrad.zeros(3, 2)
    expected.narrow(dim, start, length).fill_(3.0)
    held_somewhere = mpigrad.tensor([[1.0], [1.0], [0.0]])
    assert x.grad.is_sparse and mpigrad.equal(x.grad.to_dense(), expected * held_somewhere)
    with pytest.raises(RuntimeError, match=r"must be a subset of range\(0, 3\)"):
        x.narrow_copy(0, 2, 2)


def test_other_sizes_in_place() -> None:
    x = hybrid()
    version = x._version
    assert x.sparse_resize_((5, 3), 1, 1) is x and x._version > version and x._nnz() == 3
    assert mpigrad.equal(x.to_dense()[:3, :2], hybrid().to_dense()) and x.to_dense().sum() == hybrid().to_dense().sum()
    assert x.sparse_resize_and_clear_((2, 2), 2, 0) is x and (x._nnz(), x.sparse_dim(), x.shape) == (0, 2, (2, 2))
    assert x.sparse_resize_((1, 4), 1, 1).dense_dim() == 1
    for message, size in {
        r"changing the number of sparse dimensions \(from 1 to 2\)": ((3, 2), 2, 0),
        r"changing the number of dense dimensions \(from 1 to 0\)": ((3,), 1, 0),
        r"shrinking the size of sparse dimensions \(from \[3\] to \[2\]\)": ((2, 2), 1, 1),
        r"shrinking the size of dense dimensions \(from \[2\] to \[1\]\)": ((3, 1), 1, 1),
        r"len\(size\) == sparse_dim \+ dense_dim": ((3, 2), 1, 0),
    }.items():
        with pytest.raises(RuntimeError, match=message):
            hybrid().sparse_resize_(*size)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        hybrid().requires_grad_().sparse_resize_((5, 2), 1, 1)
    with pytest.raises(NotImplementedError, match="sparse_resize_"):
        mpigrad.ones(2).sparse_resize_((2,), 1, 0)


@pytest.mark.host
def test_printing() -> None:
    assert repr(hybrid()) == (
        "tensor(indices=tensor([[1, 0, 1]]),\n       values=tensor([[1., 2.],\n                      [3., 4.],\n"
        "                      [5., 6.]]),\n       size=(3, 2), nnz=3, layout=mpigrad.sparse_coo)"
    )
    assert repr(coo(size=(2, 3), dtype=mpigrad.float64)) == (
        "tensor(indices=tensor([], size=(2, 0)),\n       values=tensor([], size=(0,)),\n"
        "       size=(2, 3), nnz=0, dtype=mpigrad.float64, layout=mpigrad.sparse_coo)"
    )
    assert "grad_fn=<MulBackward0>" in repr(sparse() * 2) and "requires_grad=True" in repr(sparse())


REFUSED = {
    "indices and values must have same nnz": lambda: coo([[0, 1]], [1.0], (3,)),
    "indices must be sparse_dim x nnz": lambda: coo([0, 1], [1.0, 2.0]),
    r"len\(size\) == sparse_dim \+ dense_dim": lambda: coo([[0, 1]], [1.0, 2.0], (3, 3)),
    "values has incorrect size": lambda: coo([[0, 1]], [[1.0], [2.0]], (3, 3)),
    "for dim 0, size is 3 but found index 5": lambda: coo([[0, 5]], [1.0, 2.0], (3,)),
    "found negative index -1 for dim 0": lambda: coo([[0, -1]], [1.0, 2.0], (3,)),
    "Only Tensors of floating point": lambda: coo([[0]], [1], requires_grad=True),
    r"add\(sparse, dense\) is not supported": lambda: sparse() + mpigrad.ones(3, 3),
    "expected sizes of 'self' and 'other' to match": lambda: sparse() + coo(size=(2, 3)),
    "same density": lambda: hybrid() + coo(size=(3, 2)),
    "does not currently support broadcasting": lambda: mpigrad.ones(3) + sparse(),
    "Sparse division requires a scalar": lambda: sparse() / sparse(),
    "Cannot get values on an uncoalesced": lambda: sparse().values(),
    "Cannot get indices on an uncoalesced": lambda: sparse().indices(),
    "coalesce expected sparse coordinate tensor layout but got Strided": lambda: mpigrad.ones(2).coalesce(),
    "a dense tensor was found at position 1": lambda: mpigrad.stack([sparse(), mpigrad.ones(3, 3)]),
    "transposed dimensions must be sparse": lambda: hybrid().transpose(0, 1),
    "sparse_mask.*incompatible sizes": lambda: mpigrad.ones(2, 3).sparse_mask(sparse()),
    r"must be in \[0,2\] range": lambda: mpigrad.ones(2, 2).to_sparse(3),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message) -> None:
    with pytest.raises(RuntimeError, match=message):
        REFUSED[message]()


def test_numpy_wants_dense_tensors() -> None:
    with pytest.raises(TypeError, match="can't convert Sparse layout tensor to numpy"):
        np.asarray(sparse(False))
