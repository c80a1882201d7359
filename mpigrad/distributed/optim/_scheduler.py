"""`DistributedScheduler`: a learning-rate schedule on a distributed optimizer; an addition to PyTorch."""

from __future__ import annotations

from typing import Any

from .. import rpc
from ..rpc import RRef
from ._optimizer import DistributedOptimizer, gather_errors


class DistributedScheduler:
    """Runs `scheduler_class` on every worker's share of a `DistributedOptimizer`.

    >>> scheduler = DistributedScheduler(StepLR, optimizer, step_size=10)  # doctest: +SKIP
    >>> scheduler.step()  # doctest: +SKIP
    """

    def __init__(self, scheduler_class: Any, optimizer: DistributedOptimizer, *args: Any, **kwargs: Any) -> None:
        if not isinstance(optimizer, DistributedOptimizer):
            raise TypeError(f"{type(optimizer).__name__} is not a DistributedOptimizer")
        self.optimizer = optimizer
        self.remote_schedulers: list[RRef] = gather_errors(
            [
                rpc.rpc_async(share.owner(), _make, args=(share, scheduler_class, args, kwargs))
                for share in optimizer.remote_optimizers
            ]
        )

    def step(self, *args: Any) -> None:
        """Go on to the next learning rate, on all workers; `ReduceLROnPlateau` is told the metric."""
        self._all("step", *args)

    def get_last_lr(self) -> dict[str, list[float]]:
        """The learning rates by worker."""
        return self._by_worker(self._all("get_last_lr"))

    def state_dict(self) -> dict[str, Any]:
        """The schedulers' states by worker."""
        return self._by_worker(self._all("state_dict"))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Put states back that `state_dict` gave, on the workers of the same names."""
        names = [each.owner_name() for each in self.remote_schedulers]
        if set(names) != set(state_dict):
            raise ValueError(f"load_state_dict: this schedule is on workers {sorted(names)}, the state on {sorted(state_dict)}")
        gather_errors(
            [
                rpc.rpc_async(each.owner(), _call, args=(each, "load_state_dict", state_dict[each.owner_name()]))
                for each in self.remote_schedulers
            ]
        )

    def _all(self, method: str, *args: Any) -> list[Any]:
        return gather_errors(
            [rpc.rpc_async(each.owner(), _call, args=(each, method, *args)) for each in self.remote_schedulers]
        )

    def _by_worker(self, found: list[Any]) -> dict[str, Any]:
        return {each.owner_name(): value for each, value in zip(self.remote_schedulers, found)}


def _make(local: RRef, scheduler_class: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RRef:
    """Runs on the owner: a schedule of its share. Several schedules may work on one optimizer."""
    return RRef(scheduler_class(local.local_value().optim, *args, **kwargs))


def _call(scheduler: RRef, method: str, *args: Any) -> Any:
    return getattr(scheduler.local_value(), method)(*args)
