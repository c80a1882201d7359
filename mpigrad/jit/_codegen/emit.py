"""Generates Python source from a graph: the base class of `compile.py` (code that runs) and `python_print.py` (code to read).

A value that is used once, by the next node, becomes part of its expression, so that temporaries are freed as early as in the
original function.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from .._ir.graph import Block, Graph, Node, Value

_STATEMENTS = ("setitem", "delitem", "setattr", "raise", "exit", "if", "loop", "with", "unpack")

_NESTED = 48  # nested brackets in one expression: Python's parser allows 200, and is slow for long expressions


class Writer:
    """Writes the statements of a graph; subclasses define `name`, `constant` and `call`."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.lines: list[str] = []
        self.places: list[Any] = []  # for each line, its position in the original source
        self.indent = 1
        self.uses: Counter[int] = Counter()
        self.aliases: dict[int, Value] = {}
        self.pending: list[tuple[Value, str, Node]] = []  # expressions that may still become part of a larger one
        self.loops: list[tuple[bool, list[Value], Value | None]] = []
        self.nested: Any = None  # source position of the last expression that became part of another
        self._count(graph)

    def _count(self, block: Block) -> None:
        for node in block.walk():
            for each in node.inputs:
                self.uses[id(each)] += 1
            for inner in node.blocks:
                for each in inner.outputs:
                    self.uses[id(each)] += 2  # counted as used twice, so that it becomes a variable: it is assigned elsewhere
        for each in block.outputs:
            self.uses[id(each)] += 1

    # -- implemented by subclasses -----------------------------------------------------------------------------------
    def name(self, value: Value) -> str:
        raise NotImplementedError

    def constant(self, node: Node) -> str:
        raise NotImplementedError

    def call(self, node: Node, args: list[str]) -> str:
        raise NotImplementedError

    # -- lines -------------------------------------------------------------------------------------------------------
    def line(self, text: str, where: Any = None) -> None:
        self.lines.append("    " * self.indent + text)
        self.places.append(where)

    def text(self, value: Value) -> str:
        """The text that refers to a value."""
        while id(value) in self.aliases:
            value = self.aliases[id(value)]
        if value.node is not None and value.node.op == "prim::Constant":
            return self.constant(value.node)
        return self.name(value)

    def flush(self) -> None:
        """Write pending expressions as statements."""
        for value, text, node in self.pending:
            self.line(f"{self.name(value)} = {text}", node.where)
        self.pending.clear()

    def operands(self, inputs: list[Value]) -> list[str]:
        """The texts of inputs: the pending expressions if the last ones are these inputs in this order, names otherwise."""
        # Only the last pending expressions, in order, may move into the next one: evaluation order must stay as
        # written.
        own = [each for each in inputs if any(each is value for value, _, _ in self.pending)]
        count = len(own)
        last = self.pending[len(self.pending) - count :]
        if count and [id(each) for each in own] == [id(value) for value, _, _ in last]:
            texts = {id(value): text for value, text, _ in last}
            self.nested = last[-1][2].where
            del self.pending[len(self.pending) - count :]
            self.flush()
            return [texts.get(id(each)) or self.text(each) for each in inputs]
        self.flush()
        return [self.text(each) for each in inputs]

    def finish(self) -> None:
        """Write the whole graph, with its return."""
        self.block(self.graph)
        if self.graph.outputs:
            result = self.operands(self.graph.outputs)[0]
            self.line(f"return {result}", self.nested)
        self.flush()

    # -- blocks ------------------------------------------------------------------------------------------------------
    def block(self, block: Block) -> None:
        for node in block.nodes:
            self.node(node)

    def node(self, node: Node) -> None:
        if node.op == "prim::Constant":
            return
        if node.target == "alias":
            self.aliases[id(node.output)] = node.inputs[0]
            # an alias needs a variable to refer to
            if any(node.inputs[0] is value for value, _, _ in self.pending):
                self.flush()
            return
        if node.target in _STATEMENTS:
            getattr(self, f"_{node.target}")(node)
            return
        text = self.call(node, self.operands(node.inputs))
        if not node.outputs:
            self.line(text, node.where)
        elif self.uses[id(node.output)] == 0:
            self.flush()
            self.line(text, node.where)
        elif self.uses[id(node.output)] == 1 and text.count("(") < _NESTED:
            self.pending.append((node.output, text, node))
        else:
            self.flush()
            self.line(f"{self.name(node.output)} = {text}", node.where)

    def _unpack(self, node: Node) -> None:
        args = self.operands(node.inputs)
        self.line(f"{', '.join(map(self.name, node.outputs))}, = {args[0]}", node.where)

    def _setitem(self, node: Node) -> None:
        owner, key, value = self.operands(node.inputs)
        self.line(f"{owner}[{key}] = {value}", node.where)

    def _delitem(self, node: Node) -> None:
        owner, key = self.operands(node.inputs)
        self.line(f"del {owner}[{key}]", node.where)

    def _setattr(self, node: Node) -> None:
        owner, value = self.operands(node.inputs)
        self.line(f"{owner}.{identifier(node.attributes['name'])} = {value}", node.where)

    def _raise(self, node: Node) -> None:
        args = self.operands(node.inputs)
        self.line(self.raising(node, args[0]), node.where)

    def raising(self, node: Node, message: str) -> str:
        """The source of a `raise` statement."""
        return f"raise {identifier(node.attributes['name'])}({message})"

    def _exit(self, node: Node) -> None:
        if node.op == "prim::ReturnStmt":
            self.line(f"return {self.operands(node.inputs)[0]}", node.where)
            return
        self.flush()
        is_while, carried, test = self.loops[-1]
        values = list(node.inputs)
        targets = list(carried)
        if node.op == "prim::ContinueStmt":
            again = values.pop(0)
            if is_while:
                # in a `while`, the condition of the next iteration is one of the variables
                targets, values = [test, *targets], [again, *values]  # type: ignore[list-item]
        self.assign(targets, values)
        self.line("break" if node.op == "prim::BreakStmt" else "continue", node.where)

    def assign(self, targets: list[Value], values: list[Value]) -> None:
        """Assign several values at once; a pending expression for one of them is written in place."""
        # one simultaneous assignment, because values may be other targets (`a, b = b, a`)
        changed = [(a, b) for a, b in zip(targets, values) if self.name(a) != self.text(b)]
        pairs = [(self.name(a), self.text(b)) for a, b in changed]
        # If the line before computes the value into a temporary, it can compute it into the target at once.
        made = "    " * self.indent + (f"{pairs[0][1]} = " if len(pairs) == 1 else "")
        if len(pairs) == 1 and self.uses[id(changed[0][1])] == 2 and self.lines and self.lines[-1].startswith(made):
            self.lines[-1] = "    " * self.indent + f"{pairs[0][0]} = " + self.lines[-1][len(made) :]
        elif pairs:
            self.line(f"{', '.join(a for a, _ in pairs)} = {', '.join(b for _, b in pairs)}")

    def _if(self, node: Node) -> None:
        test = self.operands(node.inputs)[0]
        first, second = node.blocks
        self.line(f"if {test}:", node.where)
        self._branch(node, first)
        if second.nodes or second.outputs:
            self.line("else:")
            self._branch(node, second)

    def _branch(self, node: Node, block: Block) -> None:
        self.indent += 1
        before = len(self.lines)
        self.block(block)
        self.flush()
        self.assign(node.outputs, block.outputs)
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1

    def _with(self, node: Node) -> None:
        self.flush()
        self.line(f"with {self.mode(node)}:", node.where)
        self._branch(node, node.blocks[0])

    def mode(self, node: Node) -> str:
        """The source of the context manager of a `prim::With`."""
        return f"mpigrad.{node.attributes['name']}({', '.join(map(self.text, node.inputs))})"

    def _loop(self, node: Node) -> None:
        turns, test, *start = node.inputs
        if self.pending and self.pending[-1][0] is turns and self.element(node) is not None:
            self.pending.pop()  # the length is not needed, as the loop iterates over the list itself
        self.flush()
        body = node.blocks[0]
        index, *carried = body.inputs
        self.assign(carried, start)
        # TorchScript's graphs have one kind of loop: a `while` is a loop of maxsize iterations with a condition
        is_while = turns.constant == sys.maxsize
        skipped: Node | None = None
        if is_while:
            again = Value(test.type, self.graph.new_name("again"))
            self.assign([again], [test])
            self.line(f"while {self.name(again)}:", node.where)
        else:
            again = None  # type: ignore[assignment]
            skipped = self.element(node)
            if skipped is None:
                self.line(f"for {self.name(index)} in {self.counting(self.text(turns))}:", node.where)
            else:
                self.line(f"for {self.name(skipped.output)} in {self.text(skipped.inputs[0])}:", node.where)
        self.loops.append((is_while, carried, again))
        self.indent += 1
        before = len(self.lines)
        self.body(body, skipped)
        self.flush()
        if body.outputs:
            if again is not None:
                self.assign([again, *carried], body.outputs)
            else:
                self.assign(carried, body.outputs[1:])
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1
        self.loops.pop()
        # after the loop its results are in the variables that it carried
        for output, value in zip(node.outputs, carried):
            self.aliases[id(output)] = value

    def body(self, block: Block, skipped: Node | None) -> None:
        """Write the nodes of a loop's body, except `skipped`, which the head of the loop replaces."""
        for node in block.nodes:
            if node is not skipped:
                self.node(node)

    def element(self, node: Node) -> Node | None:
        """The node that takes the next element of a list, if the loop can iterate over the list itself; otherwise None."""
        return None

    def counting(self, turns: str) -> str:
        """The source of the iterable in a `for` statement."""
        return f"range({turns})"


def identifier(name: str) -> str:
    """A valid identifier for a name."""
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
        raise ValueError(f"{name!r} is not a name that a graph may use")
    return name
