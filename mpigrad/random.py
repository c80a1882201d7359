"""Seeds and states of the default generators: manual_seed, get_rng_state, fork_rng and others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from ._generator import Generator, default_generator, on_every_device
from ._tensor import Tensor


def manual_seed(seed: int) -> Generator:
    """Set the seed of the default generators of all devices, and return that of the CPU. Equal seeds give equal
    random numbers.

    >>> import mpigrad
    >>> _ = mpigrad.manual_seed(1)
    >>> a = mpigrad.rand(3)
    >>> _ = mpigrad.manual_seed(1)
    >>> bool((a == mpigrad.rand(3)).all())
    True
    """
    for each in on_every_device():
        each.manual_seed(seed)
    return default_generator


def seed() -> int:
    """Set a seed from the operating system in the default generators of all devices, and return it."""
    made = default_generator.seed()
    manual_seed(made)
    return made


def initial_seed() -> int:
    """The seed of the CPU's default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the CPU's default generator, as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the CPU's default generator to `new_state`, a result of `get_rng_state`."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """A context manager after which the default generators of all devices have the states that they had before.

    `devices` and `device_type` have no effect; with `enabled=False` nothing is restored.
    """
    if not enabled:
        yield
        return
    before = [(each, each.get_state()) for each in on_every_device()]
    try:
        yield
    finally:
        for generator, state in before:
            generator.set_state(state)


__all__ = [
    "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
]  # fmt: skip
