"""Cyclic schedules, with the momentum cycled inversely."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from ._base import LRScheduler, check_optimizer, set_rate


def _per_group(optimizer: Optimizer, name: str, value: Any) -> list[float]:
    groups = len(optimizer.param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != groups:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups: expected {groups}, got {len(value)}"
            )
        return list(value)
    return [value] * groups


def _check_momentum(optimizer: Optimizer) -> bool:
    """Whether the first beta is the momentum; an error for optimizers without momentum."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def _start_momentum(optimizer: Optimizer, lows: list[float], highs: list[float], in_betas: bool) -> None:
    """Start with the maximal momentum (`highs`) of each group, and store the bounds of its cycle.

    `in_betas`: the momentum is the first of the optimizer's betas.
    """
    for group, low, high in zip(optimizer.param_groups, lows, highs):
        _set_momentum(group, high, in_betas)
        group["max_momentum"], group["base_momentum"] = high, low


def _set_momentum(group: dict[str, Any], value: float, in_betas: bool) -> None:
    if in_betas:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _line(start: float, end: float, share: float) -> float:
    return (end - start) * share + start


class OneCycleLR(LRScheduler):
    """One cycle of `total_steps`: up from max_lr / div_factor to `max_lr`, then down to the initial rate /
    final_div_factor.

    - `total_steps`, or `epochs` and `steps_per_epoch`: the length. `pct_start`: the fraction of it in which the rate
      grows.
    - `anneal_strategy`: "cos" or "linear". `three_phase`: return to the initial rate first, then descend.
    - `cycle_momentum`: change the momentum inversely, between `base_momentum` and `max_momentum`.

    Call `step()` after every batch; a step after the last raises a ValueError. `last_epoch`: the number
    of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = mpigrad.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=4)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     if len(rates) < 4:
    ...         scheduler.step()
    >>> rates
    [0.04, 0.812, 0.283, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, _per_group(optimizer, "max_lr", max_lr)):
                group["initial_lr"], group["max_lr"] = most / div_factor, most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _check_momentum(optimizer)
            if last_epoch == -1:
                highs = _per_group(optimizer, "max_momentum", max_momentum)
                _start_momentum(optimizer, _per_group(optimizer, "base_momentum", base_momentum), highs, self.use_beta1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        anneal = _cosine if self._anneal_func_type == "cos" else _line
        start = 0.0
        for place, phase in enumerate(self._schedule_phases):
            if step <= phase["end_step"] or place == len(self._schedule_phases) - 1:
                share = (step - start) / (phase["end_step"] - start)
                break
            start = phase["end_step"]
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                value = anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], share)
                _set_momentum(group, value, self.use_beta1)
        return rates


def _total(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return epochs * steps_per_epoch


def _phase(end: float, lrs: tuple[str, str], momenta: tuple[str, str]) -> dict[str, Any]:
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return dict(zip(names, (end, *lrs, *momenta)))


def _phases(total: int, pct_start: float, three: bool) -> list[dict[str, Any]]:
    down, up = ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")
    first = _phase(float(pct_start * total) - 1, ("initial_lr", "max_lr"), down)
    if not three:
        return [first, _phase(total - 1, ("max_lr", "min_lr"), up)]
    return [
        first,
        _phase(float(2 * pct_start * total) - 2, ("max_lr", "initial_lr"), up),
        _phase(total - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum")),
    ]


class CyclicLR(LRScheduler):
    """Change the learning rate in cycles: from `base_lr` up to `max_lr` in `step_size_up` steps, and down in
    `step_size_down`.

    - `mode`: "triangular", "triangular2" (half the height in each new cycle) or "exp_range" (the height times `gamma`
      ** step).
    - `scale_fn`: a function that gives the factor of the height instead; its argument is the cycle (from 1), or with
      `scale_mode="iterations"` the step.
    - `cycle_momentum`: change the momentum inversely, between `base_momentum` and `max_momentum`.
    - `last_epoch`: the number of steps already done, to resume a run; -1 for a new one.

    >>> import mpigrad
    >>> optimizer = mpigrad.optim.SGD([mpigrad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = mpigrad.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.1, max_lr=0.5, step_size_up=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.param_groups[0]["lr"], 3))
    ...     optimizer.step()
    ...     if len(rates) < 4:
    ...         scheduler.step()
    >>> rates
    [0.1, 0.3, 0.5, 0.3]
    """

    _NOT_SAVED = ("optimizer", "_scale_fn_custom")

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        lows = _per_group(optimizer, "base_lr", base_lr)
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, lows):
                set_rate(group, low)
        self.max_lrs = _per_group(optimizer, "max_lr", max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size, self.step_ratio = up + down, up / (up + down)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _check_momentum(optimizer)
            self.base_momentums = _per_group(optimizer, "base_momentum", base_momentum)
            self.max_momentums = _per_group(optimizer, "max_momentum", max_momentum)
            if last_epoch == -1:
                _start_momentum(optimizer, self.base_momentums, self.max_momentums, self.use_beta1)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x: float) -> float:
        """The factor of the height of a cycle; `x` is the number of the cycle or of the step, as `scale_mode` says."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / (2.0 ** (x - 1))
        return 1.0 if self.mode == "triangular" else self.gamma**x

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        share *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(group, high - (high - low) * share, self.use_beta1)
        return [low + (high - low) * share for low, high in zip(self.base_lrs, self.max_lrs)]
