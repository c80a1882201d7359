"""Collectives that only move elements: broadcast, gather, scatter, all_gather and all_to_all; and their gradients.

The gradients of some of them add elements. The results of `gather`, `all_gather` and `all_to_all` share memory, but no
element of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from mpigrad._array.device import array_module, device_of
from mpigrad._core.engine import as_array
from mpigrad._ops._define.operator import RAW
from mpigrad._ops.shape.joining import stack
from mpigrad._tensor import Tensor
from mpigrad.autograd.function import Function

from .._process_group import arrays
from .._process_group import collectives as plain
from .._process_group.buffers import check_list, same_type
from .._process_group.groups import ProcessGroup
from .._process_group.objects import all_gather_object
from .._process_group.reduce_op import ReduceOp
from .linear import CollectiveNode, Linear, parts_of
from .members import empty_like, member_of, place_in

# `as_array` below: gradients may be scalars of NumPy.


def _like(node: Any) -> tuple[Any, ...]:
    """Return shape, type and device of the gradient that a node makes: those of its input."""
    return (node.shapes[0], *node.kw["made"][1:])


def _parts(rows: Any) -> tuple[Any, ...]:
    return tuple(rows[rank, ...] for rank in range(len(rows)))  # arrays, also of rows without dimensions


# -- from and to one rank ----------------------------------------------------------------------------------------------
BROADCAST = Linear(
    "broadcast_from",
    lambda array, root, group, made: arrays.broadcasted(as_array(array), root, group),
    lambda F, node, grad: F.sum_on_root(grad, **node.kw),
    "BroadcastBackward",
)


def _sum_on_root(array: Any, root: int, group: ProcessGroup, made: Any) -> Any:
    """Return the sum of the arrays of all ranks on the root, zeros on the other ranks."""
    out = arrays.reduced(as_array(array), root, ReduceOp.SUM, group)
    if group.rank() != root:
        out[...] = 0
    return out


SUM_ON_ROOT = Linear(
    "sum_on_root", _sum_on_root, lambda F, node, grad: F.broadcast_from(grad, **node.kw), "SumOnRootBackward", exact=False
)


def _gather_backward(F: Any, node: Any, grads: Any) -> Any:
    rows = _rows(F, node, grads)
    return F.scatter_rows(rows, root=node.kw["root"], group=node.kw["group"], made=_like(node))


GATHER = Linear(
    "gather_on_root",
    lambda array, root, group, made: _parts(arrays.gathered(as_array(array), root, group)),
    _gather_backward,
    "GatherBackward",
)
GATHER_ROWS = Linear(
    "gather_rows",
    lambda array, root, group, made: arrays.gathered(as_array(array), root, group),
    lambda F, node, grad: F.scatter_rows(grad, root=node.kw["root"], group=node.kw["group"], made=_like(node)),
    "GatherBackward",
)
SCATTER = Linear(
    "scatter_rows",
    lambda array, root, group, made: arrays.scattered(as_array(array), root, group),
    lambda F, node, grad: F.gather_rows(grad, root=node.kw["root"], group=node.kw["group"], made=_like(node)),
    "ScatterBackward",
)


# -- from all ranks to all ----------------------------------------------------------------------------------------------
def _rows(F: Any, node: CollectiveNode, grads: Any) -> Any:
    """Return the gradients of all results of a node, which have one shape, as the rows of one array."""
    whole = node.kw["made"][0]
    each = parts_of(node, F, grads, [whole[1:]] * whole[0])
    return np.stack(each) if F is RAW and type(each[0]) is np.ndarray else F.stack(*each, dim=0)


ALL_GATHER = Linear(
    "all_gather_rows",
    lambda array, group, made: arrays.all_gathered(as_array(array), group),
    lambda F, node, grad: F.reduce_scatter_rows(grad, op=ReduceOp.SUM, group=node.kw["group"], made=_like(node)),
    "AllGatherBackward",
)

def _all_gather_backward(F: Any, node: Any, grads: Any) -> Any:
    return F.reduce_scatter_rows(_rows(F, node, grads), op=ReduceOp.SUM, group=node.kw["group"], made=_like(node))


ALL_GATHER_LIST = Linear(
    "all_gather",
    lambda array, group, made: _parts(arrays.all_gathered(as_array(array), group)),
    _all_gather_backward,
    "AllGatherBackward",
)


def _reduce_scatter_backward(F: Any, node: Any, grad: Any) -> Any:
    group = node.kw["group"]
    whole = F.all_gather_rows(grad, group=group, made=_like(node))
    return whole if node.kw["op"] is ReduceOp.SUM else whole / group.size()


REDUCE_SCATTER = Linear(
    "reduce_scatter_rows",
    lambda array, op, group, made: arrays.reduce_scattered(as_array(array), op, group),
    _reduce_scatter_backward,
    "ReduceScatterBackward",
    exact=False,
)


def _all_to_all_single_backward(F: Any, node: Any, grad: Any) -> Any:
    kw = node.kw
    return F.all_to_all_single(grad, given=kw["wanted"], wanted=kw["given"], group=kw["group"], made=_like(node))


ALL_TO_ALL_SINGLE = Linear(
    "all_to_all_single",
    lambda array, given, wanted, group, made: arrays.exchanged(as_array(array), given, wanted, made[0], group),
    _all_to_all_single_backward,
    "AllToAllSingleBackward",
)


def _all_to_all(*tensors: Any, shapes: Sequence[Any], group: ProcessGroup, made: Any) -> Any:
    each = [as_array(one).reshape(-1) for one in tensors]
    ends = list(accumulate(map(prod, shapes)))
    wanted = list(map(prod, shapes))
    flat = arrays.exchanged(array_module(each[0]).concatenate(each), [one.size for one in each], wanted, (ends[-1],), group)
    return tuple(flat[end - size : end].reshape(shape) for end, size, shape in zip(ends, wanted, shapes))


def _all_to_all_backward(F: Any, node: Any, grads: Any) -> Any:
    parts = parts_of(node, F, grads, node.kw["shapes"])
    return F.all_to_all(*parts, shapes=node.shapes, group=node.kw["group"], made=node.kw["made"])


ALL_TO_ALL = Linear("all_to_all", _all_to_all, _all_to_all_backward, "AllToAllBackward")


class AllGatherUneven(Function):
    """Collects tensors of different shapes on all ranks.

    Its backward adds up, on each rank, the gradients that all ranks have for its tensor.
    """

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
        # Rank i has a gradient for this rank's tensor, so each rank sends the i-th of its gradients to rank i.
        terms = exchanged(grads, [ctx.shape] * ctx.group.size(), ctx.group)
        return None, sum(terms[1:], terms[0])


def exchanged(tensors: Sequence[Tensor], shapes: Sequence[Any], group: ProcessGroup) -> tuple[Tensor, ...]:
    """Send tensor i to rank i; returns the tensors from all ranks, which have these shapes. RuntimeError for another number."""
    check_list(list(tensors), group.size(), "input_tensor_list")
    if len(shapes) != group.size():
        raise RuntimeError(f"output_tensor_list: invalid tensor list (expected length {group.size()}, got {len(shapes)})")
    same_type(tensors, tensors[0])
    first = tensors[0]._array
    return ALL_TO_ALL.operator(*tensors, shapes=shapes, group=group, made=((0,), first.dtype, device_of(first)))  # type: ignore[no-any-return]


# -- public names ------------------------------------------------------------------------------------------------------
def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Return the tensor of the global rank `src`, on every rank of the group, which must all call it.

    On other ranks `tensor` only gives the shape and type of the result.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> F.broadcast(x, src=0).sum().backward()    # the gradients of all ranks are summed on rank 0
    >>> x.grad
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    found = member_of(group)
    return BROADCAST(tensor, tensor.shape, root=place_in(found, src), group=found)  # type: ignore[no-any-return]


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors of all ranks, a tuple in the order of ranks, on the global rank `dst`.

    Other ranks get a tuple of tensors of zeros, so that they can take part in the backward pass. `group`: a process group,
    by default all ranks. All its ranks must call it.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.gather(mpigrad.ones(2))
    (tensor([1., 1.]),)
    >>> dist.destroy_process_group()
    """
    found = member_of(group)
    return GATHER(tensor, (found.size(), *tensor.shape), root=place_in(found, dst), group=found)  # type: ignore[no-any-return]


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Return, on rank i of the group, the i-th of the `tensors` of the global rank `src`.

    Other ranks pass tensors of the same shape, whose elements are not used. All ranks of `group` (by default the default
    group) must call it.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.scatter([mpigrad.ones(2)])
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    found = member_of(group)
    if any(each.shape != tensors[0].shape for each in tensors):
        raise AssertionError(f"scatter takes tensors of one shape, got {[tuple(each.shape) for each in tensors]}")
    return SCATTER(stack(list(tensors)), tensors[0].shape, root=place_in(found, src), group=found)  # type: ignore[no-any-return]


def all_gather(tensor: Tensor, group: Any = None, *, uneven: bool = False) -> tuple[Tensor, ...]:
    """Return the tensors of all ranks, a tuple in the order of ranks, on every rank.

    Their shapes must be equal, unless `uneven` is set (an addition to PyTorch): then ranks exchange the shapes first. In
    the backward pass each rank gets the sum of all ranks' gradients of its tensor. `group`: a process group, by default all
    ranks. All its ranks must call it.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.all_gather(mpigrad.ones(2))
    (tensor([1., 1.]),)
    >>> dist.destroy_process_group()
    """
    if uneven:
        return AllGatherUneven.apply(member_of(group), tensor)
    found = member_of(group)
    return ALL_GATHER_LIST(tensor, (found.size(), *tensor.shape), group=found)  # type: ignore[no-any-return]


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """Send input i to rank i of the group, and return the tuple of the tensors from all ranks.

    The tensors in `output_tensor_list` only say which shapes will arrive; they are not changed. All ranks of `group` (by
    default the default group) must call it.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.all_to_all([mpigrad.empty(2)], [mpigrad.ones(2)])
    (tensor([1., 1.]),)
    >>> dist.destroy_process_group()
    """
    shapes = [tuple(each.shape) for each in output_tensor_list]
    return exchanged(input_tensor_list, shapes, member_of(group))


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
) -> Tensor:
    """Send the i-th piece of `input` to rank i of the group; returns the pieces from all ranks in a new tensor.

    Pieces are along the first dimension. `output` only gives the shape of the new tensor; it is not changed. The split
    sizes are the lengths of the pieces, by rank; None for equal ones. All ranks of `group` (by default the default group)
    must call it.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.all_to_all_single(mpigrad.empty(2), mpigrad.ones(2))
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return ALL_TO_ALL_SINGLE(  # type: ignore[no-any-return]
        input, output._array.shape, given=input_split_sizes, wanted=output_split_sizes, group=member_of(group)
    )
