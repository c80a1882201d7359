"""Common helpers of differentiable operations: the group of this rank, and new tensors for results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpigrad._tensor import Tensor

from .._process_group.groups import GroupMember, ProcessGroup, resolve


def member_of(group: Any) -> ProcessGroup:
    """Return the group for an argument (None: the default group); ValueError if this rank is not a member."""
    found = resolve(group)
    if found is None or group is GroupMember.NON_GROUP_MEMBER:
        raise ValueError("Invalid process group specified: this rank is not a member, so it must not call its collectives")
    return found


def empty_like(tensor: Tensor, shape: Sequence[int] | None = None) -> Tensor:
    """Return an uninitialised contiguous tensor with the type and device of `tensor`, and its shape or the given one."""
    return tensor.new_empty(tuple(tensor.shape if shape is None else shape))


def place_in(found: ProcessGroup, rank: int) -> int:
    """Return the group rank of a global rank, an argument `src` or `dst`; ValueError if it is not in the group."""
    return found.place(rank)
