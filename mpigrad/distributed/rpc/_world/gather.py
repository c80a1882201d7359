"""All-gather of Python objects between workers, made of calls: up a tree to one worker, the leader, and down again.

The workers that take part are given by name; the first in alphabetical order is the leader. The worker at place `i` of this order
collects the objects of the workers at `FAN_OUT * i + 1` to `FAN_OUT * i + FAN_OUT`, its followers, which have collected those of
their own followers. So no worker sends or receives more than FAN_OUT messages in each direction. A gather is identified by its
workers and a number. Each worker counts this number itself, so all must make their gathers in the same order.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from mpigrad._core.future import Future

from .._agent.current import get_agent
from .._protocol import extensions
from ..constants import UNSET_RPC_TIMEOUT

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent


FAN_OUT = 16


class _Gather:
    """One all-gather on one worker: the objects received so far, and the futures of the steps that it waits for."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.names: list[str] = []  # the workers that take part; empty until this worker does
        self.expected = -1  # the number of objects of this worker's part; unknown until it takes part itself
        self.collected = Future()  # done when the objects of this worker's part of the tree are here
        self.result = Future()  # all objects, from the worker above


class _Gathers:
    """The all-gathers in which one agent takes part: `open` by key, and how many there were of each group of workers."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.open: dict[str, _Gather] = {}

    def get(self, key: str) -> _Gather:
        with self.lock:
            return self.open.setdefault(key, _Gather())


def _of(agent: Agent) -> _Gathers:
    return agent.slots.setdefault("gathers", _Gathers())


def all_gather(obj: Any, worker_names: Any = None, timeout: float = UNSET_RPC_TIMEOUT) -> dict[str, Any]:
    """Return the objects of all workers that take part, by name; see `api._all_gather`.

    ValueError if this worker is not one of `worker_names`; RuntimeError if one of them has left or is not there in time.
    """
    agent = get_agent()
    names = sorted(agent.by_name if worker_names is None else worker_names)
    if agent.info.name not in names:
        raise ValueError(f"{agent.info.name} is not one of the workers of this gather: {names}")
    for info in list(agent.left.values()):
        if info.name in names and info.name not in agent.by_name:
            raise agent.gone_error(info.id)
    seconds = agent.rpc_timeout if timeout == UNSET_RPC_TIMEOUT else timeout
    gathers = _of(agent)
    group = blake2b(",".join(names).encode(), digest_size=16).hexdigest()  # short in messages, for any number of workers
    with gathers.lock:  # all workers count the gathers of a group, so equal numbers mean the same gather
        gathers.counts[group] += 1
        key = f"{gathers.counts[group]}:{group}"
    try:
        return _take_part(agent, gathers, key, names, obj, seconds)
    finally:
        with gathers.lock:
            gathers.open.pop(key, None)


def _take_part(agent: Agent, gathers: _Gathers, key: str, names: list[str], obj: Any, seconds: float) -> dict[str, Any]:
    """Do this worker's share of a gather; returns all objects by name.

    It collects the objects of its part of the tree, sends them to the worker above, gets all objects from there, and
    sends them on. `key` identifies the gather, `names` are the workers in order, `seconds` the time for each step (0: no
    limit).
    """
    place, gather = names.index(agent.info.name), gathers.get(key)
    part = _part(place, len(names))
    with gathers.lock:
        gather.names, gather.expected = names, len(part)
    _collect(key, {agent.info.name: obj})
    _await(agent, gather.collected, seconds, lambda: [names[i] for i in part if names[i] not in gather.objects])
    if place:
        above = names[(place - 1) // FAN_OUT]
        agent.call_sync(agent.find(above).id, _collect, (key, gather.objects), None, seconds)
        objects = _await(agent, gather.result, seconds, lambda: names[:1])
    else:
        objects = {name: gather.objects[name] for name in names}
    _tell(agent, key, names[FAN_OUT * place + 1 : FAN_OUT * place + FAN_OUT + 1], objects, seconds)
    return objects


def _part(place: int, count: int) -> list[int]:
    """Return the places in the order of a worker, at `place`, and of all workers below it in the tree of `count` workers.

    >>> _part(1, 40)[:4], len(_part(0, 40)), _part(20, 40)
    ([1, 17, 18, 19], 40, [20])
    """
    found: list[int] = []
    first = last = place
    while first < count:
        found += range(first, min(last, count - 1) + 1)
        first, last = FAN_OUT * first + 1, FAN_OUT * last + FAN_OUT
    return found


def _tell(agent: Agent, key: str, followers: list[str], objects: dict[str, Any], seconds: float) -> None:
    """Send all objects to the followers, and wait until they have them; RuntimeError if one does not answer in time."""
    told = [(name, agent.call(agent.find(name).id, _complete, (key, objects), None, seconds)) for name in followers]
    errors = []
    for name, fut in told:
        try:
            fut.wait()
        except RuntimeError as error:
            errors.append((name, error))
    if errors:
        raise RuntimeError(
            f"Followers {[name for name, _ in errors]} timed out in _all_gather after {seconds:.2f} seconds. "
            f"The first exception is {errors[0][1]}"
        )


def _await(agent: Agent, fut: Future, seconds: float, missing: Callable[[], list[str]]) -> Any:
    """Return the future's value; RuntimeError after `seconds` (0: no limit) with the workers that `missing` names."""
    agent.wait(fut, time.monotonic() + seconds if seconds else None)
    if not fut.done():
        raise RuntimeError(f"timed out in _all_gather after {seconds:.2f} seconds, waiting for {missing()}")
    return fut.value()


def _worker_lost(agent: Agent, rank: int) -> None:
    """Fail the gathers that wait for a worker that has left or was lost."""
    info, gathers = agent.left.get(rank), agent.slots.get("gathers")
    if info is None or gathers is None:
        return
    for gather in list(gathers.open.values()):
        if info.name in gather.names:
            for fut in (gather.collected, gather.result):
                if not fut.done():
                    fut._set(2, agent.gone_error(rank))


def _collect(key: str, objects: dict[str, Any]) -> None:
    """Add the objects of a follower's part, or of this worker, to a gather. Runs on the worker above."""
    gathers = _of(get_agent())
    gather = gathers.get(key)
    with gathers.lock:
        gather.objects.update(objects)
        complete = len(gather.objects) == gather.expected and not gather.collected.done()
    if complete:
        gather.collected.set_result(None)


def _complete(key: str, objects: dict[str, Any]) -> None:
    """Set the result of a gather: all objects. Runs on a follower."""
    gather = _of(get_agent()).get(key)
    if not gather.result.done():
        gather.result.set_result(objects)


extensions.worker_lost_hooks.append(_worker_lost)
