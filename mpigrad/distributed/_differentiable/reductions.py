"""Collectives that combine elements: all_reduce, reduce, reduce_scatter and scan; and their gradients.

SUM and AVG are linear; their gradients are sums and averages of gradients. MAX, MIN and PRODUCT have the derivative of
`amax`, `amin` and `prod` over a dimension of ranks: ranks that have the same extreme value share its gradient; a product
is differentiated without a division. (PyTorch reduces the gradients with the operation itself, which is right for SUM and
AVG only.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpigrad._core.engine import as_array
from mpigrad._ops.shape.joining import stack
from mpigrad._tensor import Tensor
from mpigrad.autograd.function import Function

from .._process_group import arrays
from .._process_group import collectives as plain
from .._process_group.all_reduce import all_reduce as plain_all_reduce
from .._process_group.groups import ProcessGroup
from .._process_group.point_to_point import irecv, isend
from .._process_group.reduce_op import ReduceOp
from .linear import Linear
from .members import empty_like, member_of, place_in
from .movement import ALL_GATHER, BROADCAST, REDUCE_SCATTER

_LINEAR = (ReduceOp.SUM, ReduceOp.AVG)
_EXTREMES = (ReduceOp.MAX, ReduceOp.MIN)


_ALL_REDUCE = Linear(
    "all_reduce",
    lambda array, op, group, made: arrays.all_reduced(as_array(array), op, group),
    lambda F, node, grad: F.all_reduce(grad, **node.kw),
    "AllReduceBackward",
    exact=False,
)


def _reduce_backward(F: Any, node: Any, grad: Any) -> Any:
    root, op, group, made = (node.kw[name] for name in ("root", "op", "group", "made"))
    whole = F.broadcast_from(grad, root=root, group=group, made=made)
    return whole if op is ReduceOp.SUM else whole / group.size()


_REDUCE = Linear(
    "reduce_on_root",
    lambda array, root, op, group, made: arrays.reduced(as_array(array), root, op, group),
    _reduce_backward,
    "ReduceBackward",
    exact=False,
)


def all_reduced(op: ReduceOp, group: ProcessGroup, tensor: Tensor) -> Tensor:
    """Return the reduction of the tensors of all ranks, on all ranks; the function for `all_reduce`, with a gradient."""
    if op in _LINEAR and not tensor.is_sparse:
        return _ALL_REDUCE(tensor, tensor._array.shape, op=op, group=group)  # type: ignore[no-any-return]
    return AllReduce.apply(op, group, tensor)


def reduce_scattered(op: ReduceOp, group: ProcessGroup, rows: Tensor) -> Tensor:
    """Return one row of the reduction of the tensors of all ranks: the one whose index is this rank."""
    if op in _LINEAR:
        return REDUCE_SCATTER(rows, rows.shape[1:], op=op, group=group)  # type: ignore[no-any-return]
    return ReduceScatter.apply(op, group, rows)


class AllReduce(Function):
    """`all_reduce` of sparse tensors, or with an operation that is not linear (MAX, MIN, PRODUCT)."""

    @staticmethod
    def forward(ctx: Any, op: ReduceOp, group: ProcessGroup, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        made = tensor.clone()
        plain_all_reduce(made, op, group)
        if op not in _LINEAR:
            ctx.save_for_backward(tensor, made)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        if ctx.op in _LINEAR:
            return None, None, all_reduced(ctx.op, ctx.group, grad)
        given, made = ctx.saved_tensors
        return None, None, _to_one_rank(ctx.op, ctx.group, all_reduced(ReduceOp.SUM, ctx.group, grad), given, made)


class Reduce(Function):
    """`reduce` with an operation that is not linear; ranks other than the root get a copy of their own tensor."""

    @staticmethod
    def forward(ctx: Any, root: int, op: ReduceOp, group: ProcessGroup, tensor: Tensor) -> Tensor:
        ctx.root, ctx.op, ctx.group = root, op, group
        made = tensor.clone()
        plain.reduce(made, op=op, group=group, group_dst=root)
        ctx.save_for_backward(tensor, made)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        given, made = ctx.saved_tensors
        whole, made = (BROADCAST(each, each.shape, root=ctx.root, group=ctx.group) for each in (grad, made.detach()))
        return None, None, None, _to_one_rank(ctx.op, ctx.group, whole, given, made)


class ReduceScatter(Function):
    """`reduce_scatter` with an operation that is not linear; the tensor has a row for each rank."""

    @staticmethod
    def forward(ctx: Any, op: ReduceOp, group: ProcessGroup, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        made = empty_like(tensor, tensor.shape[1:])
        plain.reduce_scatter_tensor(made, tensor, op, group)
        ctx.save_for_backward(tensor, made)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        given, made = ctx.saved_tensors
        whole, made = (ALL_GATHER(each, given.shape, group=ctx.group) for each in (grad, made.detach()))
        return None, None, _to_one_rank(ctx.op, ctx.group, whole, given, made)


def _to_one_rank(op: ReduceOp, group: ProcessGroup, grad: Tensor, given: Tensor, made: Tensor) -> Tensor:
    """Return the gradient of this rank's input `given`, for a reduction that is not linear.

    `made` is the result of the reduction; `grad` is its gradient, added up over the ranks.
    """
    if op in _EXTREMES:
        mine = (given.detach() == made.detach()).to(grad.dtype)
        return grad * (mine / all_reduced(ReduceOp.SUM, group, mine))
    if op is not ReduceOp.PRODUCT:
        raise RuntimeError(f"{op} has no derivative")
    rows = ALL_GATHER(given, (group.size(), *given.shape), group=group)
    others = [rows[rank] for rank in range(group.size()) if rank != group.rank()]
    for each in others:  # the derivative of a product: the product of the other factors, as a division could be by zero
        grad = grad * (each.conj() if each.is_complex() else each)
    return grad


class Scan(Function):
    """The sum of the tensors of this rank and of those before it (`step` 1), or of those after it (`step` -1).

    The backward of each is the other.
    """

    @staticmethod
    def forward(ctx: Any, step: int, group: ProcessGroup, tensor: Tensor) -> Tensor:
        ctx.step, ctx.group = step, group
        before, after = group.rank() - step, group.rank() + step
        made = tensor.clone()
        if 0 <= before < group.size():
            sum_before = empty_like(tensor)
            arriving = irecv(sum_before, group=group, tag=_SCAN_TAG, group_src=before)
            assert arriving is not None
            arriving.wait()
            made += sum_before
        if 0 <= after < group.size():
            leaving = isend(made, group=group, tag=_SCAN_TAG, group_dst=after)
            assert leaving is not None
            leaving.wait()
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, Scan.apply(-ctx.step, ctx.group, grad)


_SCAN_TAG = 32_000  # high, so that it differs from the tags of programs, which number their messages from 0


# -- public names ------------------------------------------------------------------------------------------------------
def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction of the tensors of all ranks, on every rank, as a new tensor; sparse tensors can be summed.

    `op` is SUM, AVG, MAX, MIN or PRODUCT of `ReduceOp`; others have no gradient. `group` is by default the default group;
    all its ranks must call it.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> F.all_reduce(x).sum().backward()    # the gradient: the sum of those of all ranks
    >>> x.grad
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return all_reduced(op, member_of(group), tensor)


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return, on the global rank `dst`, the reduction of the tensors of all ranks, as a new tensor; `op` as for `all_reduce`.

    Other ranks get a copy of their own tensor; gradients of this copy are dropped. All ranks of `group` (by default the
    default group) must call it.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.reduce(mpigrad.ones(2), dst=0)
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    found = member_of(group)
    if op in _LINEAR:
        return _REDUCE(tensor, tensor.shape, root=place_in(found, dst), op=op, group=found)  # type: ignore[no-any-return]
    return Reduce.apply(place_in(found, dst), op, found, tensor)


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return, on rank i of the group, the reduction of the i-th tensors in the `input_list`s of all ranks, as a new tensor.

    `output` only gives the shape of the result; it is not changed. `op` is as for `all_reduce`. All ranks of `group` (by
    default the default group) must call it.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.reduce_scatter(mpigrad.empty(2), [mpigrad.ones(2)])
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    found = member_of(group)
    if len(input_list) != found.size() or any(each.shape != output.shape for each in input_list):
        raise RuntimeError(
            f"reduce_scatter takes {found.size()} tensors of shape {tuple(output.shape)}, one for each rank; got "
            f"{[tuple(each.shape) for each in input_list]}"
        )
    return reduce_scattered(op, found, stack(list(input_list)))


def scan(tensor: Tensor, group: Any = None) -> Tensor:
    """Return the sum of the tensors of this rank and of all ranks before it, as MPI_Scan does; an addition to PyTorch.

    `group`: a process group, by default all ranks. All its ranks must call it.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.scan(mpigrad.ones(2))
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return Scan.apply(1, member_of(group), tensor)
