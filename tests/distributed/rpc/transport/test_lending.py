"""Lent memory between a lender and a borrower in one process: used, returned, used again; limits; malformed messages."""

from __future__ import annotations

import mmap
import os

import numpy as np
import pytest

from mpigrad._core.rpc import cross_memory
from mpigrad.distributed.rpc._transport.shared_memory import lending, slots

if not cross_memory.CAN:
    pytest.skip("plain Python lends nothing", allow_module_level=True)

MIB = 1 << 20


class Pair:
    """A new lender, and a borrower of its memory."""

    def __init__(self) -> None:
        own = slots.OwnSlots()
        self.lender = lending.Lender(own)
        self.borrowed = lending.Borrowed(own.identity, own.slots.lent_file)

    def pass_on(self, array: np.ndarray, to: object = "borrower") -> np.ndarray:
        block = self.lender.lend(array, to)
        return self.borrowed.borrow(block.index, block.offset, array.nbytes)

    def stored(self) -> int:
        return os.fstat(self.lender._handle).st_blocks * 512


@pytest.fixture
def pair() -> Pair:
    return Pair()


def contents(nbytes: int) -> np.ndarray:
    return np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)


def test_an_array_arrives_and_belongs_to_the_borrower(pair) -> None:
    sent = contents(MIB + 5)
    received = pair.pass_on(sent)
    assert np.array_equal(received, sent)
    received[:] = 1
    assert np.array_equal(sent, contents(MIB + 5))


def test_a_block_is_used_again_when_the_last_array_in_it_is_freed(pair) -> None:
    first = pair.pass_on(contents(MIB))
    address, part = first.ctypes.data, first[10:20]
    del first
    second = pair.pass_on(np.zeros(MIB, np.uint8))
    assert second.ctypes.data != address and np.array_equal(part, contents(MIB)[10:20])
    del part
    assert pair.pass_on(np.zeros(MIB - 9, np.uint8)).ctypes.data == address


def test_nothing_is_lent_beyond_the_limit(pair, monkeypatch) -> None:
    monkeypatch.setattr(lending, "LIMIT", 3 * MIB)
    held = [pair.pass_on(contents(MIB)) for _ in range(3)]
    assert pair.lender.lend(contents(MIB), None) is None and pair.lender.kept() == 3 * MIB
    held.clear()
    assert np.array_equal(pair.pass_on(contents(2 * MIB)), contents(2 * MIB))  # what was kept is freed for another size
    assert pair.lender.kept() == 2 * MIB


def test_unused_memory_returns_to_the_system(pair) -> None:
    held = [pair.pass_on(contents(size)) for size in (MIB, MIB, 3 * MIB)]
    del held[1]
    assert pair.stored() >= 5 * MIB
    pair.lender.trim()
    pair.borrowed.trim()
    assert 4 * MIB <= pair.stored() < 5 * MIB and pair.lender.kept() == 4 * MIB and not pair.borrowed.mapped()
    assert all(np.array_equal(array, contents(array.nbytes)) for array in held)
    held.clear()
    pair.lender.trim()
    assert pair.stored() < MIB and np.array_equal(pair.pass_on(contents(MIB)), contents(MIB))


def test_blocks_of_a_borrower_that_has_ended_are_used_again(pair) -> None:
    held = [pair.lender.lend(contents(MIB), to) for to in ("dead", "alive")]
    pair.lender.reclaim("dead")
    assert pair.lender.lend(contents(MIB), "alive") is held[0]
    assert pair.lender.lend(contents(MIB), "alive") not in held


def test_a_forked_child_returns_nothing(pair) -> None:
    received = pair.pass_on(contents(MIB))
    child = os.fork()
    if not child:
        del received
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert pair.lender.lend(contents(MIB), None).offset != pair.lender._lent[MIB][0].offset
    assert np.array_equal(received, contents(MIB))


@pytest.mark.parametrize("change", [(1, 0, 0), (1 << 20, 0, 0), (0, 1, 0), (0, -mmap.PAGESIZE, 0), (0, 1 << 40, 0), (0, 0, MIB)])
def test_malformed_messages(pair, change) -> None:
    block = pair.lender.lend(contents(MIB), None)
    index, offset, nbytes = (a + b for a, b in zip((block.index, block.offset, MIB), change))
    with pytest.raises(ValueError, match="malformed message"):
        pair.borrowed.borrow(index, offset, nbytes)
    assert np.array_equal(pair.borrowed.borrow(block.index, block.offset, MIB), contents(MIB))


def test_the_memory_of_another_process_is_not_opened() -> None:
    own = slots.OwnSlots()
    lending.Lender(own)
    with pytest.raises(OSError, match="another process"):
        lending.Borrowed(own.identity._replace(token=b"x" * 16), own.slots.lent_file)
    with pytest.raises(OSError, match="another file"):
        lending.Borrowed(own.identity, os.memfd_create("unsealed", os.MFD_ALLOW_SEALING))
