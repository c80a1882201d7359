"""The four maps between tensors that are equal on all ranks of a group and tensors that are cut along their last dimension.

The ranks compute one loss together, and each has a copy of it. So if a tensor is equal on all ranks, its gradient is, too. (In
`distributed.nn.functional`, in contrast, each rank has a loss of its own, and gradients are those of the sum of all losses.) With
this convention each map is the adjoint of another one here: `shared` of `total`, and `gathered` of `own_part`.
"""

from __future__ import annotations

from typing import Any

from mpigrad._core.tensor import wrap
from mpigrad._ops.create.create import empty, zeros
from mpigrad._ops.shape.joining import cat
from mpigrad._tensor import Tensor
from mpigrad.autograd.function import Function

from .._process_group.all_reduce import all_reduce
from .._process_group.collectives import all_gather
from .._process_group.groups import ProcessGroup


class _Shared(Function):
    """`shared`, with its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        return wrap(x._array)  # the same memory, but a tensor with a gradient of its own

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return _Total.apply(g, ctx.group), None


class _Total(Function):
    """`total`, with its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        made = x.clone()
        all_reduce(made, group=group)
        return made

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return _Shared.apply(g, ctx.group), None


class _Gathered(Function):
    """`gathered`, with its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup, length: int) -> Tensor:
        ctx.group = group
        step = part_of(length, group.size(), 0)[1]
        mine = zeros((*x.shape[:-1], step), dtype=x.dtype, device=x.device)  # the last piece may be shorter
        mine[..., : x.shape[-1]] = x
        parts = [empty(mine.shape, dtype=x.dtype, device=x.device) for _ in range(group.size())]
        all_gather(parts, mine, group)
        return cat(parts, dim=-1)[..., :length].clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return _OwnPart.apply(g, ctx.group), None, None


class _OwnPart(Function):
    """`own_part`, with its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group, ctx.length = group, x.shape[-1]
        start, stop = part_of(ctx.length, group.size(), group.rank())
        return x[..., start:stop].clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return _Gathered.apply(g, ctx.group, ctx.length), None


def part_of(length: int, parts: int, at: int) -> tuple[int, int]:
    """Return start and stop of the piece number `at`, if `length` elements are cut into `parts` pieces as by `Tensor.chunk`."""
    step = -(-length // parts)
    return min(at * step, length), min((at + 1) * step, length)


def shared(x: Tensor, group: ProcessGroup) -> Tensor:
    """Return `x`, a tensor that is equal on all ranks, for computations that differ between them.

    The backward pass adds up the gradients of all ranks.
    """
    return _Shared.apply(x, group)


def total(x: Tensor, group: ProcessGroup) -> Tensor:
    """Return the sum of the ranks' tensors, on every rank. Its gradient, equal on all ranks, is passed on unchanged."""
    return _Total.apply(x, group)


def gathered(x: Tensor, group: ProcessGroup, length: int) -> Tensor:
    """Return the pieces of all ranks joined along the last dimension, of length `length`, on every rank."""
    return _Gathered.apply(x, group, length)


def own_part(x: Tensor, group: ProcessGroup) -> Tensor:
    """Return this rank's piece, along the last dimension, of `x`, which is equal on all ranks."""
    return _OwnPart.apply(x, group)
