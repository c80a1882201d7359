"""Buckets: gradients of several parameters in one flat tensor, which one collective reduces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpigrad._array.device import array_module, guard
from mpigrad._core.tensor import wrap
from mpigrad._ops.sparse.forms import sparse_coo_tensor
from mpigrad._tensor import Tensor
from mpigrad.distributed._process_group.all_reduce import all_reduce
from mpigrad.distributed._process_group.grad_bucket import GradBucket
from mpigrad.distributed._process_group.reduce_op import ReduceOp

_LARGE = 1 << 19  # bytes; a copy of a larger gradient takes longer than a reduction of its own


class Bucket:
    """The gradients of some parameters of one type and device, reduced together; `pending` is how many have not yet
    arrived in this pass.

    The gradients are copied into one flat tensor. With `direct` there is one gradient, which is reduced where it is.
    """

    def __init__(self, index: int, parameters: Sequence[Tensor], direct: bool = False) -> None:
        self.index, self.parameters, self.pending = index, list(parameters), len(parameters)
        like = parameters[0]._array
        self._direct = direct
        sizes = [0 if direct else each._array.size for each in parameters]
        with guard(like):
            self.flat = wrap(array_module(like).zeros(sum(sizes), like.dtype))
        ends = np.cumsum(sizes).tolist()
        self.views: list[Any] = [
            None if direct else self.flat._array[end - size : end].reshape(each._array.shape)
            for each, size, end in zip(parameters, sizes, ends)
        ]
        self._array: Any = None  # with `direct`, the gradient of this pass
        self._averages = True  # whether the reduction divides it by the number of ranks
        self._pending: list[Any] = []  # the Work of the reduction, or the Future of a hook

    def put(self, place: int, grad: Any, factor: float, ranks: int) -> None:
        """Store the gradient of the parameter number `place` of the bucket, to be multiplied by `factor`; None stands for zeros.

        `ranks` is the size of the group: if the factor is 1 / ranks, the reduction computes the average itself.
        """
        view = self.views[place]
        if self._direct:
            self._put_direct(grad, factor, ranks)
        else:
            with guard(view):
                if grad is None:
                    view[...] = 0
                elif grad is not view:
                    array_module(view).multiply(grad, view.dtype.type(factor), out=view)
                elif factor != 1:
                    view *= view.dtype.type(factor)
        self.pending -= 1

    def _put_direct(self, grad: Any, factor: float, ranks: int) -> None:
        like = self.parameters[0]._array
        with guard(like):
            if grad is None:
                grad = array_module(like).zeros(like.shape, like.dtype)
            elif not (grad.flags.c_contiguous and getattr(grad.flags, "writeable", True)):
                grad = grad.copy(order="C")
            self._averages = factor == 1 / ranks  # the same on all ranks
            if not self._averages:
                grad *= grad.dtype.type(factor)
        self._array = grad

    def launch(self, group: Any, hook: Any, state: Any, last: bool) -> None:
        """Start the reduction of the bucket, by the communication hook if there is one; `last`: no bucket of the pass follows."""
        if hook is not None:
            views = [wrap(each) for each in self.views]
            self._pending = [hook(state, GradBucket(self.index, self.flat, views, self.parameters, last))]
            return
        if self._direct:
            op = ReduceOp.AVG if self._averages else ReduceOp.SUM
            self._pending = [all_reduce(wrap(self._array), op, group, async_op=True)]
        else:
            self._pending = [all_reduce(self.flat, group=group, async_op=True)]

    def poll(self) -> bool:
        """Call MPI, so that it makes progress with the reduction; returns whether that is complete (False with a hook)."""
        return all(hasattr(each, "is_completed") and each.is_completed() for each in self._pending)

    def wait(self) -> None:
        """Wait for the reduction; then `result` has it."""
        pending, self._pending = self._pending, []
        for each in pending:
            made = each.wait()
            if not hasattr(each, "is_completed"):
                self._keep(made[0] if isinstance(made, (list, tuple)) else made)

    def _keep(self, made: Tensor) -> None:
        """Copy the result of a hook."""
        if made._array is not self.flat._array:
            with guard(self.flat._array):
                self.flat._array[...] = made._array.reshape(-1)

    def result(self, place: int) -> Any:
        """The reduced gradient of the parameter number `place` of the bucket."""
        return self._array if self._direct else self.views[place]

    def reset(self) -> None:
        """Prepare the bucket for a new pass."""
        self.pending, self._pending, self._array = len(self.parameters), [], None


class SparseBucket(Bucket):
    """One parameter with a sparse gradient (an embedding); the sparse gradient is reduced without a flat tensor."""

    def __init__(self, index: int, parameters: Sequence[Tensor]) -> None:
        self.index, self.parameters, self.pending, self.views = index, list(parameters), 1, []
        self.grad: Tensor | None = None

    def put(self, place: int, grad: Any, factor: float, ranks: int) -> None:
        like = self.parameters[0]
        if grad is None:
            self.grad = sparse_coo_tensor(size=tuple(like.shape), dtype=like.dtype, device=like.device)
        else:
            self.grad = wrap(grad) * factor
        self.pending -= 1

    def launch(self, group: Any, hook: Any, state: Any, last: bool) -> None:
        assert self.grad is not None
        all_reduce(self.grad, group=group)

    def poll(self) -> bool:
        return True

    def wait(self) -> None:
        pass

    def reset(self) -> None:
        self.pending, self.grad = 1, None


def assigned(parameters: Sequence[Tensor], sparse: set[int], caps: Sequence[int], direct: bool) -> list[Bucket]:
    """Assign parameters, in the given order, to buckets. `caps` has the sizes in bytes of the first buckets; its last entry is
    for all others. `direct` as in `Bucket`: then large gradients have a bucket each, whose reduction starts when they arrive.
    """
    made: list[Bucket] = []
    open_ones: dict[Any, list[Tensor]] = {}
    joint = 0  # buckets of several gradients

    def close(kind: Any) -> None:
        nonlocal joint
        made.append(Bucket(len(made), open_ones.pop(kind)))
        joint += 1

    for each in parameters:
        if id(each) in sparse:
            made.append(SparseBucket(len(made), [each]))
            continue
        if direct and each._array.nbytes >= _LARGE:
            made.append(Bucket(len(made), [each], direct))
            continue
        kind = (each._array.dtype, each.device)
        held = open_ones.setdefault(kind, [])
        held.append(each)
        if sum(one._array.nbytes for one in held) >= caps[min(joint, len(caps) - 1)]:
            close(kind)
    for kind in list(open_ones):
        close(kind)
    return made
