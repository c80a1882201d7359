"""Collectives that only move elements: broadcast, gather, scatter, all_gather and all_to_all, with their adjoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpigrad._tensor import Tensor
from mpigrad.autograd.function import Function

from .._process_group import collectives as plain
from .._process_group.groups import ProcessGroup
from .._process_group.objects import all_gather_object
from .._process_group.reduce_op import ReduceOp
from .members import empty_like, member_of, place_in


class Broadcast(Function):
    """Copies from one rank to all; the adjoint sums on that rank."""

    @staticmethod
    def forward(ctx: Any, root: int, group: ProcessGroup, tensor: Tensor) -> Tensor:
        ctx.root, ctx.group = root, group
        made = tensor.contiguous() if group.rank() == root else empty_like(tensor)
        plain.broadcast(made, group=group, group_src=root)
        return made.clone() if made is tensor else made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, SumOnRoot.apply(ctx.root, ctx.group, grad)


class SumOnRoot(Function):
    """Sums on one rank, zeros on the others; the adjoint copies from that rank to all."""

    @staticmethod
    def forward(ctx: Any, root: int, group: ProcessGroup, tensor: Tensor) -> Tensor:
        ctx.root, ctx.group = root, group
        made = tensor.clone()
        plain.reduce(made, group=group, group_dst=root)
        return made if group.rank() == root else made.zero_()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, Broadcast.apply(ctx.root, ctx.group, grad)


class Gather(Function):
    """Collects the tensors of all ranks on one rank, with zeros on the others; the adjoint scatters from that rank."""

    @staticmethod
    def forward(ctx: Any, root: int, group: ProcessGroup, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.root, ctx.group = root, group
        mine = group.rank() == root
        made = [empty_like(tensor) if mine else empty_like(tensor).zero_() for _ in range(group.size())]
        plain.gather(tensor, made if mine else None, group=group, group_dst=root)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return None, None, Scatter.apply(ctx.root, ctx.group, *grads)


class Scatter(Function):
    """Sends one tensor to each rank from one rank; the adjoint gathers there."""

    @staticmethod
    def forward(ctx: Any, root: int, group: ProcessGroup, *tensors: Tensor) -> Tensor:
        ctx.root, ctx.group = root, group
        made = empty_like(tensors[0])
        given = [each.contiguous() for each in tensors] if group.rank() == root else None
        plain.scatter(made, given, group=group, group_src=root)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, *Gather.apply(ctx.root, ctx.group, grad)


class AllGather(Function):
    """Collects the tensors of all ranks in one tensor, as its rows; the adjoint sums the rows and scatters them."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, tensor: Tensor) -> Tensor:
        ctx.group = group
        made = empty_like(tensor, (group.size(), *tensor.shape))
        plain.all_gather_into_tensor(made, tensor, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, ReduceScatter.apply(ctx.group, grad)


class AllGatherUneven(Function):
    """Collects tensors of different shapes on all ranks; the adjoint sends each rank its gradients, which it sums."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shape = group, tuple(tensor.shape)
        shapes: list[Any] = [None] * group.size()
        all_gather_object(shapes, ctx.shape, group)
        made = [empty_like(tensor, shape) for shape in shapes]
        plain.all_gather(made, tensor, group)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        terms = AllToAll.apply(ctx.group, [ctx.shape] * ctx.group.size(), *grads)
        return None, sum(terms[1:], terms[0])


class ReduceScatter(Function):
    """Sums tensors with a row for each rank over all ranks; every rank gets its row. The adjoint is `AllGather`."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, tensor: Tensor) -> Tensor:
        ctx.group = group
        made = empty_like(tensor, tensor.shape[1:])
        plain.reduce_scatter_tensor(made, tensor, ReduceOp.SUM, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, AllGather.apply(ctx.group, grad)


class AllToAll(Function):
    """Sends tensor i to rank i; the adjoint sends gradients back. Shapes may differ."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, shapes: Sequence[Sequence[int]], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [tuple(each.shape) for each in tensors]
        made = [empty_like(tensors[0], shape) for shape in shapes]
        plain.all_to_all(made, list(tensors), group)
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return None, None, *AllToAll.apply(ctx.group, ctx.shapes, *grads)


class AllToAllSingle(Function):
    """`AllToAll` of pieces of one tensor along its first dimension."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup, shape: Sequence[int], given: Any, wanted: Any, tensor: Tensor) -> Tensor:
        """`given` and `wanted` are the lengths of the pieces that this rank sends and receives; None for equal ones."""
        ctx.group, ctx.shape, ctx.given, ctx.wanted = group, tuple(tensor.shape), given, wanted
        made = empty_like(tensor, shape)
        plain.all_to_all_single(made, tensor, wanted, given, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, None, None, AllToAllSingle.apply(ctx.group, ctx.shape, ctx.wanted, ctx.given, grad)


# -- public names ------------------------------------------------------------------------------------------------------
def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Return the tensor of rank `src` on every rank.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> F.broadcast(x, src=0).sum().backward()    # the gradients of all ranks are summed on rank 0
    >>> x.grad
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    found = member_of(group)
    return Broadcast.apply(place_in(found, src), found, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors of all ranks on rank `dst`; zeros on other ranks.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.gather(mpigrad.ones(2))
    (tensor([1., 1.]),)
    >>> dist.destroy_process_group()
    """
    found = member_of(group)
    return Gather.apply(place_in(found, dst), found, tensor)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Return tensor i of rank `src` on rank i. Other ranks pass tensors of the same shape, whose elements are not used.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.scatter([mpigrad.ones(2)])
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    found = member_of(group)
    if any(each.shape != tensors[0].shape for each in tensors):
        raise AssertionError(f"scatter takes tensors of one shape, got {[tuple(each.shape) for each in tensors]}")
    return Scatter.apply(place_in(found, src), found, *tensors)


def all_gather(tensor: Tensor, group: Any = None, *, uneven: bool = False) -> tuple[Tensor, ...]:
    """Return the tensors of all ranks on every rank. With `uneven`, an addition, their shapes may differ; ranks then exchange
    the shapes first.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.all_gather(mpigrad.ones(2))
    (tensor([1., 1.]),)
    >>> dist.destroy_process_group()
    """
    if uneven:
        return AllGatherUneven.apply(member_of(group), tensor)
    return tuple(AllGather.apply(member_of(group), tensor).unbind(0))


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """Send input i to rank i, and receive output i from rank i. The given outputs only determine the shapes; new tensors are
    returned.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.all_to_all([mpigrad.empty(2)], [mpigrad.ones(2)])
    (tensor([1., 1.]),)
    >>> dist.destroy_process_group()
    """
    shapes = [tuple(each.shape) for each in output_tensor_list]
    return AllToAll.apply(member_of(group), shapes, *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
) -> Tensor:
    """`all_to_all` of pieces of one tensor. The given output only determines the shape; a new tensor is returned.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.all_to_all_single(mpigrad.empty(2), mpigrad.ones(2))
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return AllToAllSingle.apply(member_of(group), tuple(output.shape), input_split_sizes, output_split_sizes, input)
