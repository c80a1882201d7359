"""Cartesian grids of ranks, and layouts: which box of a global array each rank owns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import prod
from typing import Any

from .. import _mpi
from .._mpi import mpi_turn
from .._process_group.groups import ProcessGroup, register, resolve

Box = tuple[tuple[int, int], ...]  # (start, stop) of each dimension


def as_group(given: Any) -> ProcessGroup:
    """Return the process group for an argument `group`: that of a grid, a group, or None (the default group).

    ValueError if this rank is not in it.
    """
    found = given.group if isinstance(given, ProcessGrid) else resolve(given)
    if found is None:
        raise ValueError("this rank is not a member of the group")
    return found


class ProcessGrid:
    """The ranks of a process group, arranged in a Cartesian grid (MPI_Cart); the last dimension varies fastest.

    All ranks of the group construct the grid together.

    Args:
        shape: the number of ranks along each dimension; MPI chooses those given as 0.
        periodic: which dimensions are closed to a ring, so that the first and the last rank are neighbours: one bool, or one for
            each dimension.
        group: a process group, or another grid; by default all ranks.

    >>> import mpigrad.distributed as dist
    >>> from mpigrad.distributed.domain import ProcessGrid
    >>> dist.init_process_group("mpi")
    >>> grid = ProcessGrid((0, 0), periodic=(True, False))
    >>> grid.shape, grid.coords, grid.neighbor((1, 0)), grid.neighbor((0, 1))    # on one rank
    ((1, 1), (0, 0), 0, None)
    >>> dist.destroy_process_group()
    """

    def __init__(self, shape: Sequence[int], periodic: bool | Sequence[bool] = False, group: Any = None) -> None:
        of = as_group(group)
        wanted = [int(each) for each in shape]
        rings = [periodic] * len(wanted) if isinstance(periodic, (bool, int)) else list(periodic)
        if not wanted or len(rings) != len(wanted):
            raise ValueError(f"ProcessGrid needs one `periodic` for each dimension of its shape, got {shape} and {periodic}")
        self.shape: tuple[int, ...] = _completed(wanted, of.size())
        self.periodic: tuple[bool, ...] = tuple(map(bool, rings))
        with mpi_turn():
            comm = of.comm.Create_cart(self.shape, self.periodic, reorder=False)  # `_coords_of` relies on the order
        self.group: ProcessGroup = register(comm, of.ranks, of.timeout, "grid")
        self.coords: tuple[int, ...] = self._coords_of(self.rank())

    @property
    def ndim(self) -> int:
        """The number of dimensions of the grid."""
        return len(self.shape)

    def rank(self) -> int:
        """Return the rank of this process in the grid."""
        return self.group.rank()

    def size(self) -> int:
        """Return the number of ranks in the grid, the product of its `shape`."""
        return self.group.size()

    def _coords_of(self, rank: int) -> tuple[int, ...]:
        found = []
        for length in reversed(self.shape):
            rank, at = divmod(rank, length)
            found.append(at)
        return tuple(reversed(found))

    def rank_of(self, coords: Sequence[int]) -> int | None:
        """Return the rank at the coordinates `coords`; periodic dimensions wrap around. None beyond an end of the grid."""
        rank = 0
        for at, length, ring in zip(coords, self.shape, self.periodic, strict=True):
            if not ring and not 0 <= at < length:
                return None
            rank = rank * length + at % length
        return rank

    def neighbor(self, steps: Sequence[int]) -> int | None:
        """Return the rank that is `steps` away from this one; `steps` has a number for each dimension, such as (1, 0).

        None beyond an end of the grid; periodic dimensions wrap around.
        """
        return self.rank_of([at + step for at, step in zip(self.coords, steps, strict=True)])

    def layout(self, shape: Sequence[int], sizes: Sequence[Sequence[int] | None] | None = None) -> Layout:
        """Return a `Layout` that cuts a global array of this shape into one block per rank.

        Blocks are as equal as possible, with the longer ones first; or `sizes` has, for each dimension, the list of the lengths
        of the blocks (None: equal ones). ValueError if they do not fit the shape.

        >>> import mpigrad.distributed as dist
        >>> from mpigrad.distributed.domain import ProcessGrid
        >>> dist.init_process_group("mpi")
        >>> ProcessGrid((1, 1)).layout((6, 4)).local_shape
        (6, 4)
        >>> dist.destroy_process_group()
        """
        if len(shape) != self.ndim:
            raise ValueError(f"a layout of a grid of {self.ndim} dimensions needs as many lengths, got {tuple(shape)}")
        cuts = [_cuts(n, parts, own) for n, parts, own in zip(shape, self.shape, sizes or [None] * self.ndim, strict=True)]
        boxes = [
            tuple((along[at], along[at + 1]) for along, at in zip(cuts, self._coords_of(rank))) for rank in range(self.size())
        ]
        return Layout(shape, boxes, self)

    def __repr__(self) -> str:
        return f"ProcessGrid({self.shape}, periodic={self.periodic})"


def _completed(shape: list[int], size: int) -> tuple[int, ...]:
    """Return the shape of the grid with zeros replaced so that the product is `size`; ValueError if that is impossible."""
    if min(shape) < 0 or 0 not in shape and prod(shape) != size or size % (prod(filter(None, shape)) or 1):
        raise ValueError(
            f"a grid of shape {tuple(shape)} does not fit {size} ranks; give lengths whose product is {size}, or 0 for those "
            "that MPI should choose"
        )
    return tuple(_mpi.mpi().Compute_dims(size, shape))


def _cuts(length: int, parts: int, sizes: Sequence[int] | None) -> list[int]:
    """Return the index at which each block of one dimension begins, and the end of the last one; `sizes` as in `layout`."""
    if sizes is None:
        least, more = divmod(length, parts)
        sizes = [least + (at < more) for at in range(parts)]
    if len(sizes) != parts or sum(sizes) != length or min(sizes) < 0:
        raise ValueError(f"{parts} blocks of lengths {list(sizes)} do not make up a length of {length}")
    return [0, *accumulate(sizes)]


class Layout:
    """The assignment of a global array to ranks: the box of it that each rank owns.

    Get a layout from `ProcessGrid.layout`, `Layout.on_rank` and `Layout.everywhere`. An array may have more dimensions in
    front of those of the layout, which are not cut.

    Args:
        shape: of the global array.
        boxes: for each rank of the group, the pairs (start, stop) of all dimensions.
        group: a grid or a process group; by default all ranks.
    """

    def __init__(self, shape: Iterable[int], boxes: Sequence[Box], group: Any = None) -> None:
        self.shape: tuple[int, ...] = tuple(shape)
        self.boxes: list[Box] = list(boxes)
        self.group: ProcessGroup = as_group(group)
        if len(self.boxes) != self.group.size():
            raise ValueError(f"a layout needs one box for each of the {self.group.size()} ranks, got {len(self.boxes)}")

    @classmethod
    def on_rank(cls, shape: Sequence[int], rank: int = 0, group: Any = None) -> Layout:
        """Return the layout in which one rank of the group owns the whole array; `shape` and `group` as for `Layout`."""
        size = as_group(group).size()
        return cls(shape, [tuple((0, n if r == rank else 0) for n in shape) for r in range(size)], group)

    @classmethod
    def everywhere(cls, shape: Sequence[int], group: Any = None) -> Layout:
        """Return the layout in which every rank owns the whole array; `shape` and `group` as for `Layout`."""
        return cls(shape, [tuple((0, n) for n in shape)] * as_group(group).size(), group)

    @property
    def local_shape(self) -> tuple[int, ...]:
        """The shape of this rank's block of the global array."""
        return tuple(stop - start for start, stop in self.boxes[self.group.rank()])

    @property
    def local(self) -> tuple[Any, ...]:
        """An index, the place of this rank's block in the global array: `array[layout.local]` is the block."""
        return (..., *(slice(start, stop) for start, stop in self.boxes[self.group.rank()]))

    def is_partition(self) -> bool:
        """Return whether each element of the global array has exactly one owner."""
        owned = sum(prod(stop - start for start, stop in box) for box in self.boxes)
        apart = all(not overlap(a, b) for at, a in enumerate(self.boxes) for b in self.boxes[:at])
        return owned == prod(self.shape) and apart

    def __repr__(self) -> str:
        return f"Layout({self.shape}, local={self.boxes[self.group.rank()]})"


def overlap(a: Box, b: Box) -> Box | None:
    """Return the common part of two boxes; None if there is none."""
    found = tuple((max(p[0], q[0]), min(p[1], q[1])) for p, q in zip(a, b))
    return found if all(start < stop for start, stop in found) else None
