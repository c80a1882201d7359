"""Sums, scalar products and norms of arrays whose blocks are on different ranks. Every rank gets the result."""

from __future__ import annotations

from typing import Any

from mpigrad._tensor import Tensor

from .._differentiable.reductions import all_reduce
from .._process_group.groups import ProcessGroup
from .._process_group.reduce_op import ReduceOp
from ._grid import as_group


def sum(x: Tensor, group: Any = None) -> Tensor:
    """Return the sum of all elements of all blocks, on every rank. All ranks must call it.

    `x` is this rank's block, `group` a grid or a process group, by default all ranks.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> from mpigrad.distributed import domain
    >>> dist.init_process_group("mpi")
    >>> domain.sum(mpigrad.ones(2, 3))    # one rank
    tensor(6.)
    >>> dist.destroy_process_group()
    """
    return all_reduce(x.sum(), group=as_group(group))


def vdot(x: Tensor, y: Tensor, group: Any = None) -> Tensor:
    """Return the scalar product of two arrays in the same layout, on every rank; `group` as for `sum`.

    `x` and `y` are this rank's blocks; of complex numbers the conjugate of `x` is taken.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> from mpigrad.distributed import domain
    >>> dist.init_process_group("mpi")
    >>> domain.vdot(mpigrad.tensor([1.0, 2.0]), mpigrad.tensor([3.0, 4.0]))
    tensor(11.)
    >>> dist.destroy_process_group()
    """
    return all_reduce(x.reshape(-1).vdot(y.reshape(-1)), group=as_group(group))


def norm(x: Tensor, p: float = 2.0, group: Any = None) -> Tensor:
    """Return the p-norm of all elements of all blocks, on every rank, for 0 < p <= inf; arguments otherwise as for `sum`.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> from mpigrad.distributed import domain
    >>> dist.init_process_group("mpi")
    >>> domain.norm(mpigrad.tensor([3.0, 4.0]))
    tensor(5.)
    >>> dist.destroy_process_group()
    """
    if not p > 0:
        raise ValueError(f"norm needs p > 0, got {p}")
    found, sizes = as_group(group), x.abs()
    if p == float("inf"):
        return _largest(sizes, found)
    total = sum(sizes * sizes if p == 2 else sizes**p, found)
    # The root has no derivative at 0; as in PyTorch, the gradient is then 0.
    nothing = total.detach() == 0
    return (total.masked_fill(nothing, 1) ** (1 / p)).masked_fill(nothing, 0)


def _largest(sizes: Tensor, group: ProcessGroup) -> Tensor:
    """Return the largest element of all ranks; elements that are equal to it share its gradient."""
    largest = sizes.detach().max() if sizes.numel() else sizes.detach().sum()
    largest = all_reduce(largest, ReduceOp.MAX, group)
    chosen = (sizes.detach() == largest).to(sizes.dtype)
    return sum(sizes * chosen, group) / sum(chosen, group)
