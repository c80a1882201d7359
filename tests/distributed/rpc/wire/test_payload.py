"""Payloads: every kind is encoded and decoded again, and malformed ones are refused."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

from mpigrad._core.rpc.frames import pack_header, read_header
from mpigrad._core.rpc.payload import (
    AGAIN,
    ARRAY,
    INLINE_MAX,
    _decode,
    encode_any,
    encode_flat,
    encode_raw,
    parse,
    parts,
)
from mpigrad._core.rpc.transport import transfer_sizes
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor
from mpigrad.distributed.rpc._protocol.message import EMPTY, FLAT, HEADER, HEADER_SIZE, PICKLE, RAW

ARRAYS = [
    np.arange(6.0).reshape(2, 3).T,
    np.array(3.5),
    np.zeros((0, 3)),
    np.arange(3, dtype=">i4"),
    np.array([True, False]),
    np.ones(2, np.complex64),
    np.ones(3, np.float16),
    np.array(["a", "bcd"]),
    np.array(["2020-01-01"], dtype="M8[D]"),
    np.arange(100)[::7],
    np.arange(INLINE_MAX, dtype=np.int64),
    np.arange(INLINE_MAX, dtype=np.int64).reshape(64, -1)[:, ::2],
]


def travel(payload):
    """Decode a payload from a frame as its receiver has it."""
    followed = [array.reshape(-1).view(np.uint8).copy() for array in payload.follow]
    frame = bytearray(HEADER_SIZE) + payload.data
    return _decode(None, 0, payload.mode, frame, HEADER_SIZE, payload.meta, followed)


def same(a, b) -> None:
    assert type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_arrays_travel_flat_and_pickled(array) -> None:
    (flat,), _ = travel(encode_flat((array,)))
    same(flat, array)
    assert flat.flags.writeable and flat.flags.aligned
    pickled, _ = travel(encode_any(None, 0, {"a": [array]}))
    same(pickled["a"][0], array)


@pytest.mark.parametrize("array", [np.array([1, "x"], dtype=object), np.zeros(2, dtype=[("a", "i4"), ("b", "f8")])])
def test_arrays_of_other_types_are_pickled(array) -> None:
    assert encode_flat((array,)) is None
    got, _ = travel(encode_any(None, 0, array))
    assert got.dtype == array.dtype and (got == array).all()


def test_tensors_keep_requires_grad_and_are_listed_in_order() -> None:
    plain, wants = wrap(np.ones((2, 2))), wrap(np.zeros(3))
    wants._requires = True
    for payload in (encode_flat((plain, 1, wants)), encode_any(None, 0, [plain, {"w": wants}])):
        assert [t is s for t, s in zip(payload.tensors, (plain, wants))] == [True, True]
        _, tensors = travel(payload)
        assert [type(t) for t in tensors] == [Tensor, Tensor]
        assert [t._requires for t in tensors] == [False, True]
        same(tensors[0]._array, plain._array)


def test_plain_scalars_travel_flat() -> None:
    items = (1, -(2**80), 2.5, None, True, "text", b"bytes", 1j)
    payload = encode_flat(items)
    assert payload.mode == FLAT and travel(payload)[0] == list(items)


@pytest.mark.parametrize("before", [0, 3, 7])
def test_the_same_tensor_twice_stays_one_without_a_pickle(before: int) -> None:
    others, tensor = [wrap(np.full(2, float(n))) for n in range(before)], wrap(np.ones(3)).requires_grad_()
    payload = encode_flat((*others, tensor, 5, tensor))
    assert payload.mode == FLAT and len(payload.tensors) == before + 1
    values, tensors = travel(payload)
    assert values[before] is values[-1] is tensors[before] and values[-2] == 5
    assert values[-1].requires_grad and values[-1].tolist() == [1, 1, 1] and len(tensors) == before + 1


def test_the_same_tensor_twice_behind_many_others_is_pickled() -> None:
    many = [wrap(np.ones(1)) for _ in range(9)]
    assert encode_flat((*many, many[8])) is None
    assert encode_flat((*many, many[7])).mode == FLAT


def test_a_tensor_that_is_named_before_it_came_is_an_error() -> None:
    meta = (2).to_bytes(4, "little") + bytes([AGAIN, 0])
    with pytest.raises(ValueError, match="malformed message: tensor 0 is referred to before it is defined"):
        _decode(None, 0, FLAT, bytearray(HEADER_SIZE), HEADER_SIZE, meta, [])
    with pytest.raises(ValueError, match="malformed message: bad array layout"):
        parse(bytes([AGAIN]))


def test_the_same_tensor_twice_in_a_pickle_stays_one() -> None:
    tensor = wrap(np.ones(2))
    got, _ = travel(encode_any(None, 0, [tensor, tensor]))
    assert got[0] is got[1]


def test_closures_and_lambdas_travel() -> None:
    factor = 3
    got, _ = travel(encode_any(None, 0, lambda x: x * factor))
    assert got(5) == 15


def test_unpicklable_objects_give_the_error_of_pickle() -> None:
    import threading

    with pytest.raises(TypeError, match="cannot pickle '_thread.lock' object"):
        encode_any(None, 0, [threading.Lock()])


def test_buffers_of_other_types_go_out_of_band() -> None:
    class Carrier:
        def __init__(self, data: bytes) -> None:
            self.data = data

        def __reduce_ex__(self, protocol):
            return bytearray, (pickle.PickleBuffer(self.data),)

    got, _ = travel(encode_any(None, 0, [Carrier(b"x" * 100), Carrier(b"y" * (INLINE_MAX + 1))]))
    assert got == [bytearray(b"x" * 100), bytearray(b"y" * (INLINE_MAX + 1))]


def test_raw_messages_have_no_pickle() -> None:
    payload = encode_raw(b"head", [np.arange(3.0), wrap(np.ones(2))])
    assert payload.mode == RAW
    (body, arrays), _ = travel(payload)
    assert body == b"head"
    same(arrays[0], np.arange(3.0))
    same(arrays[1]._array, np.ones(2))


def test_hundreds_of_large_arrays_in_one_message() -> None:
    arrays = [np.full(INLINE_MAX // 8 + 1, float(i)) for i in range(300)]
    payload = encode_any(None, 0, arrays)
    assert len(payload.follow) <= 256
    got, _ = travel(payload)
    assert [a[0] for a in got] == [float(i) for i in range(300)]


@pytest.mark.parametrize("mode", [FLAT, PICKLE, RAW, 9])
@pytest.mark.parametrize(
    "meta", [b"", b"\0\0", b"\xff\xff\xff\xff", b"\4\0\0\0abcd", b"\1\0\0\0\x63", b"\0\0\0\0\5\0\0\0"]
)
def test_malformed_meta_is_an_error(mode, meta) -> None:
    if (mode, meta) == (RAW, b"\0\0\0\0\5\0\0\0"):  # no arrays, and a body of four bytes
        assert _decode(None, 0, mode, bytearray(HEADER_SIZE), HEADER_SIZE, meta, []) == ((b"\5\0\0\0", []), [])
        return
    with pytest.raises(Exception) as caught:
        _decode(None, 0, mode, bytearray(HEADER_SIZE), HEADER_SIZE, meta, [])
    assert isinstance(caught.value, (ValueError, EOFError, pickle.UnpicklingError, IndexError))


def test_layout_that_reaches_beyond_the_frame_is_an_error() -> None:
    payload = encode_flat((np.arange(100.0),))
    with pytest.raises((TypeError, ValueError)):
        _decode(None, 0, payload.mode, bytearray(HEADER_SIZE + 8), HEADER_SIZE, payload.meta, [])


@pytest.mark.parametrize("name", [b"|O", b"|V8", b"2f4", b"f4,O"])
def test_bytes_are_never_taken_for_objects_or_records(name) -> None:
    layout = bytes([ARRAY, len(name), 1]) + name + (2).to_bytes(8, "little")
    with pytest.raises(ValueError, match="malformed message: arrays of dtype .* cannot be sent as bytes"):
        parse(layout)


def test_array_that_did_not_follow_is_an_error() -> None:
    payload = encode_flat((np.arange(INLINE_MAX),))
    with pytest.raises(ValueError, match="arrived without its"):
        _decode(None, 0, FLAT, bytearray(HEADER_SIZE), HEADER_SIZE, payload.meta, [np.zeros(3, np.uint8)])


def test_random_bytes_never_crash_the_parsers() -> None:
    random.seed(0)
    for _ in range(3000):
        noise = bytes(random.randrange(256) for _ in range(random.randrange(60)))
        frame = bytearray(HEADER_SIZE) + noise
        for action in (
            lambda: parse(noise),
            lambda: _decode(None, 0, FLAT, frame, HEADER_SIZE, noise[:4] + noise, []),
            lambda: transfer_sizes(frame),
        ):
            try:
                action()
            except Exception as error:
                assert not isinstance(error, (MemoryError, SystemError)), noise


def test_frames_with_any_lengths_are_taken_apart_or_refused() -> None:
    random.seed(0)
    refused = 0
    for _ in range(3000):
        noise = bytes(random.randrange(256) for _ in range(random.randrange(60)))
        length = HEADER_SIZE + len(noise) + random.choice((0, 0, 0, 1, -1))
        name, meta = random.randrange(60), random.randrange(60)
        head = pack_header(kind=2, mode=1, src=0, length=length, name_length=name, meta_length=meta, call_id=1)
        frame = bytearray(head + noise)
        try:
            _, start, *found, _ = parts(frame, read_header(frame))
        except ValueError as error:
            assert str(error).startswith("malformed message")
            refused += 1
        else:
            assert (start, b"".join(found)) == (HEADER_SIZE, noise[len(noise) - name - meta :])
    assert 500 < refused < 2900


def test_header_is_aligned_and_says_its_fields() -> None:
    assert HEADER_SIZE % 16 == 0
    fields = (2, EMPTY, 1, 2, 3, 4, 5, 6, 7, 8, -9, 10, -11, 12, 13, 14)
    assert HEADER.unpack(HEADER.pack(*fields)) == fields
