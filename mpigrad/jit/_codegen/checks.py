"""The tests of arguments in compiled functions: quick where they fit as they are; `Schema.check` sees to the rest.

Numbers and tensors are tested by their class, containers by a loop over their members, which costs less than a call for the
few members that most have. What has no quick test (deeper containers, modules, futures) goes through `Schema.check` always.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpigrad._tensor import Tensor
from mpigrad.nn.parameter import Parameter

from .._ir.types import TENSOR, Type, class_of

_CLASSES: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str}
Held = Callable[[Any], str]  # gives an object a name in the code


def check_lines(held: Held, spare: Callable[[], str], check: str, name: str, kind: Type) -> list[str]:
    """Statements that test the argument `name` and, unless it fits as it is, set it to what the text `check` gives."""
    if kind.kind == "Any":
        return []
    test = _test(held, name, kind)
    if test:
        return [f"if {test}: {name} = {check}"]
    some = kind.args[0] if kind.kind == "Optional" else kind
    lines = _member_lines(held, spare, check, name, some)
    if not lines:
        return [f"{name} = {check}"]
    return lines if some is kind else [f"if {name} is not None:", *("    " + each for each in lines)]


def _test(held: Held, name: str, kind: Type) -> str:
    """An expression that is false where a value fits as it is; empty if there is none."""
    if kind == TENSOR:
        return f"{name}.__class__ is not {held(Tensor)} and {name}.__class__ is not {held(Parameter)}"
    if kind.kind in _CLASSES:
        return f"{name}.__class__ is not {held(_CLASSES[kind.kind])}"
    if kind.kind == "Optional":
        inside = _test(held, name, kind.args[0])
        return f"{name} is not None and ({inside})" if inside else ""
    if kind.kind == "Tuple":
        members = [_test(held, f"{name}[{place}]", each) for place, each in enumerate(kind.args)]
        if not all(members):
            return ""
        own = class_of(kind) if kind.fields else tuple
        length = "" if kind.fields else f"{held(len)}({name}) != {len(members)}"
        tests = (f"{name}.__class__ is not {held(own)}", length, *members)
        return " or ".join(f"({each})" for each in tests if each)
    return ""


def _member_lines(held: Held, spare: Callable[[], str], check: str, name: str, kind: Type) -> list[str]:
    """Statements that go through the members of a list or dict."""
    if kind.kind not in ("List", "Dict"):
        return []
    member = spare()
    texts = [member] if kind.kind == "List" else [member, f"{name}[{member}]"]  # less than the pairs of `items()`
    tests = [_test(held, text, each) for text, each in zip(texts, kind.args)]
    if not all(tests):
        return []
    return [
        f"if {name}.__class__ is not {held(list if kind.kind == 'List' else dict)}: {name} = {check}",
        "else:",
        f"    for {member} in {name}:",
        f"        if {' or '.join(f'({each})' for each in tests)}:",
        f"            {name} = {check}",
        "            break",
    ]
