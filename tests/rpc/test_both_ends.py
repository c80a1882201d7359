"""Slots: both ends of a transfer copy chunks, no chunk has two owners, and the array is handed out when nobody writes any more."""

from __future__ import annotations

import errno
import mmap
import os
import threading
import time

import numpy as np
import pytest

from mpigrad.distributed.rpc import _both_ends
from mpigrad.distributed.rpc._both_ends import (
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

if not _both_ends.CAN:
    pytest.skip("plain Python copies nothing between processes", allow_module_level=True)

KIB = 1024
CHUNK = 128 * KIB
ALL = 1 << 40
ME = os.getpid()
SIZES = [1, 4096, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 7 * CHUNK + 12345, 33 * CHUNK]


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
    assert ends.take() == DONE  # nobody writes: the receiver may ask for it by other means


def test_memory_that_cannot_be_written_is_left_to_the_receiver() -> None:
    ends = Ends(8 * CHUNK)
    ends.give(1)
    hole = mmap.mmap(-1, 8 * CHUNK, prot=mmap.PROT_READ)
    readonly = Slots(mmap.mmap(-1, BYTES))
    source = np.arange(8 * CHUNK, dtype=np.uint32).view(np.uint8)[: 8 * CHUNK]
    readonly.offer(1, 5, 8 * CHUNK)
    address = np.frombuffer(hole, np.uint8).ctypes.data
    into = np.zeros(8 * CHUNK, np.uint8)
    accepted = Array(into, True)
    assert readonly.accept(1, 5, ME, accepted, readonly)
    view = np.frombuffer(memory_of(readonly), np.uint64)
    view[1 * 16 + 4] = address  # where the receiver wants it, as if that were read only
    assert readonly.give(1, 5, Array(source), ALL) == errno.EFAULT
    assert readonly.take(1, 5, ME, Array(source).address, accepted, ALL) == DONE
    assert np.array_equal(into, source)


def memory_of(slots: Slots):
    import ctypes

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


def shared(size: int) -> np.ndarray:
    return np.frombuffer(mmap.mmap(-1, size), np.uint8)


class Child:
    """A process that gives an array, in steps, with a pause after each."""

    def __init__(self, slots: Slots, source: np.ndarray, number: int, pause: float, step: int = 1) -> None:
        self.pid = os.fork()
        if not self.pid:
            limit = time.monotonic() + 20
            try:
                array = Array(source)
                while slots.stage(1, number) == OFFERED and time.monotonic() < limit:
                    pass
                while slots.give(1, number, array, step) == MORE and time.monotonic() < limit:
                    time.sleep(pause)
                while slots.stage(1, number) != OVER and time.monotonic() < limit:
                    time.sleep(0.0001)
            finally:
                os._exit(0)

    def join(self) -> None:
        os.waitpid(self.pid, 0)


@pytest.mark.parametrize("pause", [0.0, 0.0003, 0.003])
def test_two_processes(pause) -> None:
    slots = Slots(mmap.mmap(-1, BYTES))  # shared with the child
    for number, size in enumerate([5 * CHUNK, 40 * CHUNK + 1, 64 * CHUNK - 3], start=1):
        source = shared(size)
        source[:] = np.random.default_rng(number).integers(0, 256, size, np.uint8)
        slots.offer(1, number, size)
        child = Child(slots, source, number, pause)
        made = np.zeros(size, np.uint8)
        into = Array(made, True)
        assert slots.accept(1, number, ME, into, slots)
        limit = time.monotonic() + 20
        while (said := slots.take(1, number, child.pid, source.ctypes.data, into, CHUNK)) != DONE:
            assert said in (MORE, LATER) and time.monotonic() < limit
        received = made.copy()
        made[:] = 0  # a late write would show
        slots.say(1, number, OVER)
        child.join()
        assert np.array_equal(received, source)
        assert not made.any()


def test_a_sender_that_dies_with_a_claim_is_not_waited_for_blindly() -> None:
    ends = Ends(4 * CHUNK)
    words = np.frombuffer(memory_of(ends.slots), np.uint64)
    words[3 * 16] += 1 << 16  # a claim that nobody will ever copy
    began = time.monotonic()
    assert ends.take() == LATER  # and not an endless wait
    assert time.monotonic() - began < 5
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    assert recognise(child, ends.slots.address, ends.slots.token) == errno.ESRCH


def test_many_threads_make_no_chunk_twice() -> None:
    """Both ends at full speed, again and again; each chunk is copied by one of them."""
    for number in range(1, 200):
        ends = Ends(16 * CHUNK, number=number)
        helper = threading.Thread(target=ends.give)
        helper.start()
        while ends.take(CHUNK) != DONE:
            pass
        assert np.array_equal(ends.made, ends.source)
        ends.made[:] = 0
        helper.join()
        assert not ends.made.any()
