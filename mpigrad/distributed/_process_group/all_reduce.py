"""`all_reduce`. Sparse tensors are gathered on all ranks, and each rank adds them up in the order of ranks."""

from __future__ import annotations

from typing import Any

from mpigrad._tensor import Tensor

from .. import _mpi
from .collectives import all_reduce_dense
from .groups import ProcessGroup, resolve
from .objects import all_gather_object
from .reduce_op import ReduceOp
from .work import Work


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce the tensors of all ranks, element by element; every rank gets the result in its `tensor`.

    Args:
        tensor: of the same shape and type on all ranks. A sparse tensor must be on the CPU, and `op` SUM.
        op: the operation, a `ReduceOp`.
        group: a `ProcessGroup`, by default the default group. All of its ranks must call this.
        async_op: return a `Work` at once; the result is there when its `wait` returns. Otherwise wait for the result, and
            return None. A RuntimeError is raised after the group's timeout.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> x = mpigrad.ones(2)
    >>> dist.all_reduce(x)    # the sum over all ranks: here there is one
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    if not isinstance(tensor, Tensor) or not tensor.is_sparse:
        return all_reduce_dense(tensor, op, group, async_op)
    found = resolve(group)
    return None if found is None else _sum_sparse(tensor, op, found, async_op)


def _sum_sparse(tensor: Tensor, op: Any, found: ProcessGroup, async_op: bool) -> Work | None:
    """Sum sparse tensors: `all_reduce` of these. The sum is complete when it returns, even with `async_op`."""
    if op != ReduceOp.SUM:
        raise RuntimeError("all_reduce of sparse tensors supports ReduceOp.SUM only")
    if tensor.is_cuda:
        raise RuntimeError("all_reduce takes sparse tensors on the CPU; move this one there, or convert it with to_dense()")
    parts: list[Any] = [None] * found.size()
    all_gather_object(parts, tensor.detach(), found)
    shapes = {tuple(part.shape) for part in parts}
    if len(shapes) > 1:
        raise RuntimeError(f"all_reduce got sparse tensors of different shapes: {sorted(shapes)}")
    total = parts[0]  # added up in the order of ranks, so that all ranks have the same bits
    for part in parts[1:]:
        total = total + part
    tensor._array = total.coalesce()._array
    if not async_op:
        return None
    return Work("all_reduce", _mpi.mpi().REQUEST_NULL, lambda _: [tensor], found.timeout.total_seconds())
