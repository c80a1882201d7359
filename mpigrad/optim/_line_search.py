"""A line search for the strong Wolfe conditions: brackets a step, then narrows the bracket.

After Nocedal and Wright, "Numerical Optimization", algorithms 3.5 and 3.6, with cubic interpolation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

ENOUGH, FLAT = 1e-4, 0.9  # the constants of the two conditions
MOST = 25  # evaluations of one search


class Point(NamedTuple):
    """The loss, its gradient and its slope along the search direction, after a step of one length."""

    step: float
    loss: float
    grad: Any
    slope: float


def cubic(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """The position of the minimum of the cubic that has the values and slopes of two points, limited to the interval
    `bounds`.
    """
    low, high = bounds or (min(a.step, b.step), max(a.step, b.step))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
    square = d1 * d1 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2.0
    root = math.sqrt(square)
    if a.step > b.step:
        a, b = b, a
    found = b.step - (b.step - a.step) * ((b.slope + root - d1) / (b.slope - a.slope + 2 * root))
    return min(max(found, low), high)


class Search:
    """One search along a direction from `start`, where the step is 0."""

    def __init__(self, evaluate: Callable[[float], Point], start: Point, reach: float, tolerance: float) -> None:
        self.evaluate, self.start = evaluate, start
        self.reach, self.tolerance = (
            reach,
            tolerance,
        )  # the direction's largest element; changes below it end the search
        self.evaluations = 0

    def _at(self, step: float) -> Point:
        self.evaluations += 1
        return self.evaluate(step)

    def _too_high(self, point: Point) -> bool:
        return point.loss > self.start.loss + ENOUGH * point.step * self.start.slope

    def _flat(self, point: Point) -> bool:
        return abs(point.slope) <= -FLAT * self.start.slope

    def run(self, step: float) -> Point:
        """Run the search, beginning with the step length `step`; returns the length that was found."""
        bracket, rounds = self._bracket(step)
        return bracket[0] if len(bracket) == 1 else self._zoom(bracket, rounds)

    def _bracket(self, step: float) -> tuple[list[Point], int]:
        before, now = self.start, self._at(step)
        for rounds in range(MOST):
            if self._too_high(now) or rounds > 1 and now.loss >= before.loss:
                return [before, now], rounds
            if self._flat(now):
                return [now], rounds
            if now.slope >= 0:
                return [before, now], rounds
            bounds = (now.step + 0.01 * (now.step - before.step), now.step * 10)
            before, now = now, self._at(cubic(before, now, bounds))
        return [self.start, now], MOST

    def _zoom(self, bracket: list[Point], rounds: int) -> Point:
        low, high = sorted(bracket, key=lambda point: point.loss)
        stuck = False
        while rounds < MOST and abs(high.step - low.step) * self.reach >= self.tolerance:
            step, stuck = _away_from_ends(cubic(low, high), low.step, high.step, stuck)
            now = self._at(step)
            rounds += 1
            if self._too_high(now) or now.loss >= low.loss:
                high = now
            else:
                if self._flat(now):
                    return now
                if now.slope * (high.step - low.step) >= 0:
                    high = low
                low = now
            if high.loss < low.loss:
                low, high = high, low
        return low


def _away_from_ends(step: float, a: float, b: float, stuck: bool) -> tuple[float, bool]:
    """Keep a step inside the bracket from `a` to `b`. Returns the step, and whether it lies near an end (closer than a tenth
    of the bracket). This is allowed once: if the step before was near an end too (`stuck`), this one is moved inwards.
    """
    low, high = min(a, b), max(a, b)
    margin = 0.1 * (high - low)
    if min(high - step, step - low) >= margin:
        return step, False
    if stuck or step >= high or step <= low:
        return (high - margin if abs(step - high) < abs(step - low) else low + margin), False
    return step, True
