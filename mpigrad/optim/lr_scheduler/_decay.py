"""Schedules that multiply learning rates: by functions, at milestones, at each step, or along a line or power."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..optimizer import Optimizer
from ._base import LRScheduler

Factor = Callable[[int], float]


class LambdaLR(LRScheduler):
    """Set the learning rate to the initial one times `lr_lambda(step)`; a list has one function for each parameter
    group.

    `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> optimizer = mpigrad.optim.SGD([mpigrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = mpigrad.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    _NOT_SAVED = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != groups:
                raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * groups
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """The state as a dictionary, without the optimizer; of functions that are objects their attributes, of others
        nothing.
        """
        kept = [None if hasattr(fn, "__code__") else dict(fn.__dict__) for fn in self.lr_lambdas]
        return super().state_dict() | {"lr_lambdas": kept}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state that `state_dict` returned."""
        state_dict = dict(state_dict)
        for fn, kept in zip(self.lr_lambdas, state_dict.pop("lr_lambdas")):
            if kept is not None:
                fn.__dict__.update(kept)
        super().load_state_dict(state_dict)

    def get_lr(self) -> list[float]:
        return [base * fn(self.last_epoch) for fn, base in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(LambdaLR):
    """Multiply the current learning rate by `lr_lambda(step)` at each step; a list has one function for each
    parameter group.

    `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = mpigrad.optim.lr_scheduler.MultiplicativeLR(optimizer, lr_lambda=lambda epoch: 0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     if len(rates) < 4:
    ...         scheduler.step()
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._rates()
        return [rate * fn(self.last_epoch) for fn, rate in zip(self.lr_lambdas, self._rates())]


class StepLR(LRScheduler):
    """Multiply the learning rate by `gamma` every `step_size` steps.

    `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = mpigrad.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     if len(rates) < 4:
    ...         scheduler.step()
    >>> rates
    [1.0, 1.0, 0.5, 0.5]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply the learning rate by `gamma` at each of the steps listed in `milestones`.

    `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = mpigrad.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     if len(rates) < 4:
    ...         scheduler.step()
    >>> rates
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        factor = self.gamma ** self.milestones[self.last_epoch]
        return [rate * factor for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply the learning rate by `gamma` at each step.

    `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = mpigrad.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     if len(rates) < 4:
    ...         scheduler.step()
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self._rates() if self.last_epoch == 0 else [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Multiply the learning rate by `factor` for the first `total_iters` steps; afterwards it is the initial one.

    `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = mpigrad.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     if len(rates) < 4:
    ...         scheduler.step()
    >>> rates
    [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates()]
        if self.last_epoch == self.total_iters:
            return [rate * (1.0 / self.factor) for rate in self._rates()]
        return self._rates()

    def _get_closed_form_lr(self) -> list[float]:
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Multiply the initial learning rate by a factor that goes linearly from `start_factor` to `end_factor` in
    `total_iters` steps.

    `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = mpigrad.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     if len(rates) < 4:
    ...         scheduler.step()
    >>> rates
    [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, step: int) -> float:
        return (
            self.start_factor + (self.end_factor - self.start_factor) * min(self.total_iters, step) / self.total_iters
        )

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        if self.last_epoch > self.total_iters:
            return self._rates()
        change = self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)
        return [rate * change for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self._factor(self.last_epoch) for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Reduce the learning rate to zero in `total_iters` steps: the initial one times (1 - step / total_iters) **
    power.

    `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = mpigrad.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     if len(rates) < 4:
    ...         scheduler.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0 or self.last_epoch > self.total_iters:
            return self._rates()
        left = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return [rate * (left / before) ** self.power for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]
