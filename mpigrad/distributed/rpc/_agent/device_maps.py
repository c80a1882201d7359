"""Device maps: on which device of another worker a tensor of a device here arrives, and the checks over all workers.

A worker's *device maps* say so for the workers it calls. Answers take the way back, by the *reverse map* of the caller's;
so do gradients, which return to the very device that the tensor left (it travels with the tensor).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mpigrad._array.device import CPU, device, device_count

DeviceMap = dict[device, device]


def to_device_map(given: Mapping[Any, Any]) -> DeviceMap:
    """A map as users write it (numbers, texts, devices), each target named once."""
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
    """Devices as users write them; only GPUs."""
    made = [device(each) for each in given]
    for each in made:
        if each.type != "cuda":
            raise ValueError(f"`set_devices` expect a list of CUDA devices, but got device type {each.type}.")
    return made


def add_to_map(known: dict[str, DeviceMap], to: str, given: Mapping[Any, Any]) -> None:
    """Extend the map for the worker `to`."""
    added = to_device_map(given)
    for source, target in added.items():
        other = known.get(to, {}).get(source, target)
        if other != target:
            raise ValueError(
                f"`set_device_map` only supports 1-to-1 mapping, trying to map {source} to {target} and {other}"
            )
    known[to] = {**known.get(to, {}), **added}


class Profile(NamedTuple):
    """What all workers must know of one worker's devices."""

    available: int  # GPUs of its host that it can see
    devices: list[device]
    maps: dict[str, DeviceMap]
    gpus: list[str] = []  # names of the GPUs that no other has, in the order of their indices

    def __bool__(self) -> bool:
        return bool(self.devices or self.maps)

    def encode(self) -> bytes:
        """As bytes for the other workers."""
        maps = {to: [[str(a), str(b)] for a, b in each.items()] for to, each in self.maps.items()}
        fields = [self.available, [str(each) for each in self.devices], maps, self.gpus]
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, data: bytes) -> Profile:
        """From bytes that `encode` made; nothing: a worker without GPUs."""
        if not data:
            return NO_DEVICES
        count, devices, maps, gpus = json.loads(data)
        pairs = {to: {device(a): device(b) for a, b in each} for to, each in maps.items()}
        return cls(count, [device(each) for each in devices], pairs, gpus)


NO_DEVICES = Profile(0, [], {})


def profile_of(options: Any) -> Profile:
    """This worker's profile."""
    maps, devices = dict(options.device_maps), list(options.devices)
    return Profile(device_count(), devices, maps) if maps or devices else NO_DEVICES


def check_profiles(profiles: Mapping[str, Profile], static: bool = True) -> None:
    """PyTorch's checks over all workers, which every worker makes: so that all of them raise, or none."""
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
    """For each worker that maps devices to this one: the way back."""
    return {
        name: {target: source for source, target in profile.maps[mine].items()}
        for name, profile in profiles.items()
        if profile.maps.get(mine)
    }


def devices_in_use(profile: Profile, reverse: Mapping[str, DeviceMap]) -> list[device]:
    """The GPUs of this worker: those it was told, or else those that maps name."""
    named = {each for pairs in (*profile.maps.values(), *reverse.values()) for each in pairs} - {CPU}
    return sorted(profile.devices or named, key=lambda each: each.index or 0)


_ADVICE = (
    "TensorPipe RPC backend only supports CPU tensors by default, please move your tensors to CPU before sending them over "
    "RPC, or call `set_device_map` on `TensorPipeRpcBackendOptions` to explicitly configure device mapping. "
)


class Route(NamedTuple):
    """Where the tensors of one message go."""

    what: str  # "Request" or "Response"
    to: str
    pairs: Mapping[device, device]

    def target(self, source: device) -> device:
        """The device on which what is on `source` arrives; a RuntimeError, PyTorch's, if the map does not say."""
        found = self.pairs.get(source)
        if found is not None:
            return found
        if source is CPU:
            return CPU
        missing = f"{_ADVICE}{self.what} device mapping is not available for destination {self.to}"
        if not self.pairs:
            raise RuntimeError(f"{missing}, but found tensor on device: {source}")
        raise RuntimeError(f"{missing} for device {source} but received a tensor on that device.")
