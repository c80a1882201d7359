"""Verifies graphs from files before they are compiled: nodes have the required inputs, outputs, blocks and attributes, and
values that are used as modules are modules.

The compiler (`_codegen/compile.py`) decides for all graphs which functions, methods and attributes of tensors a node may name.
This file checks only errors that lowering cannot produce.
"""

from __future__ import annotations

import keyword
from typing import Any, NamedTuple

from .._frontend.function import ScriptFunction
from .._ir.convert import _TESTS
from .._ir.graph import Block, Graph, Node, Value
from .._ir.operators import BLOCKS, MODES, RPC_CALLS, RUNS
from .._ir.python_builtins import BUILTINS
from .._ir.schema import Schema
from .._ir.types import Type
from .archive import Refused

_SOME = object()  # a module that is known only at run time, and is checked then


class _Shape(NamedTuple):
    """The number of inputs (minimum, maximum) and outputs (maximum) of a node."""

    least: int = 0
    most: int | None = None
    outputs: int | None = 1


_SHAPES = {
    "constant": _Shape(0, 0), "alias": _Shape(1, 1), "setitem": _Shape(3, 3, 0), "delitem": _Shape(2, 2, 0),
    "setattr": _Shape(2, 2, 0), "getattr": _Shape(1, 1), "raise": _Shape(1, 1, 0), "exit": _Shape(0, None, 0),
    "if": _Shape(1, 1, None), "loop": _Shape(2, None, None), "with": _Shape(0, 1, None), "unpack": _Shape(1, 1, None),
    "op": _Shape(2, 2), "uop": _Shape(1, 1), "method": _Shape(1), "attr": _Shape(1, 1), "fn": _Shape(), "builtin": _Shape(),
    "math": _Shape(), "index": _Shape(2, 2), "list": _Shape(), "tuple": _Shape(), "named": _Shape(), "dict": _Shape(),
    "call": _Shape(), "fork": _Shape(), "callmethod": _Shape(1), "dist": _Shape(1), "isinstance": _Shape(1, 1),
    "prim": _Shape(1, 3), "profiler": _Shape(1, 2),
}  # fmt: skip
_WITH_NAME = ("fn", "method", "attr", "builtin", "math", "prim", "dist", "op", "uop", "profiler")
_PRIM = {"listed": 1, "range_length": None, "derive_index": 3, "float_pow": 2}
_SILENT = ("method", "fn", "builtin", "call", "callmethod", "dist", "profiler")  # have no output if the result is unused


class Members(NamedTuple):
    """The members of a module that graphs may use: values and methods."""

    data: frozenset[str]
    methods: frozenset[str]


def verify(graph: Graph, schema: Schema, me: Any = None, members: dict[int, Members] | None = None) -> None:
    """Check a graph; `me` is the module whose method it is, `members` are those of modules by their id."""
    extra = len(graph.inputs) - len(schema.arguments)
    if extra != (me is not None):
        raise Refused(f"{schema.name}: {len(schema.arguments)} arguments, but its graph has {len(graph.inputs)} inputs")
    if len(graph.outputs) > 1:
        raise Refused(f"{schema.name}: a graph has one output")
    checker = _Checker(schema, members or {})
    if me is not None:
        checker.modules[id(graph.inputs[0])] = me
    for value, argument in zip(graph.inputs[extra:], schema.arguments):
        if value.type != argument.type:
            raise Refused(f"{schema.name}: the argument {argument.name!r} has two types")
        if _is_module_type(argument.type):
            checker.modules[id(value)] = _SOME
    checker.block(graph)


class _Checker:
    """Checks the nodes of one graph, one after the other."""

    def __init__(self, schema: Schema, members: dict[int, Members]) -> None:
        self.schema, self.members = schema, members
        self.modules: dict[int, Any] = {}  # values that are modules
        self.loops: list[int] = []  # number of loop-carried values of the enclosing loops

    def refuse(self, node: Node, why: str) -> Refused:
        return Refused(f"{self.schema.name}: the node {node.op!r} ({node.target!r}) {why}")

    def block(self, block: Block) -> None:
        for node in block.nodes:
            self.node(node)

    def node(self, node: Node) -> None:
        kind, colon, name = node.target.partition(":")
        shape = _SHAPES.get(kind)
        if shape is None or bool(colon) != (kind in _WITH_NAME):
            raise self.refuse(node, "is not allowed in a file")
        if (node.op == "prim::Constant") != (kind == "constant"):
            raise self.refuse(node, "is half a constant")
        count = len(node.inputs)
        if count < shape.least or (shape.most is not None and count > shape.most):
            raise self.refuse(node, f"has {count} inputs")
        if shape.outputs is not None and len(node.outputs) > shape.outputs:
            raise self.refuse(node, f"has {len(node.outputs)} outputs")
        if shape.outputs == 1 and not node.outputs and kind not in _SILENT:
            raise self.refuse(node, "has no output")
        if node.blocks and kind not in ("if", "loop", "with"):
            raise self.refuse(node, "has blocks")
        self.keywords(node)
        check = getattr(self, f"_{kind}", None)
        if check is not None:
            check(node, name)

    def keywords(self, node: Node) -> None:
        words = node.keywords
        if len(words) > len(node.inputs) or len(set(words)) != len(words):
            raise self.refuse(node, f"has the keywords {words}")
        if any(not each.isidentifier() or keyword.iskeyword(each) for each in words):
            raise self.refuse(node, f"has the keywords {words}")

    def attribute(self, node: Node, name: str, kind: type) -> Any:
        found = node.attributes.get(name)
        if not isinstance(found, kind):
            raise self.refuse(node, f"has {found!r} as its {name}")
        return found

    # -- functions ---------------------------------------------------------------------------------------------------
    def _call(self, node: Node, name: str) -> None:
        function = self.attribute(node, "function", ScriptFunction)
        if len(node.inputs) != len(function.schema.arguments):
            raise self.refuse(node, f"calls {function.name} with {len(node.inputs)} arguments")

    def _fork(self, node: Node, name: str) -> None:
        self.attribute(node, "function", ScriptFunction)

    def _dist(self, node: Node, name: str) -> None:
        if name not in RUNS:
            raise self.refuse(node, "is not allowed in a file")
        if name in RPC_CALLS:
            self.attribute(node, "function", ScriptFunction)
            if len(node.inputs) - len(node.keywords) < 2:
                raise self.refuse(node, f"has {len(node.inputs)} inputs")

    def _builtin(self, node: Node, name: str) -> None:
        if name not in BUILTINS:
            raise self.refuse(node, "names no function that a graph may use")

    def _prim(self, node: Node, name: str) -> None:
        if name not in _PRIM or _PRIM[name] not in (None, len(node.inputs)):
            raise self.refuse(node, f"has {len(node.inputs)} inputs, or is not allowed in a file")
        if name == "listed" and self.attribute(node, "name", str) not in ("keys", "values", "items"):
            raise self.refuse(node, "names no list of a dict")

    def _dict(self, node: Node, name: str) -> None:
        if len(node.inputs) % 2:
            raise self.refuse(node, f"has {len(node.inputs)} inputs")

    def _named(self, node: Node, name: str) -> None:
        kind = node.output.type
        if kind.kind != "Tuple" or not kind.fields or len(kind.fields) != len(node.inputs):
            raise self.refuse(node, f"makes a {kind} of {len(node.inputs)} values")

    def _isinstance(self, node: Node, name: str) -> None:
        if not all(isinstance(each, Type) for each in self.attribute(node, "types", tuple)):
            raise self.refuse(node, "asks for what is no type")

    def _constant(self, node: Node, name: str) -> None:
        if not node.attributes.keys() <= {"value"}:
            raise self.refuse(node, f"has the attributes {sorted(node.attributes)}")

    def _raise(self, node: Node, name: str) -> None:
        if not self.attribute(node, "name", str).isidentifier():
            raise self.refuse(node, f"raises {node.attributes['name']!r}")

    def _unpack(self, node: Node, name: str) -> None:
        if not node.outputs:
            raise self.refuse(node, "has no output")

    # -- modules -----------------------------------------------------------------------------------------------------
    def owner(self, node: Node) -> Any:
        found = self.modules.get(id(node.inputs[0]))
        if found is None:
            raise self.refuse(node, "is for modules, but its first input is not a module")
        return found

    def _data(self, node: Node, module: Any) -> str:
        name = self.attribute(node, "name", str)
        if module is _SOME or name not in self.members[id(module)].data:
            raise self.refuse(node, f"uses the attribute {name!r}, which is no value of the module's")
        return name

    def _getattr(self, node: Node, rest: str) -> None:
        module, name = self.owner(node), node.attributes.get("name")
        child = module._modules.get(name) if module is not _SOME and isinstance(name, str) else None
        if child is not None:
            self.modules[id(node.output)] = child
        else:
            self._data(node, module)

    def _setattr(self, node: Node, rest: str) -> None:
        self._data(node, self.owner(node))

    def _callmethod(self, node: Node, rest: str) -> None:
        module, name = self.owner(node), self.attribute(node, "name", str)
        if module is _SOME:
            fits = name.isidentifier() and not name.startswith("__")  # at run time only scripted methods are found
        else:
            fits = name == "forward" or name in self.members[id(module)].methods
        if not fits:
            raise self.refuse(node, f"calls {name!r}, which is no scripted method")
        if node.keywords:
            raise self.refuse(node, f"has the keywords {node.keywords}")

    def _alias(self, node: Node, name: str) -> None:
        if id(node.inputs[0]) in self.modules:
            self.modules[id(node.output)] = self.modules[id(node.inputs[0])]

    # -- blocks ------------------------------------------------------------------------------------------------------
    def inner(self, node: Node, blocks: int) -> None:
        if len(node.blocks) != blocks:
            raise self.refuse(node, f"has {len(node.blocks)} blocks")
        for each in node.blocks:
            self.block(each)

    def results(self, node: Node, block: Block, values: list[Value]) -> None:
        if values and len(values) != len(node.outputs):
            raise self.refuse(node, f"has {len(node.outputs)} outputs and a block with {len(values)}")
        if not values and node.outputs and not block.ends():
            raise self.refuse(node, "has a block that neither gives its outputs nor ends")

    def _if(self, node: Node, name: str) -> None:
        self.inner(node, 2)
        for block in node.blocks:
            if block.inputs:
                raise self.refuse(node, "has a block with inputs")
            self.results(node, block, block.outputs)
        for number, output in enumerate(node.outputs):
            sources = [block.outputs[number] for block in node.blocks if block.outputs]
            if sources and all(id(each) in self.modules for each in sources):
                self.modules[id(output)] = self.modules[id(sources[0])] if len(sources) == 1 else _SOME

    def _with(self, node: Node, name: str) -> None:
        mode = self.attribute(node, "name", str)
        if mode not in BLOCKS or len(node.inputs) != (mode not in MODES):
            raise self.refuse(node, "names no mode that a graph may use")
        self.inner(node, 1)
        self.results(node, node.blocks[0], node.blocks[0].outputs)

    def _loop(self, node: Node, name: str) -> None:
        carried = len(node.inputs) - 2
        self.loops.append(carried)
        self.inner(node, 1)
        self.loops.pop()
        body = node.blocks[0]
        if len(body.inputs) != carried + 1 or len(node.outputs) != carried:
            raise self.refuse(node, f"carries {carried} values, {len(body.inputs) - 1} inside, {len(node.outputs)} out")
        if len(body.outputs) != carried + 1 and not (not body.outputs and body.ends()):
            raise self.refuse(node, f"carries {carried} values, and its block gives {len(body.outputs) - 1}")

    def _exit(self, node: Node, name: str) -> None:
        if node.op == "prim::ReturnStmt":
            wanted = 1
        elif node.op in ("prim::BreakStmt", "prim::ContinueStmt") and self.loops:
            wanted = self.loops[-1] + (node.op == "prim::ContinueStmt")
        else:
            raise self.refuse(node, "leaves nothing")
        if len(node.inputs) != wanted:
            raise self.refuse(node, f"has {len(node.inputs)} inputs")


def _is_module_type(kind: Type) -> bool:
    """Whether a type is one that only modules have."""
    return kind.kind not in _TESTS or (kind.kind == "Optional" and _is_module_type(kind.args[0]))
