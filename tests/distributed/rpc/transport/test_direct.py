"""Direct calls of MPI: frames arrive complete and in order, with more of them than the ring has places; errors are mpi4py's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mpigrad._core.rpc import frames
from mpigrad._core.rpc.frames import pack_header
from mpigrad.distributed._mpi import mpi
from mpigrad.distributed.rpc._protocol.message import HEADER_SIZE

PLACES, SIZE, TAG = 4, 256, 77
LOOKS = 10_000

pytestmark = pytest.mark.skipif(str(frames.__file__).endswith(".py"), reason="plain Python goes through mpi4py")


@pytest.fixture
def to_myself() -> Iterator[Any]:
    """Direct calls on a communicator of this rank alone."""
    MPI = mpi()
    comm = MPI.COMM_SELF.Dup()
    buffers = [bytearray(SIZE) for _ in range(PLACES)]
    ring = [comm.Recv_init([each, MPI.BYTE], MPI.ANY_SOURCE, TAG) for each in buffers]
    MPI.Prequest.Startall(ring)
    yield frames.connect(MPI, comm, TAG, ring, buffers)
    for request in ring:
        request.Cancel()
        request.Wait()
        request.Free()
    comm.Free()


def frame_of(number: int, length: int = HEADER_SIZE + 8) -> bytes:
    return pack_header(kind=1, src=0, length=length, call_id=number) + number.to_bytes(length - HEADER_SIZE, "little")


def test_there_is_no_frame_before_one_is_sent(to_myself) -> None:
    assert to_myself.take(1) is None and to_myself.take(24) is None


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_frames_arrive_in_order_round_the_ring(to_myself, kind) -> None:
    kept = []
    for first in range(0, 6 * PLACES, PLACES):
        sent = [frame_of(number, HEADER_SIZE + 1 + number) for number in range(first, first + PLACES)]
        kept += [to_myself.send(kind(frame), 0) for frame in sent]
        assert [to_myself.take(LOOKS) for _ in sent] == sent
    assert to_myself.take(1) is None
    assert all(each is None or each.Test() for each in kept)


def test_a_message_that_is_too_short_is_not_taken_for_an_earlier_one(to_myself) -> None:
    for number in range(PLACES):
        to_myself.send(frame_of(number), 0)
        assert to_myself.take(LOOKS) == frame_of(number)
    to_myself.send(b"", 0)
    to_myself.send(frame_of(9), 0)
    assert to_myself.take(LOOKS) == b"" and to_myself.take(LOOKS) == frame_of(9)


def test_a_length_that_cannot_be_right_gives_the_header_alone(to_myself) -> None:
    to_myself.send(pack_header(kind=1, src=0, length=SIZE + 1) + b"12345678", 0)
    assert to_myself.take(LOOKS) == pack_header(kind=1, src=0, length=SIZE + 1)


def test_errors_are_those_of_mpi4py(to_myself) -> None:
    with pytest.raises(mpi().Exception, match="(?i)rank"):
        to_myself.send(frame_of(1), 5)
    with pytest.raises(TypeError, match="a frame is bytes or a bytearray, not str"):
        to_myself.send("text", 0)
