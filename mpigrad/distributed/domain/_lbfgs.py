"""L-BFGS (a quasi-Newton method) for parameters whose blocks are on different ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import host
from mpigrad._core.tensor import wrap
from mpigrad.optim.lbfgs import LBFGS as LocalLBFGS

from .._process_group.all_reduce import all_reduce
from .._process_group.reduce_op import ReduceOp
from ._grid import as_group


class LBFGS(LocalLBFGS):
    """`mpigrad.optim.LBFGS` for parameters that are distributed over the ranks of a grid or group.

    Each rank passes its blocks as `params`; the other arguments are those of `mpigrad.optim.LBFGS`, and `group` is a grid or a
    process group (default: all ranks). Scalar products and norms are those of the whole vector. All ranks call `step` together;
    the closure returns the loss of all ranks, which is the same number on each.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> from mpigrad.distributed import domain
    >>> dist.init_process_group("mpi")
    >>> w = mpigrad.zeros(3, requires_grad=True)    # this rank's block
    >>> optimizer = domain.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return domain.sum(loss.detach())
    >>> loss = optimizer.step(closure)
    >>> w.detach().round(decimals=4)
    tensor([1., 1., 1.])
    >>> dist.destroy_process_group()
    """

    def __init__(self, params: Any, *args: Any, group: Any = None, **kwargs: Any) -> None:
        super().__init__(params, *args, **kwargs)
        self._group = as_group(group)

    def _over_ranks(self, value: Any, op: ReduceOp) -> float:
        total = wrap(np.asarray(float(host(value))))
        all_reduce(total, op, self._group)
        return float(total._array)

    def _dot(self, a: Any, b: Any) -> float:
        return self._over_ranks(a @ b, ReduceOp.SUM)

    def _largest(self, vector: Any) -> float:
        return self._over_ranks(abs(vector).max() if vector.size else np.asarray(0.0), ReduceOp.MAX)

    def _total(self, vector: Any) -> float:
        return self._over_ranks(abs(vector).sum(), ReduceOp.SUM)
