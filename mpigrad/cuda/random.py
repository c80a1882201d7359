"""Random numbers on GPUs: seeds and states of their default generators. The same seed gives the same numbers as on the CPU."""

from __future__ import annotations

from collections.abc import Iterable

from .._array.device import device, device_count
from .._generator import Generator, default_for
from .._tensor import Tensor
from ._devices import Which, index_of


def _generator(which: Which) -> Generator:
    return default_for(device("cuda", index_of(which)))


def _all() -> list[Generator]:
    return [default_for(device("cuda", index)) for index in range(device_count())]


def manual_seed(seed: int) -> None:
    """Seed the generator of the current GPU with the number `seed`; no effect without a GPU."""
    if device_count():
        _generator(None).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs with the number `seed`."""
    for each in _all():
        each.manual_seed(seed)


def seed() -> None:
    """Set a seed from the operating system in the generator of the current GPU."""
    if device_count():
        _generator(None).seed()


def seed_all() -> None:
    """Set one seed from the operating system in the generators of all GPUs."""
    made = _all()
    chosen = made[0].seed() if made else 0
    for each in made[1:]:
        each.manual_seed(chosen)


def initial_seed() -> int:
    """The seed that the generator of the current GPU was given last."""
    return _generator(None).initial_seed()


def get_rng_state(device: Which = "cuda") -> Tensor:
    """The state of a GPU's generator, as a tensor of bytes on the CPU.

    `device`: the GPU, by default the current one.
    """
    return _generator(device).get_state()


def set_rng_state(new_state: Tensor, device: Which = "cuda") -> None:
    """Restore the generator of a GPU to `new_state`, a state from `get_rng_state`.

    `device`: the GPU, by default the current one.
    """
    _generator(device).set_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """The states of the generators of all GPUs: a list of tensors of bytes."""
    return [each.get_state() for each in _all()]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Restore the generators of all GPUs to `new_states`, the result of `get_rng_state_all`."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all",
]  # fmt: skip
