"""The receive pool: memory is reused once nothing refers to it, is bounded, and is never shared by two arrays."""

from __future__ import annotations

import gc
import mmap
import re
from pathlib import Path

import numpy as np
import pytest

from mpigrad.distributed.rpc._transport import receive_pool


@pytest.fixture(autouse=True)
def empty_pool():
    gc.collect()
    receive_pool.trim()
    yield
    receive_pool.trim()


def test_memory_comes_back_when_the_last_view_is_gone() -> None:
    array = receive_pool.receive_array(1 << 20)
    address = array.ctypes.data
    view = array.view(np.float64).reshape(256, -1)[3:]
    del array
    assert receive_pool.kept_bytes() == 0
    del view
    assert receive_pool.kept_bytes() >= 1 << 20
    assert receive_pool.receive_array(1 << 20).ctypes.data == address


def test_live_arrays_never_share_memory() -> None:
    arrays = [receive_pool.receive_array(200_000) for _ in range(5)]
    for index, array in enumerate(arrays):
        array[:] = index
    assert [int(a.min()) for a in arrays] == [int(a.max()) for a in arrays] == list(range(5))


def test_no_more_than_the_limit_is_kept(monkeypatch) -> None:
    monkeypatch.setattr(receive_pool, "LIMIT", 3 << 20)
    arrays = [receive_pool.receive_array(1 << 20) for _ in range(8)]
    del arrays
    assert 0 < receive_pool.kept_bytes() <= 3 << 20
    receive_pool.trim()
    assert receive_pool.kept_bytes() == 0


@pytest.mark.parametrize("nbytes", [0, 1, 1000, 1 << 16, (1 << 16) + 1, 12_345_678])
def test_exact_length(nbytes) -> None:
    array = receive_pool.receive_array(nbytes)
    assert array.nbytes == nbytes and array.dtype == np.uint8 and array.flags.writeable


def flags_of(address: int) -> list[str]:
    """What the system notes about the memory at an address."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= address < int(found[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return line.split()[1:]
    raise AssertionError(f"{address:#x} is not memory of this process")


@pytest.mark.parametrize("nbytes", [600_000, 1 << 20, 2 << 20, 3_500_000])
def test_blocks_lie_in_huge_pages_where_there_are_any(nbytes) -> None:
    arrays = [receive_pool.receive_array(nbytes) for _ in range(9)]
    for index, array in enumerate(arrays):
        array[:] = index
    assert [int(a.min()) for a in arrays] == [int(a.max()) for a in arrays] == list(range(9))
    there = Path("/sys/kernel/mm/transparent_hugepage").exists()
    assert all(("hg" in flags_of(array.ctypes.data)) == there for array in arrays)


def test_a_system_without_huge_pages_gives_others(monkeypatch) -> None:
    monkeypatch.setattr(mmap, "MADV_HUGEPAGE", 9999)
    array = receive_pool.receive_array(1 << 20)
    array[:] = 1
    assert array.sum() == 1 << 20


def test_memory_that_was_never_used_goes_too() -> None:
    before = len(Path("/proc/self/maps").read_text())
    for _ in range(20):
        receive_pool.receive_array(1 << 20)
        receive_pool.trim()
    assert len(Path("/proc/self/maps").read_text()) < before + 2000
