"""From a Python function to a `ScriptFunction`: its source is parsed, its signature read, its body lowered to a graph."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from .._ir.errors import NotSupportedError, Source, UnsupportedNodeError
from .._ir.graph import Graph, Value
from .._ir.schema import Argument, Schema
from .._ir.types import NONE, TENSOR, Type, unify
from .._lower.scope import Scope
from .._lower.statements import Lowering
from .function import ScriptFunction, by_name, record_of

_cache: dict[Any, ScriptFunction] = {}  # function -> its compiled form, if scripted code calls it


def script_function(function: Any, local_names: dict[str, Any] | None = None) -> ScriptFunction:
    """The `ScriptFunction` of a function, compiled on first use; that of a scripted function is its own.

    `local_names`: names that the function's annotations may use besides those of its module.
    """
    if isinstance(function, ScriptFunction):
        return record_of(function)
    function = inspect.unwrap(function)
    if isinstance(function, ScriptFunction):
        return record_of(function)
    found = _cache.get(function)
    if found is not None:
        if isinstance(found, _Unfinished):
            raise RuntimeError(
                f"function '{function.__name__}' is called recursively: recursive calls aren't supported\n"
            )
        return found
    _cache[function] = _Unfinished()  # type: ignore[assignment]
    try:
        made = _cache[function] = compile_function(function, Scope(function, local_names))
    except BaseException:
        del _cache[function]
        raise
    by_name[made.qualified_name] = made
    return made


class _Unfinished:
    """Stands for a function that is still being compiled, to detect recursion."""


def source_of(function: Any) -> tuple[ast.FunctionDef, Source]:
    """A function's parsed definition and its text."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise OSError(
            f"Can't get source for {function!r}. mpigrad.jit.script needs it to build the graph: define the function in a file."
        ) from error
    text = textwrap.dedent("".join(lines))
    source = Source(inspect.getsourcefile(function) or "<unknown>", first, text, function.__name__)
    tree = ast.parse(text).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise NotSupportedError(source, tree, f"{type(tree).__name__} cannot be scripted")
    return tree, source


def compile_function(function: Any, scope: Scope, module: Any = None) -> ScriptFunction:
    """Build the graph of a function, or of a method of a module (described by `module`)."""
    tree, source = source_of(function)
    _refuse_signature(tree, source)
    graph = Graph(function.__name__)
    lowering = Lowering(graph, source, scope, script_function, module)
    arguments, returns = _signature(function, tree, source, scope, module)
    if module is not None:
        lowering.me = Value(Type(module.type_name), "self")
        graph.inputs.append(lowering.me)
        lowering.env[(tree.args.posonlyargs + tree.args.args)[0].arg] = lowering.me
    for each in arguments:
        graph.inputs.append(Value(each.type, graph.new_name(each.name)))
        lowering.env[each.name] = graph.inputs[-1]
    lowering.returns = returns
    lowering.statements(tree.body)
    _finish(lowering, tree)
    found = returns if returns is not None else _joint(lowering, tree)
    name = f"__mpigrad__.{function.__module__}.{function.__qualname__.replace('.<locals>', '')}"
    return ScriptFunction(graph, Schema(function.__name__, tuple(arguments), found), source, name, function)


def _finish(lowering: Lowering, tree: ast.FunctionDef) -> None:
    """Bring the last `return` to the end of the graph, where it is an output."""
    graph = lowering.graph
    last = graph.nodes[-1] if graph.nodes else None
    if last is not None and last.op == "prim::ReturnStmt":
        graph.outputs = list(last.inputs)
        graph.nodes.pop()
    elif not graph.ends():
        wanted = lowering.returns
        if any(each != NONE for each in lowering.returned) if wanted is None else wanted != NONE and wanted.kind != "Optional":
            raise lowering.fail(
                tree, f"Function '{tree.name}' was not annotated as having type None, but does not return along all paths"
            )
        graph.outputs = [lowering.constant(tree, None)]
        lowering.returned.append(NONE)


def _joint(lowering: Lowering, tree: ast.FunctionDef) -> Type:
    found: Type | None = None
    for each in lowering.returned:
        joint = each if found is None else unify(found, each)
        if joint is None:
            raise lowering.fail(
                tree, f"Previous return statement returned a value of type {found.python()} but this return statement returns a "  # type: ignore[union-attr]
                f"value of type {each.python()}",
            )  # fmt: skip
        found = joint
    return found or NONE


def _refuse_signature(tree: ast.FunctionDef, source: Source) -> None:
    given = tree.args
    extra = given.vararg or given.kwarg
    if extra is not None or any(each is not None for each in given.kw_defaults):
        raise NotSupportedError(
            source, extra or tree,
            "Compiled functions can't take variable number of arguments or use keyword-only arguments with defaults",
        )  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            raise UnsupportedNodeError(source, node, f"{type(node).__name__} aren't supported")


def _signature(
    function: Any, tree: Any, source: Source, scope: Scope, module: Any
) -> tuple[list[Argument], Type | None]:
    hints = function.__annotations__
    arguments = []
    for parameter in list(inspect.signature(function).parameters.values())[1 if module is not None else 0 :]:
        inferred = parameter.name not in hints
        try:
            kind = TENSOR if inferred else scope.of_argument(hints[parameter.name])
        except (TypeError, NameError, AttributeError) as error:
            raise NotSupportedError(source, tree, f"{error} (argument '{parameter.name}')") from None
        has_default = parameter.default is not inspect.Parameter.empty
        arguments.append(
            Argument(parameter.name, kind, inferred, has_default, parameter.default if has_default else None)
        )
    if "return" not in hints:
        return arguments, None
    try:
        return arguments, scope.of_argument(hints["return"])
    except (TypeError, NameError, AttributeError) as error:
        raise NotSupportedError(source, tree, f"{error} (what it returns)") from None
