"""What workers tell each other about their devices when a world starts."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from typing import Any

from mpigrad._array.device import device_count
from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.base import Transport
from mpigrad.distributed._gpu.binding import Bound, bind_if_asked, identity, use_bound, warn_of_sharing
from mpigrad.distributed._gpu.claims import claim
from mpigrad.distributed._gpu.detection import cuda_aware_chosen

from .._agent.device_agent import DeviceAgent
from .._agent.device_maps import Profile, check_profiles, devices_in_use, profile_of, reverse_maps

logger = logging.getLogger(__name__)

_PART = 240  # bytes of one round
_MARK = b"\0gpu"


def gather_names(name: str, options: Any, transport: Transport, deadline: float) -> tuple[list[str], bool]:
    """Everybody's name, and whether anybody uses GPUs."""
    told = transport.allgather(name.encode() + (_MARK if profile_of(options) else b""), deadline)
    return [each.removesuffix(_MARK).decode() for each in told], any(each.endswith(_MARK) for each in told)


def gather_profiles(
    names: list[str], options: Any, transport: Transport, deadline: float
) -> dict[str, Profile]:
    """Everybody's profile; ValueError, on all workers, if they do not fit together."""
    count = device_count()
    gpus = [f"{identity(index)} of {socket.gethostname()}" for index in range(count)]
    mine = Profile(count, list(options.devices), dict(options.device_maps), gpus).encode()
    lengths = [int.from_bytes(each, "little") for each in transport.allgather(len(mine).to_bytes(8, "little"), deadline)]
    records = [b""] * len(names)
    for start in range(0, max(lengths), _PART):
        for rank, part in enumerate(transport.allgather(mine[start : start + _PART], deadline)):
            records[rank] += part
    profiles = {name: Profile.decode(record) for name, record in zip(names, records)}
    check_profiles(profiles)
    if transport.rank == 0:
        warn_of_sharing(_users(profiles))
    return profiles


def _users(profiles: dict[str, Profile]) -> Iterator[tuple[str, str]]:
    for name, profile in profiles.items():
        for place in devices_in_use(profile, reverse_maps(name, profiles)):
            yield name, profile.gpus[place.index or 0]


def agent_class(name: str, profiles: dict[str, Profile]) -> type[Agent]:
    """The class of an agent: one for GPUs if the worker or anybody's map to it names some."""
    mine = profiles.get(name)
    if mine is None:
        return Agent
    return DeviceAgent if mine or devices_in_use(mine, reverse_maps(name, profiles)) else Agent


def begin(agent: Agent, profiles: dict[str, Profile], options: Any, static: bool = True) -> None:
    """Let an agent use its devices, before it serves anything."""
    bind_if_asked()
    if Bound.place is not None:
        agent.progress.pool.on_thread_start(use_bound)
    if isinstance(agent, DeviceAgent):
        agent.use_devices(profiles, cuda_aware_chosen(options.device_transfers), static)
        for place in () if static else devices_in_use(profiles[agent.info.name], {}):
            claim(place)  # nobody knows all members of a dynamic group


# -- dynamic groups ----------------------------------------------------------------------------------------------------
def own_profile(name: str, options: Any) -> dict[str, Profile]:
    """This worker's profile, checked as far as that can be done alone; nothing for a worker without device options."""
    mine = profile_of(options)
    if not mine:
        return {}
    check_profiles({name: mine}, static=False)
    return {name: mine}


def encode_introduction(agent: Agent) -> bytes:
    """What a member of a dynamic group tells the others: its name, and its profile if it uses GPUs."""
    profile = profile_of(agent.options)
    return agent.info.name.encode() + (b"\0" + profile.encode() if profile else b"")


def decode_introduction(told: bytes) -> tuple[str, Profile]:
    """Name and profile of an introduction."""
    name, _, profile = told.partition(b"\0")
    return name.decode(), Profile.decode(profile)


def member_joined(agent: Agent, name: str, profile: Profile) -> None:
    """A worker has joined: learn which way answers to it take, and complain of maps that do not fit together."""
    if isinstance(agent, DeviceAgent):
        agent.learn(name, profile)
    try:
        check_profiles({agent.info.name: profile_of(agent.options), name: profile}, static=False)
    except ValueError as error:
        logger.error("device maps of %s and %s do not fit together: %s", agent.info.name, name, error)
