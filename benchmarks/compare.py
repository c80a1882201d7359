"""Combines the rounds: median and spread of each measure, and ratios that are computed within each round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, log
from typing import Any

from benchmarks.timing import quantile

# results[measure][contestant] = one value per round; None where the contestant failed in that round
Rounds = Mapping[str, Mapping[str, list[float | None]]]


@dataclass(frozen=True)
class Spread:
    """The median over the rounds, with the smallest and the largest value."""

    median: float
    low: float
    high: float


def spread(values: list[float]) -> Spread | None:
    """The spread of some values; None if there are none.

    >>> spread([2.0, 1.0, 9.0])
    Spread(median=2.0, low=1.0, high=9.0)
    """
    if not values:
        return None
    ordered = sorted(values)
    return Spread(quantile(ordered, 0.5), ordered[0], ordered[-1])


def present(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def ratio(above: list[float | None], below: list[float | None]) -> Spread | None:
    """The ratios `above / below` of each round, so that noise that lasts longer than a round cancels out.

    >>> ratio([2.0, 40.0], [1.0, 10.0])
    Spread(median=3.0, low=2.0, high=4.0)
    """
    pairs = [(a, b) for a, b in zip(above, below) if a is not None and b is not None and b > 0]
    return spread([a / b for a, b in pairs])


def rounds_of(results: Rounds, measure: str, contestant: str) -> list[float | None]:
    """The values of one contestant for a measure; empty if it was not measured."""
    return list(results.get(measure, {}).get(contestant, []))


def rounds_from_json(document: Mapping[str, Any], field: str = "value") -> Rounds:
    """The values in a results file; failures become None."""
    return {
        measure: {
            name: [sample.get(field) if sample else None for sample in samples] for name, samples in entry.items()
        }
        for measure, entry in document["measures"].items()
    }


def largest_gap(document: Mapping[str, Any], measure: str, one: str, other: str) -> float | None:
    """The largest difference between corresponding losses of two contestants; infinite if they reported different numbers of
    losses, None if they reported none.
    """
    entry = document["measures"].get(measure, {})
    found = [next((s["losses"] for s in entry.get(name, []) if s and s.get("losses")), None) for name in (one, other)]
    if found[0] is None or found[1] is None:
        return None
    if len(found[0]) != len(found[1]):
        return inf
    return max(abs(a - b) for a, b in zip(*found))


def exponent(points: dict[int, float]) -> float:
    """The exponent with which the cost grows between the two largest sizes (1 is linear).

    >>> exponent({1: 1.0, 2: 2.0, 4: 8.0})
    2.0
    """
    (small, low), (large, high) = sorted(points.items())[-2:]
    return log(high / low) / log(large / small)
