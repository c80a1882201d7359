"""`repartition`: moves a global array from one layout to another; its backward moves gradients back.

If several ranks own an element in the new layout, their gradients are added.
"""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import array_module, guard
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor
from mpigrad.autograd.function import Function

from ._grid import Box, Layout, overlap
from ._messages import Incoming, Messages, Outgoing


def _inside(part: Box, box: Box) -> tuple[Any, ...]:
    """Return the index of a part of the global array in the block `box` of its owner."""
    return (..., *(slice(start - origin, stop - origin) for (start, stop), (origin, _) in zip(part, box)))


def _move(x: Any, source: Layout, target: Layout) -> Any:
    """Return this rank's block in the layout `target`, given its block `x` in `source`.

    If an element has several owners in `source`, their values are added.
    """
    rank, size = source.group.rank(), source.group.size()
    ours, theirs = source.boxes[rank], target.boxes[rank]
    lead = x.shape[: x.ndim - len(source.shape)]
    sends = [
        Outgoing(to, 0, x[_inside(part, ours)]) for to in range(size) if (part := overlap(ours, target.boxes[to])) is not None
    ]
    receives = [
        Incoming(of, 0, (*lead, *(stop - start for start, stop in part)), _inside(part, theirs))
        for of in range(size)
        if (part := overlap(source.boxes[of], theirs)) is not None
    ]
    messages = Messages("repartition", source.group, sends, receives, x)
    with guard(x):
        made = array_module(x).zeros((*lead, *target.local_shape), x.dtype)
        for at, block in messages.wait():
            made[at] += block
    return made


class _Repartition(Function):
    """`repartition`, with its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, source: Layout, target: Layout) -> Tensor:
        ctx.ends = source, target
        return wrap(_move(x._array, source, target))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        source, target = ctx.ends
        return _Repartition.apply(g, target, source), None, None


def repartition(x: Tensor, source: Layout, target: Layout) -> Tensor:
    """Return this rank's block in the layout `target`, given its block `x` in the layout `source` of the same global array.

    Both layouts have the same ranks; each element has one owner in `source`, and any number of owners in `target`. `target` is,
    for example, the layout of another grid, `Layout.on_rank` to gather the array on one rank, or `Layout.everywhere` to copy it
    to all ranks. ValueError if `x` and the layouts do not fit together.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> from mpigrad.distributed.domain import Layout, ProcessGrid, repartition
    >>> dist.init_process_group("mpi")
    >>> rows, columns = ProcessGrid((0, 1)).layout((2, 3)), ProcessGrid((1, 0)).layout((2, 3))
    >>> x = mpigrad.ones(rows.local_shape, requires_grad=True)
    >>> tuple(repartition(x, rows, columns).shape) == columns.local_shape
    True
    >>> dist.destroy_process_group()
    """
    if source.shape != target.shape or source.group.ranks != target.group.ranks:
        raise ValueError(
            f"repartition needs two layouts of one array on the same ranks, got shapes {source.shape} and {target.shape}, ranks "
            f"{source.group.ranks} and {target.group.ranks}"
        )
    if tuple(x.shape[x.ndim - len(source.shape) :]) != source.local_shape:
        raise ValueError(f"repartition: the block of this rank must end with shape {source.local_shape}, got {tuple(x.shape)}")
    if not source.is_partition():
        raise ValueError("repartition: each element must have exactly one owner in the source layout")
    return _Repartition.apply(x, source, target)
