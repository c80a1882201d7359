"""Padding with a constant, with repeated borders, by reflection, or periodically."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module

from .._define.operator import Operator, operator

Sides = tuple[tuple[int, int], ...]  # (before, after) of each dimension; negative numbers cut off elements


def _constant(x: Any, *, sides: Sides, value: Any) -> Any:
    xp = array_module(x)
    made = xp.full(tuple(n + a + b for n, (a, b) in zip(x.shape, sides)), value, dtype=x.dtype)
    to = tuple(slice(max(a, 0), made.shape[i] - max(b, 0)) for i, (a, b) in enumerate(sides))
    of = tuple(slice(max(-a, 0), x.shape[i] - max(-b, 0)) for i, (a, b) in enumerate(sides))
    made[to] = x[of]
    return made


constant_pad = operator(
    "constant_pad",
    _constant,
    lambda F, node, g: F.constant_pad(g, sides=tuple((-a, -b) for a, b in node.kw["sides"]), value=0),
    node="ConstantPadNdBackward0",
)


def sources(n: int, before: int, after: int, mode: str) -> Any:
    """For each output element along a dimension of length n, the index of the input element that it repeats, for this
    padding mode.

    `before` and `after` are the numbers of elements added at the two ends.
    """
    if mode == "circular":  # elements that are cut off at one end are not used for the other end
        kept = np.arange(max(-before, 0), n - max(-after, 0))
        return kept[np.arange(-max(before, 0), len(kept) + max(after, 0)) % len(kept)]
    at = np.arange(-before, n + after)
    if mode == "replicate":
        return np.clip(at, 0, n - 1)
    period = max(2 * (n - 1), 1)
    at = np.abs(at) % period
    return np.where(at >= n, period - at, at)


def _take(x: Any, *, maps: tuple[Any, ...]) -> Any:
    """The elements at the indices `maps`, along each of the last dimensions."""
    xp = array_module(x)
    for place, along in enumerate(maps):
        x = xp.take(x, xp.asarray(along), axis=x.ndim - len(maps) + place)
    return x


def _give(g: Any, *, maps: tuple[Any, ...], size: tuple[int, ...]) -> Any:
    """The transpose of `_take`: each element is added at the index from which `_take` would read it."""
    xp = array_module(g)
    for place, along in enumerate(maps):
        axis = g.ndim - len(maps) + place
        turned = xp.moveaxis(g, axis, 0)
        made = xp.zeros((size[place], *turned.shape[1:]), g.dtype)
        for row, to in enumerate(along):
            made[int(to)] += turned[row]
        g = xp.moveaxis(made, 0, axis)
    return g


def _take_backward(F: Any, node: Any, g: Any) -> Any:
    maps = node.kw["maps"]
    return F.give_along(g, maps=maps, size=node.shapes[0][len(node.shapes[0]) - len(maps) :])


operator("give_along", _give, lambda F, node, g: F.take_along(g, maps=node.kw["maps"]), node="PadBackwardBackward0")


def _named(name: str, node: str) -> Operator:
    return operator(name, _take, _take_backward, node=node)


take_along = _named("take_along", "IndexSelectBackward0")
repeating = {
    (mode, n): _named(f"{mode}_pad{n}d", f"{title}Pad{n}DBackward0")
    for mode, title in (("reflect", "Reflection"), ("replicate", "Replication"))
    for n in (1, 2, 3)
} | {("circular", n): _named(f"circular_pad{n}d", "torch::autograd::CopySlices") for n in (1, 2, 3)}

__all__: list[str] = []
