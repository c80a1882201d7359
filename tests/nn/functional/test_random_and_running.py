"""What tables of derivatives cannot see: dropout's statistics, running statistics, empty and zero-dimensional input."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mpigrad
from mpigrad.nn import functional as F


def test_dropout_keeps_the_mean_and_the_share() -> None:
    mpigrad.manual_seed(0)
    made = F.dropout(mpigrad.ones(20_000), 0.3).numpy()
    assert set(np.unique(made)) == {0.0, np.float32(1 / 0.7)}
    assert abs((made == 0).mean() - 0.3) < 0.02


def test_dropout_passes_its_mask_to_the_gradient() -> None:
    x = mpigrad.ones(100, requires_grad=True)
    made = F.dropout(x, 0.5)
    made.sum().backward()
    assert (x.grad.numpy() == made.detach().numpy()).all()


def test_dropout2d_drops_whole_channels() -> None:
    made = F.dropout2d(mpigrad.ones(50, 20, 3, 3), 0.5).numpy().reshape(1000, 9)
    assert (made.min(axis=1) == made.max(axis=1)).all()
    assert 0.4 < (made == 0).mean() < 0.6


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    mpigrad.manual_seed(0)
    made = F.alpha_dropout(mpigrad.randn(100_000), 0.3, training=True)
    assert abs(made.mean().item()) < 0.02
    assert abs(made.std().item() - 1) < 0.02


def test_dropout_in_place_and_off() -> None:
    x = mpigrad.ones(8)
    assert F.dropout(x, 0.5, training=False) is x
    assert F.dropout(x, 1.0, inplace=True) is x
    assert x.sum().item() == 0


def test_batch_norm_moves_its_running_statistics() -> None:
    x = mpigrad.tensor([[1.0, 10.0], [3.0, 30.0]])
    mean, var = mpigrad.zeros(2), mpigrad.ones(2)
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    assert np.allclose(mean.numpy(), [1.0, 10.0])
    assert np.allclose(var.numpy(), [0.5 + 0.5 * 2.0, 0.5 + 0.5 * 200.0])
    assert mean._version == 1


def test_gumbel_softmax_is_one_hot_when_hard() -> None:
    logits = mpigrad.randn(50, 4, requires_grad=True)
    made = F.gumbel_softmax(logits, hard=True)
    assert np.allclose(np.sort(made.detach().numpy(), axis=1), [0, 0, 0, 1], atol=1e-6)
    (made * mpigrad.arange(4.0)).sum().backward()
    assert logits.grad.abs().sum().item() > 0


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss"])
def test_losses_of_nothing_and_of_one_number(name: str) -> None:
    loss = getattr(F, name)
    assert math.isnan(loss(mpigrad.zeros(0, 3), mpigrad.zeros(0, 3)).item())
    assert loss(mpigrad.tensor(1.0), mpigrad.tensor(1.0)).item() == 0


def test_layers_of_nothing() -> None:
    assert tuple(F.linear(mpigrad.zeros(0, 3), mpigrad.zeros(2, 3), mpigrad.zeros(2)).shape) == (0, 2)
    assert tuple(F.conv2d(mpigrad.zeros(0, 3, 5, 5), mpigrad.zeros(2, 3, 3, 3)).shape) == (0, 2, 3, 3)
    assert math.isnan(F.cross_entropy(mpigrad.zeros(0, 3), mpigrad.zeros(0, dtype=mpigrad.int64)).item())


def test_weights_get_gradients_that_nobody_copied() -> None:
    weight = mpigrad.randn(4, 3, requires_grad=True)
    F.linear(mpigrad.randn(5, 3), weight, mpigrad.randn(4)).sum().backward()
    assert weight.grad._array.base is None
    assert weight.grad._array.flags.c_contiguous
