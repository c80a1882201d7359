"""`DistributedScheduler`: a learning-rate schedule on a distributed optimizer; not in PyTorch."""

from __future__ import annotations

from typing import Any

from ..rpc import RRef
from .optimizer import DistributedOptimizer, by_worker, load_states, on_owners


class DistributedScheduler:
    """A learning-rate schedule for a `DistributedOptimizer`: an instance of `scheduler_class` for each worker's optimizer.

    Call `step` after each epoch, on the worker that created it; an addition to PyTorch.

    Args:
        scheduler_class: a learning-rate schedule of `mpigrad.optim.lr_scheduler` or, for torch's optimizers, of torch.
        optimizer: the `DistributedOptimizer`.
        args, kwargs: further arguments of `scheduler_class`, such as `step_size=10`.

    >>> import mpigrad
    >>> import mpigrad.distributed.autograd as dist_autograd
    >>> import mpigrad.distributed.rpc as rpc
    >>> from mpigrad.distributed.optim import DistributedOptimizer, DistributedScheduler
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> weight = mpigrad.ones(2, requires_grad=True)
    >>> optimizer = DistributedOptimizer(mpigrad.optim.SGD, [rpc.RRef(weight)], lr=0.1)
    >>> scheduler = DistributedScheduler(mpigrad.optim.lr_scheduler.StepLR, optimizer, step_size=1)
    >>> with dist_autograd.context() as context_id:
    ...     dist_autograd.backward(context_id, [rpc.rpc_sync("solo", mpigrad.mul, args=(weight, 3)).sum()])
    ...     optimizer.step(context_id)
    >>> scheduler.step()
    >>> [round(rate, 4) for rate in scheduler.get_last_lr()["solo"]]
    [0.01]
    >>> rpc.shutdown()
    """

    def __init__(self, scheduler_class: Any, optimizer: DistributedOptimizer, *args: Any, **kwargs: Any) -> None:
        if not isinstance(optimizer, DistributedOptimizer):
            raise TypeError(f"{type(optimizer).__name__} is not a DistributedOptimizer")
        self.optimizer = optimizer
        self.remote_schedulers: list[RRef] = on_owners(optimizer.remote_optimizers, _make, scheduler_class, args, kwargs)

    def step(self, *args: Any) -> None:
        """Set the next learning rate on all workers, and wait until it is set.

        The arguments are those of `step` of `scheduler_class`, such as the metric for `ReduceLROnPlateau`.
        """
        on_owners(self.remote_schedulers, _call, "step", *args)

    def get_last_lr(self) -> dict[str, list[float]]:
        """Return the current learning rates: a dict from worker name to a list with one number for each parameter group."""
        return by_worker(self.remote_schedulers, on_owners(self.remote_schedulers, _call, "get_last_lr"))

    def state_dict(self) -> dict[str, Any]:
        """Return the states of the schedules: a dict from worker name to `state_dict()`."""
        return by_worker(self.remote_schedulers, on_owners(self.remote_schedulers, _call, "state_dict"))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned, on all workers; ValueError if the names of the workers are not the same."""
        load_states("schedule", self.remote_schedulers, state_dict, _call, "load_state_dict")


def _make(local: RRef, scheduler_class: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RRef:
    """Create a schedule for the optimizer of this worker, and return an RRef to it. Runs on the owner of the parameters."""
    return RRef(scheduler_class(local.local_value().optim, *args, **kwargs))


def _call(scheduler: RRef, method: str, *args: Any) -> Any:
    return getattr(scheduler.local_value(), method)(*args)
