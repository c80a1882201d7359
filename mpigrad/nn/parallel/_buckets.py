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


class Bucket:
    """The gradients of some parameters of one type and device. `pending` is the number of gradients that have not arrived in this
    pass.
    """

    def __init__(self, index: int, parameters: Sequence[Tensor]) -> None:
        self.index, self.parameters, self.pending = index, list(parameters), len(parameters)
        like = parameters[0]._array
        sizes = [each._array.size for each in parameters]
        with guard(like):
            self.flat = wrap(array_module(like).zeros(sum(sizes), like.dtype))
        ends = np.cumsum(sizes).tolist()
        self.views = [
            self.flat._array[end - size : end].reshape(each._array.shape) for each, size, end in zip(parameters, sizes, ends)
        ]
        self._pending: Any = None  # a Work, or the Future of a hook

    def put(self, place: int, grad: Any, factor: float) -> None:
        """Store the gradient of one parameter, multiplied by a factor; None stands for zeros."""
        view = self.views[place]
        with guard(view):
            if grad is None:
                view[...] = 0
            elif grad is not view:
                array_module(view).multiply(grad, view.dtype.type(factor), out=view)
            elif factor != 1:
                view *= view.dtype.type(factor)
        self.pending -= 1

    def launch(self, group: Any, hook: Any, state: Any, last: bool) -> None:
        """Start the reduction of the bucket."""
        if hook is None:
            self._pending = all_reduce(self.flat, group=group, async_op=True)
        else:
            views = [wrap(each) for each in self.views]
            self._pending = hook(state, GradBucket(self.index, self.flat, views, self.parameters, last))

    def poll(self) -> None:
        """Call MPI, so that it makes progress with the reduction."""
        if self._pending is not None and hasattr(self._pending, "is_completed"):
            self._pending.is_completed()

    def wait(self) -> None:
        """Wait for the reduction; then the views of the bucket contain its result."""
        pending, self._pending = self._pending, None
        if hasattr(pending, "is_completed"):
            pending.wait()
            return
        made = pending.wait()
        made = made[0] if isinstance(made, (list, tuple)) else made
        if made._array is not self.flat._array:
            with guard(self.flat._array):
                self.flat._array[...] = made._array.reshape(-1)

    def reset(self) -> None:
        """Prepare the bucket for a new pass."""
        self.pending, self._pending = len(self.parameters), None


class SparseBucket(Bucket):
    """One parameter with a sparse gradient (an embedding); the sparse gradient is reduced without a flat tensor."""

    def __init__(self, index: int, parameters: Sequence[Tensor]) -> None:
        self.index, self.parameters, self.pending, self.views = index, list(parameters), 1, []
        self.grad: Tensor | None = None

    def put(self, place: int, grad: Any, factor: float) -> None:
        like = self.parameters[0]
        if grad is None:
            self.grad = sparse_coo_tensor(size=tuple(like.shape), dtype=like.dtype, device=like.device)
        else:
            self.grad = wrap(grad) * factor
        self.pending -= 1

    def launch(self, group: Any, hook: Any, state: Any, last: bool) -> None:
        assert self.grad is not None
        all_reduce(self.grad, group=group)

    def poll(self) -> None:
        pass

    def wait(self) -> None:
        pass

    def reset(self) -> None:
        self.pending, self.grad = 1, None


def assigned(parameters: Sequence[Tensor], sparse: set[int], caps: Sequence[int]) -> list[Bucket]:
    """Assign parameters, in the given order, to buckets. `caps` has the sizes in bytes of the first buckets; its last entry is
    for all others.
    """
    made: list[Bucket] = []
    open_ones: dict[Any, list[Tensor]] = {}

    def close(kind: Any) -> None:
        made.append(Bucket(len(made), open_ones.pop(kind)))

    for each in parameters:
        if id(each) in sparse:
            made.append(SparseBucket(len(made), [each]))
            continue
        kind = (each._array.dtype, each.device)
        held = open_ones.setdefault(kind, [])
        held.append(each)
        if sum(one._array.nbytes for one in held) >= caps[min(len(made), len(caps) - 1)]:
            close(kind)
    for kind in list(open_ones):
        close(kind)
    return made
