"""Schedules made of other schedules: one after the other, or all together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from ._base import LRScheduler, set_rate


def _check_same(schedulers: Sequence[LRScheduler], optimizer: Optimizer, title: str) -> None:
    for place, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{title} at index {place} should have `optimizer` as its attribute.")
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{title} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {place} has {scheduler.optimizer}, which is different from "
                f"{optimizer}."
            )


class _Combined(LRScheduler):
    """A schedule made of others, whose states it saves."""

    _NOT_SAVED = ("optimizer", "_schedulers")
    _schedulers: Sequence[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """The states of all schedules, as a dictionary."""
        return super().state_dict() | {"_schedulers": [each.state_dict() for each in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the states that `state_dict` returned."""
        state_dict = dict(state_dict)
        for scheduler, state in zip(self._schedulers, state_dict.pop("_schedulers")):
            scheduler.load_state_dict(state)
        super().load_state_dict(state_dict)


class SequentialLR(_Combined):
    """Follow the first schedule until step `milestones[0]`, the next until `milestones[1]`, and so on.

    `schedulers` has one schedule more than there are milestones; all belong to `optimizer`. Each starts at its step 0.
    `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> from mpigrad.optim import lr_scheduler
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> warmup = lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> decay = lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[2])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if not schedulers:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        _check_same(schedulers, optimizer, "SequentialLR")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                "milestone "
                f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        for group in optimizer.param_groups:  # undo the changes that the schedules made at construction
            set_rate(group, group["initial_lr"])
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Advance the schedule that is active at this step. `epoch` has no effect."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[place]
        if place > 0 and self._milestones[place - 1] == self.last_epoch:
            scheduler._go_to(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Run all schedules at each step, in order; each one changes the learning rates that the previous one has set.

    `optimizer` is by default that of the schedules; all must belong to the same one.

    >>> import mpigrad
    >>> from mpigrad.optim import lr_scheduler
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> warmup = lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> decay = lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = lr_scheduler.ChainedScheduler([warmup, decay])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.25, 0.25, 0.125]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        _check_same(schedulers, optimizer, "ChainedScheduler")
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = self._rates()

    def step(self, epoch: int | None = None) -> None:
        """Advance all schedules by one step."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()
