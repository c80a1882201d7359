"""Copies parameters and buffers of one rank to all others, and checks that all ranks have the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpigrad._array.device import array_module, guard
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, counter

from .collectives import broadcast
from .objects import all_gather_object


def copy_from(rank: int, tensors: Sequence[Tensor], group: Any) -> None:
    """Copy the tensors of a rank of the group into those of all ranks, in one message for each type and device."""
    kinds: dict[Any, list[Tensor]] = {}
    for each in tensors:
        kinds.setdefault((each._array.dtype, each.device), []).append(each)
    for same in kinds.values():
        with guard(same[0]._array):
            flat = wrap(array_module(same[0]._array).concatenate([each._array.reshape(-1) for each in same]))
        broadcast(flat, group=group, group_src=rank)
        if group.rank() == rank:
            continue
        start = 0
        for each in same:
            size = each._array.size
            with guard(each._array):
                each._array[...] = flat._array[start : start + size].reshape(each._array.shape)
            counter(each)[0] += 1
            start += size


def check_same(named: Sequence[tuple[str, Tensor]], group: Any) -> None:
    """Check that all ranks of a group have parameters of the same shapes and types, given as (name, tensor).

    RuntimeError, with a rank and its first differing parameter, if not.
    """
    mine = [(name, tuple(each.shape), str(each.dtype)) for name, each in named]
    all_of_them: list[Any] = [None] * group.size()
    all_gather_object(all_of_them, mine, group)
    for rank, other in zip(group.ranks, all_of_them):
        if len(other) != len(mine):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {group.ranks[group.rank()]} has {len(mine)} params, while "
                f"rank {rank} has inconsistent {len(other)} params."
            )
        for place, (here, there) in enumerate(zip(mine, other)):
            if here[1:] != there[1:]:
                raise RuntimeError(
                    f"params[{place}] ({here[0]}) of rank {group.ranks[group.rank()]} is {here[2]} {list(here[1])}, that of rank "
                    f"{rank} ({there[0]}) is {there[2]} {list(there[1])}: DDP needs the same model on all ranks"
                )
