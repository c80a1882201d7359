"""Sparse tensors, embeddings and optimizers of sparse gradients beside PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import mpigrad

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
torch.sparse.check_sparse_tensor_invariants.enable()  # or else it warns


def look(value: Any) -> Any:
    """What users can see of a result, its elements aside; PyTorch forgets in some gradients that they are coalesced."""
    if not hasattr(value, "is_sparse"):
        return value
    node = None if value.grad_fn is None else value.grad_fn.name()
    split = (value.sparse_dim(), value.dense_dim()) if value.is_sparse else None
    return value.is_sparse, tuple(value.shape), str(value.dtype).partition(".")[2], value.requires_grad, node, split


def elements(value: Any) -> Any:
    return value.detach().to_dense().numpy()


def same(found: Any, wanted: Any) -> None:
    assert look(found) == look(wanted)
    if hasattr(wanted, "is_sparse"):
        np.testing.assert_allclose(elements(found), elements(wanted), rtol=2e-5, atol=1e-6)


def leaves(T: Any, kind: str) -> tuple[Any, Any, Any]:
    """A sparse leaf with a place that occurs twice (or not, or with a dense dimension), another, and a dense one."""
    if kind == "hybrid":
        x = T.sparse_coo_tensor([[2, 0, 2]], [[1.0, -2.0, 0.5], [0.25, 4.0, 1.5], [2.0, 1.0, -1.0]], (3, 3))
        y = T.sparse_coo_tensor([[1, 0]], [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]], (3, 3))
    else:
        x = T.sparse_coo_tensor([[2, 0, 2, 1], [0, 1, 0, 2]], [1.5, -2.0, 0.25, 4.0], (3, 3))
        y = T.sparse_coo_tensor([[0, 1, 1], [1, 0, 2]], [3.0, 2.0, -1.0], (3, 3))
    if kind == "coalesced":
        x, y = x.coalesce(), y.coalesce()
    dense = T.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0], [4.0, 1.0, -2.0]])
    return x.requires_grad_(), y.requires_grad_(), dense.requires_grad_()


EXPRESSIONS = """
x + y
x - y
T.add(x, y, alpha=2)
x * 2
2 * x
x / 2
-x
d + x
d - x
x * d
d * x
x + d
x / y
x / d
x.to_dense()
d.to_sparse()
d.to_sparse(1)
x.coalesce()
x.coalesce().values()
x.coalesce().indices()
x.clone()
x.detach()
x.double()
x.float()
T.stack([x, y])
T.stack([x, y], 1)
T.stack([x, d])
T.sparse.sum(x)
T.sparse.sum(x, 0)
T.sparse.sum(x, 1)
T.sparse.sum(x, (0, 1))
T.sparse.sum(x, dtype=T.float64)
T.sparse.sum(x, 5)
x.sum()
T.sparse.mm(x, d)
T.sparse.mm(x, d[:2])
x @ d
T.mm(x, d)
T.sparse.softmax(x, 0)
T.sparse.log_softmax(x, 0)
x.t()
x.transpose(0, 1)
x.permute(1, 0)
x.unsqueeze(0)
x ** 2
x.abs()
x.tanh()
x.sin()
x.relu()
d.sparse_mask(y.detach().coalesce())
T.zeros_like(x)
T.zeros_like(x) + x
x.new_zeros(2)
x.is_coalesced()
x._nnz()
x.indices()
x.values()
x[5]
x == y
x.exp()
x.detach().add_(y.detach())
x.detach().mul_(2)
x.detach().zero_()
x.detach()[0]
x.detach()[2]
x.detach()[2, 0]
x.detach().index_select(0, T.tensor([2, 0, 2]))
x.detach().index_select(1, T.tensor([2, 0, 2]))
d.detach().add_(x.detach(), alpha=3)
x.numel(), x.dim(), len(x), x.sparse_dim(), x.dense_dim()
""".strip().splitlines()


def evaluate(T: Any, expression: str, kind: str) -> tuple[Any, list[Any]]:
    x, y, d = leaves(T, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(expression, {"T": T, "x": x, "y": y, "d": d})
            if not getattr(found, "requires_grad", False):
                return found, []
            loss = T.sparse.sum(found * 3) if found.is_sparse else (found * 3).sum()
            loss.backward()
        except Exception as error:
            return error, []
        return found, [x.grad, y.grad, d.grad]


# PyTorch's product of tensors that are not coalesced holds other places than both have, and so do its gradients.
CASES = [(expression, kind) for expression in EXPRESSIONS for kind in ("repeating", "coalesced", "hybrid")]


@pytest.mark.parametrize(("expression", "kind"), [*CASES, ("x * y", "coalesced")])
def test_results_layouts_nodes_and_gradients(expression: str, kind: str) -> None:
    found, wanted = evaluate(mpigrad, expression, kind), evaluate(torch, expression, kind)
    if isinstance(wanted[0], NotImplementedError) and not isinstance(found[0], Exception):
        return  # an addition
    if isinstance(wanted[0], Exception):
        assert isinstance(found[0], type(wanted[0])), (found[0], wanted[0])
        return
    if isinstance(found[0], Exception):
        raise found[0]
    same(found[0], wanted[0])
    for ours, theirs in zip(found[1], wanted[1]):
        assert (ours is None) == (theirs is None)
        if theirs is not None:
            same(ours, theirs)


PRINTED = """
x
x.detach()
x * 2
T.zeros_like(x)
x.detach().double()
x.coalesce()
T.sparse_coo_tensor([[0, 1]], [1, 2], (3,))
T.sparse_coo_tensor([[0, 1]], [1, 2], (3,), dtype=T.int32)
T.sparse_coo_tensor(T.arange(2000).view(1, -1), T.arange(2000.0))
T.sparse_coo_tensor([[0, 1]], T.ones(2, 0), (3, 0))
""".strip().splitlines()


@pytest.mark.parametrize("expression", PRINTED)
@pytest.mark.parametrize("kind", ["repeating", "hybrid"])
def test_printing(expression: str, kind: str) -> None:
    texts = []
    for T in (mpigrad, torch):
        x, _, _ = leaves(T, kind)
        texts.append(repr(eval(expression, {"T": T, "x": x})).replace("torch", "mpigrad"))
    assert texts[0] == texts[1]


# -- embeddings ------------------------------------------------------------------------------------------------------------
@st.composite
def batches(draw: Any) -> dict[str, Any]:
    """Settings of an embedding or a bag and a batch for it."""
    mode = draw(st.sampled_from([None, "sum", "mean", "max"]))
    count = draw(st.integers(1, 9))
    made: dict[str, Any] = {
        "mode": mode, "ids": draw(st.lists(st.integers(0, 5), min_size=count, max_size=count)),
        "padding_idx": draw(st.sampled_from([None, 0, 3])), "scale": mode != "max" and draw(st.booleans()),
    }  # fmt: skip
    if mode is not None:
        cuts = sorted(draw(st.lists(st.integers(0, count), max_size=3)))
        last = draw(st.booleans())
        made["offsets"] = [0, *cuts, count] if last else [0, *cuts]
        made["include_last_offset"] = last
        made["weighted"] = mode == "sum" and draw(st.booleans())
        if made["weighted"]:
            made["scale"] = False
    return made


def look_up(T: Any, how: dict[str, Any]) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    weight = T.from_numpy(random.standard_normal((6, 3)).astype("f4")).requires_grad_()
    samples = T.from_numpy(random.standard_normal(len(how["ids"])).astype("f4")).requires_grad_()
    ids, functional = T.tensor(how["ids"]), T.nn.functional
    if how["mode"] is None:
        out = functional.embedding(ids, weight, padding_idx=how["padding_idx"], scale_grad_by_freq=how["scale"], sparse=True)
    else:
        out = functional.embedding_bag(
            ids, weight, T.tensor(how["offsets"]), mode=how["mode"], sparse=how["mode"] != "max", scale_grad_by_freq=how["scale"],
            per_sample_weights=samples if how["weighted"] else None, padding_idx=how["padding_idx"],
            include_last_offset=how["include_last_offset"],
        )  # fmt: skip
    (out * out).sum().backward(retain_graph=True)
    out.sum().backward()
    return out, weight.grad, samples.grad


@settings(max_examples=120, deadline=None)
@given(batches())
def test_embeddings_and_their_sparse_gradients(how: dict[str, Any]) -> None:
    try:
        wanted = look_up(torch, how)
    except RuntimeError:  # a combination that PyTorch does not have
        reject()
    found = look_up(mpigrad, how)
    np.testing.assert_allclose(elements(found[0]), elements(wanted[0]), rtol=1e-5, atol=1e-6)
    assert found[1].is_sparse == wanted[1].is_sparse
    np.testing.assert_allclose(elements(found[1]), elements(wanted[1]), rtol=1e-5, atol=1e-5)
    assert (found[2] is None) == (wanted[2] is None)
    if wanted[2] is not None:
        np.testing.assert_allclose(elements(found[2]), elements(wanted[2]), rtol=1e-5, atol=1e-5)


# -- optimizers ------------------------------------------------------------------------------------------------------------
OPTIMIZERS = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}), ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "maximize": True}), ("Adagrad", {"lr": 0.3}), ("Adagrad", {"lr": 0.3, "lr_decay": 0.1}),
    ("SparseAdam", {"lr": 0.05}), ("SparseAdam", {"lr": 0.05, "betas": (0.5, 0.9), "maximize": True}),
]  # fmt: skip


def train(T: Any, name: str, kwargs: dict[str, Any]) -> Any:
    random = np.random.default_rng(1)
    table = T.nn.Embedding(12, 3, sparse=True)
    with T.no_grad():
        table.weight.copy_(T.from_numpy(random.standard_normal((12, 3)).astype("f4")))
    optimizer = getattr(T.optim, name)(table.parameters(), **kwargs)
    for _ in range(8):
        optimizer.zero_grad()
        (table(T.from_numpy(random.integers(0, 9, 5))) ** 2).sum().backward()
        assert table.weight.grad.is_sparse
        optimizer.step()
    return table.weight.detach().numpy()


@pytest.mark.parametrize(("name", "kwargs"), OPTIMIZERS, ids=str)
def test_optimizers_step_rows_alike(name: str, kwargs: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = train(torch, name, kwargs)
    np.testing.assert_allclose(train(mpigrad, name, kwargs), wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"])
def test_optimizers_that_refuse_sparse_gradients(name: str) -> None:
    texts = []
    for T in (mpigrad, torch):
        with pytest.raises(RuntimeError) as caught:
            train(T, name, {})
        texts.append(type(caught.value))
    assert texts[0] is texts[1]
