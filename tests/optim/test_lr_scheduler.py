"""Schedules of the learning rate: their shapes, warnings and state."""

from __future__ import annotations

import math
from typing import Any

import pytest

import mpigrad
from mpigrad import optim
from mpigrad.optim import lr_scheduler


def make(lr: float = 1.0, **arguments: Any) -> optim.SGD:
    return optim.SGD([mpigrad.zeros(1, requires_grad=True)], lr=lr, **arguments)


def rates(scheduler: Any, count: int) -> list[float]:
    seen = []
    for _ in range(count):
        seen.append(scheduler.get_last_lr()[0])
        scheduler.optimizer.step()
        scheduler.step()
    return seen


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        (lambda o: lr_scheduler.StepLR(o, 2, 0.5), [1, 1, 0.5, 0.5, 0.25]),
        (lambda o: lr_scheduler.MultiStepLR(o, [1, 3], 0.5), [1, 0.5, 0.5, 0.25, 0.25]),
        (lambda o: lr_scheduler.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125]),
        (lambda o: lr_scheduler.LambdaLR(o, lambda step: 1 / (step + 1)), [1, 1 / 2, 1 / 3, 1 / 4]),
        (lambda o: lr_scheduler.MultiplicativeLR(o, lambda step: 0.1), [1, 0.1, 0.01]),
        (lambda o: lr_scheduler.ConstantLR(o, 0.5, 2), [0.5, 0.5, 1, 1]),
        (lambda o: lr_scheduler.LinearLR(o, 0.5, 1.0, 2), [0.5, 0.75, 1, 1]),
        (lambda o: lr_scheduler.PolynomialLR(o, 4), [1, 0.75, 0.5, 0.25, 0, 0]),
        (lambda o: lr_scheduler.CosineAnnealingLR(o, 2), [1, 0.5, 0, 0.5, 1]),
        (
            lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 2),
            [1, 0.5, 1, (1 + math.cos(math.pi / 4)) / 2, 0.5],
        ),
        (lambda o: lr_scheduler.CyclicLR(o, 0.0, 1.0, 2, cycle_momentum=False), [0, 0.5, 1, 0.5, 0, 0.5]),
        (
            lambda o: lr_scheduler.SequentialLR(
                o, [lr_scheduler.ConstantLR(o, 0.1, 9), lr_scheduler.ExponentialLR(o, 0.5)], [2]
            ),
            [0.1, 0.1, 1, 0.5],
        ),
        (
            lambda o: lr_scheduler.ChainedScheduler(
                [lr_scheduler.ConstantLR(o, 0.1, 2), lr_scheduler.ExponentialLR(o, 0.5)]
            ),
            [0.1, 0.05, 0.25],
        ),
    ],
)
def test_shape(scheduler: Any, expected: list[float]) -> None:
    assert rates(scheduler(make()), len(expected)) == pytest.approx(expected, abs=1e-12)


def test_one_cycle_goes_up_and_down_and_momentum_the_other_way() -> None:
    optimizer = make(momentum=0.9)
    seen = rates(lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=21), 20)
    top = seen.index(max(seen))
    assert max(seen) == pytest.approx(1.0, rel=1e-2) and seen[0] == pytest.approx(1 / 25)
    assert seen[: top + 1] == sorted(seen[: top + 1]) and seen[top:] == sorted(seen[top:], reverse=True)
    assert optimizer.param_groups[0]["momentum"] == pytest.approx(0.95, rel=1e-6)


def test_plateau() -> None:
    optimizer = make()
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, min_lr=0.3)
    seen = []
    for loss in (3.0, 2.0, 2.0, mpigrad.tensor(2.0), 2.0, 2.0, 1.0):
        scheduler.step(loss)
        seen.append(optimizer.param_groups[0]["lr"])
    assert seen == [1.0, 1.0, 1.0, 0.5, 0.5, 0.3, 0.3]


def test_warns_when_called_before_the_optimizer() -> None:
    scheduler = lr_scheduler.StepLR(make(), 1)
    with pytest.warns(UserWarning, match=r"lr_scheduler.step\(\)` before `optimizer.step\(\)"):
        scheduler.step()


def test_state_goes_on_where_it_was() -> None:
    first, second = (lr_scheduler.CosineAnnealingLR(make(), 10) for _ in range(2))
    rates(first, 4)
    second.load_state_dict(first.state_dict())
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    second.optimizer.step()
    assert rates(second, 5) == rates(first, 5)


def test_a_learning_rate_that_is_a_tensor_stays_the_same_tensor() -> None:
    rate = mpigrad.tensor(1.0)
    optimizer = optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=rate)
    assert rates(lr_scheduler.ExponentialLR(optimizer, 0.5), 3) == [1.0, 0.5, 0.25]
    assert optimizer.param_groups[0]["lr"] is rate and rate.item() == 0.125
