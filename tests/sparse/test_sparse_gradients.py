"""Gradients of sparse operators: numerically checked to the second order, in the layouts of PyTorch, summed and owned rightly."""

from __future__ import annotations

import pytest

import mpigrad
from mpigrad import sparse_coo_tensor as coo
from mpigrad._core import objects
from mpigrad.autograd import gradcheck, gradgradcheck

COMPILED = not objects.__file__.endswith(".py")  # plain Python does not know who holds an array, and copies
PLACES = mpigrad.tensor([[2, 0, 2, 1], [0, 1, 0, 2]])  # (2, 0) twice
ROWS = mpigrad.tensor([[2, 0, 2]])


def flat(*shape):
    return (
        (mpigrad.arange(1.0, 1 + mpigrad.Size(shape).numel(), dtype=mpigrad.float64) / 7)
        .reshape(shape)
        .requires_grad_()
    )


def matrix(v):
    return coo(PLACES, v, (3, 3))


def table(v):
    return coo(ROWS, v, (4, 2))


def weighed(y):
    """A dense tensor in which every element counts differently."""
    dense = y.to_dense() if y.is_sparse else y
    return dense * (mpigrad.arange(dense.numel(), dtype=mpigrad.float64).reshape(dense.shape) + 1).sin()


BOTH = mpigrad.tensor([[0, 1, 2], [1, 2, 0]])
MATRIX = {
    "coalesce": lambda x: x.coalesce(), "values": lambda x: x.coalesce().values(), "neg": lambda x: -x, "scale": lambda x: x * 3,
    "divide": lambda x: x / 3, "add": lambda x: x + x.t(), "subtract": lambda x: x * 2 - x, "multiply": lambda x: x * (x + x.t()),
    "alpha": lambda x: mpigrad.add(x, x * x, alpha=0.5), "sub alpha": lambda x: mpigrad.sub(x, x * x, alpha=0.5),
    "transpose": lambda x: x.transpose(0, 1), "permute": lambda x: x.permute(1, 0), "to_dense": lambda x: x.to_dense() ** 2,
    "clone": lambda x: x.clone() * x, "stack": lambda x: mpigrad.stack([x, x * 2], 1),
    "cat": lambda x: mpigrad.cat([x, x * 2], 1),
    "sum": lambda x: mpigrad.sparse.sum(x * x), "sum 0": lambda x: mpigrad.sparse.sum(x * x, 0),
    "sum method": lambda x: (x * x).sum(),
    "sum both": lambda x: mpigrad.sparse.sum(x, (0, 1)) ** 2, "softmax": lambda x: mpigrad.sparse.softmax(x, 1),
    "log_softmax": lambda x: mpigrad.sparse.log_softmax(x, 0), "mm": lambda x: mpigrad.sparse.mm(x, x.to_dense()),
    "matmul": lambda x: x @ x.to_dense(), "addmm": lambda x: mpigrad.sparse.addmm(x.to_dense(), x, x.to_dense(), alpha=2, beta=3),
    "dense times": lambda x: x.to_dense() @ x, "mv": lambda x: mpigrad.mv(x, x.to_dense()[0]),
    "select": lambda x: x[2] * x[2], "element": lambda x: x[2, 0] * x[0, 1],
    "index_select": lambda x: x.index_select(0, BOTH[0, :2]),
    "index_select twice": lambda x: x.index_select(1, mpigrad.tensor([0, 0, 2])), "unsqueeze": lambda x: x.unsqueeze(1),
    "times dense": lambda x: x * (x.to_dense() + 1), "dense plus": lambda x: x.to_dense() + x * x, "abs": lambda x: x.abs(),
    "square": lambda x: x**2, "sqrt": lambda x: x.sqrt(), "tanh": lambda x: x.tanh(), "sin": lambda x: x.sin(),
    "relu": lambda x: x.relu(),
    "expm1": lambda x: x.expm1(),
    "mask": lambda x: (x.to_dense() ** 2).sparse_mask(coo(BOTH, [1.0] * 3, (3, 3), dtype=mpigrad.float64)),
    "mask of sparse": lambda x: (x * x).sparse_mask(coo(BOTH, [1.0] * 3, (3, 3), dtype=mpigrad.float64)),
    "dense and back": lambda x: (x.to_dense() ** 2).to_sparse(), "norm": lambda x: x.norm(),
}  # fmt: skip
TABLE = {
    "coalesce": lambda x: x.coalesce().values(), "multiply": lambda x: x * x, "sum 0": lambda x: mpigrad.sparse.sum(x * x, 0),
    "sum 1": lambda x: mpigrad.sparse.sum(x * x, 1), "select row": lambda x: x[2] ** 2,
    "select column": lambda x: x[:, 1] * x[:, 0],
    "index_select": lambda x: x.index_select(0, mpigrad.tensor([2, 2, 0])), "stack": lambda x: mpigrad.stack([x, x * x]),
    "index_select dense": lambda x: x.index_select(1, mpigrad.tensor([1, 1, 0])), "cat": lambda x: mpigrad.cat([x, x * x]),
    "cat dense": lambda x: mpigrad.cat([x, x * x], 1), "softmax": lambda x: mpigrad.sparse.softmax(x, 0),
    "tanh": lambda x: x.tanh(),
    "softmax dense": lambda x: mpigrad.sparse.softmax(x, 1), "unsqueeze": lambda x: x.unsqueeze(2),
    "to_dense": lambda x: x.to_dense() ** 2,
}  # fmt: skip


@pytest.mark.parametrize("name", MATRIX)
def test_derivatives_with_two_sparse_dimensions(name) -> None:
    assert gradcheck(lambda v: weighed(MATRIX[name](matrix(v))), (flat(4),))
    assert gradgradcheck(lambda v: weighed(MATRIX[name](matrix(v))), (flat(4),))


@pytest.mark.parametrize("name", TABLE)
def test_derivatives_with_a_dense_dimension(name) -> None:
    assert gradcheck(lambda v: weighed(TABLE[name](table(v))), (flat(3, 2),))
    assert gradgradcheck(lambda v: weighed(TABLE[name](table(v))), (flat(3, 2),))


def test_derivatives_of_complex_values() -> None:
    v = mpigrad.complex(flat(4).detach(), flat(4).detach().sin()).requires_grad_()
    assert gradcheck(lambda v: (matrix(v) * matrix(v) * 2).to_dense().abs(), (v + 1,))


# -- layouts, sums and owners of gradients ---------------------------------------------------------------------------------
def leaf():
    return coo([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (3, 3), requires_grad=True)


SPARSE_GRADIENT = ["coalesce", "neg", "scale", "add", "multiply", "to_dense", "clone", "stack", "cat", "sum", "sum 0", "sum both",
                   "softmax", "sqrt", "abs", "square", "transpose", "select", "index_select", "unsqueeze",
                   "mask of sparse"]  # fmt: skip


@pytest.mark.parametrize("name", SPARSE_GRADIENT)
def test_sparse_leaves_get_sparse_gradients(name) -> None:
    x = leaf()
    y = MATRIX[name](x)
    (mpigrad.sparse.sum(y) if y.is_sparse else y.sum()).backward()
    assert x.grad.is_sparse and x.grad.dtype is x.dtype and x.grad.shape == x.shape


def test_layouts_that_are_dense() -> None:
    x, dense = leaf(), mpigrad.ones(3, 3, requires_grad=True)
    (dense + x).sum().backward()
    assert not x.grad.is_sparse and not dense.grad.is_sparse
    x, dense = leaf(), mpigrad.ones(3, 3, requires_grad=True)
    mpigrad.sparse.sum(dense.sparse_mask(x.detach())).backward()
    assert dense.grad.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    (x @ mpigrad.ones(3, 3)).sum().backward()
    assert not x.grad.is_sparse


def test_sums_of_gradients() -> None:
    x = leaf()
    mpigrad.sparse.sum(x).backward()
    x.to_dense().sum().backward()
    assert x.grad.is_sparse and x.grad._nnz() == 3 and x.grad._values().tolist() == [2.0, 2.0, 2.0]
    x.sum().backward()
    assert not x.grad.is_sparse and x.grad.sum().item() == 15.0
    mpigrad.sparse.sum(x).backward()
    assert not x.grad.is_sparse and x.grad.sum().item() == 18.0


def test_many_sparse_gradients_do_not_grow_for_ever() -> None:
    table = mpigrad.nn.Embedding(5, 2, sparse=True)
    for step in range(40):
        table(mpigrad.tensor([step % 5, 1, (step * 3) % 5])).sum().backward()
    assert table.weight.grad.is_sparse and table.weight.grad._nnz() <= 10
    assert table.weight.grad.to_dense().sum().item() == 240.0


def test_a_gradient_that_nobody_shares_is_not_copied_and_a_shared_one_is() -> None:
    weight = mpigrad.ones(4, 2, requires_grad=True)
    ids = mpigrad.tensor([1, 3])
    seen = []
    out = mpigrad.nn.functional.embedding(ids, weight, sparse=True)
    middle = out * 2
    middle.register_hook(lambda g: seen.append(g))  # the hook holds what becomes the gradient's values
    given = mpigrad.ones(2, 2)
    out.backward(given, retain_graph=True)
    given.fill_(7.0)
    ids.fill_(0)
    assert weight.grad._values().tolist() == [[1.0, 1.0], [1.0, 1.0]] and weight.grad._indices().tolist() == [[1, 3]]
    made = []

    class Source(mpigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, g):
            grad = coo([[0, 2]], [[1.0, 1.0], [2.0, 2.0]], (4, 2))
            made.append((grad._values().data_ptr(), grad._indices().data_ptr()))
            return grad

    leaf = mpigrad.ones(4, 2, requires_grad=True)
    Source.apply(leaf).backward()
    assert ((leaf.grad._values().data_ptr(), leaf.grad._indices().data_ptr()) == made[0]) is COMPILED


def test_a_gradient_given_to_two_leaves_has_two_memories() -> None:
    a, b = leaf(), leaf()
    mpigrad.sparse.sum(a + b).backward()
    a.grad._values().fill_(9.0)
    a.grad._indices().fill_(0)
    assert b.grad._values().tolist() == [1.0, 1.0, 1.0] and b.grad._indices().tolist() == [[0, 1, 1], [2, 0, 2]]


def test_counts_scale_only_dense_gradients() -> None:
    ids, weight = mpigrad.tensor([1, 0, 1]), mpigrad.ones(3, 2, requires_grad=True)
    found = mpigrad.nn.functional.embedding(ids, weight, sparse=True, scale_grad_by_freq=True)
    bags = mpigrad.nn.functional.embedding_bag(ids, weight, mpigrad.tensor([0, 2]), sparse=True, scale_grad_by_freq=True)
    for each in (found, bags):
        with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
            each.sum().backward()
    assert weight.grad is None


@pytest.mark.parametrize("bad", [3, -1, 70])
def test_rows_that_no_table_has(bad: int) -> None:
    weight, look = mpigrad.ones(3, 2), mpigrad.nn.functional
    for kind in (mpigrad.int64, mpigrad.int32):
        ids = mpigrad.tensor([[0, 1], [bad, 2]], dtype=kind)
        with pytest.raises(IndexError, match="index out of range in self"):
            look.embedding(ids, weight)
        with pytest.raises(RuntimeError, match=rf"Index 2 of input takes value {bad} which is not in the valid range \[0, 3\)"):
            look.embedding_bag(ids, weight, mode="sum")
        with pytest.raises(RuntimeError, match=f"Expected idx >= 0 && idx < num_embeddings but found idx to be {bad}"):
            look.embedding_bag(ids, weight, mode="max")


def test_bags_take_their_arguments_in_the_old_order() -> None:
    ids, weight = mpigrad.tensor([[0, 1]]), mpigrad.eye(2)
    with pytest.warns(UserWarning, match="Argument order of nn.functional.embedding_bag was changed"):
        found = mpigrad.nn.functional.embedding_bag(weight, ids, mode="sum")
    assert found.tolist() == [[1.0, 1.0]]
