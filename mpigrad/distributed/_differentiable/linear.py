"""Linear collectives as operators, which record themselves in a tenth of the time of an `autograd.Function`.

For a small collective that time is as long as the collective itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mpigrad._array.device import CPU, device_of, move
from mpigrad._core.node import edge_of, new_node, record_one
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._ops._define.operator import RAW, OpNode, operator
from mpigrad._tensor import Tensor

from .._process_group.buffers import check_tensor


class CollectiveNode(OpNode):
    """The graph node of a collective.

    Like user code it must not run on a thread that polls for RPC. It runs even without a gradient, because the other
    ranks wait for it. `kw["made"]` has the shape, type and device of the result, or of all results put together.
    """

    __slots__ = ()
    user_code = runs_on_none = True

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return super().run(F, self.zeros(F) if grad is None else grad)

    def zeros(self, F: Any, shape: Sequence[int] | None = None) -> Any:
        """Return a gradient of zeros for the whole result, or with the shape of a part of it."""
        whole, kind, place = self.kw["made"]
        made = move(np.zeros(whole if shape is None else shape, kind), place)
        return made if F is RAW else wrap(made)


class ManyResults(CollectiveNode):
    """The graph node of a collective with several results: its backward gets a list with a gradient or None for each."""

    __slots__ = ("outputs",)
    outputs: int  # type: ignore[misc]

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return super().run(F, [None] * self.outputs if grad is None else grad)


def parts_of(node: CollectiveNode, F: Any, grads: Any, shapes: Sequence[Sequence[int]]) -> list[Any]:
    """Return the gradients of the results of a node, which have these shapes; zeros for those without a gradient."""
    given = grads if grads.__class__ in (list, tuple) else [grads]  # of a single result: bare
    return [node.zeros(F, shape) if each is None else each for each, shape in zip(given, shapes)]


class Linear:
    """A linear collective of one tensor, as an operator.

    Args:
        name: of the operator.
        forward: called as `forward(array, made=..., **kw)`; returns an array, or a tuple of arrays.
        backward: called as `backward(F, node, grad)`; returns the gradient of the input.
        node: the name of its node in graphs.
        exact: False if it adds elements: bfloat16 is then added in float32; otherwise it is moved as it is.
    """

    def __init__(
        self, name: str, forward: Callable[..., Any], backward: Callable[..., Any], node: str, exact: bool = True
    ) -> None:
        self.forward, self.operator = forward, operator(name, forward, backward, node=node, base=CollectiveNode)
        self.operator.exact = exact  # bfloat16 is moved as it is; sums are made in float32
        self.many_type = self.operator.many_type = type(node, (ManyResults,), {"__slots__": (), "operator": self.operator})

    def __call__(self, tensor: Tensor, shape: Sequence[int], **kw: Any) -> Any:
        """Run the collective on a tensor and record it; `shape` is that of the result, or of all results put together."""
        # The common case comes last, without the checks and the watchers of an operator.
        array: Any = getattr(tensor, "_array", None)
        if array.__class__ is not np.ndarray or array.dtype.char not in "fd" or TRACING.on or MODE.inference:
            check_tensor(tensor)
            return self.operator(tensor, made=(shape, array.dtype, device_of(array)), **kw)
        kw["made"] = (shape, array.dtype, CPU)
        out = self.forward(array, **kw)
        recorded = MODE.enabled and tensor._requires
        if out.__class__ is not tuple:
            made = wrap(out)
            if recorded:
                record_one(self.operator.node_type, made, tensor, kw, (array.shape,))
            return made
        tensors = tuple(map(wrap, out))
        if recorded:
            node = new_node(self.many_type, (edge_of(tensor),), kw, (array.shape,), (), ())
            node.outputs = len(tensors)
            for nr, each in enumerate(tensors):
                each._grad_fn, each._nr, each._requires = node, nr, True
        return tensors
