"""Recording the call of an operator: the only place that makes and fills operators' nodes.

`recording.pyx` is compiled in this module's place and fills the slots in C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .node import edge_of
from .saved import raise_inference

if TYPE_CHECKING:
    from .._tensor import Tensor
    from .node import Edge

_new = object.__new__
_UNCHANGED = (0, 0)


def new_node(cls: Any, edges: tuple[Edge | None, ...], kw: dict[str, Any], shapes: Any, saved: Any, versions: Any) -> Any:
    """A node of a subclass of OpNode. `shapes` may be None for operators whose derivative needs none."""
    node = _new(cls)
    node.edges, node.kw, node.shapes, node.saved, node.versions = edges, kw, shapes, saved, versions
    node.hooks = node.meta = None
    return node


def record_one(
    cls: Any, made: Tensor, x: Tensor, kw: dict[str, Any], shapes: tuple[Any, ...] | None = None, place: int | None = None
) -> None:
    """Record that an operator of one input made `made` of `x`, which requires a gradient.

    `place` says what is saved: None for nothing; 0 for the input, with its version; a negative number for the result's
    array. The last two are for LightNode."""
    node = _new(cls)  # filled here and not by `new_node`: in plain Python one more call is felt by small operators
    above = x._grad_fn
    node.edges = ((above, x._nr) if above is not None and x._view is None else edge_of(x),)
    node.hooks = node.meta = None
    node.kw, node.shapes = kw, shapes
    if place is None:
        node.saved = node.versions = ()
    elif place:
        node.saved, node.versions = made._array, ()
    else:
        node.saved, node.versions = x, 0 if x._counter is None else x._counter[0]
    made._grad_fn, made._requires = node, True


def record_two(
    cls: Any, made: Tensor, a: Tensor, b: Tensor, kw: dict[str, Any], saves: tuple[Any, Any] | None, shapes: Any = None
) -> None:
    """Record that an operator of two inputs, one of which requires a gradient, made `made`.

    `saves` is None if nothing is saved. Otherwise it has a number for each input: the input is saved if the input of that
    number requires a gradient; None: always; -1: never."""
    node = _new(cls)
    above = a._grad_fn
    node.edges = edges = (
        (above, a._nr) if above is not None and a._view is None else edge_of(a),
        edge_of(b) if b._requires else None,
    )
    node.hooks = node.meta = None
    node.kw, node.shapes = kw, shapes
    if saves is None:
        node.saved = node.versions = ()
    else:
        by_first, by_second = saves
        s = a if by_first is None or by_first >= 0 and edges[by_first] is not None else None
        t = b if by_second is None or by_second >= 0 and edges[by_second] is not None else None
        node.saved = (s, t)
        node.versions = _UNCHANGED if a._counter is None and b._counter is None else (_version(s), _version(t))
        if not a._requires and a._extra is not None and s is not None and a._extra.inference:
            raise_inference()
        if not b._requires and b._extra is not None and t is not None and b._extra.inference:
            raise_inference()
    made._grad_fn, made._requires = node, True


def _version(tensor: Tensor | None) -> int:
    return 0 if tensor is None or tensor._counter is None else tensor._counter[0]
