"""Where arrays live: `device` objects and the array module (NumPy or CuPy) of each. The only file that knows cupy."""

from __future__ import annotations

import functools
import re
from types import ModuleType
from typing import Any

import numpy as np

_KNOWN = ("cpu", "cuda")
_PATTERN = re.compile(r"^([a-z]+)(?::(\d+))?$")


class device:
    """A place for tensors: `device("cpu")`, `device("cuda")`, `device("cuda:1")`, `device("cuda", 1)`.

    >>> device("cuda:1")
    device(type='cuda', index=1)
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __new__(cls, type: str | int | device, index: int | None = None) -> device:
        if isinstance(type, device):
            return type
        if isinstance(type, int):
            return device("cuda", type)
        match = _PATTERN.match(type)
        if match is None:
            raise RuntimeError(f"Invalid device string: '{type}'")
        if match[1] not in _KNOWN:
            raise RuntimeError(f"Expected one of {', '.join(_KNOWN)} device type at start of device string: {match[1]}")
        if match[2] is not None:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            index = int(match[2])
        return _device(match[1], index)

    def __repr__(self) -> str:
        return f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)


@functools.cache
def _device(type: str, index: int | None) -> device:
    made = object.__new__(device)
    made.type, made.index = type, index
    return made


CPU = device("cpu")


@functools.cache
def cupy() -> ModuleType:
    """Import CuPy, or say what is missing."""
    try:
        import cupy as module
    except ImportError as error:
        raise RuntimeError(
            "mpigrad's CUDA device needs CuPy, which cannot be imported here: install mpigrad[gpu] (cupy-cuda12x) or "
            f"mpigrad[gpu13] (cupy-cuda13x). The import said: {error}"
        ) from error
    if not module.cuda.is_available():
        raise RuntimeError("No CUDA GPUs are available: CuPy is installed, but finds no device on this machine")
    return module


def array_module(array: Any) -> ModuleType:
    """The module whose functions work on `array`: numpy, or cupy for device arrays."""
    return np if isinstance(array, (np.ndarray, np.generic)) else _module_of(array)


def _module_of(array: Any) -> ModuleType:
    kind = type(array).__module__.partition(".")[0]
    if kind == "cupy":
        return cupy()
    values = getattr(array, "values", None)  # a sparse array lives where its values live
    return np if values is None else array_module(values)


def module_for(place: device) -> ModuleType:
    """The array module of a device."""
    return np if place.type == "cpu" else cupy()


def device_of(array: Any) -> device:
    """The device on which `array` lives."""
    if isinstance(array, (np.ndarray, np.generic)):
        return CPU
    if array_module(array) is np:
        return CPU
    return _device("cuda", getattr(array, "values", array).device.id)


def resolve(place: device | str | int | None) -> device:
    """Turn what users write into a device that exists; None is the CPU, "cuda" the current GPU."""
    if place is None:
        return CPU
    found = device(place)
    if found.type == "cuda":
        count = cupy().cuda.runtime.getDeviceCount()
        if found.index is None:
            return _device("cuda", cupy().cuda.runtime.getDevice())
        if found.index >= count:
            raise RuntimeError(f"CUDA error: invalid device ordinal: {found} was asked for, this machine has {count}")
    elif found.index is not None and found.index > 0:
        raise RuntimeError(f"CPU device index must be -1 or zero, got {found.index}")
    return CPU if found.type == "cpu" else found


def on_device(place: device) -> Any:
    """A context manager in which new arrays of `place`'s module land on `place`."""
    return _NOTHING if place.type == "cpu" else cupy().cuda.Device(place.index)


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


_NOTHING = _Nothing()


def move(array: Any, place: device) -> Any:
    """Give `array` on `place`: the same object when it is there already."""
    here = device_of(array)
    if here == place:
        return array
    if getattr(array, "is_sparse_array", False):
        return array.moved(lambda each: move(each, place))
    if place.type == "cpu":
        return cupy().asnumpy(array)
    with on_device(place):
        return cupy().asarray(array)


def host(array: Any) -> np.ndarray:
    """Give a NumPy array with `array`'s values: itself when it is one."""
    return array if isinstance(array, np.ndarray) else move(array, CPU)
