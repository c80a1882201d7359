"""Entry points of scripted functions: compiled code that binds and checks arguments and runs the graph.

The parameters are those of the original function, so that Python itself binds arguments, keywords and defaults. Parameters
without a default get MISSING, which no check accepts; `Schema.refusal` creates the error for surplus arguments.

Numbers and tensors are checked by their class, containers by a loop over their members, which costs less than a call for the
few members that most have. `Schema.check` converts or refuses what does not fit, and checks the types that have no such test:
deeper containers, modules, futures.
"""

from __future__ import annotations

import keyword
import unicodedata
from typing import Any

from mpigrad._tensor import Tensor
from mpigrad.nn.parameter import Parameter

from .._ir.graph import Graph
from .._ir.schema import MISSING, Schema
from .._ir.types import TENSOR, Type, class_of
from .compile import Runner
from .tracebacks import with_script_traceback

_CLASSES: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str}
Made = tuple[Any, str, list[Any]]  # a function, its source, and for each line its position in the original source


def compile_entry(graph: Graph, schema: Schema, title: str, namespace: dict[str, Any]) -> Made:
    """The function that users call; its first parameter is the object to which it is bound."""
    writer = Runner(graph, namespace, {each.name for each in schema.arguments})
    names = _parameters(writer, schema)
    skip = len(graph.inputs) - len(names)  # a method has its module as first input
    for value, name in zip(graph.inputs[skip:], names):
        writer.variables[id(value)] = name
    me = writer.name(graph.inputs[0]) if skip else writer.new_variable()
    more, named, error, raised = (writer.new_variable() for _ in range(4))
    defaults = [writer.global_name(each.default if each.has_default else MISSING) for each in schema.arguments]
    given = ", ".join([me, *(f"{name}={default}" for name, default in zip(names, defaults)), f"*{more}", f"**{named}"])
    bound = "".join(f"{each}, " for each in names)
    first = [
        f"def call({given}):",
        "    try:",
        f"        if {more} or {named}: raise {writer.global_name(schema.refusal)}(({bound}), {more}, {named})",
        *_checks(writer, schema, names, "        "),
    ]
    # inside `def` and `try`
    writer.indent = 2
    writer.finish()
    last = [
        f"    except {writer.global_name(Exception)} as {error}:",
        f"        {raised} = {writer.global_name(with_script_traceback)}({error})",
        # raised outside of the `except` block, so that Python does not chain the original error to its copy
        f"    raise {raised} from {raised}.__cause__",
    ]
    lines = [*first, *writer.lines, "        return None", *last]
    return _made("call", lines, title, namespace, [None] * len(first) + writer.places)


def compile_inner(graph: Graph, schema: Schema, title: str, namespace: dict[str, Any]) -> Made:
    """The function that other graphs call, with all its arguments in order.

    It adds no traceback of scripted code to errors; the outermost entry point does.
    """
    writer = Runner(graph, namespace, set())
    names = [writer.name(each) for each in graph.inputs]
    first = [f"def run({', '.join(names)}):", *_checks(writer, schema, names[len(names) - len(schema.arguments) :], "    ")]
    writer.finish()
    return _made("run", [*first, *writer.lines, "    return None"], title, namespace, [None] * len(first) + writer.places)


def _parameters(writer: Runner, schema: Schema) -> list[str]:
    names = [each.name for each in schema.arguments]
    if len(set(names)) == len(names) and all(map(_is_plain, names)):
        return names
    return [writer.new_variable() for _ in names]  # from a file: arguments are positional only


def _is_plain(name: str) -> bool:
    """Whether Python leaves a name unchanged: it normalises Unicode identifiers (NFKC)."""
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


def _checks(writer: Runner, schema: Schema, names: list[str], indent: str) -> list[str]:
    found = []
    check = writer.global_name(schema.check)
    for number, (name, each) in enumerate(zip(names, schema.arguments)):
        lines = _check_lines(writer, f"{check}({number}, {name})", name, each.type)
        # an argument of type Any has no check, but it must be there
        if not lines and not each.has_default:
            lines = [f"if {name} is {writer.global_name(MISSING)}: {check}({number}, {name})"]
        found += [indent + line for line in lines]
    return found


def _made(name: str, lines: list[str], title: str, namespace: dict[str, Any], places: list[Any]) -> Made:
    text = "\n".join(lines)
    exec(compile(text, f"<mpigrad.jit {title}>", "exec"), namespace)
    return namespace.pop(name), text, places


# -- checks of arguments ----------------------------------------------------------------------------------------------
def _check_lines(writer: Runner, check: str, name: str, kind: Type) -> list[str]:
    """Statements that test the argument `name`; if the test fails, they set it to the result of the text `check`."""
    if kind.kind == "Any":
        return []
    test = _test(writer, name, kind)
    if test:
        return [f"if {test}: {name} = {check}"]
    some = kind.args[0] if kind.kind == "Optional" else kind
    lines = _member_lines(writer, check, name, some)
    if not lines:
        return [f"{name} = {check}"]
    return lines if some is kind else [f"if {name} is not None:", *("    " + each for each in lines)]


def _test(writer: Runner, name: str, kind: Type) -> str:
    """An expression that is false if a value fits without conversion; empty if there is no such test."""
    if kind == TENSOR:
        return f"{name}.__class__ is not {writer.global_name(Tensor)} and {name}.__class__ is not {writer.global_name(Parameter)}"
    if kind.kind in _CLASSES:
        return f"{name}.__class__ is not {writer.global_name(_CLASSES[kind.kind])}"
    if kind.kind == "Optional":
        inside = _test(writer, name, kind.args[0])
        return f"{name} is not None and ({inside})" if inside else ""
    if kind.kind == "Tuple":
        members = [_test(writer, f"{name}[{place}]", each) for place, each in enumerate(kind.args)]
        if not all(members):
            return ""
        own = class_of(kind) if kind.fields else tuple
        length = "" if kind.fields else f"{writer.global_name(len)}({name}) != {len(members)}"
        tests = (f"{name}.__class__ is not {writer.global_name(own)}", length, *members)
        return " or ".join(f"({each})" for each in tests if each)
    return ""


def _member_lines(writer: Runner, check: str, name: str, kind: Type) -> list[str]:
    """Statements that go through the members of a list or dict."""
    if kind.kind not in ("List", "Dict"):
        return []
    member = writer.new_variable()
    texts = [member] if kind.kind == "List" else [member, f"{name}[{member}]"]  # faster than the pairs of `items()`
    tests = [_test(writer, text, each) for text, each in zip(texts, kind.args)]
    if not all(tests):
        return []
    return [
        f"if {name}.__class__ is not {writer.global_name(list if kind.kind == 'List' else dict)}: {name} = {check}",
        "else:",
        f"    for {member} in {name}:",
        f"        if {' or '.join(f'({each})' for each in tests)}:",
        f"            {name} = {check}",
        "            break",
    ]
