"""All-gather of Python objects between workers, made of calls: one worker, the leader, collects and then tells the followers.

The workers that take part are given by name; the first in alphabetical order is the leader. A gather is identified by its
workers and a number. Each worker counts this number itself, so all must make their gathers in the same order.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from mpigrad._core.future import Future

from .._agent.current import get_agent
from .._protocol import extensions
from ..constants import UNSET_RPC_TIMEOUT

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent


class _Gather:
    """One gather on one worker: the objects received so far and the future of all of them."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.result = Future()


class _Gathers:
    """The all-gathers in which one agent takes part."""

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
    """The objects of all workers by name; see `api._all_gather`."""
    agent = get_agent()
    names = sorted(agent.by_name if worker_names is None else worker_names)
    if agent.info.name not in names:
        raise ValueError(f"{agent.info.name} is not one of the workers of this gather: {names}")
    for info in list(agent.left.values()):
        if info.name in names and info.name not in agent.by_name:
            raise agent.gone_error(info.id)
    seconds = agent.rpc_timeout if timeout == UNSET_RPC_TIMEOUT else timeout
    gathers = _of(agent)
    group = ",".join(names)
    with gathers.lock:  # all workers count the gathers of a group, so equal numbers mean the same gather
        gathers.counts[group] += 1
        key = f"{gathers.counts[group]}:{group}"
    try:
        if names[0] == agent.info.name:
            return _lead(agent, gathers, key, names, obj, seconds)
        agent.call_sync(agent.find(names[0]).id, _to_leader, (key, agent.info.name, obj, names), None, seconds)
        return _await(agent, gathers, key, names, seconds)
    finally:
        with gathers.lock:
            gathers.open.pop(key, None)


def _lead(agent: Agent, gathers: _Gathers, key: str, names: list[str], obj: Any, seconds: float) -> dict[str, Any]:
    _to_leader(key, agent.info.name, obj, names)
    objects = _await(agent, gathers, key, names, seconds)
    told = [
        (name, agent.call(agent.find(name).id, _to_follower, (key, objects), None, seconds))
        for name in names
        if name != agent.info.name
    ]
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
    return objects


def _await(agent: Agent, gathers: _Gathers, key: str, names: list[str], seconds: float) -> dict[str, Any]:
    gather = gathers.get(key)
    agent.wait(gather.result, time.monotonic() + seconds if seconds else None)
    if not gather.result.done():
        missing = sorted(set(names) - set(gather.objects))
        raise RuntimeError(f"timed out in _all_gather after {seconds:.2f} seconds, waiting for {missing or names[:1]}")
    return gather.result.value()


def _worker_lost(agent: Agent, rank: int) -> None:
    """Fail the gathers that wait for a worker that has left or was lost."""
    info = agent.left.get(rank)
    for key, gather in list(_of(agent).open.items()):
        if info is not None and info.name in key.partition(":")[2].split(",") and not gather.result.done():
            gather.result._set(2, agent.gone_error(rank))


def _to_leader(key: str, name: str, obj: Any, names: list[str]) -> None:
    """Runs on the leader: adds the object of one worker."""
    gathers = _of(get_agent())
    gather = gathers.get(key)
    with gathers.lock:
        gather.objects[name] = obj
        complete = len(gather.objects) == len(names)
    if complete and not gather.result.done():
        gather.result.set_result(dict(gather.objects))


def _to_follower(key: str, objects: dict[str, Any]) -> None:
    """Runs on a follower: completes its gather."""
    gather = _of(get_agent()).get(key)
    if not gather.result.done():
        gather.result.set_result(objects)


extensions.worker_lost_hooks.append(_worker_lost)
