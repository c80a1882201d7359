"""Frames put together and opened: the header that every frame begins with, and the parts behind it.

`_protocol/header.pyx` is compiled in this module's place: the same, without numbers of Python's for each of the fifteen fields.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from .message import HEADER

_unpack = HEADER.unpack_from
_pack = HEADER.pack
_LENGTH = struct.Struct("<I")
_tuple: Any = tuple.__new__


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
    """The header of a received frame."""
    if len(frame) < HEADER.size:
        raise ValueError(f"malformed message: {len(frame)} bytes are too few for a header of {HEADER.size}")
    return _tuple(Header, _unpack(frame))


def frame_of(
    kind: int,
    mode: int,
    flags: int,
    epoch: int,
    rank: int,
    call_id: int,
    context_id: int,
    message_id: int,
    extra: int,
    extra2: int,
    data: bytes,
    meta: bytes,
    name: bytes,
) -> bytes:
    """A frame that nothing follows."""
    length = HEADER.size + len(data) + len(meta) + len(name)
    head = _pack(
        kind, mode, flags, epoch, 0, rank, length, len(name), len(meta), 0, call_id, context_id, message_id, extra, extra2
    )
    return b"".join((head, data, meta, name))


def with_length(text: bytes, rest: bytes) -> bytes:
    """A text behind its length, and what comes after it."""
    return b"".join((_LENGTH.pack(len(text)), text, rest))


def length_at(text: bytes, place: int) -> int:
    """The length of what `with_length` has put behind a place in a text; ValueError if the text is too short for either."""
    if len(text) < place + _LENGTH.size:
        raise ValueError(f"malformed message: a text of {len(text)} bytes has no length at {place}")
    (length,) = _LENGTH.unpack_from(text, place)
    if place + _LENGTH.size + length > len(text):
        raise ValueError(f"malformed message: {length} bytes behind place {place} of a text of {len(text)}")
    return length


def piece(buffer: Any, start: int, end: int) -> bytes:
    """Some of a buffer's bytes; ValueError if it does not have them."""
    if not 0 <= start <= end <= len(buffer):
        raise ValueError(f"malformed message: bytes {start} to {end} of {len(buffer)}")
    return bytes(buffer[start:end])
