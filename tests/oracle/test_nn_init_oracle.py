"""What layers start with, beside PyTorch: the same distribution of every parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad

torch = pytest.importorskip("torch")

LAYERS = """
Linear(60, 80)
Bilinear(20, 15, 12)
Conv1d(12, 40, 5)
Conv2d(8, 32, 5, groups=2)
Conv3d(4, 16, 3)
ConvTranspose1d(12, 40, 5)
ConvTranspose2d(8, 32, 5)
ConvTranspose3d(4, 16, 3)
Embedding(60, 50)
EmbeddingBag(60, 50)
RNN(30, 40, 2)
LSTM(30, 40, bidirectional=True)
LSTM(30, 40, proj_size=20)
GRU(30, 40)
RNNCell(30, 40)
LSTMCell(30, 40)
GRUCell(30, 40)
MultiheadAttention(64, 4)
MultiheadAttention(64, 4, kdim=32, vdim=48, add_bias_kv=True)
TransformerEncoderLayer(32, 4, 64)
TransformerDecoderLayer(32, 4, 64)
Transformer(32, 4, 1, 1, 64)
LayerNorm(50)
GroupNorm(5, 50)
BatchNorm2d(50)
InstanceNorm2d(50, affine=True)
PReLU(20)
AdaptiveLogSoftmaxWithLoss(32, 100, [20, 50])
""".strip().splitlines()


def numbers(T: Any, text: str) -> dict[str, np.ndarray]:
    """All parameters of several modules of a kind, by name."""
    T.manual_seed(3)
    made = [eval("nn." + text, {"nn": T.nn}) for _ in range(8)]
    states = [dict(each.named_parameters()) for each in made]
    return {name: np.concatenate([s[name].detach().numpy().ravel() for s in states]) for name in states[0]}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("text", LAYERS)
def test_parameters_are_drawn_from_the_same_distribution(text: str) -> None:
    ours, theirs = numbers(mpigrad, text), numbers(torch, text)
    assert list(ours) == list(theirs)
    for name, wanted in theirs.items():
        found, count = ours[name], wanted.size
        spread = max(wanted.std(), 1e-12)
        assert (found.std() == 0) == (wanted.std() == 0) and found.dtype == wanted.dtype, name
        if wanted.std() == 0:
            assert found[0] == wanted[0], name
            continue
        assert abs(found.mean() - wanted.mean()) < 6 * spread * (2 / count) ** 0.5, name
        assert abs(found.std() / spread - 1) < 8 / count**0.5, name
        places = [0.1, 0.25, 0.5, 0.75, 0.9]
        far = np.abs(np.quantile(found, places) - np.quantile(wanted, places)).max()
        assert far < 12 * spread / count**0.5, name
