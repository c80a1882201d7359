"""Entries of scripted functions: compiled code that takes arguments as Python gives them, tests them, and runs the graph.

The parameters are those of the function that was scripted, so that Python itself binds arguments, keywords and defaults.
Parameters without a default have a mark for it that no test lets through; what is left over is for `Schema.refuse`.
"""

from __future__ import annotations

import keyword
import unicodedata
from typing import Any

from .._ir.graph import Graph
from .._ir.schema import MISSING, Schema
from .checks import check_lines
from .compile import Runner
from .explain import explained

Made = tuple[Any, str, list[Any]]  # a function, its text, and for each line where it comes from


def compile_entry(graph: Graph, schema: Schema, title: str, space: dict[str, Any]) -> Made:
    """The function that users call: its first parameter is what it is bound to."""
    writer = Runner(graph, space, {each.name for each in schema.arguments})
    names = _parameters(writer, schema)
    skip = len(graph.inputs) - len(names)  # the module of methods
    for value, name in zip(graph.inputs[skip:], names):
        writer.numbers[id(value)] = name
    me = writer.name(graph.inputs[0]) if skip else writer.spare()
    more, named, error, raised = (writer.spare() for _ in range(4))
    defaults = [writer.held(each.default if each.has_default else MISSING) for each in schema.arguments]
    given = ", ".join([me, *(f"{name}={default}" for name, default in zip(names, defaults)), f"*{more}", f"**{named}"])
    bound = "".join(f"{each}, " for each in names)
    first = [
        f"def call({given}):",
        "    try:",
        f"        if {more} or {named}: raise {writer.held(schema.refusal)}(({bound}), {more}, {named})",
        *_checks(writer, schema, names, "        "),
    ]
    writer.indent = 2
    writer.finish()
    last = [
        f"    except {writer.held(Exception)} as {error}:",
        f"        {raised} = {writer.held(explained)}({error})",
        f"    raise {raised} from {raised}.__cause__",
    ]
    return _made("call", [*first, *writer.lines, "        return None", *last], title, space, [None] * len(first) + writer.places)


def compile_inner(graph: Graph, schema: Schema, title: str, space: dict[str, Any]) -> Made:
    """The function that other graphs call, with all its arguments in order: errors are explained further out."""
    writer = Runner(graph, space, set())
    names = [writer.name(each) for each in graph.inputs]
    first = [f"def run({', '.join(names)}):", *_checks(writer, schema, names[len(names) - len(schema.arguments) :], "    ")]
    writer.finish()
    return _made("run", [*first, *writer.lines, "    return None"], title, space, [None] * len(first) + writer.places)


def _parameters(writer: Runner, schema: Schema) -> list[str]:
    names = [each.name for each in schema.arguments]
    if len(set(names)) == len(names) and all(map(_is_plain, names)):
        return names
    return [writer.spare() for _ in names]  # of a file: they can be given by place only


def _is_plain(name: str) -> bool:
    """Whether a name means itself in Python's code, which writes other forms of a letter as one."""
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


def _checks(writer: Runner, schema: Schema, names: list[str], indent: str) -> list[str]:
    found = []
    check = writer.held(schema.check)
    for number, (name, each) in enumerate(zip(names, schema.arguments)):
        lines = check_lines(writer.held, writer.spare, f"{check}({number}, {name})", name, each.type)
        if not lines and not each.has_default:
            lines = [f"if {name} is {writer.held(MISSING)}: {check}({number}, {name})"]
        found += [indent + line for line in lines]
    return found


def _made(name: str, lines: list[str], title: str, space: dict[str, Any], places: list[Any]) -> Made:
    text = "\n".join(lines)
    exec(compile(text, f"<mpigrad.jit {title}>", "exec"), space)
    return space.pop(name), text, places
