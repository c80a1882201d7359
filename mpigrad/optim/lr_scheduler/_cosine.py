"""Schedules along a cosine, once or with restarts."""

from __future__ import annotations

import math

from ..optimizer import Optimizer
from ._base import LRScheduler


class CosineAnnealingLR(LRScheduler):
    """Follow half a cosine from the initial learning rate down to `eta_min` in `T_max` steps, then back up in as
    many.

    `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = mpigrad.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     if len(rates) < 4:
    ...         scheduler.step()
    >>> rates
    [1.0, 0.854, 0.5, 0.146]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, step: int) -> float:
        return 1 + math.cos(math.pi * step / self.T_max)

    def get_lr(self) -> list[float]:
        step, low = self.last_epoch, self.eta_min
        if step == 0:
            return self._rates()
        if self._step_count == 1 and step > 0:
            return self._get_closed_form_lr()
        if (step - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the minimum the recursive formula does not work
            return [
                rate + (base - low) * (1 - math.cos(math.pi / self.T_max)) / 2
                for base, rate in zip(self.base_lrs, self._rates())
            ]
        change = self._height(step) / self._height(step - 1)
        return [change * (rate - low) + low for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [self.eta_min + (base - self.eta_min) * self._height(self.last_epoch) / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Follow half a cosine down to `eta_min` in `T_0` steps, then restart; each period is `T_mult` times as long as
    the one before.

    `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = mpigrad.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     if len(rates) < 4:
    ...         scheduler.step()
    >>> rates
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Advance by one step, or to `epoch`, which may be a fraction such as epoch + batch / batches."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._place(epoch)
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())

    def _place(self, epoch: float) -> None:
        """Set the fields for the period in which an epoch lies: its length `T_i`, and the steps `T_cur` since its start."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            runs = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**runs - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**runs
