"""Frames taken apart: where the parts of a received message lie, and what handlers get of it."""

from __future__ import annotations

from typing import Any

from .header import Header, piece
from .message import BODY_FOLLOWS, HEADER_SIZE, TRANSFER

_TRANSFER_SIZE = TRANSFER.size


class RawMessage:
    """A received internal message: who sent it, its bytes and arrays, and fields of the header."""

    __slots__ = ("arrays", "body", "context_id", "extra", "extra2", "message_id", "src")

    def __init__(
        self, src: int, body: bytes, arrays: list[Any], extra: int, extra2: int, context_id: int, message_id: int
    ) -> None:
        self.src, self.body, self.arrays, self.extra, self.extra2 = src, body, arrays, extra, extra2
        self.context_id, self.message_id = context_id, message_id


def parts(frame: Any, header: Header) -> tuple[Any, int, bytes, bytes, Any]:
    """Buffer and offset of the array data, meta, function name, and the arrays that followed, which the frame gives away;
    ValueError if they cannot be.
    """
    length, name_length, meta_length = header.length, header.name_length, header.meta_length
    if not header.transfers:
        if length != len(frame):
            raise ValueError(f"malformed message: {length} bytes announced, {len(frame)} received")
        if HEADER_SIZE + meta_length + name_length > length:
            raise ValueError(
                f"malformed message: function of {name_length} and meta of {meta_length} bytes in a frame of {length}"
            )
        middle = length - name_length
        return frame, HEADER_SIZE, piece(frame, middle - meta_length, middle), piece(frame, middle, length), ()
    followed, frame.followed = frame.followed, []
    if isinstance(followed, Exception):
        raise followed
    if header.flags & BODY_FOLLOWS:
        buffer, end, offset = followed[0], followed[0].nbytes, 0
        followed = followed[1:]
    else:
        buffer, end, offset = frame, length - _TRANSFER_SIZE * header.transfers, HEADER_SIZE
    middle = end - name_length
    start = middle - meta_length
    if start < offset:
        raise ValueError(f"malformed message: function of {name_length} and meta of {meta_length} bytes in a body of {end}")
    return buffer, offset, piece(buffer, start, middle), piece(buffer, middle, end), followed
