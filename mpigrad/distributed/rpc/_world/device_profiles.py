"""Exchange of device profiles (GPUs and device maps, see `Profile`) when a world starts or a worker joins."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mpigrad._array.device import device_count
from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.transport import Transport
from mpigrad.distributed._gpu.binding import Bound, bind_if_asked, identity, use_bound, warn_of_sharing

from .._agent.device_maps import Profile, check_profiles, devices_in_use, profile_of, reverse_maps
from .._protocol.message import WIRE_VERSION

if TYPE_CHECKING:
    from typing import TypeGuard

    from .._agent.device_agent import DeviceAgent

logger = logging.getLogger(__name__)

_PART = 240  # bytes per all-gather, which is limited to small records; longer profiles take several rounds
_MARK = b"\0gpu"  # after the name, which contains no zero byte
_VERSION_MARK = b"\0wire"
_VERSION = _VERSION_MARK + str(WIRE_VERSION).encode()


def gather_names(name: str, options: Any, transport: Transport, deadline: float) -> tuple[list[str], bool]:
    """Exchange names with all ranks; returns the names by rank, and whether any worker uses GPUs.

    A collective operation. RuntimeError if a rank has another wire version, TimeoutError after `deadline`.
    """
    told = [_without_version(*each) for each in enumerate(transport.allgather(start_record(name, options), deadline))]
    return [each.removesuffix(_MARK).decode() for each in told], any(each.endswith(_MARK) for each in told)


def start_record(name: str, options: Any) -> bytes:
    """Return what a worker tells all others when it starts: its name, whether it uses GPUs, and its wire version."""
    return name.encode() + (_MARK if profile_of(options) else b"") + _VERSION


def _without_version(rank: int, record: bytes) -> bytes:
    if not record.endswith(_VERSION):
        version = record.rpartition(_VERSION_MARK)[2].decode(errors="replace") if _VERSION_MARK in record else "1"
        raise RuntimeError(
            f"rank {rank} has wire version {version}, but this worker has {WIRE_VERSION}: all workers need the same mpigrad"
        )
    return record.removesuffix(_VERSION)


def gather_profiles(
    names: list[str], options: Any, transport: Transport, deadline: float
) -> dict[str, Profile]:
    """Exchange device profiles with all ranks; returns those of all workers by name.

    A collective operation. ValueError on all workers if the profiles contradict each other; TimeoutError after
    `deadline`.
    """
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
    """Return the class for the agent of the worker `name`, given all profiles.

    `DeviceAgent` if its own options or another worker's device map name its GPUs, otherwise `Agent`.
    """
    mine = profiles.get(name)
    if mine is None:
        return Agent
    if not mine and not devices_in_use(mine, reverse_maps(name, profiles)):
        return Agent
    from .._agent.device_agent import DeviceAgent  # imported only where there are GPUs, as all that it needs

    return DeviceAgent


def _has_devices(agent: Agent) -> TypeGuard[DeviceAgent]:
    return hasattr(agent, "use_devices")


def begin(agent: Agent, profiles: dict[str, Profile], options: Any, static: bool = True) -> None:
    """Set up the devices of an agent, before it serves anything; does nothing if it uses none.

    `profiles` are those of all known workers by name, `static` whether all workers are known.
    """
    bind_if_asked()
    if Bound.place is not None:
        agent.progress.pool.on_thread_start(use_bound)
    if _has_devices(agent):
        from mpigrad.distributed._gpu.claims import claim
        from mpigrad.distributed._gpu.detection import cuda_aware_chosen

        agent.use_devices(profiles, cuda_aware_chosen(options.device_transfers), static)
        for place in () if static else devices_in_use(profiles[agent.info.name], {}):
            claim(place)  # static worlds compare profiles instead, but no worker knows all members of a dynamic world


# -- dynamic worlds ----------------------------------------------------------------------------------------------------
def own_profile(name: str, options: Any) -> dict[str, Profile]:
    """Return this worker's profile as {name: profile}, checked as far as possible without the others; empty if it uses no GPU."""
    mine = profile_of(options)
    if not mine:
        return {}
    check_profiles({name: mine}, static=False)
    return {name: mine}


def encode_introduction(agent: Agent) -> bytes:
    """Encode what a member of a dynamic world tells the others: its name, and its profile if it uses GPUs."""
    profile = profile_of(agent.options)
    return agent.info.name.encode() + (b"\0" + profile.encode() if profile else b"")


def decode_introduction(told: bytes) -> tuple[str, Profile]:
    """Decode an introduction; returns name and profile."""
    name, _, profile = told.partition(b"\0")
    return name.decode(), Profile.decode(profile)


def member_joined(agent: Agent, name: str, profile: Profile) -> None:
    """Note the device maps of a worker that has joined; logs an error if they contradict those of this worker."""
    if _has_devices(agent):
        agent.learn(name, profile)
    try:
        check_profiles({agent.info.name: profile_of(agent.options), name: profile}, static=False)
    except ValueError as error:
        logger.error("device maps of %s and %s do not fit together: %s", agent.info.name, name, error)
