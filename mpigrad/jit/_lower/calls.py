"""Calls: operators of the library, methods, other scripted functions, built-ins, `fork`, RPC, distributed autograd."""

from __future__ import annotations

import ast
from typing import Any

from .._ir.errors import FrontendError
from .._ir.graph import Value
from .._ir.operators import is_tensor_method, operator_name, result_of
from .._ir.python_builtins import builtin_name, builtin_op, builtin_result, method_result
from .._ir.schema import Argument, Schema
from .._ir.types import (
    ANY,
    FLOAT,
    INT,
    NONE,
    STR,
    TENSOR,
    Type,
    fits,
    interfaces,
    is_module,
    list_of,
    script_class_names,
    script_classes,
)
from .builder import BoundMethod, PythonObject, StaticTuple
from .callees import complaint, role_of
from .expressions import Expressions

Arguments = tuple[list[Value], dict[str, Value]]
_FORMS = (
    "Possible forms of call to {name}(..) are\n"
    "{name}(dst_worker_name, user_callable, args, kwargs, timeout)\n"
    "{name}(dst_worker_name, user_callable, args, kwargs)\n"
    "{name}(dst_worker_name, user_callable, args)\n"
    "{name}(dst_worker_name, user_callable)\n"
    "Now the number of arguments is {count}"
)


class Calls(Expressions):
    """The part of lowering that handles calls."""

    def _Call_value(self, node: ast.Call, hint: Any) -> Any:
        found = self.expression(node.func)
        if isinstance(found, BoundMethod):
            return self._method(node, found)
        if isinstance(found, Value):
            if self.module is not None and self.module.knows(self, found):
                return self.module.call(self, node, found, "forward")
            made = self.class_method(node, found, "__call__", *self.arguments(node))
            if made is not None:
                return made
            raise self.fail(node, f"'{found.type.python()}' object is not callable")
        if isinstance(found, StaticTuple):
            return self.module.call_each(self, node, found)
        role = role_of(found.obj)
        if role == "special":
            return getattr(self, f"_call_{found.obj.__name__.strip('_')}")(node, found.obj, hint)
        if role is None:
            raise self.fail(node, complaint(found.obj, found.name))
        args, kwargs = self.arguments(node)
        return getattr(self, f"_as_{role}")(node, found.obj, args, kwargs)

    def arguments(self, node: ast.Call) -> Arguments:
        """The arguments of a call, as values of the graph."""
        args: list[Value] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                value = self.value(each, self.expression(each.value))
                if value.type.kind != "Tuple":
                    raise self.refuse(each, "Starred arguments other than tuples aren't supported")
                args += self.parts(each, value, len(value.type.args))  # type: ignore[attr-defined]
            else:
                args.append(self.value(each, self.expression(each)))
        if any(each.arg is None for each in node.keywords):
            raise self.refuse(node, "keyword-arg expansion is not supported")
        return args, {str(each.arg): self.value(each.value, self.expression(each.value)) for each in node.keywords}

    def _facts(self, kwargs: dict[str, Value]) -> dict[str, Any]:
        return {name: (each.type, self.static(each)) for name, each in kwargs.items()}

    # -- the library's operators -------------------------------------------------------------------------------------
    def _as_operator(self, node: ast.Call, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        name, target = operator_name(obj)
        kind = result_of(name, [each.type for each in args], self._facts(kwargs))
        return self.add(node, f"aten::{name}", [*args, *kwargs.values()], kind, target, tuple(kwargs))

    def _as_builtin(self, node: ast.Call, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        name = str(builtin_name(obj))
        if kwargs:
            raise self.fail(node, f"{name}() takes no keyword arguments in scripted code")
        kind = builtin_result(name, [each.type for each in args])
        made = self.class_method(node, args[0], f"__{name}__", args[1:]) if args else None
        if made is not None:
            return made
        if kind is None:
            raise self.fail(
                node, f"Arguments for call are not valid: {name}({', '.join(each.type.python() for each in args)})"
            )
        return self.add(node, builtin_op(name), args, None if kind == NONE else kind, f"builtin:{name}")

    def _as_math(self, node: ast.Call, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        kind = INT if obj.__name__ in ("floor", "ceil", "gcd", "factorial") else FLOAT
        if any(each.type not in (INT, FLOAT, Type("number"), Type("bool")) for each in args) or kwargs:
            raise self.fail(node, f"math.{obj.__name__} expects numbers, got {[each.type.python() for each in args]}")
        kind = Type("bool") if obj.__name__.startswith("is") else kind
        return self.add(node, f"aten::{obj.__name__}", args, kind, f"math:{obj.__name__}")

    def _as_named(self, node: ast.Call, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        kind = self.scope.kind_of(self, node, obj)
        defaults = obj._field_defaults
        arguments = tuple(
            Argument(name, each, False, name in defaults, defaults.get(name)) for name, each in zip(kind.fields, kind.args)
        )
        inputs = self.bind(node, Schema(obj.__name__, arguments, kind), args, kwargs)
        return self.add(node, "prim::TupleConstruct", inputs, kind, "named")

    def _as_class(self, node: ast.Call, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        record = script_classes[script_class_names[obj]]
        method = record.method("__init__")
        nothing = Schema(obj.__name__, (), NONE)
        inputs = self.bind(node, nothing if method is None else method.schema, args, kwargs)
        made = self.add(node, "prim::CreateObject", [], Type(record.type_name), "new")
        if method is not None:
            self.add(node, "prim::CallMethod", [made, *inputs], None, "call", function=method)
        return made

    # -- functions of users ------------------------------------------------------------------------------------------
    def _as_function(self, node: ast.Call, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        function = self._scripted(node, obj)
        inputs = self.bind(node, function.schema, args, kwargs)
        return self.add(node, "prim::CallFunction", inputs, function.returns, "call", function=function)

    def _scripted(self, node: ast.AST, function: Any) -> Any:
        """The `ScriptFunction` of a function that is called; compiled now if necessary."""
        try:
            return self.script(function)
        except (FrontendError, RuntimeError) as error:
            # PyTorch's wording: a line for each caller, so that nested calls give a traceback of the compilation
            text = (
                f"{error}'{function.__name__}' is being compiled since it was called from '{self.source.name}'\n"
                f'  File "{self.source.file}", line {self.source.line(node)}, in {self.source.name}\n'
            )
            kind = type(error) if isinstance(error, FrontendError) else RuntimeError
            raise kind(text) from None

    def _as_ignored(self, node: ast.Call, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        kind = self.scope.return_type(obj)
        op = f"^{obj.__name__}"
        return self.add(node, op, [*args, *kwargs.values()], kind, "python", tuple(kwargs), function=obj)

    def _as_unused(self, node: ast.Call, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        text = f"'{obj.__name__}' is marked @mpigrad.jit.unused and cannot run in scripted code"
        kind = self.scope.return_type(obj)
        self.add(node, "prim::RaiseException", [self.constant(node, text)], None, "raise", name="Exception")
        # never computed: the node before it raises. Later code still needs a value of the right type.
        return Value(kind, self.graph.new_name())

    def bind(self, node: ast.AST, schema: Any, args: list[Value], kwargs: dict[str, Value]) -> list[Value]:
        """The arguments in the order of a scripted function's inputs, checked and with defaults filled in."""
        if len(args) > len(schema.arguments):
            raise self.fail(
                node,
                f"{schema}:\nExpected at most {len(schema.arguments)} arguments but found {len(args)} positional arguments.",
            )
        left = dict(kwargs)
        bound = []
        for number, each in enumerate(schema.arguments):
            if number < len(args):
                value = args[number]
            elif each.name in left:
                value = left.pop(each.name)
            elif each.has_default:
                value = self.constant(node, each.default)
            else:
                raise self.fail(node, f"{schema}:\nArgument {each.name} not provided.")
            complaint = (
                f"{schema}:\nExpected a value of type '{each.type.python()}' for argument '{each.name}' but instead found type "
                f"'{value.type.python()}'."
            )
            bound.append(self.cast(node, value, each.type, complaint) if value.type != TENSOR or each.type == TENSOR
                         else self._same(node, value, each.type, complaint))  # fmt: skip
        if left:
            raise self.fail(node, f"{schema}:\nUnknown keyword argument '{next(iter(left))}'.")
        return bound

    def _same(self, node: ast.AST, value: Value, wanted: Type, complaint: str) -> Value:
        if not fits(value.type, wanted):
            raise self.fail(node, complaint)
        return value

    # -- methods -----------------------------------------------------------------------------------------------------
    def _method(self, node: ast.Call, found: BoundMethod) -> Value:
        owner, name = found.owner, found.name
        if self.module is not None and self.module.knows(self, owner):
            return self.module.call(self, node, owner, name)
        args, kwargs = self.arguments(node)
        kind = owner.type
        if kind == TENSOR and is_tensor_method(name):
            result = result_of(name, [TENSOR, *(each.type for each in args)], self._facts(kwargs))
            made = None if result == NONE else result
            return self.add(
                node, f"aten::{name}", [owner, *args, *kwargs.values()], made, f"method:{name}", tuple(kwargs)
            )
        if kind.kind in script_classes:
            found_static = script_classes[kind.kind].static(name)
            if isinstance(found_static, staticmethod):
                return self._as_function(node, found_static.__func__, args, kwargs)
            called = self.class_method(node, owner, name, args, kwargs)
            if called is None:
                raise self.fail(node, f"'{kind.kind}' object has no attribute or method '{name}'.")
            return called
        if kind.kind.startswith("__mpigrad__"):
            return self._interface_method(node, owner, name, args, kwargs)
        found_type = method_result(kind, name, [each.type for each in args])
        if found_type is None:
            raise self.fail(node, f"'{kind.python()}' object has no attribute or method '{name}'.")
        if name == "append" and kind.kind == "List" and not fits(args[0].type, kind.args[0]):
            raise self.fail(
                node,
                f"Could not match type {args[0].type.python()} to {kind.args[0].python()} in append to {kind.python()}",
            )
        op = "aten::wait" if kind.kind == "Future" and name == "wait" else f"aten::{name}"
        made = None if found_type == NONE and name != "get" else found_type
        target = "prim:listed" if name in ("keys", "values", "items") else f"method:{name}"
        # methods that may return a module, which scripts see as an object with scripted methods only
        if kind.kind == "RRef" and (name == "local_value" or name == "to_here" and is_module(kind.args[0])):
            target = f"dist:{name}"
        attributes = {"name": name} if target == "prim:listed" else {}
        return self.add(node, op, [owner, *args, *kwargs.values()], made, target, tuple(kwargs), **attributes)

    def class_method(
        self, node: ast.AST, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value] | None = None
    ) -> Value | None:
        """A method of an object of a script class; None if it is of no such class, or the class has no such method."""
        record = script_classes.get(owner.type.kind)
        method = record.method(name) if record is not None else None
        if method is None:
            return None
        inputs = self.bind(node, method.schema, args, kwargs or {})
        return self.add(node, "prim::CallMethod", [owner, *inputs], method.returns, "call", function=method)

    def _interface_method(
        self, node: ast.Call, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        schema = interfaces.get(owner.type.kind, {}).get(name)
        if schema is None:
            raise self.fail(node, f"'{owner.type.kind}' object has no attribute or method '{name}'.")
        inputs = self.bind(node, schema, args, kwargs)
        return self.add(node, "prim::CallMethod", [owner, *inputs], schema.returns, "callmethod", name=name)

    # -- special functions -------------------------------------------------------------------------------------------
    def _call_annotate(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        kind = self.scope.annotation(self, node.args[0])
        value = self.value(node, self.expression(node.args[1], kind))
        value = self.cast(node, value, kind, f"expected {kind.python()}, got {value.type.python()}")
        return value if value.type == kind else self.add(node, "prim::unchecked_cast", [value], kind, "alias")

    def _call_is_scripting(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        return self.constant(node, True)

    def _call_is_tracing(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        return self.constant(node, False)

    def _call_isinstance(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        return self.condition(node)[0]

    def _call_fork(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        function = self._script_argument(node, node.args[0], "fork")
        args, kwargs = self.arguments(ast.Call(node.func, node.args[1:], node.keywords))
        inputs = self.bind(node, function.schema, args, kwargs)
        return self.add(node, "prim::fork", inputs, Type("Future", (function.returns,)), "fork", function=function)

    def _call_wait(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        fut = self.value(node, self.expression(node.args[0]))
        if fut.type.kind != "Future":
            raise self.fail(node, f"wait() expects a Future, got {fut.type.python()}")
        return self.add(node, "aten::wait", [fut], fut.type.args[0], "method:wait")

    def _call_save(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        args, kwargs = self.arguments(node)
        if len(args) != 2 or kwargs or args[1].type != STR:
            raise self.fail(node, f"aten::save(t item, str filename): got {[each.type.python() for each in args]}")
        return self.add(node, "aten::save", args, None, "save", refused=args[0].type.mentions("RRef"))

    def _profiler(self, node: ast.Call, name: str, wanted: list[str], kind: Type | None) -> Value:
        """Lower a call of an operator of `mpigrad.ops.profiler`."""
        args, kwargs = self.arguments(node)
        if kwargs or [each.type.kind for each in args] != wanted:
            raise self.fail(node, f"profiler::{name} takes {wanted}, got {[each.type.python() for each in args]}")
        kind = args[1].type if kind is ANY else kind
        return self.add(node, f"profiler::{name}", args, kind, f"profiler:{name}")

    def _call_record_function_enter_new(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        return self._profiler(node, obj.__name__, ["str"], Type("_RecordFunction"))

    def _call_record_function_exit(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        return self._profiler(node, obj.__name__, ["_RecordFunction"], None)

    def _call_call_end_callbacks_on_jit_fut(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        return self._profiler(node, obj.__name__, ["_RecordFunction", "Future"], ANY)

    def _script_argument(self, node: ast.Call, given: ast.expr, what: str) -> Any:
        found = self.expression(given)
        if not isinstance(found, PythonObject) or role_of(found.obj) != "function":
            raise self.fail(node, f"{what} needs a scripted function, but '{ast.unparse(given)}' is not one")
        return self._scripted(node, found.obj)

    def _rpc(self, node: ast.Call, name: str, op: str, wrap: str) -> Value:
        given = dict(zip(("to", "func", "args", "kwargs", "timeout"), node.args))
        given.update({str(each.arg): each.value for each in node.keywords})
        if "to" not in given or "func" not in given or len(node.args) > 5:
            raise self.fail(node, _FORMS.format(name=name, count=len(node.args) + len(node.keywords)))
        function = self._script_argument(node, given["func"], name)
        to = self.value(node, self.expression(given["to"]))
        if to.type not in (STR, ANY) and to.type != INT:
            raise self.fail(node, f"the destination of {name} must be a str, got {to.type.python()}")
        args = self._packed(node, given.get("args"))
        known, keywords = self._named(node, given.get("kwargs"), name)
        bound = self.bind(node, function.schema, args, known)
        # the function travels by name: the callee must have scripted it, too
        inputs = [to, self.constant(node, function.qualified_name), self.pack(node, bound[: len(args)]), keywords]
        if "timeout" in given:
            inputs.append(self.value(node, self.expression(given["timeout"])))
            if inputs[-1].type not in (INT, FLOAT):
                raise self.fail(node, f"the timeout of {name} must be a float, got {inputs[-1].type.python()}")
        kind = Type(wrap, (function.returns,)) if wrap else function.returns
        return self.add(node, op, inputs, kind, f"dist:{name}", function=function)

    def _packed(self, node: ast.Call, given: ast.expr | None) -> list[Value]:
        if given is None:
            return []
        value = self.value(node, self.expression(given))
        if value.type == NONE:
            return []
        if value.type.kind != "Tuple":
            raise self.fail(
                node, f"the arguments of a call to another worker must be a tuple, got {value.type.python()}"
            )
        return self.parts(node, value, len(value.type.args))  # type: ignore[attr-defined]

    def _named(self, node: ast.Call, given: ast.expr | None, name: str) -> tuple[dict[str, Value], Value]:
        """Two dictionaries: the keyword arguments known at compile time, from a dict in the call itself; and all
        keyword arguments.
        """
        if isinstance(given, ast.Dict) and all(isinstance(each, ast.Constant) for each in given.keys):
            known = {str(k.value): self.value(node, self.expression(v)) for k, v in zip(given.keys, given.values)}  # type: ignore[union-attr]
            pairs = [each for key, value in known.items() for each in (self.constant(node, key), value)]
            return known, self.add(node, "prim::DictConstruct", pairs, Type("Dict", (STR, ANY)), "dict")
        value = self.constant(node, None) if given is None else self.value(node, self.expression(given))
        if value.type != NONE and (value.type.kind != "Dict" or value.type.args[0] != STR):
            raise self.fail(node, f"the keyword arguments of {name} must be a dict with str keys, got {value.type.python()}")
        return {}, value

    def _call_rpc_async(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        return self._rpc(node, "rpc_async", "prim::rpc_async", "Future")

    def _call_rpc_sync(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        return self._rpc(node, "rpc_sync", "prim::rpc_sync", "")

    def _call_remote(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        return self._rpc(node, "remote", "prim::rpc_remote", "RRef")

    def _call_get_gradients(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        args, _ = self.arguments(node)
        if [each.type for each in args] != [INT]:
            raise self.fail(node, f"get_gradients(int context_id): got {[each.type.python() for each in args]}")
        return self.add(node, "aten::get_gradients", args, Type("Dict", (TENSOR, TENSOR)), "dist:get_gradients")

    def _call_backward(self, node: ast.Call, obj: Any, hint: Any) -> Value:
        args, kwargs = self.arguments(node)
        if len(args) < 2 or args[0].type != INT or args[1].type != list_of(TENSOR):
            kinds = [each.type.python() for each in args]
            raise self.fail(node, f"backward(int context_id, List[Tensor] roots, bool retain_graph=False): got {kinds}")
        if len(args) == 2 and not kwargs:
            args.append(self.constant(node, False))
        return self.add(node, "aten::dist_backward", [*args, *kwargs.values()], None, "dist:backward", tuple(kwargs))
