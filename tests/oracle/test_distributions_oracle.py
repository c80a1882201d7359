"""Distributions beside PyTorch: probabilities, moments, divergences, text and complaints."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mpigrad

torch = pytest.importorskip("torch")

DISTRIBUTIONS = [
    "D.Normal(0.5, 2.0)",
    "D.Normal(t(0.1, -1.0), t(1.0, 0.3))",
    "D.Uniform(-2.0, 3.0)",
    "D.Uniform(t(-3.0, -4.0), t(5.0, 4.0))",
    "D.Bernoulli(0.3)",
    "D.Bernoulli(logits=t(0.1, -1.0))",
    "D.Bernoulli(probs=t(0.5, 1.0))",
    "D.Categorical(t(0.1, 0.5, 0.9))",
    "D.Categorical(logits=t(0.1, -1.0, 3.0))",
    "D.Categorical(probs=T.stack([t(0.1, 0.0, 0.4), t(0.1, 0.2, 0.4)]))",
    "D.MultivariateNormal(t(0.1, -1.0), T.tensor([[2.0, 0.5], [0.5, 1.0]]))",
    "D.MultivariateNormal(T.zeros(3, 2), precision_matrix=T.tensor([[2.0, 0.5], [0.5, 1.0]]))",
    "D.MultivariateNormal(t(0.1, -1.0), scale_tril=T.tensor([[2.0, 0.0], [0.5, 1.0]]))",
    "D.Independent(D.Normal(t(0.1, -1.0), t(1.0, 0.3)), 1)",
]
VALUES = ["t(0.2)", "t(0.0, 1.0)", "t(1.0, 0.0)", "t(1.0)"]
QUESTIONS = (
    """
d.log_prob({value}) | d.cdf({value}) | d.icdf(t(0.2, 0.7)) | d.entropy() | d.mean | d.mode | d.variance | d.stddev
d.perplexity() | d.batch_shape | d.event_shape | d | d.support | d.enumerate_support() | d.enumerate_support(False)
d.expand((4,) + tuple(d.batch_shape)).mean | d.sample((3, 2)).shape | d.sample().dtype | d.sample().requires_grad
d.rsample((2,)).shape | d.has_rsample | d.has_enumerate_support
""".strip()
    .replace("\n", " | ")
    .split(" | ")
)


def ask(T: Any, distribution: str, question: str) -> Any:
    names = {"D": T.distributions, "T": T, "t": lambda *values: T.tensor(values if len(values) > 1 else values[0])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            names["d"] = eval(distribution, names)
            found = eval(question, names)
        except Exception as error:
            return type(error).__name__, str(error).replace("torch", "mpigrad")
    return found.detach().numpy() if hasattr(found, "detach") else str(found).replace("torch", "mpigrad")


def check(distribution: str, question: str) -> None:
    want, got = ask(torch, distribution, question), ask(mpigrad, distribution, question)
    if isinstance(want, np.ndarray):
        assert isinstance(got, np.ndarray), f"{question} gave {got}"
        assert got.dtype == want.dtype and got.shape == want.shape, question
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=question)
    elif want[0] == "NotImplementedError":
        assert got[0] == "NotImplementedError", question
    else:
        assert got == want, question


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_same_answers(distribution: str) -> None:
    for question in QUESTIONS:
        for value in VALUES if "{value}" in question else [""]:
            check(distribution, question.format(value=value))


@pytest.mark.parametrize("p", DISTRIBUTIONS)
def test_same_divergences(p: str) -> None:
    for q in DISTRIBUTIONS:
        same = p.split("(")[0] == q.split("(")[0] != "D.MultivariateNormal"
        check(p, f"D.kl_divergence(d, {q})" if same else "d")


@pytest.mark.parametrize(
    "text",
    [
        "D.Normal(0.0, -1.0)",
        "D.Categorical(probs=t(-1.0, 2.0))",
        "D.Categorical()",
        "D.Bernoulli(probs=t(2.0))",
        "D.Uniform(1.0, 0.0)",
        "D.Categorical(probs=t(1.0))",
        "D.Bernoulli(0.5, 0.5)",
        "D.Normal(0.0, 1.0).log_prob(1.0)",
        "D.Normal(0.0, 1.0).log_prob(t(float('nan')))",
        "D.Independent(D.Normal(0.0, 1.0), 1)",
        "D.Normal(t(0.0, 1.0), 1.0).log_prob(T.zeros(3))",
        "D.Normal(0.0, -1.0, validate_args=False)",
    ],
)
def test_same_complaints(text: str) -> None:
    check(text, "d")


def test_gradients_of_log_prob_and_rsample() -> None:
    def gradients(T: Any) -> list[np.ndarray]:
        loc, scale = T.tensor([0.3, -1.0], requires_grad=True), T.tensor([1.0, 2.0], requires_grad=True)
        logits = T.tensor([0.3, -1.0, 2.0], requires_grad=True)
        D = T.distributions
        total = D.Normal(loc, scale).log_prob(T.tensor([0.7, 0.1])).sum() + D.Categorical(logits=logits).entropy()
        (
            total
            + D.Categorical(logits=logits).log_prob(T.tensor(1))
            + D.Bernoulli(logits=logits).log_prob(T.ones(3)).sum()
        ).backward()
        return [each.grad.numpy() for each in (loc, scale, logits)]

    for got, want in zip(gradients(mpigrad), gradients(torch)):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
