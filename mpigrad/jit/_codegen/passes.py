"""Optimization passes: constant folding, common subexpression elimination, dead code elimination, fusion.

The graph that users see stays as written; the passes work on a copy. They only touch operators that are known to be pure
(`_ir/pure.py`). Two variables may share one value only if no code can change it in place through one of them.
"""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any

from .._ir.graph import Block, Graph, Node, Value
from .._ir.pure import CHANGES, is_pure, is_view
from .._ir.types import TENSOR, type_of
from .fusion import fuse

_FOLDED: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
_NUMBERS = (bool, int, float)
_BITS = 64  # longer integers are not folded: the call raises the error


def optimised(graph: Graph) -> Graph:
    """An optimised copy of a graph with the same results."""
    made = _copy(graph)
    _fold_constants(made)
    _eliminate_common(made, made, {}, {}, _escaping(made), not any(_may_mutate(node) for node in made.walk()))
    while _eliminate_dead(made):
        pass
    fuse(made)
    return made


# -- copies ----------------------------------------------------------------------------------------------------------
def _copy(graph: Graph) -> Graph:
    made = Graph(graph.name)
    # new names of the copy continue the numbering, so that none repeats
    made._count = graph._count
    _copy_block(graph, made, {})
    return made


def _copy_block(block: Block, made: Block, values: dict[int, Value]) -> None:
    def new(value: Value, node: Node | None = None) -> Value:
        values[id(value)] = Value(value.type, value.name, node)
        return values[id(value)]

    made.inputs = [new(each) for each in block.inputs]
    for node in block.nodes:
        twin = Node(node.op, [values.get(id(each), each) for each in node.inputs], node.target, node.where)
        twin.keywords, twin.attributes = node.keywords, dict(node.attributes)
        for inner in node.blocks:
            twin.blocks.append(Block())
            _copy_block(inner, twin.blocks[-1], values)
        twin.outputs = [new(each, twin) for each in node.outputs]
        made.nodes.append(twin)
    made.outputs = [values.get(id(each), each) for each in block.outputs]


# -- constant folding -------------------------------------------------------------------------------------------------------
def _fold_constants(block: Block) -> None:
    """Replace arithmetic of constants by its result."""
    for node in block.nodes:
        for inner in node.blocks:
            _fold_constants(inner)
        kind, _, sign = node.target.partition(":")
        values = [each.constant for each in node.inputs]
        if (
            kind != "op"
            or sign not in _FOLDED
            or len(values) != 2
            or not all(type(each) in _NUMBERS for each in values)
        ):
            continue
        try:
            result = _FOLDED[sign](*values)
        except ArithmeticError:
            continue  # not folded: the call raises the error
        # Python's result type may differ from the graph's, which later nodes rely on
        if type_of(result) == node.output.type and not (isinstance(result, int) and result.bit_length() > _BITS):
            node.op, node.target, node.inputs, node.attributes = "prim::Constant", "constant", [], {"value": result}


# -- common subexpression elimination -------------------------------------------------------------------------------------------
def _may_mutate(node: Node) -> bool:
    """Whether a node may change something in place, or run code that may."""
    return (
        node.target in CHANGES
        or (node.op.endswith("_") and not node.op.endswith("__"))
        or not (is_pure(node) or node.target in ("if", "loop", "with", "exit", "raise"))
    )


def _escaping(graph: Graph) -> set[int]:
    """Values that are visible outside of their variable: results, members of containers, arguments of calls, bases of views."""
    found: set[int] = set()

    def visit(block: Block) -> None:
        found.update(id(each) for each in block.outputs)
        for node in block.nodes:
            if is_view(node) or not is_pure(node) or node.target in ("list", "tuple", "named", "dict"):
                found.update(id(each) for each in node.inputs)
            for inner in node.blocks:
                visit(inner)

    visit(graph)
    return found


def _key(node: Node, inputs: list[Value]) -> Any:
    return node.op, node.target, tuple(map(id, inputs)), node.keywords


def _eliminate_common(
    graph: Graph, block: Block, known: dict[Any, Value], same: dict[int, Value], escaping: set[int], no_mutation: bool
) -> None:
    """Compute equal expressions of pure operators once. `known` maps expressions to their values, `same` maps values to the
    equal ones that replace them."""
    kept = []
    for node in block.nodes:
        node.inputs = [same.get(id(each), each) for each in node.inputs]
        for inner in node.blocks:
            # A branch may reuse what was computed before it, but not the reverse: it may not run. A loop body may
            # reuse nothing, because values can change from one iteration to the next.
            _eliminate_common(graph, inner, dict(known) if node.target == "if" else {}, same, escaping, no_mutation)
        if node.target == "constant":
            value = node.attributes.get("value")
            # with the type, as 1 == True == 1.0 in Python; floats are left out, as 0.0 == -0.0
            key = ("constant", type(value), value) if type(value) in (bool, int, str, type(None)) else None
            if key is not None and key in known:
                same[id(node.output)] = known[key]
                continue
            if key is not None:
                known[key] = node.output
        elif node.blocks or not is_pure(node) or node.target in ("list", "dict"):
            if _may_mutate(node) or node.blocks:
                # tensors may have been changed in place: earlier results no longer equal a new computation
                for each in [each for each in known if each[0] != "constant"]:
                    del known[each]
        elif len(node.outputs) == 1:
            key = _key(node, node.inputs)
            first = known.get(key)
            if first is not None and _may_eliminate_common(first, node.output, escaping, no_mutation):
                same[id(node.output)] = first
                # the shared value is now visible where the eliminated one was
                if id(node.output) in escaping:
                    escaping.add(id(first))
                continue
            known[key] = node.output
        kept.append(node)
    block.nodes = kept
    block.outputs = [same.get(id(each), each) for each in block.outputs]


def _may_eliminate_common(first: Value, second: Value, escaping: set[int], no_mutation: bool) -> bool:
    if first.type != TENSOR:
        return first.type.kind in ("int", "float", "bool", "str", "NoneType", "number")
    # Two tensors that both leave the function must stay two: the caller may change one in place.
    seen = (id(first) in escaping) + (id(second) in escaping)
    return seen == 0 or (seen == 1 and no_mutation)


# -- dead code elimination ------------------------------------------------------------------------------------------------
def _eliminate_dead(graph: Graph) -> bool:
    """Remove pure nodes whose results are unused; returns whether there were any."""
    uses: Counter[int] = Counter()
    for node in graph.walk():
        uses.update(id(each) for each in node.inputs)
        for inner in node.blocks:
            uses.update(id(each) for each in inner.outputs)
    uses.update(id(each) for each in graph.outputs)

    def clean(block: Block) -> bool:
        kept = [node for node in block.nodes if not _unused(node, uses)]
        found = len(kept) != len(block.nodes)
        block.nodes = kept
        return any([found, *(clean(inner) for node in kept for inner in node.blocks)])

    return clean(graph)


def _unused(node: Node, uses: Counter[int]) -> bool:
    if not (is_pure(node) and node.target.partition(":")[0] in ("constant", "tuple", "named", "list", "dict", "alias", "attr")):
        return False  # an operator that may raise must be kept
    return not any(uses[id(each)] for each in node.outputs)
