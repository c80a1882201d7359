"""`device` objects and the array module (NumPy or CuPy) of each. The only file that imports CuPy."""

from __future__ import annotations

import functools
import itertools
import re
import threading
import weakref
from types import ModuleType
from typing import Any

import numpy as np

from .device_pool import count_peaks

_KNOWN = ("cpu", "cuda")
_PATTERN = re.compile(r"^([a-z]+)(?::(0|[1-9]\d*))?$")


class device:
    """The place where a tensor is stored: `device("cpu")`, or a GPU as `device("cuda:1")` or `device("cuda", 1)`.

    `device("cuda")`, without an index, is the current GPU. Attributes: `type` ("cpu" or "cuda") and `index`.

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
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        match = _PATTERN.match(type)
        if match is None:
            raise RuntimeError(f"Invalid device string: '{type}'" if type else "Device string must not be empty")
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

    def __enter__(self) -> device:
        DEFAULT.outer = (*DEFAULT.outer, DEFAULT.place)
        DEFAULT.place = self
        return self

    def __exit__(self, *error: object) -> None:
        *rest, DEFAULT.place = DEFAULT.outer
        DEFAULT.outer = tuple(rest)


@functools.cache
def _device(type: str, index: int | None) -> device:
    made = object.__new__(device)
    made.type, made.index = type, index
    return made


CPU = device("cpu")


class _Default(threading.local):
    """The default device of factory functions in this thread."""

    place: device = CPU
    outer: tuple[device, ...] = ()  # the defaults to restore at the ends of nested `with device:` blocks


DEFAULT = _Default()


def set_default_device(device: Any) -> None:
    """Make `device` the place of tensors that this thread creates (`zeros`, `tensor`, `rand`, ...) without saying
    where; None is the CPU.

    >>> import mpigrad
    >>> mpigrad.set_default_device("cpu")
    >>> mpigrad.get_default_device()
    device(type='cpu')
    """
    DEFAULT.place = CPU if device is None else _made(device)


def get_default_device() -> device:
    """The device of tensors that this thread creates without saying where."""
    place = DEFAULT.place
    return place if place.index is not None or place.type == "cpu" else resolve(place)


_made = device  # an alias for functions that have an argument called `device`


class NoCudaError(AssertionError, RuntimeError):
    """Raised if CuPy is missing. It has both of PyTorch's types: AssertionError (built without CUDA) and RuntimeError
    (no GPU).
    """


@functools.cache
def cupy() -> ModuleType:
    """Import CuPy and return it; raise a NoCudaError that says what is missing if that fails."""
    try:
        import cupy as module
    except ImportError as error:
        raise NoCudaError(
            "mpigrad not compiled with CUDA enabled: its CUDA device needs CuPy, which cannot be imported here. Install "
            f"mpigrad[gpu] (cupy-cuda12x) or mpigrad[gpu13] (cupy-cuda13x). The import said: {error}"
        ) from error
    if not module.cuda.is_available():
        raise RuntimeError("No CUDA GPUs are available: CuPy is installed, but finds no device on this machine")
    count_peaks(module)
    _Use.loaded = True
    return module


class _Use:
    """Whether CuPy is in use, stored because every backward pass asks."""

    loaded = False


def is_loaded() -> bool:
    """Whether CuPy has been loaded: if not, no array is on a GPU and no memory is pinned."""
    return _Use.loaded


def device_count() -> int:
    """The number of usable GPUs: 0 without CuPy or a driver."""
    try:
        return cupy().cuda.runtime.getDeviceCount()
    except RuntimeError:
        return 0


def is_available() -> bool:
    """Whether there is a GPU that can be used.

    >>> import mpigrad
    >>> mpigrad.device("cuda" if mpigrad.cuda.is_available() else "cpu").type in ("cpu", "cuda")
    True
    """
    return device_count() > 0


def array_module(array: Any) -> ModuleType:
    """The module whose functions work on `array`: numpy, or cupy for device arrays."""
    return np if isinstance(array, (np.ndarray, np.generic)) else _module_of(array)


def _module_of(array: Any) -> ModuleType:
    kind = type(array).__module__.partition(".")[0]
    if kind == "cupy":
        return cupy()
    values = getattr(array, "values", None)  # a sparse array is on the device of its values
    return np if values is None else array_module(values)


def module_for(place: device) -> ModuleType:
    """The array module of a device."""
    return np if place.type == "cpu" else cupy()


def device_of(array: Any) -> device:
    """The device of `array`."""
    if isinstance(array, (np.ndarray, np.generic)):
        return CPU
    if array_module(array) is np:
        return CPU
    return _device("cuda", getattr(array, "values", array).device.id)


def resolve(place: device | str | int | None) -> device:
    """Convert a user's argument to an existing device; None is the default device, "cuda" the current GPU."""
    if place is None:
        place = DEFAULT.place
    if place is CPU:
        return CPU
    found = device(place)
    if found.type == "cuda":
        count = cupy().cuda.runtime.getDeviceCount()
        if found.index is None:
            return _device("cuda", cupy().cuda.runtime.getDevice())
        if found.index >= count:
            raise RuntimeError(f"CUDA error: invalid device ordinal: {found}, but this machine has {count} GPU(s)")
    return CPU if found.type == "cpu" else found


def on_device(place: device) -> Any:
    """A context manager that makes `place` the current device, on which new arrays are created."""
    if place.type == "cpu":
        return NOWHERE
    cuda = cupy().cuda
    return NOWHERE if cuda.runtime.getDevice() == place.index else cuda.Device(place.index)


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


NOWHERE = _Nothing()  # a context manager that does nothing, for arrays on the host


def current_gpu() -> int | None:
    """The index of this thread's current GPU; None where CuPy is not in use."""
    return cupy().cuda.runtime.getDevice() if _Use.loaded else None


def use_gpu(index: int) -> None:
    """Make a GPU the current one of this thread."""
    cupy().cuda.runtime.setDevice(index)


def strict(array: Any) -> Any:
    """A context manager in which linear algebra raises `numpy.linalg.LinAlgError` if there is no result, as for
    singular matrices.

    NumPy always does. CuPy only does on request, because the check must wait for the device.
    """
    if isinstance(array, np.ndarray):
        return NOWHERE
    cupy()
    from cupyx import errstate

    return errstate(linalg="raise")


def guard(array: Any) -> Any:
    """A context manager that makes the device of `array` the current one: CuPy runs kernels on the current device."""
    return NOWHERE if isinstance(array, np.ndarray) else on_device(device_of(array))


def move(array: Any, place: device, non_blocking: bool = False) -> Any:
    """Return `array` on `place`; the same object if it is already there.

    With `non_blocking`, copies between pinned memory and a GPU are only enqueued on the device's current stream. The host must
    not touch the memory before that stream has been synchronised."""
    here = device_of(array)
    if here == place:
        return array
    if getattr(array, "is_sparse_array", False):
        return array.moved(lambda each: move(each, place, non_blocking))
    if place.type == "cpu":
        return _to_host(array, here, non_blocking)
    return _to_device(array, place, non_blocking) if here is CPU else _between(array, here, place)


def _to_host(array: Any, here: device, non_blocking: bool) -> np.ndarray:
    with on_device(here):
        if not non_blocking:
            return cupy().asnumpy(array, order="A")
        made = pinned_empty(array.shape, array.dtype)
        array.get(out=made, blocking=False)
        keep_until_done(current_stream(here), made, array)
        return made


def _to_device(array: np.ndarray, place: device, non_blocking: bool) -> Any:
    with on_device(place):
        pinned = is_pinned(array)
        # from pageable memory CUDA copies synchronously in any case
        made = cupy().asarray(array, blocking=pinned and not non_blocking)
        if pinned and non_blocking:
            keep_until_done(current_stream(place), array)
        return made


def _between(array: Any, here: device, place: device) -> Any:
    """Copy an array from the GPU `here` to the GPU `place`, in the order of the current streams of both."""
    source, target = current_stream(here), current_stream(place)
    with on_device(here):
        array = array if array.flags.forc else array.copy()
        ready = source.record()
    with on_device(place):
        target.wait_event(ready)
        made = cupy().empty(array.shape, array.dtype, order="C" if array.flags.c_contiguous else "F")
        if array.nbytes:
            cupy().cuda.runtime.memcpyPeerAsync(
                made.data.ptr, place.index, array.data.ptr, here.index, array.nbytes, target.ptr
            )
        done = target.record()
    with on_device(here):
        source.wait_event(done)  # the memory of `array` must not be reused before it has been read
    return made


def host(array: Any) -> np.ndarray:
    """Return a NumPy array with the values of `array`; the same object if it is one."""
    return array if isinstance(array, np.ndarray) else move(array, CPU)


# -- streams, addresses and pinned memory, for transfers and kernels ---------------------------------------------------


def current_stream(place: device) -> Any:
    """The current CuPy stream of this thread on a GPU."""
    with on_device(place):
        return cupy().cuda.get_current_stream()


def synchronize(place: device | None = None) -> None:
    """Wait until a GPU (None: the current one) has completed all its work."""
    cupy().cuda.Device(None if place is None else place.index).synchronize()
    _forget_done()


def pointer(array: Any) -> int:
    """The address of an array's first element, on its device."""
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr


def pinned_empty(shape: Any, kind: Any) -> np.ndarray:
    """An empty NumPy array of this shape and element type in pinned memory, which a GPU can copy asynchronously."""
    kind = np.dtype(kind)
    size = int(np.prod(shape, dtype=np.int64))
    memory = cupy().cuda.alloc_pinned_memory(max(1, size * kind.itemsize))
    return np.frombuffer(memory, kind, size).reshape(shape)


def pin(array: np.ndarray) -> np.ndarray:
    """Copy a NumPy array to pinned memory; the same object if it is already there."""
    if is_pinned(array):
        return array
    if not isinstance(array, np.ndarray):
        raise RuntimeError(f"cannot pin an array on {device_of(array)}: only dense CPU tensors can be pinned")
    if not is_available():
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this "
            "system."
        )
    made = pinned_empty(array.shape, array.dtype)
    made[...] = array
    return made


def is_pinned(array: Any) -> bool:
    """Whether an array is in pinned host memory."""
    if not isinstance(array, np.ndarray) or not is_loaded():
        return False
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
        if isinstance(owner, memoryview):
            owner = owner.obj
    return isinstance(owner, cupy().cuda.PinnedMemoryPointer)


_in_flight: dict[int, tuple[Any, tuple[Any, ...]]] = {}  # number -> (event, objects that the device may use until then)
_numbers = itertools.count()


def keep_until_done(stream: Any, *objects: Any) -> None:
    """Keep objects (arrays, pinned memory) alive until `stream`, of the current device, has completed its present work."""
    event = cupy().cuda.Event(disable_timing=True)
    event.record(stream)
    _forget_done()
    _in_flight[next(_numbers)] = event, objects


def used_by(array: Any, stream: Any) -> None:
    """Record that `stream` uses a device array of another stream, so that its memory is not reused before `stream` is done."""
    for each in (array.indices, array.values) if getattr(array, "is_sparse_array", False) else (array,):
        # the memory is kept until `stream` has done what it has been given by the time the array is freed
        weakref.finalize(each, _retire, each.data, device_of(each), stream).atexit = False


def _retire(memory: Any, place: device, stream: Any) -> None:
    with on_device(place):
        keep_until_done(stream, memory)


def _forget_done() -> None:
    """Release the objects that no device uses any more. Without a lock, because a finalizer may call this function again."""
    for number in list(_in_flight):
        found = _in_flight.get(number)
        if found is not None and found[0].done:
            _in_flight.pop(number, None)
