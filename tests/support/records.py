"""Takes files of `mpigrad.save` apart and puts them together, for tests with files that `save` would not write."""

from __future__ import annotations

import struct
import zlib


def seal(skeleton: bytes, blocks: list[bytes], version: int = 2) -> bytes:
    """Return a record with these parts, and checksums that fit."""
    made = b"MPIGRAD" + struct.pack(f"<BQQ{len(blocks)}Q", version, len(skeleton), len(blocks), *map(len, blocks))
    if version > 1:
        made += struct.pack(f"<{len(blocks) + 1}I", *map(zlib.crc32, (*blocks, skeleton)))
    made += struct.pack("<I", zlib.crc32(made)) + skeleton
    for block in blocks:
        made += bytes(-len(made) % 64) + block
    return made


def parts(record: bytes) -> tuple[bytes, list[bytes]]:
    """The skeleton and the blocks of a record of format 2."""
    length, count = struct.unpack_from("<QQ", record, 8)
    lengths = struct.unpack_from(f"<{count}Q", record, 24)
    at = 24 + 8 * count + 4 * (count + 2)
    skeleton, at = record[at : at + length], at + length
    blocks = []
    for each in lengths:
        at += -at % 64
        blocks.append(record[at : at + each])
        at += each
    return skeleton, blocks
