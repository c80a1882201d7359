"""CUDA-aware transfers, with an MPI that can read the (emulated) device memory; and finding out whether it can."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._array.device import host
from mpigrad.distributed._gpu.detection import detect
from mpigrad.distributed._gpu.transfers import PACKED_MAX, PIECE_BITS
from mpigrad.distributed.rpc._transport.device import cuda_aware
from mpigrad.testing import World
from tests.cuda.conftest import SWAPPED


def emulator() -> Any:
    """The emulated runtime, or None on a real GPU."""
    try:
        return ctypes.CDLL("libcpucuda.so")
    except OSError:
        return None


@pytest.fixture
def mpi_reads_devices() -> Iterator[None]:
    runtime = emulator()
    if runtime is None:
        if not detect().works:
            pytest.skip(f"MPI is not CUDA-aware: {detect().why}")
        yield
        return
    runtime.cpucuda_host_may_look(1)
    yield
    runtime.cpucuda_host_may_look(0)


class Counted:
    """Counts the requests of a class of `cuda_aware.py`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
        self.count = 0
        before = kind.__init__

        def counting(one: Any, *args: Any) -> None:
            self.count += 1
            before(one, *args)

        monkeypatch.setattr(kind, "__init__", counting)


def chain(x: mpigrad.Tensor, steps: int) -> mpigrad.Tensor:
    for _ in range(steps):
        x = x + 1
    return x


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("mixed", [False, True])
def test_device_memory_goes_to_mpi(
    start: Any, world: World, mpi_reads_devices: None, monkeypatch: pytest.MonkeyPatch, mixed: bool
) -> None:
    """`mixed`: one end stages, the other is CUDA-aware; they cut arrays alike."""
    aware = not mixed or world.rank % 2 == 0
    sends, receives = Counted(monkeypatch, cuda_aware.AwareSend), Counted(monkeypatch, cuda_aware.AwareReceive)
    start(SWAPPED, device_transfers="cuda_aware" if aware else "staged")
    for length in (5, PACKED_MAX, (1 << PIECE_BITS) // 2 + 1):
        x = chain(mpigrad.zeros(length, device="cuda:0"), 2)
        got = chain(rpc.rpc_sync(world.next_name, chain, (x, 3)), 1)
        assert got.device == x.device and host(got._array)[:: length - 1].tolist() == [6, 6]
    world.barrier()
    expected = 4 if aware else 0  # two large requests made, two large answers given
    assert (sends.count, receives.count) == (expected, expected)


@pytest.mark.mpi(min_size=2)
def test_gradients(start: Any, mpi_reads_devices: None) -> None:
    world = start(SWAPPED, device_transfers="cuda_aware")
    x = mpigrad.arange(100_000.0, device="cuda:1").requires_grad_()
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [rpc.rpc_sync(world.next_name, square, (x,)).sum()])
        grad = dist_autograd.get_gradients(context_id)[x]
        np.testing.assert_array_equal(host(grad._array), 2 * np.arange(100_000.0, dtype="f4"))


def square(x: mpigrad.Tensor) -> mpigrad.Tensor:
    return x * x


def test_a_wrong_guess_ends_only_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain MPI reads an address of the emulated GPU as if it were the host's, and dies: in a process of its own."""
    detect.cache_clear()
    verdict = detect()
    if emulator() is None:
        assert verdict.works in (True, False) and verdict.why
    else:
        assert not verdict.works and "device pointers" in verdict.why
    detect.cache_clear()
