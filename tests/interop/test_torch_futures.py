"""Functions with async_execution may return futures of torch."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

import mpigrad.distributed.rpc as rpc
from tests.support.in_memory import acting_as, world_in_memory


@pytest.fixture(autouse=True)
def world() -> Iterator[None]:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        yield


@rpc.functions.async_execution
def later(value: float, fails: bool = False) -> torch.futures.Future:
    made = torch.futures.Future()
    finish = (lambda: made.set_exception(ValueError("mine"))) if fails else (lambda: made.set_result(torch.tensor(value)))
    threading.Thread(target=finish).start()
    return made.then(lambda fut: fut.value() * 2)


@pytest.mark.parametrize("to", ["worker0", "worker1"])
def test_callers_get_the_value(to: str) -> None:
    assert rpc.rpc_sync(to, later, args=(3.0,)).item() == 6
    assert rpc.remote(to, later, args=(4.0,)).to_here().item() == 8


@pytest.mark.parametrize("to", ["worker0", "worker1"])
def test_callers_get_the_error(to: str) -> None:
    with pytest.raises((ValueError, RuntimeError), match="mine"):
        rpc.rpc_sync(to, later, args=(3.0, True))
