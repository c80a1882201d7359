"""Creates several disjoint groups at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .groups import get_process_group_ranks, get_rank, new_group


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Divide a group (by default the default group) into groups of `group_size` consecutive ranks. All ranks must call it.

    Returns the pair of this rank's group and the list of all groups, which has `NON_GROUP_MEMBER` for those without this
    rank. ValueError if `group_size` is not given (PyTorch's default is the number of GPUs) or does not divide the number of
    ranks. `timeout` and `group_desc` are those of each new group; `backend` and `pg_options` are ignored.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> mine, everyones = dist.new_subgroups(1)
    >>> dist.get_process_group_ranks(mine), len(everyones)
    ([0], 1)
    >>> dist.destroy_process_group()
    """
    if group_size is None:
        raise ValueError("new_subgroups needs group_size: there is no default number of ranks per group with MPI")
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    ranks = get_process_group_ranks(group)
    if len(ranks) < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({len(ranks)})")
    if len(ranks) % group_size:
        raise ValueError(f"The world size ({len(ranks)}) must be divisible by '{group_size=}'")
    parts = [ranks[start : start + group_size] for start in range(0, len(ranks), group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Create several groups, each given by the list of its global ranks; no rank may be in two of them. All their members must
    call it.

    Returns the pair of this rank's group (None if it is in none) and the list of all groups, as `new_subgroups` does; the other
    arguments are also as there.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.new_subgroups_by_enumeration([[0]])[0].size()
    1
    >>> dist.destroy_process_group()
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}")
            seen[rank] = ranks
    made = [new_group(ranks, timeout, backend, pg_options, group_desc=group_desc) for ranks in ranks_per_subgroup_list]
    mine = [each for each, ranks in zip(made, ranks_per_subgroup_list) if get_rank() in ranks]
    return (mine[0] if mine else None), made
