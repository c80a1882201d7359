"""Statements: assignments, returns, assertions, raises, `with no_grad()`; unsupported statements raise an error here."""

from __future__ import annotations

import ast
from typing import Any

from .._ir.graph import Value
from .._ir.operators import BLOCKS, MODES
from .._ir.types import STR, TENSOR, Type, script_classes
from .branches import Undefined
from .builder import PythonObject, StaticTuple
from .calls import Calls
from .expressions import INPLACE

_REFUSED = {
    ast.Import: "import statements", ast.ImportFrom: "import statements", ast.Try: "try blocks",
    ast.FunctionDef: "function definitions", ast.AsyncFunctionDef: "async function definitions",
    ast.ClassDef: "class definitions", ast.Global: "global variables", ast.Nonlocal: "nonlocal variables",
    ast.AsyncFor: "async for loops", ast.AsyncWith: "async with statements",
}  # fmt: skip


class Lowering(Calls):
    """Translates (lowers) the syntax tree of a whole function to a graph."""

    def statements(self, body: list[ast.stmt]) -> None:
        for node in body:
            if self.block.ends():
                return  # unreachable code
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        if type(node) in _REFUSED:
            raise self.unsupported(node, _REFUSED[type(node)])
        run = getattr(self, f"_{type(node).__name__}", None)
        if run is None:
            raise self.unsupported(node, type(node).__name__)
        run(node)

    def _If(self, node: ast.If) -> None:
        self.lower_if(node)

    def _For(self, node: ast.For) -> None:
        self.lower_for(node)

    def _While(self, node: ast.While) -> None:
        self.lower_while(node)

    def _Break(self, node: ast.Break) -> None:
        self.leave(node, "prim::BreakStmt")

    def _Continue(self, node: ast.Continue) -> None:
        self.leave(node, "prim::ContinueStmt")

    def _Pass(self, node: ast.Pass) -> None:
        pass

    def _Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        self.expression(node.value)

    def _Return(self, node: ast.Return) -> None:
        if node.value is None:
            value = self.constant(node, None)
        else:
            value = self.value(node.value, self.expression(node.value, self.returns))
        if self.returns is not None:
            value = self.cast(
                node, value, self.returns,
                f"Return value was annotated as having type {self.returns.python()} but is actually of type "
                f"{value.type.python()}",
            )  # fmt: skip
        self.returned.append(value.type)
        self.add(node, "prim::ReturnStmt", [value], None, "exit")

    # -- assignments -----------------------------------------------------------------------------------------------
    def _Assign(self, node: ast.Assign) -> None:
        found = self.expression(node.value)
        for target in node.targets:
            self.assign(target, found)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        kind = self.scope.annotation(self, node.annotation)
        if node.value is None:
            raise self.refuse(node, "Declarations without a value aren't supported")
        value = self.value(node.value, self.expression(node.value, kind))
        complaint = (
            f"Variable '{ast.unparse(node.target)}' is annotated with type {kind.python()} but is being assigned to a value of "
            f"type {value.type.python()}"
        )
        value = self.cast(node, value, kind, complaint)
        if value.type != kind:
            value = self.add(node, "prim::unchecked_cast", [value], kind, "alias")
        self.assign(node.target, value)

    def assign(self, target: ast.expr, found: Any) -> None:
        """Assign the result of an expression to a target (name, tuple of targets, item, attribute of self)."""
        if isinstance(target, ast.Name):
            # the value gets the variable's name, for the printed graph; numbers are names of temporaries
            if isinstance(found, Value) and found.name.isdigit() and found.node is not None:
                found.name = self.graph.new_name(target.id)
            self.env[target.id] = found
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, found)
        elif isinstance(target, ast.Subscript):
            self._set_item(target, self.value(target, found))
        elif isinstance(target, ast.Attribute):
            self._set_attribute(target, self.value(target, found))
        else:
            raise self.unsupported(target, f"assignments to {type(target).__name__}")

    def _unpack(self, target: Any, found: Any) -> None:
        if any(isinstance(each, ast.Starred) for each in target.elts):
            raise self.refuse(target, "Starred targets of assignments aren't supported")
        items = (
            found.items
            if isinstance(found, StaticTuple)
            else self.parts(target, self.value(target, found), len(target.elts))
        )
        if len(items) != len(target.elts):
            raise self.fail(target, f"need {len(target.elts)} values to unpack, but the right side has {len(items)}")
        for each, item in zip(target.elts, items):
            self.assign(each, item)

    def parts(self, at: ast.AST, value: Value, count: int) -> list[Value]:
        """The members of a tuple, or the first members of a list, as many as there are targets."""
        if value.type.kind == "Tuple":
            # `a, b = b, a`: the members are known, so no tuple has to be built and taken apart
            if value.node is not None and value.node.op == "prim::TupleConstruct":
                return list(value.node.inputs)
            kinds: tuple[Type, ...] = value.type.args
            op = "prim::TupleUnpack"
        elif value.type.kind in ("List", "Tensor"):
            kinds = (value.type.args[0] if value.type.args else TENSOR,) * count
            op = "prim::ListUnpack"
        else:
            raise self.fail(at, f"{value.type.python()} cannot be used as a tuple")
        if len(kinds) != count:
            raise self.fail(at, f"Provided {len(kinds)} values, but {count} are wanted")
        node = self.append(at, op, [value], "unpack")
        return [self.output(node, kind) for kind in kinds]

    def _set_item(self, target: ast.Subscript, value: Value) -> None:
        owner = self.value(target, self.expression(target.value))
        key = self.key(target.slice, owner)
        if self.class_method(target, owner, "__setitem__", [key, value]) is not None:
            return
        op = "aten::index_put_" if owner.type == TENSOR else "aten::_set_item"
        if owner.type.kind not in ("Tensor", "List", "Dict"):
            raise self.fail(target, f"'{owner.type.python()}' object does not support item assignment")
        self.add(target, op, [owner, key, value], None, "setitem")

    def _set_attribute(self, target: ast.Attribute, value: Value) -> None:
        owner: Any = self.expression(target.value)
        if isinstance(owner, Value) and owner.type.kind in script_classes:
            self._set_field(target, owner, value, script_classes[owner.type.kind])
            return
        if not (isinstance(owner, Value) and self.module is not None and owner is self.me):
            raise self.fail(target, f"Assignment to attribute '{target.attr}' is supported on self only")
        if not hasattr(self.module.original, target.attr):
            raise self.fail(
                target,
                f"Tried to set nonexistent attribute: {target.attr}. Did you forget to initialize it in __init__()?",
            )
        self.add(target, "prim::SetAttr", [self.value(target, owner), value], None, "setattr", name=target.attr)

    def _set_field(self, target: ast.Attribute, owner: Value, value: Value, record: Any) -> None:
        """Set an attribute of an object of a script class; in `__init__` this declares the attribute."""
        name = target.attr
        if record.defining and owner is self.me and name not in record.attributes:
            hint = self.scope.class_annotation(self, target, record.cls, name)
            record.attributes[name] = value.type if hint is None else hint
        wanted = record.attributes.get(name)
        if wanted is None:
            raise self.fail(
                target, f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in __init__()?"
            )
        value = self.cast(
            target, value, wanted,
            f"Wrong type for attribute assignment. Expected {wanted.python()} but got {value.type.python()}",
        )  # fmt: skip
        self.add(target, "prim::SetAttr", [owner, value], None, "setattr", name=name)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        change = INPLACE.get(type(node.op))
        # `x += y` reads its target, but the syntax tree has it as a store: parse it again as an expression
        left = ast.copy_location(_loaded(node.target), node.target)
        value = self.value(node, self.expression(left))
        other = self.value(node, self.expression(node.value))
        if value.type == TENSOR:
            if change is None:
                raise self.unsupported(node, f"in-place {type(node.op).__name__}")
            # in place, as in Python: other variables that share the tensor see the change
            self.add(node, f"aten::{change}", [value, other], TENSOR, f"method:{change}")
            return
        if value.type.kind == "List" and isinstance(node.op, ast.Add):
            self.add(node, "aten::extend", [value, other], None, "method:extend")
            return
        self.assign(node.target, self.binary(node, node.op, value, other))

    def _Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                if self.env.pop(target.id, None) is None:
                    raise self.fail(target, f"undefined value {target.id}")
                self.env[target.id] = Undefined(f"undefined value {target.id}")
            elif isinstance(target, ast.Subscript):
                owner = self.value(target, self.expression(target.value))
                self.add(target, "aten::Delete", [owner, self.key(target.slice, owner)], None, "delitem")
            else:
                raise self.unsupported(target, f"deleting {type(target).__name__}")

    # -- raise, assert, with ---------------------------------------------------------------------------------------
    def _Raise(self, node: ast.Raise) -> None:
        name, message = "Exception", None
        given = node.exc
        if isinstance(given, ast.Call):
            message = self.value(given, self.expression(given.args[0])) if given.args else None
            given = given.func
        if given is not None:
            found = self.expression(given)
            if not (isinstance(found, PythonObject) and isinstance(found.obj, type) and issubclass(found.obj, BaseException)):
                raise self.fail(node, "only exceptions of Python can be raised")
            name = found.obj.__name__
        self._raise(node, name, message)

    def _raise(self, node: ast.AST, name: str, message: Value | None) -> None:
        message = message if message is not None else self.constant(node, "")
        self.add(node, "prim::RaiseException", [message], None, "raise", name=name)

    def _Assert(self, node: ast.Assert) -> None:
        test = self.condition(node.test)

        def fail() -> None:
            message = self.value(node.msg, self.expression(node.msg)) if node.msg is not None else None
            if message is not None and message.type != STR:
                raise self.fail(node, f"the message of an assert must be a str, not {message.type.python()}")
            self._raise(node, "AssertionError", message)

        # `assert test` is `if test: pass else: raise`
        blocks = [self.sub_block(each, self.env)[0] for each in (lambda: None, fail)]
        self.append(node, "prim::If", [test[0]], "if", *blocks)
        # after the assert the test is known to hold
        self.refine(node, test[1])

    def _With(self, node: ast.With) -> None:
        item, *others = node.items
        name, inputs = self._entered(node, item)
        body: list[ast.stmt] = [ast.copy_location(ast.With(others, node.body), node)] if others else node.body
        block, env = self.sub_block(lambda: self.statements(body), self.env)
        made = self.append(node, "prim::With", inputs, "with", block)
        made.attributes = {"name": name}
        for each, value in env.items():
            if value is not self.env.get(each) and isinstance(value, Value) and not block.ends():
                block.outputs.append(value)
                self.env[each] = self.output(made, value.type, each)
            else:
                self.env[each] = value

    def _entered(self, node: ast.With, item: ast.withitem) -> tuple[str, list[Value]]:
        """The name in BLOCKS of the context manager of a `with` statement, and its argument."""
        call = item.context_expr
        if isinstance(call, ast.Call) and item.optional_vars is None:
            found = self.expression(call.func)
            name = next((name for name, each in BLOCKS.items() if isinstance(found, PythonObject) and found.obj is each), "")
            args, kwargs = self.arguments(call) if name else ([], {})
            inputs = [*args, *kwargs.values()]
            if name and [each.type for each in inputs] == ([] if name in MODES else [STR]) and kwargs.keys() <= {"name"}:
                return name, inputs
        raise self.refuse(
            node, "with statements other than `with` of a grad mode (such as `no_grad()`) or `record_function(name)` "
            "aren't supported",
        )  # fmt: skip


def _loaded(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body
