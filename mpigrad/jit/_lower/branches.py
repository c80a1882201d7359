"""`if` in all forms: statements, conditional expressions, `and`/`or`; and refinement of optional types by tests."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .._ir.graph import Block, Node, Value
from .._ir.types import BOOL, NONE, Type, unify
from .builder import Builder, PythonObject

Facts = dict[str, Type]  # variable -> its refined type


class Branches(Builder):
    """The part of lowering that handles branches."""

    expression: Callable[..., Any]
    statements: Callable[..., Any]

    def lower_if(self, node: ast.If) -> None:
        """Lower an `if` statement; branches that are decided at compile time do not appear in the graph."""
        test, when_true, when_false = self.condition(node.test)
        known = self.static(test)
        if known is not ...:
            facts = when_true if known else when_false
            self.refine(node, facts)
            self.statements(node.body if known else node.orelse)
            return
        base = self.env

        def branch(body: list[ast.stmt], facts: Facts) -> Any:
            def run() -> None:
                self.refine(node, facts)
                self.statements(body)

            return self.sub_block(run, base)

        self._join(node, test, branch(node.body, when_true), branch(node.orelse, when_false), (when_true, when_false))

    def _join(self, at: ast.AST, test: Value, first: Any, second: Any, facts: tuple[Facts, Facts]) -> None:
        made = self.append(at, "prim::If", [test], "if", first[0], second[0])
        ended = first[0].ends(), second[0].ends()
        # no code follows, so no variable has to be joined
        if all(ended):
            return
        if any(ended):
            self._follow(made, at, second if ended[0] else first, facts[1] if ended[0] else facts[0], int(ended[0]))
            return
        for name in [*first[1], *(each for each in second[1] if each not in first[1])]:
            before = self.env.get(name)
            a, b = first[1].get(name), second[1].get(name)
            # Both branches leave the variable as it was, at most with a narrower type.
            if a is b or (self._is_refined(a, before) and self._is_refined(b, before)):
                continue
            if a is None or b is None or not (isinstance(a, Value) and isinstance(b, Value)):
                # no error yet: the variable may never be used after the `if`
                self.env[name] = Undefined(f"{name} is not defined in the {'true' if a is None else 'false'} branch")
                continue
            kind = unify(a.type, b.type)
            if kind is None:
                self.env[name] = Undefined(
                    f"Type mismatch: {name} is set to type {a.type.python()} in the true branch and type {b.type.python()} "
                    "in the false branch"
                )
                continue
            self.env[name] = self._output(made, name, kind, [(first[0], a), (second[0], b)])

    def _is_refined(self, value: Any, before: Any) -> bool:
        # a refinement is a cast of the same variable, not an assignment
        while isinstance(value, Value) and value.node is not None and value.node.op == "prim::unchecked_cast":
            value = value.node.inputs[0]
        return value is before

    def _follow(self, made: Node, at: ast.AST, alive: Any, facts: Facts, number: int) -> None:
        """If one branch never reaches its end, the facts about variables in the other branch hold from here on."""
        for name, value in alive[1].items():
            before = self.env.get(name)
            if value is before or not isinstance(value, Value):
                self.env[name] = value
            elif not self._is_refined(value, before):
                self.env[name] = self._output(made, name, value.type, [(alive[0], value)])
        self.refine(at, {name: kind for name, kind in facts.items() if alive[1].get(name) is not None})

    def _output(self, made: Node, name: str, kind: Type, pairs: list[tuple[Block, Value]]) -> Value:
        output = self.output(made, kind, name)
        for block, value in pairs:
            block.outputs.append(value)
        for block in made.blocks:  # a branch that does not reach its end has no outputs
            assert len(block.outputs) in (0, len(made.outputs))
        return output

    def refine(self, at: ast.AST, facts: Facts) -> None:
        """Narrow the types of variables by `facts`, which hold after a test (for example: `x` is not None)."""
        for name, kind in facts.items():
            value = self.env.get(name)
            if isinstance(value, Value) and value.type != kind:
                self.env[name] = self.add(at, "prim::unchecked_cast", [value], kind, "alias")

    # -- conditions ------------------------------------------------------------------------------------------------
    def condition(self, node: ast.expr) -> tuple[Value, Facts, Facts]:
        """A test as a bool, and the facts about variables if it is true and if it is false."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            test, yes, no = self.condition(node.operand)
            known = self.static(test)
            if known is not ...:
                return self.constant(node, not known), no, yes
            return self.add(node, "aten::__not__", [test], BOOL, "uop:not "), no, yes
        if isinstance(node, ast.BoolOp):
            return self._connected(node, node.values)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return self._none_test(node)
        if isinstance(node, ast.Call) and self._is_isinstance(node):
            return self._class_test(node)
        return self.truth(node, self.value(node, self.expression(node))), {}, {}

    def _connected(self, node: ast.BoolOp, values: list[ast.expr]) -> tuple[Value, Facts, Facts]:
        test, yes, no = self.condition(values[0])
        if len(values) == 1:
            return test, yes, no
        is_and = isinstance(node.op, ast.And)
        known = self.static(test)
        # `False and ...`, `True or ...`: the rest is not compiled
        if known is not ... and bool(known) is not is_and:
            return test, yes, no
        if known is not ...:
            self.refine(node, yes if is_and else no)
            return self._connected(node, values[1:])
        found: list[Any] = []

        def rest() -> None:
            self.refine(node, yes if is_and else no)
            found.append(self._connected(node, values[1:]))
            self.block.outputs.append(found[0][0])

        def short() -> None:
            self.block.outputs.append(self.constant(node, not is_and))

        blocks = [self.sub_block(each, self.env)[0] for each in ((rest, short) if is_and else (short, rest))]
        output = self.output(self.append(node, "prim::If", [test], "if", *blocks), BOOL)
        # `a and b` is true only if both are; if it is false, either may be, so nothing is known. `or` is the
        # opposite.
        both_yes = {**yes, **found[0][1]} if is_and else {}
        both_no = {} if is_and else {**no, **found[0][2]}
        return output, both_yes, both_no

    def _none_test(self, node: ast.Compare) -> tuple[Value, Facts, Facts]:
        left, right = (self.value(node, self.expression(each)) for each in (node.left, node.comparators[0]))
        positive = isinstance(node.ops[0], ast.Is)
        if right.type != NONE and left.type == NONE:
            left, right = right, left
        if right.type != NONE or right.node is None:
            name = "aten::__is__" if positive else "aten::__isnot__"
            return self.add(node, name, [left, right], BOOL, f"op:{'is' if positive else 'is not'}"), {}, {}
        if left.type == NONE:
            # decided by the type: the branch that cannot run is not compiled, so it may contain code that does not
            # type-check
            return self.constant(node, positive), {}, {}
        if left.type.kind not in ("Optional", "Any"):
            return self.constant(node, not positive), {}, {}
        name = "aten::__is__" if positive else "aten::__isnot__"
        test = self.add(node, name, [left, right], BOOL, f"op:{'is' if positive else 'is not'}")
        if not isinstance(node.left, ast.Name) or left.type.kind == "Any":
            return test, {}, {}
        is_none, is_some = {node.left.id: NONE}, {node.left.id: left.type.args[0]}
        return (test, is_none, is_some) if positive else (test, is_some, is_none)

    def _is_isinstance(self, node: ast.Call) -> bool:
        found = self.expression(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else None
        return isinstance(found, PythonObject) and getattr(found.obj, "__name__", "") == "isinstance" and len(node.args) == 2

    def _class_test(self, node: ast.Call) -> tuple[Value, Facts, Facts]:
        value = self.value(node, self.expression(node.args[0]))
        wanted = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
        kinds = [self.scope.annotation(self, each) for each in wanted]
        inside = value.type.args if value.type.kind == "Optional" else (value.type,)
        hit = [kind for kind in kinds if kind == inside[0] or kind.kind == inside[0].kind and not kind.args]
        if value.type.kind == "Any":
            test = self.add(node, "prim::isinstance", [value], BOOL, "isinstance", types=tuple(kinds))
            facts = {node.args[0].id: kinds[0]} if isinstance(node.args[0], ast.Name) and len(kinds) == 1 else {}
            return test, facts, {}
        if value.type.kind != "Optional":
            return self.constant(node, bool(hit)), {}, {}
        if not hit:
            return self.constant(node, False), {}, {}
        none = self.constant(node, None)
        test = self.add(node, "aten::__isnot__", [value, none], BOOL, "op:is not")
        facts = {node.args[0].id: inside[0]} if isinstance(node.args[0], ast.Name) else {}
        return test, facts, {}

    def lower_choice(self, node: ast.IfExp) -> Any:
        """Lower `a if test else b`."""
        test, yes, no = self.condition(node.test)
        known = self.static(test)
        if known is not ...:
            self.refine(node, yes if known else no)
            return self.expression(node.body if known else node.orelse)
        # Each branch is lowered in a block of its own; both leave the type of their result here.
        found: list[Value] = []

        def branch(part: ast.expr, facts: Facts) -> Any:
            def run() -> None:
                self.refine(node, facts)
                found.append(self.value(part, self.expression(part)))
                self.block.outputs.append(found[-1])

            return self.sub_block(run, self.env)[0]

        made = self.append(node, "prim::If", [test], "if", branch(node.body, yes), branch(node.orelse, no))
        kind = unify(found[0].type, found[1].type)
        if kind is None:
            raise self.fail(
                node,
                f"Type mismatch: the branches of an if-expression give {found[0].type.python()} and {found[1].type.python()}",
            )
        return self.output(made, kind)


class Undefined:
    """A variable that only some branches define; using it raises the error that it contains."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why
