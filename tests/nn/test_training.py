"""Whole networks learn: each kind of layer in a small program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad import nn


def learn(net: nn.Module, loss: Callable[[], Any], steps: int, lr: float = 0.02) -> tuple[float, float]:
    optimizer = mpigrad.optim.Adam(net.parameters(), lr=lr)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses[0], losses[-1]


@pytest.fixture(autouse=True)
def seed() -> None:
    mpigrad.manual_seed(0)


def test_perceptron_learns_xor() -> None:
    x, y = mpigrad.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]]), mpigrad.tensor([0, 1, 1, 0])
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    learn(net, lambda: nn.CrossEntropyLoss()(net(x), y), 80, 0.05)
    assert net(x).argmax(1).tolist() == [0, 1, 1, 0]


def test_convolution_learns_where_the_dot_is() -> None:
    images = mpigrad.tensor(np.eye(16, dtype="f4").reshape(16, 1, 4, 4))
    labels = mpigrad.tensor([int(i % 4 >= 2) for i in range(16)])
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32, 2)
    )
    learn(net, lambda: nn.CrossEntropyLoss()(net(images), labels), 40)
    assert (net.eval()(images).argmax(1) == labels).numpy().mean() > 0.9


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_recurrent_network_remembers_the_first_element(kind: Any) -> None:
    x = mpigrad.tensor(np.random.default_rng(0).integers(0, 2, (6, 32, 1)).astype("f4"))
    rnn, out = kind(1, 12), nn.Linear(12, 1)
    net = nn.ModuleList([rnn, out])
    loss = lambda: nn.BCEWithLogitsLoss()(out(rnn(x)[0][-1])[:, 0], x[0, :, 0])
    first, last = learn(net, loss, 120, 0.03)
    assert last < 0.1 < first


def test_transformer_learns_to_reverse() -> None:
    tokens = np.random.default_rng(0).integers(0, 5, (16, 4))
    x, y = mpigrad.tensor(tokens), mpigrad.tensor(tokens[:, ::-1].copy())
    embed, place = nn.Embedding(5, 16), nn.Parameter(mpigrad.randn(4, 16))
    layer, out = nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True), nn.Linear(16, 5)
    net = nn.ModuleList([embed, layer, out, nn.ParameterList([place])])
    loss = lambda: nn.functional.cross_entropy(out(layer(embed(x) + place)).reshape(-1, 5), y.reshape(-1))
    first, last = learn(net, loss, 60, 0.02)
    assert last < 0.5 < first


def test_causal_mask_hides_the_future() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0).eval()
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    x = mpigrad.randn(5, 1, 8)
    changed = x.clone()
    changed[4] += 1
    a, b = (layer(each, src_mask=mask).detach().numpy() for each in (x, changed))
    np.testing.assert_allclose(a[:4], b[:4], atol=1e-6)
    assert abs(a[4] - b[4]).max() > 1e-3


def test_clipping_limits_the_norm_and_keeps_the_direction() -> None:
    w = mpigrad.zeros(3, requires_grad=True)
    w.grad = mpigrad.tensor([3.0, 4.0, 0.0])
    assert nn.utils.clip_grad_norm_([w], 1.0).item() == pytest.approx(5.0)
    np.testing.assert_allclose(w.grad.numpy(), [0.6, 0.8, 0.0], rtol=1e-5)
    assert nn.utils.clip_grad_norm_(w, 10.0).item() == pytest.approx(1.0, rel=1e-5)
    nn.utils.clip_grad_value_(w, 0.7)
    np.testing.assert_allclose(w.grad.numpy(), [0.6, 0.7, 0.0], rtol=1e-5)
    w.grad = mpigrad.tensor([float("inf"), 0.0, 0.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)
