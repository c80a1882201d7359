"""The graph of a scripted function: values, nodes with operator names, blocks; and how it is printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .types import Type

Where = tuple[str, int, int]  # file, line, column


class Value:
    """The output of a node, or an input of the graph: immutable, with a type and a name."""

    __slots__ = ("name", "node", "type")

    def __init__(self, kind: Type, name: str, node: Node | None = None) -> None:
        self.type, self.name, self.node = kind, name, node

    @property
    def constant(self) -> Any:
        """The Python value of a `prim::Constant`; Ellipsis if the value is known only at run time."""
        node = self.node
        return node.attributes.get("value") if node is not None and node.op == "prim::Constant" else ...

    def __repr__(self) -> str:
        return f"%{self.name}"


class Node:
    """One operation: its operator's name, inputs, outputs, attributes, and blocks (of `prim::If` and `prim::Loop`).

    `target` defines how it runs (`_codegen/compile.py` has a method for each kind); `keywords` names the last inputs that are
    passed by keyword.
    """

    __slots__ = ("attributes", "blocks", "inputs", "keywords", "op", "outputs", "target", "where")

    def __init__(self, op: str, inputs: list[Value], target: str = "", where: Where | None = None) -> None:
        self.op, self.inputs, self.target, self.where = op, inputs, target, where
        self.outputs: list[Value] = []
        self.keywords: tuple[str, ...] = ()
        self.attributes: dict[str, Any] = {}
        self.blocks: list[Block] = []

    def kind(self) -> str:
        """The name of the node's operator."""
        return self.op

    @property
    def output(self) -> Value:
        """The only output of the node."""
        return self.outputs[0]

    def __repr__(self) -> str:
        return "\n".join(_node_lines(self, ""))


class Block:
    """A list of nodes with inputs and outputs."""

    __slots__ = ("inputs", "nodes", "outputs")

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []

    def walk(self) -> Iterator[Node]:
        """All nodes, those of inner blocks included."""
        for node in self.nodes:
            yield node
            for block in node.blocks:
                yield from block.walk()


    def ends(self) -> bool:
        """Whether control never reaches the end of the block: it returns, breaks, continues or raises on every path."""
        if not self.nodes:
            return False
        last = self.nodes[-1]
        return last.target in ("exit", "raise") or (last.target in ("if", "with") and all(each.ends() for each in last.blocks))


class Graph(Block):
    """The graph of a scripted function, its attribute `graph`; printing it shows the nodes, one on each line.

    >>> import mpigrad
    >>> from mpigrad.jit._ir.graph import Graph
    >>> graph = Graph("nothing")
    >>> print(graph)
    graph():
      return ()
    <BLANKLINE>
    """

    __slots__ = ("_count", "name")

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self._count = 0

    def new_name(self, hint: str = "") -> str:
        """A name that no other value has; it starts with `hint`, the name of the Python variable, if there is one."""
        self._count += 1
        return f"{hint}.{self._count}" if hint else str(self._count)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """A list of all nodes whose operator has the name `kind`, such as "aten::add"; `recurse`: also in inner
        blocks.
        """
        return [node for node in (self.walk() if recurse else self.nodes) if node.op == kind]

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node whose operator has the name `kind`, such as "aten::add"; None if there is none. `recurse`:
        also in inner blocks.
        """
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def __str__(self) -> str:
        arguments = ",\n      ".join(f"%{each.name} : {each.type}" for each in self.inputs)
        lines = [f"graph({arguments}):", *_block_lines(self, "  ")]
        lines.append(f"  return ({', '.join(map(repr, self.outputs))})\n")
        return "\n".join(lines)

    __repr__ = __str__


def _block_lines(block: Block, indent: str) -> Iterator[str]:
    for node in block.nodes:
        yield from _node_lines(node, indent)


def _node_lines(node: Node, indent: str) -> Iterator[str]:
    outputs = ", ".join(f"%{each.name} : {each.type}" for each in node.outputs)
    plain = len(node.inputs) - len(node.keywords)
    inputs = [repr(each) for each in node.inputs[:plain]]
    inputs += [f"{name}={each!r}" for name, each in zip(node.keywords, node.inputs[plain:])]
    attributes = ", ".join(f"{name}={_literal(each)}" for name, each in node.attributes.items())
    where = f" # {node.where[0]}:{node.where[1]}:{node.where[2]}" if node.where else ""
    yield f"{indent}{outputs} = {node.op}{f'[{attributes}]' if attributes else ''}({', '.join(inputs)}){where}"
    for number, block in enumerate(node.blocks):
        arguments = ", ".join(f"%{each.name} : {each.type}" for each in block.inputs)
        yield f"{indent}  block{number}({arguments}):"
        yield from _block_lines(block, indent + "    ")
        yield f"{indent}    -> ({', '.join(map(repr, block.outputs))})"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return f"{int(value)}."
    return getattr(value, "qualified_name", None) and f'"{value.name}"' or repr(value)
