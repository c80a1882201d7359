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
        self._all(_make, scheduler_class, args, kwargs)

    def step(self) -> None:
        """Go on to the next learning rate, on all workers."""
        self._all(_step)

    def get_last_lr(self) -> dict[str, list[float]]:
        """The learning rates by worker."""
        rates = self._all(_last_lr)
        return {each.owner_name(): rate for each, rate in zip(self.optimizer.remote_optimizers, rates)}

    def state_dict(self) -> dict[str, Any]:
        """The schedulers' states by worker."""
        states = self._all(_state)
        return {each.owner_name(): state for each, state in zip(self.optimizer.remote_optimizers, states)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Put states back that `state_dict` gave."""
        gather_errors(
            [
                rpc.rpc_async(each.owner(), _load, args=(each, state_dict[each.owner_name()]))
                for each in self.optimizer.remote_optimizers
            ]
        )

    def _all(self, function: Any, *args: Any) -> list[Any]:
        return gather_errors(
            [rpc.rpc_async(each.owner(), function, args=(each, *args)) for each in self.optimizer.remote_optimizers]
        )


def _make(local: RRef, scheduler_class: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    share = local.local_value()
    share.scheduler = scheduler_class(share.optim, *args, **kwargs)


def _step(local: RRef) -> None:
    local.local_value().scheduler.step()


def _last_lr(local: RRef) -> list[float]:
    return local.local_value().scheduler.get_last_lr()


def _state(local: RRef) -> Any:
    return local.local_value().scheduler.state_dict()


def _load(local: RRef, state: Any) -> None:
    local.local_value().scheduler.load_state_dict(state)
