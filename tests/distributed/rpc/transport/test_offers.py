"""Offers between two processes, without MPI: taken, declined, malformed, and of a sender that dies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mpigrad._core.rpc import cross_memory
from mpigrad._core.rpc import mpi as _offers
from mpigrad._core.rpc.frames import pack_header
from mpigrad._core.rpc.transport import FrameWithArrays, transfer_sizes, transfer_table
from mpigrad.distributed.rpc._protocol.message import FLAGS_OFFSET, HEADER_SIZE, OFFERED, MessageType
from mpigrad.distributed.rpc._transport.shared_memory import slots
from tests.support.eventually import eventually

if not cross_memory.CAN:
    pytest.skip("plain Python copies nothing between processes", allow_module_level=True)

ROOT = Path(__file__).parents[4]
MIB = 1 << 20

PEER = """
import ctypes, sys, time
import numpy as np
from mpigrad._core.rpc import mpi as _offers
from tests.distributed.rpc.transport.test_offers import Ether, framed
seconds, pause, *sizes = map(float, sys.argv[1:])
arrays = [np.random.default_rng(int(size)).integers(0, 256, int(size), np.uint8) for size in sizes]
_offers.STEP = 1 << 20
offers = _offers.Offers(Ether())
frame, made = offers.make(0, framed(arrays), arrays, 5)
print(frame.hex(), flush=True)
if pause < 0:  # become unreadable, once the receiver has looked at this process
    sys.stdin.readline()
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    print("hidden", flush=True)
    pause = 0
limit = time.monotonic() + seconds
requests = list(made.values())
while requests and time.monotonic() < limit:
    requests = [each for each in requests if not each.Test()]
    time.sleep(pause)
print("over" if not requests else "not over", flush=True)
"""


class Ether:
    """A transport that only notes what it would do."""

    rank = 1
    oversubscribed = False

    def __init__(self) -> None:
        self.sent: list[tuple[int, bytes]] = []
        self.by_mpi: list[tuple[int, int, int]] = []

    def send(self, dst: int, frame: bytes, follow: list, tag: int) -> None:
        self.sent.append((dst, frame))

    def send_pieces(self, peer: int, raw: np.ndarray, tag: int) -> list:
        self.by_mpi.append((peer, raw.nbytes, tag))
        return []

    receive_pieces = send_pieces

    def test_all(self, requests: list) -> bool:
        return True


def framed(arrays: list[np.ndarray]) -> bytes:
    table = transfer_table(arrays)
    return pack_header(
        kind=2, mode=1, transfers=len(arrays), src=1, length=HEADER_SIZE + len(table), tag=5, call_id=1
    ) + table  # fmt: skip


class Peer:
    """Another process that offers arrays of these sizes, and helps, with a pause after each step."""

    def __init__(self, *sizes: int, seconds: float = 30, pause: float = 0) -> None:
        arguments = [sys.executable, "-c", PEER, str(seconds), str(pause), *map(str, sizes)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.frame = bytearray.fromhex(self.line())
        self.sizes = sizes

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=30)


def taken(offers: _offers.Offers, frame: bytearray, ether: Ether) -> tuple[FrameWithArrays, list[_offers.OfferReceive]]:
    """The requests for what a frame offers."""
    sender, arrays = offers.open(frame, 1)
    bulk = FrameWithArrays(frame)
    bulk.followed = [np.zeros(size, np.uint8) for size in transfer_sizes(frame)]
    return bulk, [_offers.OfferReceive(ether, bulk, sender, arrays[nth], bulk.followed[nth], 1, 5) for nth in arrays]


def finish(requests: list) -> None:
    left = list(requests)

    def advance() -> list:
        left[:] = [each for each in left if not each.Test()]
        return left

    eventually(advance, equals=[], pause=0)


def contents(size: int) -> np.ndarray:
    return np.random.default_rng(size).integers(0, 256, size, np.uint8)


@pytest.mark.parametrize("pause", [0, 0.0005, 0.01])
def test_two_processes(monkeypatch, pause) -> None:
    monkeypatch.setattr(_offers, "STEP", MIB)
    ether = Ether()
    with Peer(MIB, 3 * MIB + 17, 20 * MIB - 1, pause=pause) as peer:
        bulk, requests = taken(_offers.Offers(ether), peer.frame, ether)
        finish(requests)
        received = [array.copy() for array in bulk.followed]
        for array in bulk.followed:
            array[:] = 0  # a late write would show
        assert peer.line() == "over"
        for size, array in zip(peer.sizes, received):
            assert np.array_equal(array, contents(size))
        assert not any(array.any() for array in bulk.followed)
    assert not ether.sent and not ether.by_mpi


def test_the_frame_is_what_it_was() -> None:
    arrays, ether = [np.zeros(MIB, np.uint8), np.zeros(100_000, np.uint8)], Ether()
    offers = _offers.Offers(ether)
    frame, made = offers.make(1, framed(arrays), arrays, 5)
    assert list(made) == [0] and frame[FLAGS_OFFSET] & OFFERED and len(frame) > len(framed(arrays))
    offers.open(frame, 1)
    assert frame == framed(arrays)
    made[0].withdraw()


def test_what_is_not_offered() -> None:
    ether = Ether()
    offers, small, large = _offers.Offers(ether), np.zeros(_offers.SHARE_MIN - 1, np.uint8), np.zeros(MIB, np.uint8)
    assert offers.make(1, framed([small]), [small], 0) is None
    outgoing = _offers.Outgoing(None, None)  # type: ignore[arg-type]
    assert offers.make(1, framed([large]), [large, outgoing], 0) is None  # anything for a device
    assert offers.make(1, bytes(64 * 1024 - 10), [large], 0) is None  # no place in the frame
    assert offers.make(1, framed([large] * 200), [large] * 200, 0) is None  # no slots
    offers._declining.add(1)
    assert offers.make(1, framed([large]), [large], 0) is None
    assert not offers.out


def test_places_are_used_again() -> None:
    offers, large = _offers.Offers(Ether()), np.zeros(MIB, np.uint8)
    own = slots.own_slots()
    free = len(own.free)
    for _ in range(1000):
        _, made = offers.make(1, framed([large]), [large], 0)
        made[0].withdraw()
        made[0].withdraw()
    assert len(own.free) == free


def lie(monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    """This process says something else of itself."""
    own = slots.own_slots()
    monkeypatch.setattr(own, "packed", slots._IDENTITY.pack(*own.identity._replace(**changes)))


@pytest.mark.parametrize(
    "changes",
    [{"host": b"0" * 36}, {"token": b"x" * 16}, {"pid": 1}, {"pid": 2**22 + 1}, {"file": 0}, {"file": 12345}, {"address": 4096}],
    ids=str,
)
def test_strangers_are_declined_and_get_nothing_offered(monkeypatch, changes) -> None:
    there, here, large = Ether(), Ether(), np.arange(MIB, dtype=np.uint8)
    sender, receiver = _offers.Offers(there), _offers.Offers(here)
    lie(monkeypatch, **changes)
    frame, made = sender.make(1, framed([large]), [large], 40)
    assert receiver.open(frame, 1) == (None, {}) and frame == framed([large])
    [(to, answer)] = here.sent
    assert to == 1 and answer[0] == MessageType.DECLINE and answer[6] == 1  # looked at like a frame that arrays follow
    sender.declined(bytearray(answer), 3)  # not the rank to which it was offered
    assert not made[0].Test() and not there.by_mpi
    sender.declined(bytearray(answer), 1)
    assert not made[0].Test() and there.by_mpi == [(1, MIB, 40)]
    assert made[0].Test() and not sender.out
    assert sender.make(1, framed([large]), [large], 40) is None


@pytest.mark.parametrize(
    ("variable", "crowded", "offered"),
    [
        ("mpi", False, False), ("both_ends", False, True), ("both_ends", True, True),
        ("lend", False, True), ("auto", False, True), ("auto", True, True), ("", True, True),
    ],
    ids=["off", "on", "on in a crowd", "lent", "auto", "auto in a crowd", "unset in a crowd"],
)  # fmt: skip
def test_the_environment_and_the_number_of_cores_decide(monkeypatch, variable, crowded, offered) -> None:
    monkeypatch.setenv(slots.VARIABLE, variable)
    ether, large = Ether(), np.zeros(MIB, np.uint8)
    ether.oversubscribed = crowded
    made = _offers.Offers(ether).make(1, framed([large]), [large], 0)
    assert (made is not None) == offered
    if made is not None:
        made[1][0].withdraw()


def test_a_wrong_setting_is_an_error(monkeypatch) -> None:
    monkeypatch.setenv(slots.VARIABLE, "tcp")
    text = "MPIGRAD_HOST_TRANSFERS must be one of 'auto', 'both_ends', 'lend', 'mpi', got 'tcp'"
    with pytest.raises(ValueError, match=text):
        _offers.Offers(Ether())


def test_memory_that_cannot_be_read_comes_by_mpi() -> None:
    ether, large = Ether(), contents(4 * MIB)
    offers = _offers.Offers(ether)
    frame, made = offers.make(1, framed([large]), [large], 40)
    end = len(frame) - _offers._TAIL
    frame[end - 8 : end] = (4096).to_bytes(8, "little")  # its address
    _, [taking] = taken(offers, frame, ether)
    for request, asked in ((taking, 1), (made[0], 2)):
        eventually(lambda: not request.Test() and len(ether.by_mpi), equals=asked, pause=0)
    assert [entry[1] for entry in ether.by_mpi] == [4 * MIB] * 2
    assert taking.Test() and made[0].Test() and not offers.out


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        (lambda frame: frame[:-2] + b"\xff\xff", "65535 arrays offered in a frame of"),
        (lambda frame: frame[:-2] + b"\x00\x00", "0 arrays offered in a frame of"),
        (lambda frame: _changed(frame, 0, b"\x09"), "invalid offers"),  # the ninth array
        (lambda frame: _changed(frame, 2, b"\x80\x00"), "invalid offers"),
        (lambda frame: _changed(frame, 16, b"????"), "is not the identity of a process"),
        (lambda frame: _changed(frame, 16 + 56, b"\xff" * 4), "is not the identity of a process"),  # process id
    ],
)
def test_offers_that_cannot_be(change, pattern) -> None:
    large, ether = np.zeros(MIB, np.uint8), Ether()
    offers = _offers.Offers(ether)
    frame, made = offers.make(1, framed([large]), [large], 0)
    made[0].withdraw()
    with pytest.raises(ValueError, match=f"malformed message: .*{pattern}"):
        offers.open(bytearray(change(bytes(frame))), 1)


def _changed(frame: bytes, place: int, new: bytes) -> bytes:
    start = len(frame) - _offers._TAIL - _offers._ARRAY.size + place
    return frame[:start] + new + frame[start + len(new) :]


@pytest.mark.parametrize("place", [2, 4], ids=["slot", "number"])
def test_nothing_is_taken_that_was_not_offered(place) -> None:
    large, ether = np.zeros(MIB, np.uint8), Ether()
    offers = _offers.Offers(ether)
    frame, made = offers.make(1, framed([large]), [large], 0)
    other = made[0].place % 127 + 1
    bulk, [taking] = taken(offers, bytearray(_changed(bytes(frame), place, bytes([other, 0]))), ether)
    assert taking.Test()
    assert isinstance(bulk.followed, ValueError) and "not what rank 1 offers" in str(bulk.followed)
    made[0].withdraw()


def test_a_table_with_another_size() -> None:
    large, ether = np.zeros(MIB, np.uint8), Ether()
    offers = _offers.Offers(ether)
    frame, made = offers.make(1, framed([np.zeros(2 * MIB, np.uint8)]), [large], 0)
    bulk, [taking] = taken(offers, frame, ether)
    assert taking.Test() and isinstance(bulk.followed, ValueError)
    made[0].withdraw()


def test_a_sender_that_died_before_anything_was_taken() -> None:
    ether = Ether()
    offers = _offers.Offers(ether)
    with Peer(20 * MIB, pause=1) as peer:
        bulk, [taking] = taken(offers, peer.frame, ether)
        peer.process.kill()
        peer.process.wait(30)
        finish([taking])
    assert isinstance(bulk.followed, ConnectionError)
    assert "rank 1 was lost in the middle of an array of 20971520 bytes" in str(bulk.followed)


def test_a_sender_that_dies_in_the_middle(monkeypatch) -> None:
    ether = Ether()
    offers = _offers.Offers(ether)
    with Peer(64 * MIB, pause=0.001) as peer:
        bulk, [taking] = taken(offers, peer.frame, ether)
        monkeypatch.setattr(_offers, "STEP", MIB)
        assert not taking.Test()
        peer.process.kill()
        peer.process.wait(30)
        finish([taking])
    assert isinstance(bulk.followed, ConnectionError)


def test_a_receiver_that_cannot_be_recognised_copies_alone() -> None:
    there, here, large = Ether(), Ether(), contents(4 * MIB)
    sender, receiver = _offers.Offers(there), _offers.Offers(here)
    sender._recognised[1] = b""  # as if the system had not allowed it
    frame, made = sender.make(1, framed([large]), [large], 0)
    bulk, [taking] = taken(receiver, frame, here)
    assert taking._accept() and not made[0].Test()
    assert not bulk.followed[0].any()
    finish([taking, made[0]])
    assert np.array_equal(bulk.followed[0], large)


def test_arrays_whose_memory_numpy_does_not_lend() -> None:
    dates, ether = np.arange(200_000).astype("M8[s]"), Ether()
    offers = _offers.Offers(ether)
    frame, made = offers.make(1, framed([dates]), [dates], 0)
    bulk, [taking] = taken(offers, frame, ether)
    finish([taking, made[0]])
    assert np.array_equal(bulk.followed[0].view("M8[s]"), dates)


RECEIVER = """
import os
from tests.distributed.rpc.transport.test_offers import MIB, Ether, Peer, _offers, finish, taken
ether = Ether()
offers = _offers.Offers(ether)
peer = Peer(MIB, 3 * MIB, pause=-1)
bulk, requests = taken(offers, peer.frame, ether)
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)  # root may read everything
print("hide", file=peer.process.stdin, flush=True)
assert peer.line() == "hidden"
finish(requests)
print(ether.by_mpi, [array.nbytes for array in bulk.followed], peer.line())
"""


def test_a_sender_that_becomes_unreadable_is_received_from_by_mpi() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RECEIVER], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=50
    )
    by_mpi = [(1, MIB, 5), (1, 3 * MIB, 5)]  # tags are those that `taken` gives
    assert done.stdout.strip() == f"{by_mpi} {[MIB, 3 * MIB]} over", done.stderr


def test_a_rank_that_refused_is_offered_nothing_any_more() -> None:
    ether, large = Ether(), np.zeros(MIB, np.uint8)
    offers = _offers.Offers(ether)
    _, made = offers.make(3, framed([large]), [large], 5)
    own = slots.own_slots()
    own.slots.say(made[0].place, made[0].number, cross_memory.REFUSED)
    assert not made[0].Test() and made[0].Test() and ether.by_mpi == [(3, MIB, 5)]
    assert offers.make(3, framed([large]), [large], 5) is None and not offers.out
    assert offers.make(4, framed([large]), [large], 5) is not None
