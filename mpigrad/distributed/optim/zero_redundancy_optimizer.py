"""`ZeroRedundancyOptimizer`: each rank keeps the optimizer's state of a part of the parameters, and updates that part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpigrad._tensor import Tensor
from mpigrad.optim.optimizer import Optimizer

from .._process_group.groups import ProcessGroup, resolve
from .._process_group.objects import gather_object
from .._process_group.states import copy_from
from ..algorithms.join import Join, Joinable, JoinHook, _JoinConfig

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer whose state is divided among the ranks of a group (stage 1 of ZeRO, Rajbhandari et al., 2020).

    All ranks need the same gradients, as `DistributedDataParallel` gives them. A step updates this rank's share of
    parameters, then every rank gets the shares of all others. All ranks create it and call `step`. For a checkpoint,
    `consolidate_state_dict` collects the state on one rank, where `state_dict` then returns it.

    Args:
        params: all parameters, the same on all ranks, as for `optimizer_class`.
        optimizer_class: the optimizer that each rank runs on its share; `defaults` are its arguments, such as `lr=0.1`.
        process_group: the group, by default all ranks.
        parameters_as_bucket_view: accepted as in PyTorch and ignored.
        overlap_with_ddp: must be False.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> from mpigrad import nn, optim
    >>> from mpigrad.distributed.optim import ZeroRedundancyOptimizer
    >>> dist.init_process_group("mpi")
    >>> model = nn.Linear(2, 1)
    >>> optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=optim.Adam, lr=0.1)
    >>> model(mpigrad.ones(1, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.consolidate_state_dict()
    >>> sorted(optimizer.state_dict()["state"])
    [0, 1]
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise RuntimeError("ZeroRedundancyOptimizer: overlap_with_ddp=True is not supported; leave it out")
        found = resolve(process_group)
        if found is None:
            raise ValueError("ZeroRedundancyOptimizer: this rank is not a member of process_group")
        self._join_config = _JoinConfig.construct_disabled_join_config()
        self.process_group: ProcessGroup = found
        self.optim = optimizer_class(params, **defaults)  # type: ignore[call-arg]
        self.defaults, self.param_groups, self.state = self.optim.defaults, self.optim.param_groups, self.optim.state
        self._start()
        self._consolidated: dict[int, Any] | None = None
        self._divide()

    def _divide(self) -> None:
        """Assign each parameter, the largest first, to the rank that has the fewest elements so far.

        All ranks compute the same assignment, without a message.
        """
        self._shares: list[list[Tensor]] = [[] for _ in self.process_group.ranks]
        sizes = [0] * len(self._shares)
        every = [each for group in self.param_groups for each in group["params"]]
        for each in sorted(every, key=lambda one: -one.numel()):
            rank = sizes.index(min(sizes))
            self._shares[rank].append(each)
            sizes[rank] += each.numel()
        self._own = {id(each) for each in self._shares[self.process_group.rank()]}  # `in` would compare elements of tensors

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, a dict as for any optimizer.

        All ranks call it, before the first step: parameters are divided among the ranks anew, and states do not move with
        them.
        """
        self.optim.add_param_group(param_group)
        self._divide()

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this rank's share of the parameters, and get the shares of all other ranks. All ranks call it.

        `closure` and `kwargs` are passed to `step` of the optimizer, whose result is returned.
        """
        Join.notify_join_context(self)
        return self._step(closure, **kwargs)

    def _step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        self._consolidated = None
        # The optimizer sees groups with this rank's share alone, so it makes state for nothing else; they are not `param_groups`,
        # which a closure needs whole, for `zero_grad`.
        whole = self.param_groups
        shares = [{**group, "params": [each for each in group["params"] if id(each) in self._own]} for group in whole]
        self.optim.param_groups = shares
        try:
            made = self.optim.step(closure, **kwargs) if closure is not None else self.optim.step(**kwargs)  # type: ignore[call-arg]
        finally:
            self.optim.param_groups = whole
        for group, share in zip(whole, shares):  # settings that the step has changed
            group.update((name, value) for name, value in share.items() if name != "params")
        for rank, parameters in enumerate(self._shares):
            if parameters:
                copy_from(rank, parameters, self.process_group)
        return made

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook for `mpigrad.distributed.algorithms.Join`: when this rank has no more input, it takes part in the
        steps of others.
        """
        return _StepOfOthers(self)

    @property
    def join_device(self) -> Any:
        """The device of the first parameter, on which `Join` puts the tensors of its collectives."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The process group over whose ranks the optimizer's state is divided."""
        return self.process_group

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the states of all ranks on the rank `to` of the group, where `state_dict` then returns them.

        All ranks call it.
        """
        mine = self.process_group.rank() == to
        parts: list[Any] | None = [None] * self.process_group.size() if mine else None
        gather_object(self.optim.state_dict()["state"], parts, group=self.process_group, group_dst=to)
        if parts is not None:
            self._consolidated = {index: state for part in parts for index, state in part.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state, in the form of an optimizer that is not divided.

        Call `consolidate_state_dict(to=r)` first, then this on rank `r`; RuntimeError otherwise.
        """
        if self._consolidated is None:
            raise RuntimeError(
                f"Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{self.process_group.rank()})` on all ranks beforehand if you meant to save the "
                "global state."
            )
        return {**self.optim.state_dict(), "state": dict(sorted(self._consolidated.items()))}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a whole state, as `state_dict` returned it. All ranks call it with the same state; each keeps what it needs."""
        every = [each for group in self.param_groups for each in group["params"]]
        kept = {index: state for index, state in state_dict["state"].items() if id(every[index]) in self._own}
        self.optim.load_state_dict({**state_dict, "state": kept})
        self.param_groups, self.state = self.optim.param_groups, self.optim.state


class _StepOfOthers(JoinHook):
    """Takes part in a step of the ranks that still have input, on a rank that has none."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        self._optimizer._step()
