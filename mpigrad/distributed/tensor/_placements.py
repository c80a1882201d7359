"""Where the elements of a tensor are: on every rank, or cut along one dimension."""

from __future__ import annotations

from typing import NamedTuple


class Replicate(NamedTuple):
    """Every rank has the whole tensor."""


class Shard(NamedTuple):
    """Each rank has a piece of dimension `dim`."""

    dim: int
