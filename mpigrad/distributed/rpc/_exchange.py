"""What workers tell each other about their devices when a world starts."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

from mpigrad._device import device_count
from mpigrad.distributed._gpu.binding import Bound, bind_if_asked, identity, use_bound, warn_of_sharing
from mpigrad.distributed._gpu.detection import cuda_aware_chosen

from ._agent import Agent
from ._device_agent import DeviceAgent
from ._device_maps import Profile, check_profiles, devices_in_use, profile_of, reverse_maps
from ._transport import Transport

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


def begin(agent: Agent, profiles: dict[str, Profile], options: Any) -> None:
    """Let an agent use its devices, before it serves anything."""
    bind_if_asked()
    if Bound.place is not None:
        agent.progress.adopt_thread = use_bound  # type: ignore[method-assign]
    if isinstance(agent, DeviceAgent):
        agent.use_devices(profiles, cuda_aware_chosen(options.device_transfers))
