"""Trees: every member has one place, parts are equal, the fan-out follows the costs."""

from __future__ import annotations

import pytest

from mpigrad.distributed.rpc._protocol.tree import choose_fan_out, compact, divide, levels


@pytest.mark.parametrize("count", range(20))
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 32])
def test_parts_are_contiguous_equal_and_complete(count: int, parts: int) -> None:
    found = divide(range(10, 10 + count), parts)
    assert [rank for part in found for rank in part] == list(range(10, 10 + count))
    assert len(found) == min(parts, count)
    assert not found or max(map(len, found)) - min(map(len, found)) <= 1


def reached(count: int, fan_out: int) -> int:
    """The number of hops to the farthest member, by building the tree."""
    return max((1 + reached(len(part) - 1, fan_out) for part in divide(range(count), fan_out)), default=0)


@pytest.mark.parametrize("fan_out", [1, 2, 3, 8])
def test_levels_are_those_of_the_tree(fan_out: int) -> None:
    for count in range(60):
        assert levels(count, fan_out) == reached(count, fan_out)


def test_levels_grow_with_the_logarithm() -> None:
    assert [levels(10**n, 2) for n in range(1, 6)] == [3, 6, 9, 13, 16]
    assert [levels(10**n, 10) for n in range(1, 6)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("ranks", [[3], [0, 1, 2], [5, 3, 1], [4, 4], [1, 2, 4]])
def test_compact_keeps_the_ranks(ranks: list[int]) -> None:
    assert list(compact(ranks)) == ranks
    assert isinstance(compact(ranks), range) == (ranks not in ([4, 4], [1, 2, 4]))


def test_fan_out_is_wide_if_latency_dominates_and_narrow_for_large_arguments() -> None:
    assert choose_fan_out(1000, 1e-6, 1e-3, 0) == 32
    assert choose_fan_out(1000, 100e-6, 1e-6, 0) <= 4
    assert choose_fan_out(1000, 1e-6, 50e-6, 10**9) <= 3
    assert choose_fan_out(1, 1e-6, 1e-3, 0) >= 1
