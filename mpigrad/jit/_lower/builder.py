"""Builds a graph: the current block, the visible variables, and helpers for all parts of lowering."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .._ir.errors import NotSupportedError, Source, UnsupportedNodeError, script_error
from .._ir.graph import Block, Graph, Node, Value
from .._ir.types import BOOL, DEVICE, FLOAT, FUNCTION, INT, NONE, NUMERIC, TENSOR, Type, fits, type_of


# Expressions evaluate to values of the graph, or to one of these, which exist only during lowering.
class PythonObject:
    """An object of the Python program: a module, a function, a type."""

    __slots__ = ("name", "obj")

    def __init__(self, obj: Any, name: str) -> None:
        self.obj, self.name = obj, name


class BoundMethod:
    """A method of a value (a tensor, a list, a module) that has not been called yet."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Value, name: str) -> None:
        self.owner, self.name = owner, name


class StaticTuple:
    """Several results whose number is known: the modules of a ModuleList, or one item of `zip` and `enumerate`."""

    __slots__ = ("items",)

    def __init__(self, items: list[Any]) -> None:
        self.items = items


class Builder:
    """The state of lowering one function."""

    me: Value | None = None  # for methods: the module

    def __init__(self, graph: Graph, source: Source, scope: Any, script: Callable[[Any], Any], module: Any = None) -> None:
        """`script` compiles the functions that this one calls; `module` (`ModuleMembers`) is there for methods of modules."""
        self.graph, self.source, self.scope, self.script, self.module = graph, source, scope, script, module
        self.block: Block = graph
        self.env: dict[str, Any] = {}
        self.returns: Type | None = None  # as annotated
        self.returned: list[Type] = []
        self.loops: list[Any] = []

    # -- errors ----------------------------------------------------------------------------------------------------
    def fail(self, node: ast.AST, message: str) -> RuntimeError:
        return script_error(self.source, node, message)

    def unsupported(self, node: ast.AST, what: str) -> UnsupportedNodeError:
        return UnsupportedNodeError(self.source, node, f"{what} aren't supported")

    def refuse(self, node: ast.AST, message: str) -> NotSupportedError:
        return NotSupportedError(self.source, node, message)

    # -- nodes -----------------------------------------------------------------------------------------------------
    def add(
        self,
        at: Any,
        op: str,
        inputs: list[Value],
        kind: Type | None,
        target: str,
        keywords: tuple[str, ...] = (),
        **attributes: Any,
    ) -> Value:
        """Append a node and return its output of type `kind` (no output if that is None)."""
        node = self.append(at, op, inputs, target)
        node.keywords, node.attributes = keywords, attributes
        return Value(NONE, self.graph.new_name(), node) if kind is None else self.output(node, kind)

    def append(self, at: Any, op: str, inputs: list[Value], target: str, *blocks: Block) -> Node:
        """Append a node with the operator `op`, to which outputs are added later; returns the node."""
        node = Node(op, inputs, target, self.source.where(at))
        node.blocks = list(blocks)
        self.block.nodes.append(node)
        return node

    def output(self, node: Node, kind: Type, hint: str = "") -> Value:
        """A new output of a node; `hint` is the name of the variable that it is assigned to."""
        made = Value(kind, self.graph.new_name(hint), node)
        node.outputs.append(made)
        return made

    def constant(self, at: Any, value: Any, kind: Type | None = None) -> Value:
        """Add a `prim::Constant` and return its value."""
        kind = kind or type_of(value)
        if kind is None:
            raise self.fail(at, f"python value of type '{type(value).__name__}' cannot be used as a value")
        if value is None:
            return self.add(at, "prim::Constant", [], NONE, "constant")
        return self.add(at, "prim::Constant", [], kind, "constant", value=value)

    def value(self, at: ast.AST, found: Any) -> Value:
        """Convert `found`, what an expression was lowered to, to a value of the graph; an error if it exists only at
        compile time.
        """
        if isinstance(found, Value):
            return found
        if isinstance(found, StaticTuple):
            return self.pack(at, [self.value(at, each) for each in found.items])
        if isinstance(found, BoundMethod):
            raise self.fail(at, f"method '{found.name}' cannot be used as a value; call it")
        kind = type_of(found.obj)
        if (
            kind in (DEVICE, Type("dtype"), Type("Layout"), Type("MemoryFormat"))
            or "." in found.name
            and kind is not None
        ):
            return self.constant(at, found.obj, kind)  # globals of a Python module are treated as constants
        if kind is not None:
            raise self.fail(
                at,
                f"python value of type '{type(found.obj).__name__}' cannot be used as a value. Perhaps it is a closed over "
                "global variable? If so, please consider passing it in as an argument or use a local variable instead",
            )
        if callable(found.obj):
            return self.add(at, "prim::Constant", [], FUNCTION, "constant", value=found.obj)
        raise self.fail(at, f"python value of type '{type(found.obj).__name__}' cannot be used as a value")

    def pack(self, at: Any, items: list[Value]) -> Value:
        """Add a `prim::TupleConstruct` and return its value."""
        return self.add(at, "prim::TupleConstruct", items, Type("Tuple", tuple(each.type for each in items)), "tuple")

    def cast(self, at: ast.AST, value: Value, wanted: Type, complaint: str) -> Value:
        """Add the implicit conversion to the type `wanted`, if one is needed; an error with `complaint` if the types do not fit.

        There are three, as in PyTorch: tensor to number, int to float, and tuple to list.
        """
        if value.type == TENSOR and wanted in (INT, FLOAT, BOOL):
            return self.add(at, f"aten::{wanted.kind.capitalize()}", [value], wanted, f"builtin:{wanted.kind}")
        if value.type == INT and wanted == FLOAT:
            return self.add(at, "aten::Float", [value], FLOAT, "builtin:float")
        if value.type.kind == "Tuple" and wanted.kind == "List" and fits(value.type, wanted):
            return self.add(at, "prim::tolist", [value], wanted, "builtin:list")
        if not fits(value.type, wanted):
            raise self.fail(at, complaint)
        return value

    def truth(self, at: ast.AST, value: Value) -> Value:
        """Convert a value to a condition of type bool."""
        if value.type == BOOL:
            return value
        if value.type in NUMERIC or value.type == TENSOR:
            return self.add(at, "aten::Bool", [value], BOOL, "builtin:bool")
        raise self.fail(at, f"Could not cast value of type {value.type.python()} to bool")

    def static(self, value: Any) -> Any:
        """The Python value of a constant; Ellipsis if it is known only at run time."""
        return value.constant if isinstance(value, Value) else ...

    def sub_block(self, run: Any, env: dict[str, Any]) -> tuple[Block, dict[str, Any]]:
        """Call `run()`, which lowers into a new block with separate variables; returns the block and the variables."""
        outer, outer_env = self.block, self.env
        self.block, self.env = Block(), dict(env)
        try:
            run()
            return self.block, self.env
        finally:
            self.block, self.env = outer, outer_env
