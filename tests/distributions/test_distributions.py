"""Distributions: draws have the promised moments, gradients flow where they should, bad arguments are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad.distributions import (
    Bernoulli,
    Categorical,
    Independent,
    Normal,
    Uniform,
    constraints,
    kl_divergence,
)


@pytest.fixture(autouse=True)
def seed() -> None:
    mpigrad.manual_seed(0)


@pytest.mark.parametrize(
    "made", [Normal(1.0, 2.0), Uniform(-1.0, 3.0), Bernoulli(0.3), Bernoulli(logits=mpigrad.tensor(1.0))]
)
def test_moments(made: Any) -> None:
    drawn = made.sample((20_000,)).numpy()
    assert drawn.mean() == pytest.approx(made.mean.item(), abs=0.05)
    assert drawn.std() == pytest.approx(made.stddev.item(), rel=0.03)


@pytest.mark.parametrize(
    "made", [Normal(1.0, 2.0), Uniform(-1.0, 3.0), Bernoulli(0.3), Categorical(mpigrad.tensor([1.0, 2.0]))]
)
def test_entropy_is_the_mean_of_minus_log_prob(made: Any) -> None:
    drawn = made.sample((20_000,))
    assert -made.log_prob(drawn).mean().item() == pytest.approx(made.entropy().item(), abs=0.03)


def test_categorical_frequencies_and_shapes() -> None:
    made = Categorical(mpigrad.tensor([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]]))
    drawn = made.sample((5_000,))
    assert tuple(drawn.shape) == (5_000, 2)
    np.testing.assert_allclose(np.bincount(drawn.numpy()[:, 0]) / 5_000, [0.2, 0.3, 0.5], atol=0.03)
    assert set(drawn.numpy()[:, 1]) == {1}
    assert tuple(made.log_prob(mpigrad.tensor([[0, 1]] * 4)).shape) == (4, 2)


def test_policy_gradient() -> None:
    logits = mpigrad.zeros(3, requires_grad=True)
    made = Categorical(logits=logits)
    (-made.log_prob(mpigrad.tensor(2))).backward()
    np.testing.assert_allclose(logits.grad.numpy(), [1 / 3, 1 / 3, -2 / 3], rtol=1e-5)


def test_rsample_carries_gradients_and_sample_does_not() -> None:
    loc, scale = mpigrad.tensor(1.0, requires_grad=True), mpigrad.tensor(2.0, requires_grad=True)
    made = Normal(loc, scale)
    assert not made.sample((3,)).requires_grad
    drawn = made.rsample((3,))
    drawn.sum().backward()
    assert loc.grad.item() == 3
    assert scale.grad.item() == pytest.approx(((drawn - loc) / scale).sum().item(), rel=1e-5)


def test_divergence() -> None:
    p, q = Normal(0.0, 1.0), Normal(1.0, 2.0)
    drawn = p.sample((50_000,))
    assert kl_divergence(p, q).item() == pytest.approx((p.log_prob(drawn) - q.log_prob(drawn)).mean().item(), abs=0.02)
    assert kl_divergence(p, p).item() == 0
    with pytest.raises(NotImplementedError, match="p type Normal and q type Bernoulli"):
        kl_divergence(p, Bernoulli(0.5))


def test_independent_adds_up() -> None:
    base = Normal(mpigrad.zeros(2, 3), 1.0)
    made = Independent(base, 1)
    value = made.sample()
    assert (tuple(made.batch_shape), tuple(made.event_shape)) == ((2,), (3,))
    np.testing.assert_allclose(made.log_prob(value).numpy(), base.log_prob(value).numpy().sum(1), rtol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Normal(0.0, -1.0),
        lambda: Uniform(1.0, 0.0),
        lambda: Bernoulli(2.0),
        lambda: Categorical(mpigrad.tensor([-1.0, 2.0])),
    ],
)
def test_bad_arguments_are_named(make: Any) -> None:
    with pytest.raises(ValueError, match="Expected parameter .* to satisfy the constraint"):
        make()


def test_values_outside_the_support_are_named() -> None:
    with pytest.raises(ValueError, match=r"within the support \(IntegerInterval\(lower_bound=0, upper_bound=1\)\)"):
        Categorical(mpigrad.ones(2)).log_prob(mpigrad.tensor(2))


def test_constraints() -> None:
    assert constraints.simplex.check(mpigrad.tensor([[0.5, 0.5], [0.5, 0.6]])).tolist() == [True, False]
    assert constraints.lower_cholesky.check(mpigrad.eye(2)).item()
    assert not constraints.positive_definite.check(-mpigrad.eye(2)).item()
