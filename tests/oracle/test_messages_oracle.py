"""What modules, optimizers and loaders say about bad arguments, word for word what PyTorch says."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mpigrad

from .programs import attempt, plain

torch = pytest.importorskip("torch")

Calls = Callable[[Any], list[Callable[[], Any]]]


def attention(T: Any) -> list[Callable[[], Any]]:
    m, s = T.nn.MultiheadAttention(8, 2), T.ones(5, 2, 8)
    other = T.nn.MultiheadAttention(8, 2, kdim=3, vdim=4)
    one = s[:, 0]
    return [
        lambda: m(s, s, s, is_causal=True),
        lambda: m(s, s, s, key_padding_mask=T.ones(3, 3)),
        lambda: m(s, s, s, key_padding_mask=T.ones(2, 3)),
        lambda: m(s, s, s, key_padding_mask=T.ones(5)),
        lambda: m(s, s, s, key_padding_mask=T.ones(2, 5).long()),
        lambda: m(s, s, s, attn_mask=T.ones(5)),
        lambda: m(s, s, s, attn_mask=T.ones(2, 5)),
        lambda: m(s, s, s, attn_mask=T.ones(3, 5, 5)),
        lambda: m(s, s, s, attn_mask=T.ones(5, 5).long()),
        lambda: m(one, one, one, attn_mask=T.ones(1, 5, 5)),
        lambda: m(one, one, one, key_padding_mask=T.ones(2, 5)),
        lambda: m(one, s, s),
        lambda: m(s, one, one),
        lambda: m(s, T.ones(6, 2, 8), s),
        lambda: m(T.ones(2, 2, 2, 8), s, s),
        lambda: m(T.ones(5, 2, 7), s, s),
        lambda: other(s, T.ones(6, 2, 3), T.ones(5, 2, 4)),
    ]


def modules(T: Any) -> list[Callable[[], Any]]:
    nn = T.nn
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    wrong = {"0.weight": T.zeros(3, 3), "other": T.zeros(1)}
    bag = nn.functional.embedding_bag
    rows, ids = T.ones(3, 2), T.tensor([[1]])
    return [
        lambda: net.load_state_dict(wrong),
        lambda: net.set_submodule("0", 3),
        lambda: nn.ParameterDict()["missing"],
        lambda: nn.ParameterDict().update(3),
        lambda: nn.UninitializedParameter().shape,
        lambda: nn.RNN(3, 4)(T.ones(3)),
        lambda: nn.LSTM(3, 4)(T.ones(3)),
        lambda: nn.utils.vector_to_parameters(T.ones(3), net.parameters()),
        lambda: bag(ids, rows, mode="most"),
        lambda: bag(ids, rows, mode="max", sparse=True),
        lambda: bag(ids, rows, mode="max", scale_grad_by_freq=True),
        lambda: nn.functional.nll_loss(T.zeros(3), T.tensor([0, 1])),
        lambda: nn.functional.cross_entropy(T.zeros(1, 3), T.tensor([0]), label_smoothing=2.0),
    ]


def optimizers(T: Any) -> list[Callable[[], Any]]:
    p, q = (T.nn.Parameter(T.ones(2)) for _ in range(2))
    optim, several = T.optim, T.tensor([0.1, 0.2])
    named, unnamed = optim.SGD([("p", p)]), optim.SGD([p])
    return [
        lambda: optim.SGD(p),
        lambda: optim.SGD([("p", p), q]),
        lambda: optim.SGD([p, ("q", q)]),
        lambda: named.add_param_group({"params": [q]}),
        lambda: unnamed.add_param_group({"params": [("q", q)]}),
        lambda: optim.SGD([p], foreach=True, fused=True),
        lambda: optim.Adam([p], foreach=True, fused=True),
        lambda: optim.Adagrad([p], fused=True, differentiable=True),
        lambda: optim.SGD([p], lr=several),
        lambda: optim.RMSprop([p], lr=several),
        lambda: optim.Adam([p], lr=T.tensor(0.1), foreach=True),
        lambda: optim.Adam([p], betas=(T.tensor(0.9), 0.99)),
        lambda: optim.SparseAdam([p], lr=0),
        lambda: optim.SparseAdam([p], eps=0),
        lambda: optim.SparseAdam([p, T.zeros(2, 2).to_sparse()]),
    ]


def loaders(T: Any) -> list[Callable[[], Any]]:
    data = T.utils.data
    loader = data.DataLoader(range(3))
    return [
        lambda: data.RandomSampler([]),
        lambda: data.RandomSampler(range(3), num_samples=-1),
        lambda: data.DataLoader(range(3), multiprocessing_context="spawn"),
        lambda: data.DataLoader(range(3), prefetch_factor=2),
        lambda: data.DataLoader(range(3), num_workers=1, prefetch_factor=-2),
        lambda: setattr(loader, "batch_size", 3),
        lambda: setattr(loader, "dataset", 3),
        lambda: data.DataLoader([(1, 2)], batch_size=None).__iter__().__next__(),
    ]


@pytest.mark.parametrize("calls", [attention, modules, optimizers, loaders])
def test_says_what_pytorch_says(calls: Calls) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, found = ([plain(T, attempt(call)) for call in calls(T)] for T in (torch, mpigrad))
    assert found == expected


@pytest.mark.parametrize("module", ["Softmax", "LogSoftmax", "Softmin", "KLDivLoss"])
def test_warns_as_pytorch(module: str) -> None:
    def said(T: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(T.nn, module)()(*(T.full((2, 2), 0.5) for _ in range(1 + (module == "KLDivLoss"))))
        return [str(each.message) for each in caught]

    assert said(mpigrad) == said(torch)
