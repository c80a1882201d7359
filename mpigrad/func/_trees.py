"""Flattens and rebuilds nested tuples, lists and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Rebuild = Callable[[Iterator[Any]], Any]


def flatten(value: Any) -> tuple[list[Any], Rebuild]:
    """The leaves of nested containers, and a description with which `rebuilt` builds the same structure."""
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves)


def _flatten(value: Any, leaves: list[Any]) -> Rebuild:
    if isinstance(value, dict):
        parts = {key: _flatten(each, leaves) for key, each in value.items()}
        return lambda source: type(value)((key, part(source)) for key, part in parts.items())
    if isinstance(value, (tuple, list)):
        made = [_flatten(each, leaves) for each in value]
        if hasattr(value, "_fields"):
            return lambda source: type(value)(*(part(source) for part in made))
        return lambda source: type(value)(part(source) for part in made)
    leaves.append(value)
    return next


def rebuilt(rebuild: Rebuild, leaves: list[Any]) -> Any:
    """The nested structure that `flatten` described by `rebuild`, with these leaves."""
    return rebuild(iter(leaves))


def spread(prefix: Any, value: Any, complain: Callable[[], Exception]) -> list[Any]:
    """For each leaf of `value` its entry in `prefix`, which has the same structure or one entry for a whole branch."""
    if isinstance(prefix, (tuple, list)) and not isinstance(value, (tuple, list)):
        raise complain()
    if isinstance(prefix, (tuple, list)):
        if len(prefix) != len(value):
            raise complain()
        return [one for a, b in zip(prefix, value) for one in spread(a, b, complain)]
    if isinstance(prefix, dict):
        if not isinstance(value, dict) or prefix.keys() != value.keys():
            raise complain()
        return [one for key, each in value.items() for one in spread(prefix[key], each, complain)]
    return [prefix] * len(flatten(value)[0])
