"""`Join`: ranks that run out of input take part in the collectives of those that have more.

In each iteration, the ranks that have input announce it with a collective. A rank that has left its loop answers the
announcements, and runs the hooks of the joined objects, which take part in the collectives of the others, until no rank has
input.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from mpigrad._ops.create.create import ones, zeros

from .._process_group.all_reduce import all_reduce
from .._process_group.groups import get_rank
from .._process_group.work import Work

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a rank without input does for one object of a `Join`. Override one or both methods, which do nothing here."""

    def main_hook(self) -> None:
        """Called once for each iteration of the ranks that still have input: take part in the collectives of that iteration."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once, when no rank has input any more; `is_last_joiner` tells whether this rank was one of the last that had
        some.
        """


class _JoinConfig(NamedTuple):
    """The options of the `Join` in which an object is, under PyTorch's names."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        """Return the options of an object that is in no `Join`."""
        return _JoinConfig()


class Joinable(ABC):
    """Base class of objects that run collectives in each iteration and can be used in a `Join`.

    A subclass must call `super().__init__()` in its constructor, define the method `join_hook` and the properties `join_device`
    and `join_process_group`, and call `Join.notify_join_context(self)` in each iteration before its collectives.
    """

    _join_config: _JoinConfig

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig.construct_disabled_join_config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what a rank without input does for this object; `kwargs` are those of `Join`, the same for all objects."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the tensor with which `Join` counts, by a collective, the ranks that still have input."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The process group whose ranks `Join` counts; it must be the same for all objects of a `Join`."""


class Join:
    """A context manager for training loops with different numbers of iterations on the ranks of a group.

    A rank that has left its loop waits at the end of the block and takes part in the collectives of the others.

    Args:
        joinables: objects with collectives, such as a `DistributedDataParallel` and a `ZeroRedundancyOptimizer`, in the order of
            their collectives. All belong to one process group.
        enable: False switches the context manager off, for loops of equal length: the announcements cost a collective each.
        throw_on_early_termination: raise an error on all ranks as soon as one of them has no more input.
        kwargs: passed to `join_hook` of each object.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> from mpigrad import nn, optim
    >>> from mpigrad.distributed.algorithms.join import Join
    >>> from mpigrad.distributed.optim import ZeroRedundancyOptimizer
    >>> dist.init_process_group("mpi")
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    >>> optimizer = ZeroRedundancyOptimizer(model.parameters(), optim.SGD, lr=0.1)
    >>> with Join([model, optimizer]):
    ...     for batch in [mpigrad.ones(1, 1)] * (1 + dist.get_rank()):    # each rank has one batch more than the rank before it
    ...         model(batch).sum().backward()
    ...         optimizer.step()
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, joinables: Sequence[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = [each.join_process_group for each in joinables]
        if any(each is not groups[0] for each in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self._joinables, self._enable, self._throws = list(joinables), enable, throw_on_early_termination
        self._hooks = [each.join_hook(**kwargs) for each in joinables]
        self._group, self._device = groups[0], joinables[0].join_device
        for each in joinables:
            each._join_config = _JoinConfig(enable, throw_on_early_termination, each is joinables[0])

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        try:
            if self._enable and kind is None:
                self._take_part()
        finally:
            for each in self._joinables:
                each._join_config = _JoinConfig.construct_disabled_join_config()

    def _take_part(self) -> None:
        """Run the hooks until no rank has input any more."""
        last = True
        while _sum(0, self._device, self._group):
            if self._throws:
                # The active ranks wait for this second sum in `notify_join_context`; a positive one makes them raise as well.
                _sum(1, self._device, self._group)
                raise RuntimeError(f"Rank {get_rank(self._group)} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
            last = False
        for hook in self._hooks:
            hook.post_hook(last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Announce that this rank has input; an object of a `Join` calls it in each iteration, before its collectives.

        Returns a `Work` for the first object of a `Join`, None for the others and outside of a `Join`. RuntimeError if another
        rank has no input and `throw_on_early_termination` is set.
        """
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor")
        config, device, group = joinable._join_config, joinable.join_device, joinable.join_process_group
        if not config.is_first_joinable or not config.enable:
            return None
        work = all_reduce(ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination and _sum(0, device, group):
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work


def _sum(own: int, device: Any, group: Any) -> float:
    """Return the sum of the numbers `own` of all ranks."""
    total = zeros(1, device=device) + own
    all_reduce(total, group=group)
    return total.item()
