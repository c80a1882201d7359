"""Device maps: which device of another worker receives the tensors of each device of this one; and the checks of these maps.

A worker has one device map for each worker that it calls. Answers use the reverse of the caller's map. Gradients return
to exactly the device that the tensor left, which is sent along with the tensor. All workers run the same checks over all
maps, so all of them raise or none does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mpigrad._array.device import CPU, device, device_count

DeviceMap = dict[device, device]


def to_device_map(given: Mapping[Any, Any]) -> DeviceMap:
    """Parse a map as users write it (indices, names or devices); ValueError if two devices are mapped to the same one."""
    made: DeviceMap = {}
    sources: DeviceMap = {}
    for key, value in given.items():
        source, target = device(key), device(value)
        if target in sources:
            raise ValueError(
                f"`device_map` only supports 1-to-1 mapping, trying to map {source} and {sources[target]} to {target}"
            )
        made[source], sources[target] = target, source
    return made


def to_device_list(given: Iterable[Any]) -> list[device]:
    """Parse a list of GPUs as users write it (indices, names or devices); ValueError for other devices."""
    made = [device(each) for each in given]
    for each in made:
        if each.type != "cuda":
            raise ValueError(f"`set_devices` expect a list of CUDA devices, but got device type {each.type}.")
    return made


def add_to_map(known: dict[str, DeviceMap], to: str, given: Mapping[Any, Any]) -> None:
    """Add the entries `given` to the map for the worker `to` in `known` (maps by worker name).

    ValueError if a device is mapped to two, or two devices to one.
    """
    added = to_device_map(given)
    for source, target in added.items():
        other = known.get(to, {}).get(source, target)
        if other != target:
            raise ValueError(
                f"`set_device_map` only supports 1-to-1 mapping, trying to map {source} to {target} and {other}"
            )
    known[to] = {**known.get(to, {}), **added}


class Profile(NamedTuple):
    """The devices and device maps of one worker. All workers exchange their profiles at the start."""

    available: int  # number of GPUs that the process sees
    devices: list[device]
    maps: dict[str, DeviceMap]
    gpus: list[str] = []  # a unique name for each GPU (its id and its host), by index

    def __bool__(self) -> bool:
        return bool(self.devices or self.maps)

    def encode(self) -> bytes:
        """Return the profile as JSON, for the other workers."""
        maps = {to: [[str(a), str(b)] for a, b in each.items()] for to, each in self.maps.items()}
        fields = [self.available, [str(each) for each in self.devices], maps, self.gpus]
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, data: bytes) -> Profile:
        """Return the profile in the bytes of `encode`; empty bytes mean a worker without devices."""
        if not data:
            return NO_DEVICES
        count, devices, maps, gpus = json.loads(data)
        pairs = {to: {device(a): device(b) for a, b in each} for to, each in maps.items()}
        return cls(count, [device(each) for each in devices], pairs, gpus)


NO_DEVICES = Profile(0, [], {})


def profile_of(options: Any) -> Profile:
    """Return the profile of this worker, from its `MPIRpcBackendOptions`."""
    maps, devices = dict(options.device_maps), list(options.devices)
    return Profile(device_count(), devices, maps) if maps or devices else NO_DEVICES


def check_profiles(profiles: Mapping[str, Profile], static: bool = True) -> None:
    """Check the profiles of all workers, given by worker name; ValueError with PyTorch's text if they contradict each other.

    Every worker checks all profiles, so all of them raise or none does. If not `static`, maps may name workers that are
    unknown.
    """
    for name, profile in profiles.items():
        devices = profile.devices
        if len(set(devices)) != len(devices):
            raise ValueError(f"Node {name} has duplicated devices\ndevices = {devices}")
        if not _exist(devices, profile.available):
            raise ValueError(
                f"Node {name} has devices with invalid indices\ndevices = {devices}\ndevice count = {profile.available}"
            )
    for name, profile in profiles.items():
        if static and not set(profile.maps) <= set(profiles):
            raise ValueError(
                f"Node {name} has invalid target node names in its device maps\n"
                f"device maps = {profile.maps.keys()}\nnode names = {list(profiles)}"
            )
        for target, pairs in profile.maps.items():
            _check_map(name, profile, target, profiles.get(target), pairs)


def _check_map(name: str, profile: Profile, target: str, other: Profile | None, pairs: DeviceMap) -> None:
    whose = f"in its device map for {target}\ndevice map = {pairs}"
    if len(set(pairs.values())) != len(pairs):
        raise ValueError(f"Node {name} has duplicated target devices {whose}")
    _check_side(f"Node {name} has", "source", profile, pairs.keys(), whose)
    if other is not None:
        _check_side(f"Node {name} has", "target", other, pairs.values(), whose)


def _check_side(who: str, side: str, profile: Profile, used: Iterable[device], whose: str) -> None:
    if profile.devices:
        if not set(used) <= set(profile.devices):
            raise ValueError(f"{who} unexpected {side} devices {whose}\ndevices = {profile.devices}")
    elif not _exist(used, profile.available):
        raise ValueError(f"{who} {side} devices with invalid indices {whose}\ndevice count = {profile.available}")


def _exist(devices: Iterable[device], count: int) -> bool:
    return all(each.type == "cpu" or (each.index is not None and each.index < count) for each in devices)


def reverse_maps(mine: str, profiles: Mapping[str, Profile]) -> dict[str, DeviceMap]:
    """Return the inverted device maps of the workers that call the worker `mine`, by their names."""
    return {
        name: {target: source for source, target in profile.maps[mine].items()}
        for name, profile in profiles.items()
        if profile.maps.get(mine)
    }


def devices_in_use(profile: Profile, reverse: Mapping[str, DeviceMap]) -> list[device]:
    """Return the GPUs that a worker uses: its `devices` option if given, else the GPUs that device maps name."""
    named = {each for pairs in (*profile.maps.values(), *reverse.values()) for each in pairs} - {CPU}
    return sorted(profile.devices or named, key=lambda each: each.index or 0)


_ADVICE = (
    "TensorPipe RPC backend only supports CPU tensors by default, please move your tensors to CPU before sending them over "
    "RPC, or call `set_device_map` on `TensorPipeRpcBackendOptions` to explicitly configure device mapping. "
)


class Route(NamedTuple):
    """The device map of one message, and what error messages say about it."""

    what: str  # "Request" or "Response"
    to: str
    pairs: Mapping[device, device]

    def target(self, source: device) -> device:
        """Return the device on which arrays of the device `source` will arrive; PyTorch's RuntimeError if the map has none."""
        found = self.pairs.get(source)
        if found is not None:
            return found
        if source is CPU:
            return CPU
        missing = f"{_ADVICE}{self.what} device mapping is not available for destination {self.to}"
        if not self.pairs:
            raise RuntimeError(f"{missing}, but found tensor on device: {source}")
        raise RuntimeError(f"{missing} for device {source} but received a tensor on that device.")
