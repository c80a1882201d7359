"""Frames taken apart: where the parts of a received message lie."""

from __future__ import annotations

from typing import Any

from ._message import BODY_FOLLOWS, HEADER_SIZE, TRANSFER


def parts(
    frame: Any, flags: int, nseg: int, length: int, fn_len: int, meta_len: int
) -> tuple[Any, int, bytes, bytes, Any]:
    """Buffer and offset of the array data, meta, function name, and the arrays that followed, which the frame gives away;
    ValueError if they cannot be.
    """
    if not nseg:
        if length != len(frame):
            raise ValueError(f"malformed message: {length} bytes announced, {len(frame)} received")
        middle = length - fn_len
        start = middle - meta_len
        if start < HEADER_SIZE:
            raise ValueError(
                f"malformed message: function of {fn_len} and meta of {meta_len} bytes in a frame of {length}"
            )
        return frame, HEADER_SIZE, bytes(frame[start:middle]), bytes(frame[middle:]), ()
    followed, frame.followed = frame.followed, []
    if isinstance(followed, Exception):
        raise followed
    if flags & BODY_FOLLOWS:
        buffer, end, offset = followed[0], followed[0].nbytes, 0
        followed = followed[1:]
    else:
        buffer, end, offset = frame, length - TRANSFER.size * nseg, HEADER_SIZE
    middle = end - fn_len
    start = middle - meta_len
    if start < offset:
        raise ValueError(f"malformed message: function of {fn_len} and meta of {meta_len} bytes in a body of {end}")
    return buffer, offset, bytes(buffer[start:middle]), bytes(buffer[middle:end]), followed
