"""Linear collectives as operators. An operator records itself in a tenth of the time of a `Function`, which counts beside a small
collective.
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
    """The node of a collective. Like user code, it must not run on a thread that polls for RPC; and it runs even without a
    gradient, because the other ranks wait for it.

    `kw["made"]` has the shape, type and device of the result, or of all results put together.
    """

    __slots__ = ()
    user_code = runs_on_none = True

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return super().run(F, self.zeros(F) if grad is None else grad)

    def zeros(self, F: Any, shape: Sequence[int] | None = None) -> Any:
        """A gradient of zeros, of the whole result or of a part of it."""
        whole, kind, place = self.kw["made"]
        made = move(np.zeros(whole if shape is None else shape, kind), place)
        return made if F is RAW else wrap(made)


class ManyResults(CollectiveNode):
    """The node of a collective with several results; its derivative gets a list of gradients and Nones."""

    __slots__ = ("outputs",)
    outputs: int  # type: ignore[misc]

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return super().run(F, [None] * self.outputs if grad is None else grad)


def parts_of(node: CollectiveNode, F: Any, grads: Any, shapes: Sequence[Sequence[int]]) -> list[Any]:
    """The gradients of several results of these shapes, with zeros for those that have none."""
    given = grads if grads.__class__ in (list, tuple) else [grads]  # of a single result: bare
    return [node.zeros(F, shape) if each is None else each for each, shape in zip(given, shapes)]


class Linear:
    """A collective of one tensor: `forward(array, made=..., **kw)`, and its adjoint `backward(F, node, grad)`."""

    def __init__(
        self, name: str, forward: Callable[..., Any], backward: Callable[..., Any], node: str, exact: bool = True
    ) -> None:
        self.forward, self.operator = forward, operator(name, forward, backward, node=node, base=CollectiveNode)
        self.operator.exact = exact  # bfloat16 is moved as it is; sums are made in float32
        self.many_type = self.operator.many_type = type(node, (ManyResults,), {"__slots__": (), "operator": self.operator})

    def __call__(self, tensor: Tensor, shape: Sequence[int], **kw: Any) -> Any:
        """The result for a tensor, of the given shape: a tensor or a tuple of tensors."""
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
