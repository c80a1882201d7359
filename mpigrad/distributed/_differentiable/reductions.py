"""Collectives that combine elements: all_reduce, reduce, reduce_scatter and scan, with their derivatives.

SUM and AVG are linear; their adjoints are sums and averages of gradients. MAX, MIN and PRODUCT have the derivative of `amax`,
`amin` and `prod` over a dimension of ranks: ranks that share the extreme share its gradient; a product is differentiated without
a division. (PyTorch reduces the gradients with the operation itself, which is right for SUM and AVG only.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpigrad._core.engine import as_array
from mpigrad._core.node import record_one
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._ops._define.operator import RAW, OpNode, operator
from mpigrad._ops.shape.joining import stack
from mpigrad._tensor import Tensor
from mpigrad.autograd.function import Function

from .._process_group import collectives as plain
from .._process_group.all_reduce import all_reduce as plain_all_reduce
from .._process_group.groups import ProcessGroup
from .._process_group.point_to_point import irecv, isend
from .._process_group.reduce_op import ReduceOp
from .members import empty_like, member_of, place_in
from .movement import AllGather, Broadcast

_LINEAR = (ReduceOp.SUM, ReduceOp.AVG)
_EXTREMES = (ReduceOp.MAX, ReduceOp.MIN)


class AllReduceBackward(OpNode):
    """The node of `all_reduce`. Like user code, it must not run on a thread that polls for RPC; and it runs even without a
    gradient, because the other ranks wait for it.
    """

    __slots__ = ()
    user_code = runs_on_none = True

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        if grad is None:
            grad = np.zeros(self.shapes[0], self.kw["kind"])
            grad = grad if F is RAW else wrap(grad)
        return super().run(F, grad)


# Sums and averages of dense tensors. An operator records faster than a Function, and here that is most of the overhead.
_linear = operator(
    "all_reduce",
    lambda array, op, group, kind: plain.all_reduced(as_array(array), op, group),  # gradients may be NumPy's scalars
    lambda F, node, grad: F.all_reduce(grad, **node.kw),
    node="AllReduceBackward",
    base=AllReduceBackward,
)


def all_reduced(op: ReduceOp, group: ProcessGroup, tensor: Tensor) -> Tensor:
    """The reduction of the tensors of all ranks, on all ranks."""
    array = tensor._array
    if array.__class__ is np.ndarray and array.dtype.char in "fd" and op in _LINEAR and not (TRACING.on or MODE.inference):
        made = wrap(plain.all_reduced(array, op, group))
        if MODE.enabled and tensor._requires:
            record_one(_linear.node_type, made, tensor, {"op": op, "group": group, "kind": array.dtype}, (array.shape,))
        return made
    if op in _LINEAR and not tensor.is_sparse:
        return _linear(tensor, op=op, group=group, kind=array.dtype)
    return AllReduce.apply(op, group, tensor)


class AllReduce(Function):
    """A reduction of sparse tensors, or with an operation that is not linear, whose result all ranks get."""

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
    """A reduction whose result one rank gets; the others get their own tensor back."""

    @staticmethod
    def forward(ctx: Any, root: int, op: ReduceOp, group: ProcessGroup, tensor: Tensor) -> Tensor:
        ctx.root, ctx.op, ctx.group = root, op, group
        made = tensor.clone()
        plain.reduce(made, op=op, group=group, group_dst=root)
        if op not in _LINEAR:
            ctx.save_for_backward(tensor, made)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        whole = Broadcast.apply(ctx.root, ctx.group, grad)
        if ctx.op is ReduceOp.SUM:
            return None, None, None, whole
        if ctx.op is ReduceOp.AVG:
            return None, None, None, whole / ctx.group.size()
        given, made = ctx.saved_tensors
        made = Broadcast.apply(ctx.root, ctx.group, made.detach())
        return None, None, None, _to_one_rank(ctx.op, ctx.group, whole, given, made)


class ReduceScatterOf(Function):
    """`ReduceScatter` with any operation, of a tensor with a row for each rank."""

    @staticmethod
    def forward(ctx: Any, op: ReduceOp, group: ProcessGroup, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        made = empty_like(tensor, tensor.shape[1:])
        plain.reduce_scatter_tensor(made, tensor, op, group)
        if op not in _LINEAR:
            ctx.save_for_backward(tensor, made)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        whole = AllGather.apply(ctx.group, grad)
        if ctx.op is ReduceOp.SUM:
            return None, None, whole
        if ctx.op is ReduceOp.AVG:
            return None, None, whole / ctx.group.size()
        given, made = ctx.saved_tensors
        made = AllGather.apply(ctx.group, made.detach())
        return None, None, _to_one_rank(ctx.op, ctx.group, whole, given, made)


def _to_one_rank(op: ReduceOp, group: ProcessGroup, grad: Tensor, given: Tensor, made: Tensor) -> Tensor:
    """The gradient of this rank's input `given`; `made` and `grad` are the result and its gradient, summed over the ranks."""
    if op in _EXTREMES:
        mine = (given.detach() == made.detach()).to(grad.dtype)
        return grad * (mine / all_reduced(ReduceOp.SUM, group, mine))
    if op is not ReduceOp.PRODUCT:
        raise RuntimeError(f"{op} has no derivative")
    rows = AllGather.apply(group, given)
    others = [rows[rank] for rank in range(group.size()) if rank != group.rank()]
    for each in others:
        grad = grad * (each.conj() if each.is_complex() else each)
    return grad


class Scan(Function):
    """The sum over this rank and those before it (`step` 1) or after it (-1). Each is the other's adjoint."""

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


_SCAN_TAG = 32_000  # of its own: programs number their messages from 0


# -- public names ------------------------------------------------------------------------------------------------------
def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction of the tensors of all ranks on every rank; sparse tensors can be summed.

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
    """Return the reduction of the tensors of all ranks on rank `dst`; other ranks get their own tensor, whose gradient is
    dropped.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.reduce(mpigrad.ones(2), dst=0)
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    found = member_of(group)
    return Reduce.apply(place_in(found, dst), op, found, tensor)


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction of tensor i of all ranks on rank i. The given output only determines the shape; a new tensor is
    returned.

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
    return ReduceScatterOf.apply(op, found, stack(list(input_list)))


def scan(tensor: Tensor, group: Any = None) -> Tensor:
    """Return the sum of the tensors of this rank and of all ranks before it; an addition to PyTorch's functions.

    >>> import mpigrad, mpigrad.distributed as dist, mpigrad.distributed.nn.functional as F
    >>> dist.init_process_group("mpi")
    >>> F.scan(mpigrad.ones(2))
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return Scan.apply(1, member_of(group), tensor)
