"""Slots: both processes of a transfer copy chunks, no chunk has two owners, and the transfer ends when no process writes."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from mpigrad._core.rpc import cross_memory
from mpigrad._core.rpc.cross_memory import (
    ACCEPTED,
    BROKEN,
    BYTES,
    DONE,
    LATER,
    MORE,
    OFFERED,
    OVER,
    TOKEN,
    Array,
    Slots,
    recognise,
)
from tests.support.eventually import eventually

if not cross_memory.CAN:
    pytest.skip("plain Python copies nothing between processes", allow_module_level=True)

KIB = 1024
CHUNK = 128 * KIB
ALL = 1 << 40
ME = os.getpid()
SIZES = [1, 4096, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 7 * CHUNK + 12345, 33 * CHUNK]
WORK, INTO = 3 * 16, 3 * 16 + 4  # words of the third slot


class Ends:
    """A transfer within this process."""

    def __init__(self, size: int, number: int = 7, place: int = 3) -> None:
        self.slots = Slots(mmap.mmap(-1, BYTES))
        self.place, self.number = place, number
        self.source = np.random.default_rng(size).integers(0, 256, size, np.uint8)
        self.made = np.zeros(size, np.uint8)
        self.array, self.into = Array(self.source), Array(self.made, True)
        self.slots.offer(place, number, size)
        assert self.slots.accept(place, number, ME, self.into, self.slots)

    def give(self, most: int = ALL) -> int:
        return self.slots.give(self.place, self.number, self.array, most)

    def take(self, most: int = ALL, address: int | None = None, pid: int = ME) -> int:
        where = self.array.address if address is None else address
        return self.slots.take(self.place, self.number, pid, where, self.into, most)


@pytest.mark.parametrize("size", SIZES)
def test_the_receiver_alone(size) -> None:
    ends = Ends(size)
    assert ends.take() == DONE
    assert np.array_equal(ends.made, ends.source)
    assert ends.give() == DONE  # nothing is left for a sender that comes late


@pytest.mark.parametrize("size", SIZES)
def test_the_sender_gives_everything_and_the_receiver_finishes(size) -> None:
    ends = Ends(size)
    assert ends.give() == DONE
    assert np.array_equal(ends.made, ends.source)
    assert ends.take() == DONE


@pytest.mark.parametrize("size", SIZES)
def test_in_turns_from_both_ends(size) -> None:
    ends = Ends(size)
    while ends.take(1) != DONE:
        ends.give(1)
    assert np.array_equal(ends.made, ends.source)


def test_each_end_begins_at_its_own() -> None:
    ends = Ends(8 * CHUNK)
    ends.source[:] = 1
    assert ends.give(1) == MORE and ends.take(1) == MORE
    assert (ends.made[:CHUNK] == 1).all() and (ends.made[-CHUNK:] == 1).all()
    assert not ends.made[CHUNK:-CHUNK].any()


def test_after_the_last_word_nobody_writes() -> None:
    ends = Ends(9 * CHUNK)
    ends.give(2 * CHUNK)
    assert ends.take() == DONE
    ends.made[:] = 0
    assert ends.give() == DONE
    assert not ends.made.any()


def test_a_slot_that_another_transfer_has_is_left_alone() -> None:
    ends = Ends(4 * CHUNK)
    ends.slots.offer(ends.place, 8, 100)
    assert ends.give() == BROKEN and ends.take() == BROKEN
    assert ends.slots.stage(ends.place, 7) == BROKEN and ends.slots.stage(ends.place, 8) == OFFERED
    assert not ends.made.any()


def test_only_what_is_offered_can_be_accepted() -> None:
    ends = Ends(CHUNK)
    assert ends.slots.stage(3, 7) == ACCEPTED
    assert not ends.slots.accept(3, 7, ME, ends.into, ends.slots)  # twice
    assert not ends.slots.accept(4, 7, ME, ends.into, ends.slots)
    ends.slots.offer(4, 9, CHUNK + 1)
    assert not ends.slots.accept(4, 9, ME, ends.into, ends.slots)  # another size
    ends.slots.say(3, 7, OVER)
    assert ends.slots.stage(3, 7) == OVER
    for place in (-1, 0, 128):
        with pytest.raises(ValueError, match=f"there are 127 slots; {place} is none of them"):
            ends.slots.stage(place, 7)


def test_memory_that_cannot_be_read_ends_the_senders_help() -> None:
    ends = Ends(8 * CHUNK)
    assert ends.give(1) == MORE
    assert ends.take(address=4096) == errno.EFAULT
    assert ends.give() == DONE  # nothing left to claim
    assert ends.take() == DONE  # no process writes: the receiver may request it by MPI


def test_memory_that_cannot_be_written_is_left_to_the_receiver() -> None:
    ends = Ends(8 * CHUNK)
    assert ends.give(1) == MORE
    words = np.frombuffer(memory_of(ends.slots), np.uint64)
    wanted, words[INTO] = int(words[INTO]), np.frombuffer(mmap.mmap(-1, 8 * CHUNK, prot=mmap.PROT_READ), np.uint8).ctypes.data
    assert ends.give() == errno.EFAULT
    words[INTO] = wanted
    assert ends.take() == DONE
    assert np.array_equal(ends.made, ends.source)


def memory_of(slots: Slots):
    return (ctypes.c_char * BYTES).from_address(slots.address)


def test_a_process_is_known_by_its_token() -> None:
    memory = mmap.mmap(-1, BYTES)
    memory[:TOKEN] = token = os.urandom(TOKEN)
    slots = Slots(memory)
    assert slots.token == token
    assert recognise(ME, slots.address, token) == 0
    assert recognise(ME, slots.address, os.urandom(TOKEN)) == BROKEN
    assert recognise(ME, slots.address, b"short") == BROKEN
    assert recognise(ME, 4096, token) == errno.EFAULT
    assert recognise(2**22 + 1, slots.address, token) == errno.ESRCH


def test_slots_of_the_wrong_length() -> None:
    with pytest.raises(ValueError, match="slots take 16384 bytes, not 4096"):
        Slots(mmap.mmap(-1, 4096))


def test_a_sender_that_dies_with_a_claim_is_not_waited_for_blindly() -> None:
    ends = Ends(4 * CHUNK)
    words = np.frombuffer(memory_of(ends.slots), np.uint64)
    words[WORK] += 1 << 16  # a claim whose chunk will never be copied
    began = time.monotonic()
    assert ends.take() == LATER  # and not an endless wait
    assert time.monotonic() - began < 5
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait(30)
    assert recognise(gone.pid, ends.slots.address, ends.slots.token) == errno.ESRCH


def test_no_chunk_is_copied_twice() -> None:
    """Both ends at full speed, again and again; each chunk is copied by one of them."""
    for number in range(1, 200):
        ends = Ends(16 * CHUNK, number=number)
        helper = threading.Thread(target=ends.give)
        helper.start()
        eventually(lambda ends=ends: ends.take(CHUNK), equals=DONE, pause=0)
        assert np.array_equal(ends.made, ends.source)
        ends.made[:] = 0
        helper.join()
        assert not ends.made.any()
