"""`WorkerGroup`: workers that are called together; they have an order, or places in a mesh with named dimensions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from types import MethodType
from typing import Any

import numpy as np

from mpigrad._core.future import Future
from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.calls import check_call
from mpigrad._core.rpc.rref import RRef

from .._agent.current import get_agent
from .._protocol.tree import MOST, choose_fan_out, compact, levels
from .._protocol.worker_info import Args, Kwargs, To, WorkerInfo
from ..api import _thread_local_var
from ..constants import UNSET_RPC_TIMEOUT
from .errors import group_error
from .relay import Collection, Task, call_all, unpacked

Reduce = Callable[[Any, Any], Any]
_MARGIN = 0.05  # of the timeout, for each level of the tree
_LONGEST_MARGIN = 1.0  # seconds


class WorkerGroup:
    """Workers that are called together, through a tree: the time of a call grows with the logarithm of the number of workers.

    Each worker on the way passes the call on to a few others and collects their results, so the caller sends and receives a
    few messages, and large arguments travel once along each edge of the tree. The caller may be a member or not. Inside
    `dist_autograd.context()` the call is recorded: `backward` returns the sum of all members' gradients to the caller's
    arguments. An addition to PyTorch.

    Args:
        workers: names, ranks or `WorkerInfo` objects, in the order of the results; by default all workers, in the order of
            ranks.
        shape: names and lengths of the dimensions of a mesh, such as `{"data": 8, "pipe": 4}`; the last one varies fastest.
        fan_out: how many workers each one calls; by default chosen from the latency and overhead of calls measured so far. If the
            ranks of this host share cores, it is 32, since a deeper tree would only make more work for them.

    `members` is the tuple of the members' `WorkerInfo`, `shape` the dict of the mesh or None. ValueError if a worker is given
    twice or the shape has another number of workers; RuntimeError if a worker is unknown.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> group = rpc.WorkerGroup(shape={"data": 1, "pipe": 1})
    >>> group.rpc_sync(max, args=(2, 3))
    [3]
    >>> group.slice(data=0)
    WorkerGroup(1 worker, shape={'pipe': 1})
    >>> rpc.shutdown()
    """

    def __init__(
        self, workers: Iterable[To] | None = None, shape: Mapping[str, int] | None = None, *, fan_out: int | None = None
    ) -> None:
        agent = get_agent()
        members = agent.get_worker_infos() if workers is None else [agent.find(each) for each in workers]
        self._set(members, dict(shape) if shape is not None else None, fan_out)

    def _set(self, members: Sequence[WorkerInfo], shape: dict[str, int] | None, fan_out: int | None) -> None:
        if not members:
            raise ValueError("a WorkerGroup needs at least one worker")
        ranks = [each.id for each in members]
        if len(set(ranks)) < len(ranks):
            twice = next(each for each in members if ranks.count(each.id) > 1)
            raise ValueError(f"each worker may be in a group only once, {twice} is given more often")
        if shape is not None and (prod(shape.values()) != len(members) or min(shape.values(), default=1) < 1):
            raise ValueError(f"a mesh of shape {shape} has {prod(shape.values())} workers, got {len(members)}")
        if fan_out is not None and fan_out < 1:
            raise ValueError(f"fan_out must be at least 1, got {fan_out}")
        self.members: tuple[WorkerInfo, ...] = tuple(members)
        self.shape: dict[str, int] | None = shape
        self._ranks, self._fan_out = compact(ranks), fan_out

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[WorkerInfo]:
        return iter(self.members)

    def __contains__(self, worker: object) -> bool:
        return any(worker in (each, each.name, each.id) for each in self.members)

    def __repr__(self) -> str:
        shape = "" if self.shape is None else f", shape={self.shape}"
        return f"WorkerGroup({len(self)} worker{'s' * (len(self) != 1)}{shape})"

    # -- meshes --------------------------------------------------------------------------------------------------------
    def slice(self, **indices: Any) -> WorkerGroup:
        """Return the group of the members with the given indices along dimensions of the mesh, as indexing an array does.

        An int selects one index and drops the dimension; a `slice` selects a range and keeps it. Dimensions that are not
        named are kept. ValueError for an unknown dimension.

        >>> import mpigrad.distributed.rpc as rpc
        >>> rpc.init_rpc("solo", rank=0, world_size=1)
        >>> rpc.WorkerGroup(shape={"data": 1, "pipe": 1}).slice(pipe=0, data=slice(0, 1)).shape
        {'data': 1}
        >>> rpc.shutdown()
        """
        shape = self._mesh(indices)
        grid = np.arange(len(self)).reshape(tuple(shape.values()))[tuple(indices.get(name, slice(None)) for name in shape)]
        left = [name for name in shape if not hasattr(indices.get(name, slice(None)), "__index__")]
        return self._part(grid.ravel(), dict(zip(left, grid.shape)))

    def slices(self, dim: str) -> list[WorkerGroup]:
        """Return one group for each index of the dimension `dim`: `[group.slice(dim=0), group.slice(dim=1), ...]`.

        >>> import mpigrad.distributed.rpc as rpc
        >>> rpc.init_rpc("solo", rank=0, world_size=1)
        >>> rpc.WorkerGroup(shape={"data": 1, "pipe": 1}).slices("pipe")
        [WorkerGroup(1 worker, shape={'data': 1})]
        >>> rpc.shutdown()
        """
        return [self.slice(**{dim: i}) for i in range(self._mesh([dim])[dim])]

    def coordinates(self, worker: To | None = None) -> dict[str, int]:
        """Return the index of a member along each dimension of the mesh, as a dict; ValueError if it is no member.

        `worker` is a name, rank or `WorkerInfo`; by default this worker.

        >>> import mpigrad.distributed.rpc as rpc
        >>> rpc.init_rpc("solo", rank=0, world_size=1)
        >>> rpc.WorkerGroup(shape={"data": 1, "pipe": 1}).coordinates()
        {'data': 0, 'pipe': 0}
        >>> rpc.shutdown()
        """
        shape, agent = self._mesh(()), get_agent()
        info = agent.info if worker is None else agent.find(worker)
        if info.id not in self._ranks:
            raise ValueError(f"{info} is not a member of {self}")
        found = np.unravel_index(self._ranks.index(info.id), tuple(shape.values()))
        return {name: int(i) for name, i in zip(shape, found)}

    def _mesh(self, names: Iterable[str]) -> dict[str, int]:
        if self.shape is None:
            raise ValueError(f"{self} has no shape: construct it with one, such as shape={{'data': {len(self)}}}")
        for name in names:
            if name not in self.shape:
                raise ValueError(f"unknown dimension {name!r}: the mesh has {list(self.shape)}")
        return self.shape

    def _part(self, places: Any, shape: dict[str, int]) -> WorkerGroup:
        made = WorkerGroup.__new__(WorkerGroup)
        made._set([self.members[place] for place in places], shape, self._fan_out)
        return made

    # -- calls ---------------------------------------------------------------------------------------------------------
    def rpc_sync(
        self,
        func: Callable[..., Any],
        args: Args = None,
        kwargs: Kwargs = None,
        timeout: float = UNSET_RPC_TIMEOUT,
        *,
        reduce: Reduce | None = None,
    ) -> Any:
        """Run `func(*args, **kwargs)` on all members and return the list of results, in the order of the members.

        Args:
            func: a function that all members can import.
            args, kwargs: its arguments, a tuple and a dict; every member gets copies.
            timeout: of the whole call, in seconds, 0 for none; by default `rpc_timeout` of the options of `init_rpc`.
            reduce: a function that all members can import. The results are then combined on their way to the caller by
                `reduce(earlier, later)`, and one value is returned instead of the list. It must be associative: the order
                of members is kept, but pairs are combined in any order.

        If members fail, a `GroupError` that names them is raised after all others have answered.

        >>> import operator
        >>> import mpigrad.distributed.rpc as rpc
        >>> rpc.init_rpc("solo", rank=0, world_size=1)
        >>> rpc.WorkerGroup().rpc_sync(max, args=(2, 3), reduce=operator.add)
        3
        >>> rpc.shutdown()
        """
        agent = get_agent()
        task, seconds = self._task(agent, func, args, kwargs, timeout, reduce, False)
        if task.fan_out >= len(self):
            return _value(self.members, call_all(agent, self._ranks, task, seconds))
        return self._start(agent, task, seconds).wait()

    def rpc_async(
        self,
        func: Callable[..., Any],
        args: Args = None,
        kwargs: Kwargs = None,
        timeout: float = UNSET_RPC_TIMEOUT,
        *,
        reduce: Reduce | None = None,
    ) -> Future:
        """Start the call of `rpc_sync` and return a `Future` of the list of results, or of the reduced value, at once.

        The arguments are those of `rpc_sync`.

        >>> import mpigrad.distributed.rpc as rpc
        >>> rpc.init_rpc("solo", rank=0, world_size=1)
        >>> rpc.WorkerGroup().rpc_async(max, args=(2, 3)).wait()
        [3]
        >>> rpc.shutdown()
        """
        agent = get_agent()
        return _collected([self._start(agent, *self._task(agent, func, args, kwargs, timeout, reduce, False))])[0]

    def rpc_async_each(
        self, func: Callable[..., Any], args: Args = None, kwargs: Kwargs = None, timeout: float = UNSET_RPC_TIMEOUT
    ) -> list[Future]:
        """Start `func(*args, **kwargs)` on all members and return one `Future` for each, which fails if this member does.

        The arguments are those of `rpc_sync`. Answers come through the tree, several in one message, so futures of several
        members may be completed at the same moment.

        >>> import mpigrad.distributed.rpc as rpc
        >>> rpc.init_rpc("solo", rank=0, world_size=1)
        >>> [fut.wait() for fut in rpc.WorkerGroup().rpc_async_each(max, args=(2, 3))]
        [3]
        >>> rpc.shutdown()
        """
        agent = get_agent()
        futures = [agent.new_value() for _ in self.members]
        task, seconds = self._task(agent, func, args, kwargs, timeout, None, False)
        collection = Collection(agent, self._ranks, task, lambda _: None)
        collection.on_value = lambda place, value: futures[place].set_result(value)
        collection.on_error = lambda place, error: _fail(agent, futures[place], error)
        collection.start(seconds)
        return _collected(futures)

    def remote(
        self, func: Callable[..., Any], args: Args = None, kwargs: Kwargs = None, timeout: float = UNSET_RPC_TIMEOUT
    ) -> list[RRef]:
        """Start `func(*args, **kwargs)` on all members and return an `RRef` to each result, which stays on its member.

        The other arguments are those of `rpc_sync`. It returns when the RRefs exist, not when the functions have run. An
        exception of a function is raised when its RRef is used; a member that cannot be reached raises a `GroupError` here.

        >>> import mpigrad.distributed.rpc as rpc
        >>> rpc.init_rpc("solo", rank=0, world_size=1)
        >>> [rref.to_here() for rref in rpc.WorkerGroup().remote(max, args=(2, 3))]
        [3]
        >>> rpc.shutdown()
        """
        agent = get_agent()
        return self._start(agent, *self._task(agent, func, args, kwargs, timeout, None, True)).wait()

    def _start(self, agent: Agent, task: Task, seconds: float) -> Future:
        fut = agent.new_value()
        Collection(agent, self._ranks, task, functools.partial(_finish, fut, self.members)).start(seconds)
        return fut

    def _task(
        self, agent: Agent, func: Any, args: Any, kwargs: Any, timeout: float, reduce: Reduce | None, references: bool
    ) -> tuple[Task, float]:
        """Check the arguments of a call; returns what travels to the members, and the timeout in seconds."""
        if not callable(func):
            raise TypeError("function should be callable.")
        if reduce is not None and not callable(reduce):
            raise TypeError(f"reduce should be a function of two results, got {reduce!r}")
        if type(func) is MethodType:
            check_call(func, args, kwargs)
        seconds = agent.rpc_timeout if timeout < 0 else timeout
        fan_out = self._fan_out or _measured_fan_out(agent, len(self), (*(args or ()), *(kwargs or {}).values()))
        # calls time out earlier with each level of the tree, so that a head can still say which members did not answer
        margin = min(_LONGEST_MARGIN, _MARGIN * seconds, seconds / (2 * levels(len(self), fan_out)))
        return Task(func, args, kwargs, reduce, references, fan_out, margin), seconds


def _collected(futures: list[Future]) -> list[Future]:
    """Return the futures; inside `_wait_all`, also add them to those that it waits for."""
    collected = getattr(_thread_local_var, "future_list", None)
    if collected is not None:
        collected += futures
    return futures


def _measured_fan_out(agent: Agent, count: int, args: Sequence[Any]) -> int:
    if agent.transport.oversubscribed:  # workers of this host wait for each other's cores: a tree only makes more work
        return MOST
    nbytes = sum(int(getattr(each, "nbytes", 0) or 0) for each in args)
    return choose_fan_out(count, agent.slots.get("group_overhead", 0.0), agent.calls.latency.alone / 2, nbytes)


def _fail(agent: Agent, fut: Future, error: BaseException | bytes) -> None:
    """Complete the future of one member with its error.

    On the pool if the error is still encoded and this thread polls: decoding may run user code.
    """

    def run() -> None:
        fut._set(2, unpacked(error))

    if not (isinstance(error, bytes) and agent.defer(run)):
        run()


def _finish(fut: Future, members: Sequence[WorkerInfo], collection: Collection) -> None:
    """Complete the future of a call to a group, whose members have all answered or failed."""
    try:
        value = _value(members, collection)
    except Exception as error:
        fut._set(2, error)
    else:
        fut.set_result(value)


def _value(members: Sequence[WorkerInfo], collection: Collection) -> Any:
    """Return the result of a call to a group, whose members have all answered; GroupError if some failed. Runs user code."""
    if collection.failed:
        failed = sorted(collection.failed.items())
        raise group_error({members[place].name: unpacked(error) for place, error in failed}, len(members))
    return collection.in_order() if collection.task.reduce is None else collection.reduced()
