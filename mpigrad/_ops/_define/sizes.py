"""Shapes as users give them (separate numbers or one sequence, with -1 for a size to be computed), checked as PyTorch does."""

from __future__ import annotations

from typing import Any

from .dims import as_int


def sizes_of(given: tuple[Any, ...]) -> tuple[int, ...]:
    """A tuple of ints from `f(2, 3)`, `f((2, 3))` or `f([2, 3])`, given as the tuple of arguments."""
    if len(given) == 1 and given[0].__class__ is not int and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
    for each in given:
        if each.__class__ is not int:
            return tuple(as_int(each) for each in given)
    return given


def resolve(shape: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The shape, with -1 replaced by the size that gives `count` elements in total."""
    known, hole = 1, -1
    for place, length in enumerate(shape):
        if length >= 0:
            known *= length
        elif length != -1:
            raise RuntimeError(f"invalid shape dimension {length} at index {place} of shape {list(shape)}")
        elif hole >= 0:
            raise RuntimeError("only one dimension can be inferred")
        else:
            hole = place
    if hole < 0:
        if known != count:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
        return shape
    if known == 0:
        if count == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension "
                "size -1 can "
                "be any value and is ambiguous"
            )
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
    if count % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
    return (*shape[:hole], count // known, *shape[hole + 1 :])
