"""`fn.code`: the graph as readable Python."""

from __future__ import annotations

import re
from typing import Any

from .._ir.graph import Graph, Node, Value
from .emit import Writer


class _Printer(Writer):
    """Writes a graph for people to read."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.names: dict[int, str] = {}
        self.seen: set[str] = set()

    def name(self, value: Value) -> str:
        while id(value) in self.aliases:
            value = self.aliases[id(value)]
        if id(value) not in self.names:
            stem = re.sub(r"\W", "_", value.name.partition(".")[0])
            stem = "_" if stem.isdigit() else stem
            name, count = stem if stem != "_" else "_0", 0
            while name in self.seen:
                name, count = f"{stem}{count}", count + 1
            self.seen.add(name)
            self.names[id(value)] = name
        return self.names[id(value)]

    def constant(self, node: Node) -> str:
        value = node.attributes.get("value")
        return getattr(value, "name", None) or repr(value)

    def call(self, node: Node, args: list[str]) -> str:
        name = node.op.partition("::")[2] or node.op
        if node.target in ("list", "tuple", "dict", "index"):
            return _SHAPES[node.target](args)
        if node.target == "named":
            return f"{node.output.type.python()}({', '.join(args)})"
        if node.target == "new":
            return f"{node.output.type.kind}.__new__({node.output.type.kind})"
        if node.target in ("getattr", "field"):
            name = node.attributes["name"]
            return f"{args[0]}.{name}" if name.isidentifier() else f'getattr({args[0]}, "{name}")'
        if node.target == "callmethod":
            return f"({args[0]}).{node.attributes['name']}({', '.join(args[1:])})"
        if node.target == "call":
            return f"{node.attributes['function'].qualified_name}({', '.join(args)})"
        if node.target == "fork":
            return f"fork({', '.join([node.attributes['function'].qualified_name, *args])})"
        if node.target.startswith("attr:"):
            return f"{args[0]}.{node.target[5:]}"
        if node.target.startswith(("builtin:", "prim:")):
            return f"{node.target.partition(':')[2]}({', '.join(args)})"
        plain = len(args) - len(node.keywords)
        every = [*args[:plain], *(f"{key}={text}" for key, text in zip(node.keywords, args[plain:]))]
        return f"{'' if node.op.startswith(('prim', '^')) else 'mpigrad.'}{name}({', '.join(every)})"


_SHAPES: dict[str, Any] = {
    "list": lambda args: f"[{', '.join(args)}]",
    "tuple": lambda args: f"({', '.join(args)}{',' if len(args) == 1 else ''})",
    "dict": lambda args: "{" + ", ".join(f"{k}: {v}" for k, v in zip(args[::2], args[1::2])) + "}",
    "index": lambda args: f"{args[0]}[{args[1]}]",
}


def code_of(graph: Graph, schema: Any) -> str:
    """A graph as the text of a Python function."""
    writer = _Printer(graph)
    skip = len(graph.inputs) - len(schema.arguments)
    arguments = [writer.name(each) for each in graph.inputs[:skip]]
    for value, each in zip(graph.inputs[skip:], schema.arguments):
        default = f"={each.default!r}" if each.has_default else ""
        arguments.append(f"{writer.name(value)}: {each.type.python()}{default}")
    writer.finish()
    head = "def " + schema.name + "(" + ",\n    ".join(arguments) + ") -> " + schema.returns.python() + ":"
    return "\n".join([head, *writer.lines]) + "\n"
