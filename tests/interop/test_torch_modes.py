"""Grad mode, inference mode and autocast of torch: what functions on other workers and callbacks of futures see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import mpigrad
import mpigrad.distributed.rpc as rpc
from tests.support.in_memory import acting_as, world_in_memory

MODES = {
    "no_grad": torch.no_grad,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "inference": torch.inference_mode,
}


@pytest.fixture(autouse=True)
def agents() -> Iterator[Any]:
    with world_in_memory(2) as found, acting_as(found[0]):
        rpc.rpc_sync("worker1", torch.ones, args=(1,))  # loads the adapter
        yield found


def modes() -> tuple[bool, ...]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("mode", MODES)
def test_functions_on_other_workers_see_the_usual_modes(mode: str) -> None:
    """As with torch's RPC, which sends no modes."""
    with MODES[mode]():
        assert rpc.rpc_sync("worker1", modes) == (True, False, False)
        assert rpc.remote("worker1", modes).to_here() == (True, False, False)


@pytest.mark.parametrize("mode", MODES)
def test_callbacks_see_the_modes_in_which_they_were_added(mode: str) -> None:
    """As with torch's RPC."""
    future = mpigrad.futures.Future()
    with MODES[mode]():
        expected = modes()
        seen = future.then(lambda _: modes())
    future.set_result(1)
    assert expected != (True, False, False) and seen.wait() == expected
    assert modes() == (True, False, False)


def test_callbacks_see_our_grad_mode() -> None:
    future = mpigrad.futures.Future()
    with mpigrad.no_grad():
        seen = future.then(lambda _: mpigrad.is_grad_enabled())
    future.set_result(1)
    assert seen.wait() is False and mpigrad.is_grad_enabled()
