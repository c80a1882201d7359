"""Operators whose derivative is derived from a composition of other operators.

In the graph such an operator is one node, which saves only its inputs. Its derivative recomputes the composition, recorded this
time, and differentiates it. This is slow, and used for rare operators whose explicit derivative would be long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mpigrad._core.engine import Captures, GraphTask, as_array, count_dependencies, needed_for
from mpigrad._core.node import edge_of
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE
from mpigrad._graph.namespace import RAW
from mpigrad._tensor import Tensor

from .operator import Operator, operator


def composite(name: str, compute: Callable[..., Tensor], inputs: int, *, node: str) -> Operator:
    """Define an operator of `inputs` tensors (or Nones) by a function `compute` of tensors; its derivative recomputes
    the function.
    """

    def forward(*arrays: Any, **kw: Any) -> Any:
        return _unrecorded(lambda: compute(*(None if x is None else wrap(x) for x in arrays), **kw)._array)

    def backward(F: Any, node: Any, g: Any, *saved: Any) -> Any:
        given: list[Any] = [_fresh(F, value) if needed else _constant(F, value) for needed, value in zip(node.needs, saved)]
        before, MODE.enabled = MODE.enabled, True
        try:
            made = compute(*given, **node.kw)
        finally:
            MODE.enabled = before
        found = _gradients(F, made, [t for t, needed in zip(given, node.needs) if needed], as_array(g))
        left = iter(found)
        return tuple(next(left) if needed else None for needed in node.needs)

    return operator(name, forward, backward, range(inputs), node=node)


def _unrecorded(run: Callable[[], Any]) -> Any:
    before, MODE.enabled = MODE.enabled, False
    try:
        return run()
    finally:
        MODE.enabled = before


def _constant(F: Any, value: Any) -> Tensor | None:
    return wrap(value) if F is RAW and value is not None else value


def _fresh(F: Any, value: Any) -> Tensor:
    """An input of the recomputation: a tensor with the value's elements, attached to a new node at which its gradient
    is taken.
    """
    return wrap(value).requires_grad_() if F is RAW else value.clone()


def _gradients(F: Any, made: Tensor, inputs: Sequence[Tensor], g: Any) -> list[Any]:
    root = edge_of(made)
    if root is None:
        return [None] * len(inputs)
    captures: Captures = {}
    for place, tensor in enumerate(inputs):
        edge = edge_of(tensor)
        assert edge is not None
        captures.setdefault(edge[0], []).append((edge[1], place))
    # A pass inside a pass, over the recomputed graph only: `captures` are the fresh inputs, so the user's graph is
    # not touched.
    task = GraphTask(
        F, count_dependencies([root[0]]), F is not RAW, None, captures, needed_for([root[0]], captures)
    )
    task.feed(*root, g)
    task.start(root[0])
    task.run()
    return [task.captured.get(place) for place in range(len(inputs))]
