"""Seeds and states of the default generators: manual_seed, get_rng_state, fork_rng and others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from ._generator import Generator, default_generator, on_every_device
from ._tensor import Tensor


def manual_seed(seed: int) -> Generator:
    """Seed the default generators of all devices.

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
    """Seed the default generators from the operating system and return the seed."""
    made = default_generator.seed()
    manual_seed(made)
    return made


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restore the default generator to a state from `get_rng_state`."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """A context manager that restores the states of the default generators of all devices at the end of the block.

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
