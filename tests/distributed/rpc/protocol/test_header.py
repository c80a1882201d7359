"""Headers and frames: reading gives what was written, compiled and in Python, and never reads beyond the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpigrad._core.rpc import frames as running
from mpigrad._core.rpc.payload import parts
from mpigrad.distributed.rpc._protocol.message import HEADER, HEADER_SIZE, WIRE_VERSION
from tests.support.forms import plain_form

PLAIN = plain_form("_core.rpc.frames")
FORMS = pytest.mark.parametrize("form", [running, PLAIN], ids=["running", "plain"])
FIELDS = (
    "kind mode flags epoch transfers src length name_length meta_length tag call_id context_id message_id extra extra2"
).split()

byte, short, word = (st.integers(0, (1 << bits) - 1) for bits in (8, 16, 32))
number = st.integers(-(1 << 63), (1 << 63) - 1)
text = st.binary(max_size=40)


@given(st.tuples(byte, byte, short, short, word, number, number, number, number, number, text, text, text))
def test_frames_are_alike_in_both_forms(arguments) -> None:
    kind, mode, flags, epoch, rank, call_id, context_id, message_id, extra, extra2, data, meta, name = arguments
    frame = running.build_frame(*arguments)
    assert frame == PLAIN.build_frame(*arguments)
    header = running.read_header(bytearray(frame))
    assert (header.kind, header.mode, header.flags, header.epoch, header.src) == (kind, mode, flags, epoch, rank)
    assert (header.call_id, header.context_id, header.message_id) == (call_id, context_id, message_id)
    assert (header.extra, header.extra2, header.length, header.transfers) == (extra, extra2, len(frame), 0)
    buffer, offset, *found, followed = parts(bytearray(frame), header)
    assert (buffer, offset, found, followed) == (frame, HEADER_SIZE, [meta, name], ())
    assert frame[HEADER_SIZE : HEADER_SIZE + len(data)] == data


@given(st.tuples(byte, byte, short, short, short, word, word, word, word, st.integers(0, (1 << 64) - 1), *[number] * 5))
def test_headers_are_alike_in_both_forms(fields) -> None:
    named = dict(zip(FIELDS, fields))
    packed = running.pack_header(**named)
    assert packed == PLAIN.pack_header(**named) == HEADER.pack(*fields, WIRE_VERSION)
    for form in (running, PLAIN):
        for frame in (packed, bytearray(packed)):
            assert form.kind_of(frame) == named["kind"] and form.mode_of(frame) == named["mode"]
            assert form.flags_of(frame) == named["flags"] and form.epoch_of(frame) == named["epoch"]
            assert form.transfers_of(frame) == named["transfers"]


@FORMS
@pytest.mark.parametrize("field", ["kind", "mode", "flags", "epoch", "transfers"])
def test_a_field_of_an_empty_frame(form, field) -> None:
    with pytest.raises(ValueError, match="malformed message: 0 bytes are too few for a header"):
        getattr(form, f"{field}_of")(bytearray())


@given(st.binary(min_size=HEADER_SIZE, max_size=HEADER_SIZE + 20), st.sampled_from([bytes, bytearray]))
def test_any_bytes_have_a_header(frame, kind) -> None:
    frame = frame[: HEADER_SIZE - 8] + bytes([WIRE_VERSION]) + frame[HEADER_SIZE - 7 :]
    read = running.read_header(kind(frame))
    *fields, _ = HEADER.unpack_from(frame)
    assert [getattr(read, name) for name in FIELDS] == fields
    assert list(PLAIN.read_header(frame)) == fields


@FORMS
@pytest.mark.parametrize("length", [0, 1, HEADER_SIZE - 1])
def test_a_frame_without_a_whole_header(form, length) -> None:
    with pytest.raises(ValueError, match=f"malformed message: {length} bytes are too few for a header of {HEADER_SIZE}"):
        form.read_header(bytearray(length))


@FORMS
@given(text, text)
def test_a_text_behind_its_length(form, first, rest) -> None:
    made = form.length_prefixed(first, rest)
    assert made == len(first).to_bytes(4, "little") + first + rest
    assert form.length_at(made, 0) == len(first)
    assert form.length_at(b"abc" + made, 3) == len(first)


@FORMS
@pytest.mark.parametrize(
    "wrong, place", [(b"", 0), (b"\1\0\0", 0), (b"\2\0\0\0x", 0), (b"\xff\xff\xff\xffabc", 0), (b"\0\0\0\0", 1)]
)
def test_a_length_that_is_not_there(form, wrong, place) -> None:
    with pytest.raises(ValueError, match="malformed message"):
        form.length_at(wrong, place)


@FORMS
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda text: np.frombuffer(text, np.uint8)])
def test_pieces(form, kind) -> None:
    buffer = kind(b"0123456789")
    assert [form.slice_bytes(buffer, *ends) for ends in ((0, 10), (3, 5), (4, 4))] == [b"0123456789", b"34", b""]


@FORMS
@pytest.mark.parametrize("kind", [bytes, bytearray])
@pytest.mark.parametrize("ends", [(0, 11), (-1, 3), (5, 4)])
def test_pieces_that_are_not_there(form, kind, ends) -> None:
    with pytest.raises(ValueError, match="malformed message: bytes"):
        form.slice_bytes(kind(10), *ends)


def test_lengths_that_do_not_fit_into_their_frame() -> None:
    head = running.pack_header(kind=2, src=0, length=HEADER_SIZE + 4, name_length=3, meta_length=2, call_id=1)
    frame = bytearray(head + b"abcd")
    with pytest.raises(ValueError, match="malformed message: function of 3 and meta of 2 bytes in a frame of"):
        parts(frame, running.read_header(frame))
    with pytest.raises(ValueError, match=f"{HEADER_SIZE + 4} bytes announced, {HEADER_SIZE + 3} received"):
        parts(frame[:-1], running.read_header(frame))


@FORMS
def test_frames_of_another_wire_version_are_refused(form) -> None:
    frame = bytearray(form.pack_header(kind=2, src=1, length=HEADER_SIZE))
    assert form.read_header(frame).src == 1
    frame[HEADER_SIZE - 8] = 0  # as written before frames had a version
    with pytest.raises(ValueError, match="a frame of wire version 1, but this worker has 2: all workers need the same mpigrad"):
        form.read_header(frame)
