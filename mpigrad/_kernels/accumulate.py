"""Adds many gradients to others in one kernel launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._array.device import array_module
from .kernel import FLOATS, INTEGERS, Kernel, either_of_many, launch, letters_of
from .table import alike, tables

ADD_MANY = Kernel("add_many", "const __grid_constant__ Table table", """
  Piece piece = piece_of_block(table);
  const T *x = ROLE(T, 1), *y = ROLE(T, 2);
  T *made = ROLE(T, 0);
  EACH_OF_PIECE(i, piece) made[i] = (T)((A)x[i] + (A)y[i]);""", {"T": FLOATS + INTEGERS + "?"})  # fmt: skip


def _add_many(held: Sequence[Any], grads: Sequence[Any]) -> None:
    """`held[i] += grads[i]` for arrays of equal shapes. The arrays of `held` must not overlap."""
    for each, grad in zip(held, grads):
        each += grad


def _add_on_device(held: Sequence[Any], grads: Sequence[Any]) -> None:
    """`_add_many` on a GPU: one launch per element type; arrays that are not contiguous are added one by one."""
    kinds: dict[Any, list[Any]] = {}
    for each, grad in zip(held, grads):
        plain, other = _numbers(each), _numbers(grad)
        if plain.dtype.kind in "fiub" and alike((plain, other)):
            kinds.setdefault(plain.dtype, []).append((plain, plain, other))
        else:
            each += grad
    for arrays in kinds.values():
        xp = array_module(arrays[0][0])
        for table, blocks in tables(arrays):
            launch(xp, ADD_MANY, letters_of(arrays[0][0]), blocks, 256, table)


def _numbers(array: Any) -> Any:
    """View a complex array as real numbers, which have the same sums."""
    if array.dtype.kind != "c" or not array.ndim or not array.flags.c_contiguous:
        return array
    return array.view("f4" if array.dtype.itemsize == 8 else "f8")


add_many = either_of_many(_add_many, _add_on_device)
