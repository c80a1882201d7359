"""Static worlds: all workers are known from the start and none joins later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.transport import Transport

from .._agent.device_maps import Profile
from .._protocol.worker_info import WorkerInfo
from .device_profiles import agent_class, begin, gather_names, gather_profiles
from .new_agent import new_agent


class Known(NamedTuple):
    """The workers of a static world, by rank and by name."""

    workers: dict[int, WorkerInfo]
    by_name: dict[str, WorkerInfo]


def known_workers(names: list[str]) -> Known:
    """Return the workers with these names, given by rank; RuntimeError if a name is not unique."""
    workers = {rank: WorkerInfo(name, rank) for rank, name in enumerate(names)}
    by_name = {info.name: info for info in reversed(workers.values())}  # of equal names, the lowest rank
    for rank, info in workers.items():
        if by_name[info.name].id != rank:
            first = by_name[info.name].id
            raise RuntimeError(f"RPC worker name {info.name} is not unique: ranks {first} and {rank} both use it")
    return Known(workers, by_name)


def start_static(
    name: str,
    transport: Transport,
    options: Any,
    deadline: float,
    prepare: Callable[[Agent], None] | None = None,
    profiles: dict[str, Profile] | None = None,
    known: Known | None = None,
) -> Agent:
    """Exchange names and device profiles with all ranks, start the agent and return it.

    Args:
        prepare: called with the agent before its threads start.
        profiles: all device profiles by worker name, if they need not be exchanged.
        known: all workers, if their names need not be exchanged. Not copied: simulated agents share it.
    """
    if known is None:
        names, with_devices = _names(name, options, transport, deadline)
        if profiles is None:
            profiles = _profiles(names, options, transport, deadline) if with_devices else {}
        known = _known(names, transport)
    agent = new_agent(name, transport, options, agent_class(name, profiles or {}))
    agent.workers, agent.by_name = known
    agent.info = agent.workers[agent.rank]
    begin(agent, profiles or {}, options)
    if prepare is not None:
        prepare(agent)
    agent.progress.pool.start()
    return agent


def _known(names: list[str], transport: Transport) -> Known:
    try:
        return known_workers(names)
    except RuntimeError:
        transport.close(clean=True)
        raise


def _names(name: str, options: Any, transport: Transport, deadline: float) -> tuple[list[str], bool]:
    try:
        return gather_names(name, options, transport, deadline)
    except RuntimeError:  # another wire version; not a timeout, after which the start can be continued
        transport.close(clean=True)
        raise


def _profiles(names: list[str], options: Any, transport: Transport, deadline: float) -> dict[str, Profile]:
    try:
        return gather_profiles(names, options, transport, deadline)
    except ValueError:
        transport.close(clean=True)
        raise
