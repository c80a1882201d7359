"""Initialisations: the distributions they promise, and what layers start with."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mpigrad
from mpigrad import nn
from mpigrad.nn import init


@pytest.fixture(autouse=True)
def seed() -> None:
    mpigrad.manual_seed(0)


def drawn(fn: str, *shape: int, **arguments: object) -> np.ndarray:
    return getattr(init, fn)(mpigrad.empty(*shape), **arguments).numpy()


def looks_uniform(values: np.ndarray, bound: float) -> None:
    assert abs(values).max() <= bound * 1.0001
    assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.03)
    assert abs(values.mean()) < 0.03 * bound


def looks_normal(values: np.ndarray, std: float) -> None:
    assert values.std() == pytest.approx(std, rel=0.03)
    assert (abs(values) > 2 * std).mean() == pytest.approx(0.0455, abs=0.01)


def test_spread_by_fans() -> None:
    looks_uniform(drawn("xavier_uniform_", 200, 100), math.sqrt(6 / 300))
    looks_normal(drawn("xavier_normal_", 200, 100, gain=2.0), 2 * math.sqrt(2 / 300))
    looks_uniform(drawn("kaiming_uniform_", 200, 100, nonlinearity="relu"), math.sqrt(6 / 100))
    looks_normal(drawn("kaiming_normal_", 40, 20, 5, 5, mode="fan_out", nonlinearity="relu"), math.sqrt(2 / 1000))


def test_plain_ones() -> None:
    looks_uniform(drawn("uniform_", 100, 100, a=-3.0, b=3.0), 3.0)
    looks_normal(drawn("normal_", 100, 100, std=0.5), 0.5)
    cut = drawn("trunc_normal_", 100, 100, std=2.0, a=-1.0, b=1.0)
    assert abs(cut).max() <= 1 and cut.std() == pytest.approx(0.56, rel=0.05)


def test_orthogonal() -> None:
    wide = drawn("orthogonal_", 3, 4, 2)
    np.testing.assert_allclose(wide.reshape(3, 8) @ wide.reshape(3, 8).T, np.eye(3), atol=1e-5)


def test_initialised_parameters_stay_leaves() -> None:
    weight = nn.Parameter(mpigrad.empty(3, 3))
    assert init.xavier_uniform_(weight) is weight
    assert weight.is_leaf and weight.requires_grad


def test_what_layers_start_with() -> None:
    linear = nn.Linear(100, 200)
    looks_uniform(linear.weight.detach().numpy(), 0.1)
    assert abs(linear.bias.detach().numpy()).max() <= 0.1
    looks_uniform(nn.Conv2d(16, 64, 5).weight.detach().numpy(), 1 / math.sqrt(400))
    looks_uniform(nn.LSTM(64, 100).weight_ih_l0.detach().numpy(), 0.1)
    looks_normal(nn.Embedding(100, 100).weight.detach().numpy(), 1.0)
    assert not nn.Embedding(10, 3, padding_idx=4).weight.detach().numpy()[4].any()
    attention = nn.MultiheadAttention(64, 4)
    looks_uniform(attention.in_proj_weight.detach().numpy(), math.sqrt(6 / 256))
    assert not attention.in_proj_bias.detach().numpy().any()


def test_the_same_seed_gives_the_same_network() -> None:
    made = []
    for _ in range(2):
        mpigrad.manual_seed(7)
        made.append(nn.Sequential(nn.Linear(3, 4), nn.GRU(4, 2)))
    for a, b in zip(made[0].parameters(), made[1].parameters()):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
