"""`Generator`: a source of random numbers (Philox, counter-based), defined by its seed and a position."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from ._array.device import CPU, device, module_for, on_device, resolve
from ._core.tensor import wrap
from ._kernels import philox
from ._tensor import Tensor

_AHEAD = 1024  # blocks computed at once for small draws
_FIRST_SEED = 67280421310721
_STATE = np.dtype([("seed", "<u8"), ("offset", "<u8")])


class Generator:
    """A source of random numbers, for the argument `generator` of random functions. Threads that share one get
    different numbers.

    `device`: where the numbers are computed, by default the CPU. Equal seeds give equal numbers on all devices.

    >>> import mpigrad
    >>> generator = mpigrad.Generator().manual_seed(7)
    >>> a = mpigrad.rand(2, generator=generator)
    >>> bool((a == mpigrad.rand(2, generator=generator.manual_seed(7))).all())
    True
    """

    def __init__(self, device: Any = "cpu") -> None:
        self._place = resolve(device)
        self._lock = threading.Lock()
        self._restart(_FIRST_SEED, 0)

    def _restart(self, seed: int, offset: int) -> None:
        self._seed, self._offset = seed, offset
        self._ahead: Any = None  # words computed in advance, from block _ahead_from on
        self._ahead_from = 0

    @property
    def device(self) -> device:
        """The device on which the numbers are computed."""
        return self._place

    def manual_seed(self, seed: int) -> Generator:
        """Set the seed: the numbers that follow depend on it alone. Returns the generator."""
        seed = int(seed)
        if not -0x8000_0000_0000_0000 <= seed <= 0xFFFF_FFFF_FFFF_FFFF:
            raise ValueError(
                "Overflow when unpacking long long: a seed must be in [-0x8000_0000_0000_0000, 0xffff_ffff_ffff_ffff], "
                f"got {seed}"
            )
        with self._lock:
            self._restart(seed % 2**64, 0)
        return self

    def seed(self) -> int:
        """Set a seed that comes from the operating system, and return it."""
        made = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(made)
        return made

    def initial_seed(self) -> int:
        """The seed of the current stream."""
        return self._seed

    def get_state(self) -> Tensor:
        """Seed and position as a tensor of bytes, from which `set_state` continues."""
        with self._lock:
            return _packed(self._seed, self._offset)

    def _first_state(self) -> Tensor:
        """The state just after the last seeding: that of a generator which has given no numbers yet."""
        return _packed(self._seed, 0)

    def set_state(self, new_state: Tensor) -> None:
        """Continue from `new_state`, a result of `get_state`."""
        if not isinstance(new_state, Tensor) or new_state._array.dtype != np.uint8:
            raise TypeError("RNG state must be a mpigrad.ByteTensor")
        if new_state._array.size != _STATE.itemsize:
            raise RuntimeError(f"RNG state is wrong size: {new_state._array.size} bytes, expected {_STATE.itemsize}")
        state = np.ascontiguousarray(new_state._array).view(_STATE)[0]
        with self._lock:
            self._restart(int(state["seed"]), int(state["offset"]))

    def clone_state(self) -> Generator:
        """A new generator with the same state, which then gives the same numbers."""
        made = Generator(self._place)
        made.set_state(self.get_state())
        return made

    def reserve(self, count: int) -> tuple[int, int]:
        """Skip the next `count` random 32-bit words, for code that computes them itself, such as a GPU kernel.

        Words are numbered in blocks of four (the Philox generator). Returns the seed and the number of the first block.
        """
        with self._lock:
            start = self._offset
            self._offset = start + (count + 3) // 4
            return self._seed, start

    def words(self, count: int) -> Any:
        """The next `count` random 32-bit words, as an array on this generator's device."""
        blocks = (count + 3) // 4
        with self._lock:
            start, seed = self._offset, self._seed
            self._offset = start + blocks
            if blocks <= _AHEAD // 4 and self._place is CPU:  # not on a GPU: other streams would have to wait
                return self._from_ahead(start, count)
        return self._compute(seed, start, blocks)[:count]

    def _from_ahead(self, start: int, count: int) -> Any:
        begin = 4 * (start - self._ahead_from)
        if self._ahead is None or begin < 0 or begin + count > len(self._ahead):
            self._ahead, self._ahead_from, begin = self._compute(self._seed, start, _AHEAD), start, 0
        return self._ahead[begin : begin + count]

    def _compute(self, seed: int, start: int, blocks: int) -> Any:
        with on_device(self._place):
            return philox.words(seed, start, blocks, module_for(self._place))

    def uniform(self, count: int, kind: np.dtype) -> Any:
        """`count` random numbers, uniformly distributed in [0, 1)."""
        with on_device(self._place):
            return philox.uniform(self.words(2 * count if kind.itemsize == 8 else count), kind)

    def normal(self, count: int, kind: np.dtype) -> Any:
        """The next `count` numbers of the standard normal distribution, as a one-dimensional array (of NumPy, or of CuPy on a
        GPU) on this generator's device. `kind` is its dtype: float16, 32 or 64.
        """
        even = count + count % 2
        with on_device(self._place):
            return philox.normal(self.words(2 * even if kind.itemsize == 8 else even), kind)[:count]

    def integers(self, count: int, low: int, high: int) -> Any:
        """The next `count` random integers in [low, high), as a one-dimensional array (of NumPy, or of CuPy on a GPU) of int64 on
        this generator's device.
        """
        with on_device(self._place):
            return self._integers(count, low, high - low)

    def _integers(self, count: int, low: int, span: int) -> Any:
        if span <= 2**32:
            made = self.words(count).astype(np.uint64)
            made *= np.uint64(span)
            made >>= np.uint64(32)
        else:
            source = self.words(2 * count).astype(np.uint64)
            made = (source[0::2] << np.uint64(32)) | source[1::2]
            if span < 2**64:
                made %= np.uint64(span)
        return made.view(np.int64) + np.int64(low) if low else made.view(np.int64)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (str(self._place), self.get_state())


def _packed(seed: int, offset: int) -> Tensor:
    return wrap(np.array([(seed, offset)], _STATE).view(np.uint8))


def _restored(place: str, state: Tensor) -> Generator:
    made = Generator(place)
    made.set_state(state)
    return made


default_generator = Generator()
default_generator.seed()
_on_devices: dict[device, Generator] = {}


def generator_for(given: Generator | None, array: Any) -> Generator:
    """The generator that fills `array`: the given one, or the default one of the array's device."""
    if given is not None:
        if not isinstance(given, Generator):
            raise TypeError(f"generator must be a mpigrad.Generator, not {type(given).__name__}")
        if array is not None:
            check_kind(given, "cpu" if isinstance(array, np.ndarray) else "cuda")
        return given
    if isinstance(array, np.ndarray):
        return default_generator
    return default_for(device("cuda", array.device.id))


def check_kind(given: Generator, kind: str) -> None:
    """Raise PyTorch's RuntimeError unless the generator is for devices of type `kind` ("cpu" or "cuda")."""
    if given.device.type != kind:
        raise RuntimeError(f"Expected a '{kind}' device type for generator but found '{given.device.type}'")


def default_for(place: device) -> Generator:
    """The default generator of a device; a GPU's starts with the CPU's seed."""
    if place.type == "cpu":
        return default_generator
    found = _on_devices.get(place)
    if found is None:
        found = _on_devices.setdefault(place, Generator(place).manual_seed(default_generator.initial_seed()))
    return found


def on_every_device() -> list[Generator]:
    """All default generators that exist."""
    return [default_generator, *_on_devices.values()]
