"""Loops: `for` over ranges, lists, tensors, `zip` and `enumerate`; `while`; `break` and `continue`; comprehensions."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any

from .._ir.graph import Value
from .._ir.types import INT, STR, TENSOR, Type, list_of, unify
from .branches import Undefined
from .builder import Builder, PythonObject, StaticTuple


class _Loop:
    """A loop that is being lowered, with its loop-carried variables."""

    __slots__ = ("again", "names")

    def __init__(self, names: list[str], again: Callable[[], Value]) -> None:
        self.names, self.again = names, again


class Steps:
    """The iteration of a `for` loop: the number of iterations, and the value of each."""

    __slots__ = ("count", "item")

    def __init__(self, count: Value, item: Callable[[Value], Any]) -> None:
        self.count, self.item = count, item


class Loops(Builder):
    """The part of lowering that handles loops."""

    condition: Callable[..., Any]
    expression: Callable[..., Any]
    statements: Callable[..., Any]
    assign: Callable[..., Any]

    def lower_while(self, node: ast.While) -> None:
        if node.orelse:
            raise self.refuse(node, "else branches of while loops aren't supported")
        # as in TorchScript: a `while` is a loop without a bound whose condition ends it
        turns = self.constant(node, sys.maxsize)
        self._loop(
            node, turns, lambda: self.condition(node.test)[0], lambda index: self.statements(node.body), node.body
        )

    def lower_for(self, node: ast.For) -> None:
        if node.orelse:
            raise self.refuse(node, "else branches of for loops aren't supported")
        over = self.iterable(node.iter)
        if isinstance(over, list):  # known at compile time: the loop is unrolled
            for each in over:
                self.assign(node.target, each)
                self.statements(node.body)
                if self.block.ends():
                    raise self.refuse(
                        node, "break, continue and return in loops over tuples and modules aren't supported"
                    )
            return

        def body(index: Value) -> None:
            self.assign(node.target, over.item(index))
            self.statements(node.body)

        # the target of the `for` counts as assigned in the body
        self._loop(node, over.count, None, body, [ast.Assign([node.target], ast.Constant(None)), *node.body])

    def _loop(self, at: Any, turns: Value, test: Any, run: Callable[[Value], None], body: list[Any]) -> None:
        # Variables that exist before the loop and are assigned in it are carried from iteration to iteration.
        names = [name for name in assigned(body) if isinstance(self.env.get(name), Value)]
        again = test or (lambda: self.constant(at, True))
        start = again()
        inputs = [turns, start, *(self.env[name] for name in names)]
        index = Value(INT, self.graph.new_name("i"))
        carried = [Value(self.env[name].type, self.graph.new_name(name)) for name in names]

        def turn() -> None:
            self.env.update(zip(names, carried))
            self.loops.append(_Loop(names, again))
            run(index)
            self.loops.pop()
            if not self.block.ends():
                self.block.outputs += [again(), *self._carried(at, names, carried)]

        block = self.sub_block(turn, self.env)[0]
        block.inputs = [index, *carried]
        made = self.append(at, "prim::Loop", inputs, "loop", block)
        for name, value in zip(names, carried):
            self.env[name] = self.output(made, value.type, name)
        for name in assigned(body):
            if name not in names:
                self.env[name] = Undefined(f"{name} is not defined after the loop: it is set only inside")

    def _carried(self, at: Any, names: list[str], before: list[Value]) -> list[Value]:
        for name, old in zip(names, before):
            new = self.env[name]
            if isinstance(new, Undefined):
                raise self.fail(at, new.why)
            # the type must be the same in all iterations, since the body is compiled once
            if unify(old.type, new.type) != old.type:
                raise self.fail(
                    at,
                    f"Variable '{name}' previously had type {old.type.python()} but is now being assigned to a value of type "
                    f"{new.type.python()}",
                )
        return [self.env[name] for name in names]

    def leave(self, node: Any, op: str) -> None:
        """Lower `break` or `continue`, with the current values of the loop's variables."""
        if not self.loops:
            raise self.fail(node, f"{type(node).__name__.lower()} statements must be inside of a loop")
        loop = self.loops[-1]
        inputs = [self.env[name] for name in loop.names]
        for each in inputs:
            if isinstance(each, Undefined):
                raise self.fail(node, each.why)
        if op == "prim::ContinueStmt":
            inputs.insert(0, loop.again())
        self.add(node, op, inputs, None, "exit")

    # -- iteration ----------------------------------------------------------------------------------
    def iterable(self, node: ast.expr) -> Any:
        """Lower the iterable of a `for`: returns `Steps`, or a list of items that are known at compile time."""
        if isinstance(node, ast.Call):
            found = self.expression(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else None
            if isinstance(found, PythonObject) and found.obj in (range, zip, enumerate):
                return getattr(self, f"_{found.obj.__name__}")(node)
        found = self.expression(node)
        if isinstance(found, StaticTuple):
            return list(found.items)
        return self._through(node, self.value(node, found))

    def _through(self, node: ast.expr, value: Value) -> Any:
        kind = value.type
        if kind.kind == "Tuple":
            return [self._get(node, value, self.constant(node, n), each) for n, each in enumerate(kind.args)]
        if kind.kind == "Dict":
            value = self.add(node, "aten::keys", [value], list_of(kind.args[0]), "builtin:list")
            kind = value.type
        if kind.kind not in ("List", "str", "Tensor"):
            raise self.fail(node, f"'{kind.python()}' object is not iterable")
        inside = kind.args[0] if kind.args else STR if kind == STR else TENSOR
        count = self.add(node, "aten::len", [value], INT, "builtin:len")
        return Steps(count, lambda index: self._get(node, value, index, inside))

    def _get(self, node: Any, value: Value, index: Value, kind: Type) -> Value:
        op = "aten::select" if value.type == TENSOR else "aten::__getitem__"
        return self.add(node, op, [value, index], kind, "index")

    def _range(self, node: ast.Call) -> Steps:
        bounds = [self.value(each, self.expression(each)) for each in node.args]
        bounds = [self.cast(node, each, INT, f"range() wants int, got {each.type.python()}") for each in bounds]
        if len(bounds) == 1:
            return Steps(bounds[0], lambda index: index)
        if not 1 < len(bounds) < 4 or node.keywords:
            raise self.fail(node, f"range() expected 1 to 3 arguments, got {len(bounds)}")
        step = bounds[2] if len(bounds) == 3 else self.constant(node, 1)
        count = self.add(node, "aten::__range_length", [*bounds[:2], step], INT, "prim:range_length")
        return Steps(
            count,
            lambda index: self.add(node, "aten::__derive_index", [index, bounds[0], step], INT, "prim:derive_index"),
        )

    def _enumerate(self, node: ast.Call) -> Any:
        start = self.value(node, self.expression(node.args[1])) if len(node.args) > 1 else None
        over = self.iterable(node.args[0])
        if isinstance(over, list):
            first = self.static(start) if start is not None else 0
            return [StaticTuple([self.constant(node, first + n), each]) for n, each in enumerate(over)]

        def item(index: Value) -> StaticTuple:
            number = index if start is None else self.add(node, "aten::add", [index, start], INT, "op:+")
            return StaticTuple([number, over.item(index)])

        return Steps(over.count, item)

    def _zip(self, node: ast.Call) -> Any:
        parts = [self.iterable(each) for each in node.args]
        if any(isinstance(each, list) for each in parts):
            if not all(isinstance(each, list) for each in parts):
                raise self.refuse(node, "zip() of modules or tuples with other things aren't supported")
            return [StaticTuple(list(each)) for each in zip(*parts)]
        counts = [each.count for each in parts]
        count = counts[0] if len(counts) == 1 else self.add(node, "prim::min", counts, INT, "builtin:min")
        return Steps(count, lambda index: StaticTuple([each.item(index) for each in parts]))

    def lower_comprehension(self, node: ast.ListComp) -> Any:
        """Lower a list comprehension, as a loop that appends."""
        if len(node.generators) != 1:
            raise self.refuse(node, "Only a single generator is currently supported")
        part = node.generators[0]
        if part.ifs:
            raise self.refuse(node, "Comprehension ifs are not supported yet")
        over = self.iterable(part.iter)
        hidden = {name: self.env.get(name) for name in assigned([ast.Assign([part.target], ast.Constant(None))])}

        def element(item: Any) -> Value:
            self.assign(part.target, item)
            return self.value(node.elt, self.expression(node.elt))

        if isinstance(over, list):
            made = [element(each) for each in over]
            result = self.add(node, "prim::ListConstruct", made, list_of(made[0].type if made else TENSOR), "list")
        else:
            result = self._gathered(node, over, element)
        for name, before in hidden.items():
            self.env.pop(name, None)
            if before is not None:
                self.env[name] = before
        return result

    def _gathered(self, node: ast.ListComp, over: Steps, element: Callable[[Any], Value]) -> Value:
        result = self.add(node, "prim::ListConstruct", [], list_of(TENSOR), "list")
        inputs = [over.count, self.constant(node, True)]
        index = Value(INT, self.graph.new_name("i"))

        def turn() -> None:
            item = element(over.item(index))
            result.type = list_of(item.type)
            self.add(node, "aten::append", [result, item], None, "method:append")
            self.block.outputs.append(self.constant(node, True))

        block = self.sub_block(turn, self.env)[0]
        block.inputs = [index]
        self.append(node, "prim::Loop", inputs, "loop", block)
        return result


def assigned(body: list[Any]) -> list[str]:
    """The names that statements assign, in order, without duplicates and without those of comprehensions."""
    found: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.ListComp):
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found[node.id] = None
        for child in ast.iter_child_nodes(node):
            visit(child)

    for each in body:
        visit(each)
    return list(found)
