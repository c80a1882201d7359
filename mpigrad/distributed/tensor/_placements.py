"""Placements: whether the ranks of a mesh have a whole tensor or pieces of it."""

from __future__ import annotations

from typing import NamedTuple


class Replicate(NamedTuple):
    """The placement of a tensor of which every rank has a whole copy."""


class Shard(NamedTuple):
    """The placement of a tensor that is cut along the dimension `dim`: each rank has a piece."""

    dim: int
