"""The bytes of frames: headers, lengths, small arrays; and direct calls of MPI for frames.

`frames.pyx` replaces this module when it is compiled. It does the same in C: without Python objects for the fifteen fields of a
header, with NumPy's C API, and with direct calls of MPI. Plain Python uses mpi4py.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from mpigrad.distributed.rpc._protocol.message import (
    EPOCH_OFFSET,
    FLAGS_OFFSET,
    HEADER,
    KIND_OFFSET,
    LENGTH_OFFSET,
    MODE_OFFSET,
    TRANSFERS_OFFSET,
    WIRE_VERSION,
    other_version,
)

_unpack = HEADER.unpack_from
_pack = HEADER.pack
_LENGTH = struct.Struct("<I")
_SHORT = struct.Struct("<H")
_tuple: Any = tuple.__new__  # makes a `Header` in less time than calling the class
_ndarray = np.ndarray


class Header(NamedTuple):
    """The fields of a frame's header, in their order (see `_protocol/message.py`)."""

    kind: int
    mode: int
    flags: int
    epoch: int
    transfers: int
    src: int
    length: int
    name_length: int
    meta_length: int
    tag: int
    call_id: int
    context_id: int
    message_id: int
    extra: int
    extra2: int


def read_header(frame: Any) -> Header:
    """Return the header of a received frame; ValueError if the frame is too short or of another wire version."""
    if len(frame) < HEADER.size:
        raise ValueError(f"malformed message: {len(frame)} bytes are too few for a header of {HEADER.size}")
    *fields, version = _unpack(frame)
    if version != WIRE_VERSION:
        raise ValueError(other_version(version))
    return _tuple(Header, fields)


# Single fields, for code that does not need the whole header.


def kind_of(frame: Any) -> int:
    """Return the type of a frame's message, a number of `MessageType`."""
    return _checked(frame)[KIND_OFFSET]


def mode_of(frame: Any) -> int:
    """Return how a frame's payload is encoded: EMPTY, FLAT, PICKLE, RAW or CUSTOM."""
    return _checked(frame)[MODE_OFFSET]


def flags_of(frame: Any) -> int:
    """Return the flags of a frame: a sum of BODY_FOLLOWS, HAS_CONTEXT, IS_TUPLE and OFFERED."""
    return _SHORT.unpack_from(_checked(frame), FLAGS_OFFSET)[0]


def epoch_of(frame: Any) -> int:
    """Return the incarnation of the receiver to which a frame was sent; 0 for any."""
    return _SHORT.unpack_from(_checked(frame), EPOCH_OFFSET)[0]


def transfers_of(frame: Any) -> int:
    """Return the number of transfers that follow a frame."""
    return _SHORT.unpack_from(_checked(frame), TRANSFERS_OFFSET)[0]


def _checked(frame: Any) -> Any:
    if len(frame) < LENGTH_OFFSET:
        raise ValueError(f"malformed message: {len(frame)} bytes are too few for a header of {HEADER.size}")
    return frame


def pack_header(
    *,
    kind: int,
    src: int,
    length: int,
    mode: int = 0,
    flags: int = 0,
    epoch: int = 0,
    transfers: int = 0,
    name_length: int = 0,
    meta_length: int = 0,
    tag: int = 0,
    call_id: int = 0,
    context_id: int = 0,
    message_id: int = 0,
    extra: int = 0,
    extra2: int = 0,
) -> bytes:
    """Build the bytes of a header. `length` is that of the whole frame; the fields are described in `_protocol/message.py`."""
    return _pack(
        kind, mode, flags, epoch, transfers, src, length, name_length, meta_length, tag, call_id, context_id, message_id,
        extra, extra2, WIRE_VERSION,
    )  # fmt: skip


def build_frame(
    kind: int,
    mode: int,
    flags: int,
    epoch: int,
    src: int,
    call_id: int,
    context_id: int,
    message_id: int,
    extra: int,
    extra2: int,
    data: bytes,
    meta: bytes,
    name: bytes,
) -> bytes:
    """Build a frame without transfers: the header with these fields, array data, meta and the name of the function."""
    head = pack_header(
        kind=kind, mode=mode, flags=flags, epoch=epoch, src=src, call_id=call_id, context_id=context_id,
        message_id=message_id, extra=extra, extra2=extra2, name_length=len(name), meta_length=len(meta),
        length=HEADER.size + len(data) + len(meta) + len(name),
    )  # fmt: skip
    return b"".join((head, data, meta, name))


def length_prefixed(text: bytes, rest: bytes) -> bytes:
    """Return bytes that contain the length of `text`, `text`, and `rest`."""
    return b"".join((_LENGTH.pack(len(text)), text, rest))


def length_at(text: bytes, place: int) -> int:
    """Read the length that `length_prefixed` wrote at the position `place`; ValueError if the text is too short for it."""
    if len(text) < place + _LENGTH.size:
        raise ValueError(f"malformed message: a text of {len(text)} bytes has no length at {place}")
    (length,) = _LENGTH.unpack_from(text, place)
    if place + _LENGTH.size + length > len(text):
        raise ValueError(f"malformed message: {length} bytes after position {place} of a text of {len(text)}")
    return length


def slice_bytes(buffer: Any, start: int, end: int) -> bytes:
    """Return a copy of the bytes from `start` to `end` of a buffer; ValueError if they are out of range."""
    if not 0 <= start <= end <= len(buffer):
        raise ValueError(f"malformed message: bytes {start} to {end} of {len(buffer)}")
    return bytes(buffer[start:end])


# -- small arrays ------------------------------------------------------------------------------------------------------
def layout_key(kind: int, array: Any) -> Any:
    """Return the key under which the layout of an array is cached: kind of entry (ARRAY, TENSOR ...), dtype and shape.

    None for tensors (`kind` above 2) that are not C-contiguous. Valid as long as the dtype object is kept with it.
    """
    return (kind, array.dtype, array.shape) if kind == 2 or array.flags.c_contiguous else None


def padded_bytes(array: Any, padding: bytes) -> bytes:
    """Return an array's elements as bytes, in C order, followed by padding."""
    return array.tobytes() + padding


def view_of(buffer: Any, offset: int, shape: tuple[int, ...], dtype: Any, nbytes: int) -> Any:
    """Return an array of `nbytes` bytes that is a view of a buffer, from `offset` on.

    ValueError or TypeError if the buffer is too short or shape and dtype do not make `nbytes`.
    """
    made = _ndarray(shape, dtype, buffer, offset)
    if made.nbytes != nbytes:
        raise ValueError(f"an array of shape {shape} and dtype {dtype} does not have {nbytes} bytes")
    return made


def connect(MPI: Any, comm: Any, tag: int, ring: list[Any], buffers: list[bytearray]) -> Any:
    """Return an object that sends and receives frames by direct calls of MPI; None here, as that needs the compiled module.

    `ring` and `buffers` are the posted receives of the transport and their memory.
    """
    return None
