"""Base class of schedules: step count, learning rates and state."""

from __future__ import annotations

import warnings
from typing import Any

from ..._tensor import Tensor
from .._settings import number
from ..optimizer import Optimizer


def set_rate(group: dict[str, Any], rate: float, key: str = "lr") -> None:
    """Set the learning rate (or the setting `key`) of a group; if it is a tensor, its value is changed in place."""
    if isinstance(group.get(key), Tensor):
        group[key]._array[...] = rate
    else:
        group[key] = rate


class LRScheduler:
    """Base class of schedules: sets the learning rates of an optimizer's groups at each `step`; subclasses define
    `get_lr`.

    `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.
    """

    _NOT_SAVED: tuple[str, ...] = ("optimizer",)

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for place, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                # in the group, so that several schedules of one optimizer start from the same rate, and checkpoints
                # contain it
                group.setdefault("initial_lr", number(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{place}] when resuming scheduler with "
                    "last_epoch >= 0. Load the optimizer's state first, or start with last_epoch=-1."
                )
        self.base_lrs = [number(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        # the constructor makes the first step, which sets the rate of epoch 0
        self._step_count = 0
        self.step()

    def get_last_lr(self) -> list[float]:
        """The learning rates of all groups that the last `step` set: a list of floats."""
        return self._last_lr

    def get_lr(self) -> list[float]:
        """Compute the learning rates of all groups for step number `last_epoch`, from the current ones; subclasses
        define it.
        """
        raise NotImplementedError

    def _rates(self) -> list[float]:
        return [number(group["lr"]) for group in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        """Advance by one step and set the learning rates. `epoch` (deprecated): go to this step."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order: "
                "`optimizer.step()` before `lr_scheduler.step()`, or the first value of the schedule is skipped.",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(
                "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible.",
                UserWarning,
                stacklevel=2,
            )
        self._go_to(epoch)

    def _go_to(self, epoch: int | None) -> None:
        if epoch is None:
            self.last_epoch += 1
            self._set(self.get_lr())
            return
        self.last_epoch = epoch
        closed = getattr(self, "_get_closed_form_lr", None)
        self._set(self.get_lr() if closed is None else closed())

    def _set(self, rates: list[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates):
            set_rate(group, rate)
        self._last_lr = self._rates()

    def state_dict(self) -> dict[str, Any]:
        """The state of the schedule as a dictionary, without the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key not in self._NOT_SAVED}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state that `state_dict` returned."""
        self.__dict__.update(state_dict)


def check_optimizer(optimizer: Any) -> None:
    """Raise PyTorch's TypeError for an argument that is not an optimizer."""
    if not isinstance(optimizer, Optimizer) and not hasattr(optimizer, "param_groups"):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
