"""Static worlds: all workers are known from the start and none joins later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.transport import Transport

from .._agent.device_maps import Profile
from .._protocol.worker_info import WorkerInfo
from .device_profiles import agent_class, begin, gather_names, gather_profiles
from .new_agent import new_agent


def start_static(
    name: str,
    transport: Transport,
    options: Any,
    deadline: float,
    prepare: Callable[[Agent], None] | None = None,
    profiles: dict[str, Profile] | None = None,
) -> Agent:
    """Exchange names and device profiles with all ranks and start the agent; `profiles` skips the exchange of profiles.

    `prepare` is called with the agent before its threads start.
    """
    names, with_devices = gather_names(name, options, transport, deadline)
    firsts = {known: other for other, known in reversed(list(enumerate(names)))}  # name -> its lowest rank
    if profiles is None:
        profiles = _profiles(names, options, transport, deadline) if with_devices else {}
    agent = new_agent(name, transport, options, agent_class(name, profiles))
    for other, known in enumerate(names):
        if firsts[known] != other:
            transport.close(clean=True)
            raise RuntimeError(f"RPC worker name {known} is not unique: ranks {firsts[known]} and {other} both use it")
        agent.workers[other] = agent.by_name[known] = WorkerInfo(known, other)
    agent.info = agent.workers[agent.rank]
    begin(agent, profiles, options)
    if prepare is not None:
        prepare(agent)
    agent.progress.pool.start()
    return agent


def _profiles(names: list[str], options: Any, transport: Transport, deadline: float) -> dict[str, Profile]:
    try:
        return gather_profiles(names, options, transport, deadline)
    except ValueError:
        transport.close(clean=True)
        raise
