"""CTC: the loss is the sum over all alignments, written out, and its gradient the numerical one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import mpigrad
from mpigrad.autograd import gradcheck
from mpigrad.nn import functional as F


def collapsed(path: tuple[int, ...]) -> tuple[int, ...]:
    """An alignment without repetitions and blanks."""
    return tuple(label for label, _ in itertools.groupby(path) if label != 0)


def by_alignments(log_p: np.ndarray, target: tuple[int, ...]) -> float:
    paths = itertools.product(range(log_p.shape[1]), repeat=log_p.shape[0])
    found = [sum(log_p[t, c] for t, c in enumerate(path)) for path in paths if collapsed(path) == target]
    return -math.log(sum(math.exp(each) for each in found)) if found else math.inf


@pytest.mark.parametrize("target", [(1,), (1, 2), (1, 1), (2, 1, 2), ()])
def test_loss_is_the_sum_over_alignments(target: tuple[int, ...]) -> None:
    scores = mpigrad.tensor(np.random.default_rng(0).standard_normal((5, 1, 3)).tolist(), dtype=mpigrad.float64)
    log_p = scores.log_softmax(2)
    loss = F.ctc_loss(log_p, mpigrad.tensor([list(target)], dtype=mpigrad.int64), [5], [len(target)], reduction="none")
    assert loss.item() == pytest.approx(by_alignments(log_p[:, 0].numpy(), target))


def test_gradient() -> None:
    scores = mpigrad.tensor(np.random.default_rng(0).standard_normal((5, 2, 3)).tolist(), dtype=mpigrad.float64)
    targets = mpigrad.tensor([1, 2, 2])
    assert gradcheck(
        lambda x: F.ctc_loss(x.log_softmax(2), targets, [5, 4], [2, 1], reduction="none"), [scores.requires_grad_()]
    )


def test_impossible_targets_can_be_ignored() -> None:
    log_p = mpigrad.zeros(1, 1, 3).log_softmax(2)
    target = mpigrad.tensor([[1, 2]])
    assert F.ctc_loss(log_p, target, [1], [2]).item() == math.inf
    assert F.ctc_loss(log_p, target, [1], [2], zero_infinity=True).item() == 0


def test_second_derivatives_are_refused() -> None:
    scores = mpigrad.zeros(3, 1, 3, requires_grad=True)
    (slope,) = mpigrad.autograd.grad(
        F.ctc_loss(scores.log_softmax(2), mpigrad.tensor([[1]]), [3], [1]), scores, create_graph=True
    )
    with pytest.raises(RuntimeError, match="_ctc_loss_backward is not implemented"):
        slope.sum().backward()
