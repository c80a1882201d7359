"""How operators on the shortest road record themselves: statements that make the same nodes as their quick roads in `_ops` do."""

from __future__ import annotations

from typing import Any

from mpigrad._graph.node import edge_of
from mpigrad._ops._define.operator import Operator, recordable

Recording = tuple[list[str], dict[str, Any]]  # statements that make `node`, and what they use
_EDGE = "(x0._grad_fn, x0._nr) if x0._grad_fn is not None and x0._view is None else edge_of(x0)"
_BEGIN = ["node = new(node_type)", "node.hooks = node.meta = None", "node.kw = no_kw"]


def _uses(made: Operator) -> dict[str, Any]:
    return {"node_type": made.node_type, "no_kw": {}, "edge_of": edge_of}


def of_two(made: Operator, second: str) -> Recording:
    """An operator of two operands, the tensors `x0` and `second`: `x1`, or the constant `b1`."""
    lines = [*_BEGIN, f"edges = node.edges = ({_EDGE}, edge_of({second}) if {second}._requires else None)"]
    if not made.saves:
        return [*lines, "node.saved = ()"], _uses(made)
    kept = []
    for place, name in enumerate(("x0", second)):
        needed_by = [by for at, by in made.saves if at == place]
        kept.append("None" if not needed_by else name if needed_by[0] is None
                    else f"{name} if edges[{needed_by[0]}] is not None else None")  # fmt: skip
    lines += [
        f"s, t = ({kept[0]}), ({kept[1]})",
        "node.saved = (s, t)",
        "if not x0._requires and x0._extra is not None: recordable(s)",
        f"if not {second}._requires and {second}._extra is not None: recordable(t)",
        "node.versions = (0 if s is None else s._version, 0 if t is None else t._version)",
    ]
    return lines, {**_uses(made), "recordable": recordable}


def of_product(made: Operator) -> Recording:
    """A product of matrices, which knows its factors' shapes."""
    lines, uses = of_two(made, "x1")
    return [*lines, "node.shapes = (a0.shape, a1.shape)"], uses


def of_one(made: Operator) -> Recording:
    """An operator of one operand, element by element: it saves nothing, its result's array, or its input."""
    place = (*made.places, None)[0]
    lines = [*_BEGIN, f"node.edges = ({_EDGE},)"]
    if place is None:
        lines.append("node.saved = ()")
    elif place < 0:
        lines.append("node.saved = out")
    else:
        lines += ["node.saved = x0", "node.versions = 0 if x0._counter is None else x0._counter[0]"]
    return lines, _uses(made)


def of_all(made: Operator) -> Recording:
    """A reduction of all elements."""
    return [*_BEGIN, f"node.edges = ({_EDGE},)", "node.saved, node.shapes = (), (a0.shape,)"], _uses(made)
