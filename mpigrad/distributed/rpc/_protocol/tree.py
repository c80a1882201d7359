"""Trees of workers, for messages to many: which worker sends to which, and how many children each one gets.

A worker that has to reach `n` members divides them into `fan_out` contiguous parts and calls the first member of each, its
*head*, which does the same with the rest of its part. Contiguous, because neighbouring ranks are usually on the same node.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Sequence

_HEAD = struct.Struct("<Iii")  # number of ranks, the first, the step; step 0: all ranks follow
MOST = 32  # children of one worker, unless the user asks for more
OVERHEAD, LATENCY = 20e-6, 50e-6  # seconds for one more call, and until its callee runs; assumed until both are measured
PASS_ON = 50e-6  # seconds that a head needs to decode the call, start its own calls and collect their answers; assumed
BYTES_PER_SECOND = 8e9  # the assumed speed at which large arguments are sent; each child of a worker gets its own copy


def divide(ranks: Sequence[int], parts: int) -> list[Sequence[int]]:
    """Divide `ranks` into at most `parts` contiguous parts, whose lengths differ by at most one.

    >>> divide(range(7), 3)
    [range(0, 3), range(3, 5), range(5, 7)]
    """
    count = min(parts, len(ranks))
    if not count:
        return []
    length, longer = divmod(len(ranks), count)
    ends = [length * i + min(i, longer) for i in range(count + 1)]
    return [ranks[start:end] for start, end in zip(ends, ends[1:])]


def compact(ranks: Sequence[int]) -> Sequence[int]:
    """Return the same ranks as a `range` if they have a constant step, which is short on the wire; otherwise as a tuple.

    >>> compact([1, 3, 5]), compact((4, 2, 1))
    (range(1, 7, 2), (4, 2, 1))
    """
    step = ranks[1] - ranks[0] if len(ranks) > 1 else 1
    found = range(ranks[0], ranks[0] + step * len(ranks), step) if step else range(0)
    return found if tuple(found) == tuple(ranks) else tuple(ranks)


def encode_ranks(ranks: Sequence[int]) -> bytes:
    """Encode ranks: 12 bytes for a range, otherwise 4 more for each rank.

    >>> list(decode_ranks(encode_ranks([4, 2, 1]))), decode_ranks(encode_ranks(range(3, 9, 2)))
    ([4, 2, 1], range(3, 9, 2))
    """
    found = compact(ranks) if ranks else range(0)
    if isinstance(found, range):
        return _HEAD.pack(len(found), found.start, found.step)
    return _HEAD.pack(len(found), 0, 0) + struct.pack(f"<{len(found)}I", *found)


def decode_ranks(data: bytes) -> Sequence[int]:
    """Return the ranks that `encode_ranks` has encoded; ValueError if the length is wrong."""
    count, start, step = _HEAD.unpack_from(data) if len(data) >= _HEAD.size else (-1, 0, 0)
    if count < 0 or len(data) != _HEAD.size + (0 if step else 4 * count):
        raise ValueError(f"malformed message: {len(data)} bytes are not a list of ranks")
    return range(start, start + step * count, step) if step else struct.unpack_from(f"<{count}I", data, _HEAD.size)


def levels(count: int, fan_out: int) -> int:
    """Return the number of hops from the caller to the farthest of `count` members of a tree with this fan-out.

    >>> levels(1, 2), levels(6, 2), levels(10_000, 8)
    (1, 2, 5)
    """
    found = 0
    while count > 0:
        count = -(-count // fan_out) - 1  # of the longest part, without its head
        found += 1
    return found


def choose_fan_out(count: int, overhead: float, latency: float, nbytes: int) -> int:
    """Return the fan-out with which the farthest of `count` members is reached in the shortest time.

    Args:
        overhead: seconds that a worker needs to make one more call; 0 if not measured yet.
        latency: seconds until a callee runs; 0 if not measured yet.
        nbytes: bytes of large arguments, which travel once along each edge of the tree.

    >>> choose_fan_out(8, 5e-6, 5e-6, 0), choose_fan_out(1000, 5e-6, 5e-6, 0), choose_fan_out(1000, 5e-6, 5e-6, 10**8)
    (8, 10, 3)
    """
    each = (overhead or OVERHEAD) + nbytes / BYTES_PER_SECOND
    return _best(count, _rounded(each), _rounded(latency or LATENCY))


@functools.lru_cache(1024)
def _best(count: int, each: float, latency: float) -> int:
    def seconds(fan_out: int) -> float:
        hops = levels(count, fan_out)
        return hops * (min(fan_out, count) * each + latency) + (hops - 1) * PASS_ON

    return min(range(2, MOST + 1), key=seconds)


def _rounded(seconds: float) -> float:
    """Round to a power of the square root of 2: the estimates are no better, and the cache needs few entries."""
    return math.exp2(round(2 * math.log2(seconds)) / 2)
