"""Write the reference: one Markdown page for each public module, from docstrings.

The modules that people import have a page each; so has any other public module that lists names found on none of these.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

MODULES = (
    "mpigrad",
    "mpigrad.autograd",
    "mpigrad.autograd.functional",
    "mpigrad.autograd.graph",
    "mpigrad.autograd.profiler",
    "mpigrad.cuda",
    "mpigrad.distributed",
    "mpigrad.distributed.algorithms.join",
    "mpigrad.distributed.autograd",
    "mpigrad.distributed.checkpoint",
    "mpigrad.distributed.domain",
    "mpigrad.distributed.nn",
    "mpigrad.distributed.nn.functional",
    "mpigrad.distributed.optim",
    "mpigrad.distributed.pipelining",
    "mpigrad.distributed.rpc",
    "mpigrad.distributed.rpc.functions",
    "mpigrad.distributed.tensor.parallel",
    "mpigrad.distributions",
    "mpigrad.fft",
    "mpigrad.func",
    "mpigrad.futures",
    "mpigrad.jit",
    "mpigrad.linalg",
    "mpigrad.multiprocessing",
    "mpigrad.nn",
    "mpigrad.nn.functional",
    "mpigrad.nn.init",
    "mpigrad.nn.parallel",
    "mpigrad.nn.utils",
    "mpigrad.optim",
    "mpigrad.optim.lr_scheduler",
    "mpigrad.profiler",
    "mpigrad.random",
    "mpigrad.serialization",
    "mpigrad.sparse",
    "mpigrad.special",
    "mpigrad.testing",
    "mpigrad.testing.simulation",
    "mpigrad.utils.data",
)
# The index: tasks, the names that do them, the most common first, and the modules to look into.
TASKS = {
    "Start and stop": (
        "mpigrad.distributed.rpc.init_rpc mpigrad.distributed.rpc.shutdown mpigrad.distributed.rpc.get_worker_info "
        "mpigrad.distributed.rpc.MPIRpcBackendOptions mpigrad.distributed.init_process_group mpigrad.multiprocessing.spawn",
        "mpigrad.distributed.rpc mpigrad.distributed.rpc.functions mpigrad.multiprocessing",
    ),
    "Call functions on other workers": (
        "mpigrad.distributed.rpc.rpc_sync mpigrad.distributed.rpc.rpc_async mpigrad.futures.Future mpigrad.futures.wait_all "
        "mpigrad.distributed.rpc.WorkerGroup",
        "mpigrad.futures mpigrad.jit",
    ),
    "Hold objects on other workers": (
        "mpigrad.distributed.rpc.remote mpigrad.distributed.rpc.RRef mpigrad.distributed.nn.RemoteModule",
        "mpigrad.distributed.nn",
    ),
    "Differentiate": (
        "mpigrad.distributed.autograd.context mpigrad.distributed.autograd.backward "
        "mpigrad.distributed.autograd.get_gradients mpigrad.distributed.autograd.grad mpigrad.autograd.Function",
        "mpigrad.distributed.autograd mpigrad.autograd mpigrad.autograd.functional mpigrad.autograd.graph mpigrad.func",
    ),
    "Optimise": (
        "mpigrad.distributed.optim.DistributedOptimizer mpigrad.optim.SGD mpigrad.optim.AdamW",
        "mpigrad.distributed.optim mpigrad.optim mpigrad.optim.lr_scheduler",
    ),
    "Collectives": (
        "mpigrad.distributed.all_reduce mpigrad.distributed.broadcast mpigrad.distributed.all_gather "
        "mpigrad.distributed.new_group mpigrad.distributed.nn.functional.all_reduce",
        "mpigrad.distributed mpigrad.distributed.nn.functional",
    ),
    "Save and resume": (
        "mpigrad.distributed.checkpoint.save mpigrad.distributed.checkpoint.load mpigrad.save mpigrad.load",
        "mpigrad.distributed.checkpoint mpigrad.serialization",
    ),
    "See what happens": (
        "mpigrad.distributed.autograd.draw mpigrad.profiler.trace_workers mpigrad.profiler.profile",
        "mpigrad.profiler mpigrad.autograd.profiler mpigrad.testing",
    ),
}
# Names that open their module's page; all others follow in alphabetical order.
FIRST = [name for names, _ in TASKS.values() for name in names.split()]
# Modules that PyTorch does not have, or has with other functions.
OWN = (
    "mpigrad.distributed.checkpoint", "mpigrad.distributed.domain", "mpigrad.interop", "mpigrad.testing.simulation",
    "mpigrad.utils.safetensors",
)  # fmt: skip
# Classes that users get but do not make; their methods serve other parts of the package.
OPAQUE = ("DistAutogradContext",)
# Rows of the glossary to which docstrings of `mpigrad.distributed` link. Not: words with an everyday meaning (pass, user).
LINKED = (
    "worker", "agent", "static world, dynamic world", "incarnation", "RRef", "fork", "context", "initiator", "process group",
    "collective", "device map", "scripted",
)  # fmt: skip
WIDTH = 88
SESSION = re.compile(r"^( *)>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


def modules() -> list[str]:
    """The names of all modules that have a page."""
    import mpigrad

    found = list(MODULES)
    paged = {id(value) for name in MODULES for _, value in public(importlib.import_module(name))}
    for each in pkgutil.walk_packages(mpigrad.__path__, "mpigrad."):
        if not any(part.startswith("_") for part in each.name.split(".")) and each.name not in MODULES:
            new = {id(value) for value in listed(importlib.import_module(each.name))} - paged
            if new:
                found.append(each.name)
                paged |= new
    return sorted(found)


def listed(module: ModuleType) -> list[Any]:
    """The functions and classes in a module's `__all__`, or else those that it defines."""
    names = getattr(module, "__all__", None)
    values = [value for name, value in vars(module).items() if not name.startswith("_")] if names is None else [
        getattr(module, name) for name in names]  # fmt: skip
    ours = [value for value in values if is_ours(value) and (inspect.isfunction(value) or inspect.isclass(value))]
    return ours if names is not None else [value for value in ours if value.__module__ == module.__name__]


def write(folder: Path) -> None:
    """Write all pages and their index."""
    folder.mkdir(parents=True)
    for name in modules():
        (folder / f"{name}.md").write_text("\n".join(page(importlib.import_module(name))))
    (folder / "index.md").write_text("\n".join(index()))


def index() -> Iterator[str]:
    """The index: what to use for each task, then every module with its first sentence."""
    yield from ("# Reference", "")
    rest = modules()
    for task, (names, places) in TASKS.items():
        yield from (f"## {task}", "", " · ".join(f"{{py:obj}}`{name}`" for name in names.split()), "")
        yield from _summaries([place for place in places.split() if place in rest])
        rest = [name for name in rest if name not in places.split()]
    yield from ("## Tensors, modules and everything else", "")
    yield from _summaries(rest)
    yield from ("```{toctree}", ":hidden:", ":maxdepth: 1", "", *modules(), "```", "")


def _summaries(names: list[str]) -> Iterator[str]:
    yield from ("| module | |", "| --- | --- |")
    for name in names:
        summary = (inspect.getdoc(importlib.import_module(name)) or "").split("\n\n")[0].replace("\n", " ")
        yield f"| [{name}]({name}.md) | {summary} |"
    yield ""


def page(module: ModuleType) -> Iterator[str]:
    """The lines of a module's page."""
    yield from (f"# {module.__name__}", "", f"```{{py:module}} {module.__name__}", "```", "", text_of(module), "")
    if not module.__name__.startswith(OWN):
        original = module.__name__.replace("mpigrad", "torch", 1)
        yield from (f"Names, arguments and defaults are those of `{original}`, except where a description says that something is "
                    "an addition. Arguments that a description does not mention have the same meaning as there.", "")
    for name, value in public(module):
        yield from entry(module, name, value, "##")
        if inspect.isclass(value) and name not in OPAQUE:
            for method, function in methods(value):
                yield from entry(module, f"{name}.{method}", function, "###")
    found = constants(module)
    if found:
        yield from ("## Values", "", "| name | value |", "| --- | --- |")
        yield from (f"| `{name}` | `{value!r}` |" for name, value in found)


def constants(module: ModuleType) -> list[tuple[str, Any]]:
    """The public names of a module that are not callable: element types, layouts, numbers, shared objects."""
    names = getattr(module, "__all__", None)
    kinds = ("dtype", "layout", "memory_format", "float", "Generator")
    found = [(name, getattr(module, name)) for name in (vars(module) if names is None else names) if not name.startswith("_")]
    return [
        (name, value)
        for name, value in sorted(found, key=lambda each: each[0].lower())
        if not callable(value) and (type(value).__name__ in kinds or names is not None and not inspect.ismodule(value))
    ]


def public(module: ModuleType) -> list[tuple[str, Any]]:
    """The public callables of a module by name: those in `__all__`, or else its own functions and classes."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    full = {name: f"{module.__name__}.{name}" for name in names}
    order = sorted(full, key=lambda name: (FIRST.index(full[name]) if full[name] in FIRST else len(FIRST), name.lower()))
    found = [(name, getattr(module, name)) for name in order]
    return [(name, value) for name, value in found if callable(value) and is_ours(value)]


def is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("mpigrad")


def methods(owner: type) -> list[tuple[str, Any]]:
    """The public methods and properties of a class that say what they do, those of our base classes left out.

    Methods of tensors without a docstring are also functions of the same name, whose docstring is shown.
    """
    import mpigrad

    for name in list(vars(owner)):
        getattr(owner, name, None)  # imports the module of a method that has not been used
    found = [(name, value) for name, value in sorted(vars(owner).items()) if not name.startswith("_")]
    if owner is mpigrad.Tensor:
        found = [(name, value if value.__doc__ else getattr(mpigrad, name, value)) for name, value in found]
    return [(name, value) for name, value in found if (callable(value) or isinstance(value, property)) and value.__doc__]


def entry(module: ModuleType, name: str, value: Any, level: str) -> Iterator[str]:
    """A heading, a target of Sphinx's Python domain (which other projects can link to), the signature, and the docstring."""
    kind = "class" if inspect.isclass(value) else "method" if "." in name else "function"
    kind = "property" if isinstance(value, property) else kind
    yield from (f"{level} {name.replace('_', chr(92) + '_')}", "")
    if f"{module.__name__}.{name}" not in sys.modules:  # `autograd.gradcheck` is a function and a module
        yield from (f"```{{py:{kind}}} {name}", ":no-typesetting:", ":no-contents-entry:", "```", "")
    found = signature(value)
    if found:
        yield from ("```python", wrapped(name.rsplit(".", 1)[-1], found), "```", "")
    text = text_of(value)
    yield from (with_links(text) if module.__name__.startswith("mpigrad.distributed") else text, "")


def signature(value: Any) -> str:
    """The arguments, without addresses of defaults and quotes of types; empty for objects without a signature."""
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    bare = [each.replace(annotation=_unquoted(each.annotation)) for each in found.parameters.values()]
    text = str(found.replace(parameters=bare, return_annotation=_unquoted(found.return_annotation)))
    return re.sub(r"<(?:function |class )?'?([\w.]+)[^>]*>", r"\1", text)


class _Words:
    """A type as it is written in source code."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _unquoted(annotation: Any) -> Any:
    return _Words(annotation) if isinstance(annotation, str) else annotation


def wrapped(name: str, arguments: str) -> str:
    """A signature on one line, or with a line for each argument if that is too long.

    >>> wrapped("add", "(input: Tensor, other: Tensor) -> Tensor")
    'add(input: Tensor, other: Tensor) -> Tensor'
    """
    if len(name + arguments) <= WIDTH:
        return name + arguments
    inside, depth, parts = arguments[1 : arguments.rindex(")")], 0, [""]
    for letter in inside:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    lines = "".join(f"    {part.strip()},\n" for part in parts)
    return f"{name}(\n{lines}{arguments[arguments.rindex(')') :]}"


def text_of(value: Any) -> str:
    """The docstring as Markdown: sessions become code, arguments a list below their heading."""
    text = inspect.getdoc(value) or ""
    text = re.sub(r"^(Args|Raises):\n((?: +.*\n?|\n(?= ))+)", lambda found: _list(found[1], found[2]), text, flags=re.MULTILINE)
    text = re.sub(r"^(Returns|Example|Examples):$", r"**\1**\n", text, flags=re.MULTILINE)
    return SESSION.sub(lambda found: f"\n```python\n{inspect.cleandoc(found[0])}\n```", text)


def with_links(text: str) -> str:
    """The text with a link to the glossary at the first use of each of its terms; code and existing links stay as they are."""
    parts = re.split(r"(```.*?```|`[^`]*`|\[[^\]]*\]\([^)]*\))", text, flags=re.DOTALL)
    for pattern, target in glossary_links().items():
        for place in range(0, len(parts), 2):  # the parts between code
            changed, count = pattern.subn(rf"[\1]({target})", parts[place], count=1)
            if count:
                before, link, after = re.split(rf"(\[[^\]]*\]\({re.escape(target)}\))", changed, maxsplit=1)
                parts[place : place + 1] = [before, link, after]
                break
    return "".join(parts)


@functools.cache
def glossary_links() -> dict[re.Pattern[str], str]:
    """A pattern for each term of LINKED, and the section of the glossary that explains it; KeyError if there is no such row."""
    rows, section = {}, ""
    for line in (Path(__file__).parents[1] / "docs" / "glossary.md").read_text().splitlines():
        if line.startswith("## "):
            section = re.sub(r"[^a-z0-9-]", "", line[3:].lower().replace(" ", "-"))
        elif line.startswith("| "):
            rows[line[2:].partition(" |")[0]] = f"../glossary.md#{section}"
    terms = [(term, rows[row]) for row in LINKED for term in row.split(", ")]
    return {re.compile(rf"\b({term}s?)\b(?! manager)"): target for term, target in terms}


def _list(heading: str, lines: str) -> str:
    """The arguments as a list of `name: text`; continuation lines are indented."""
    items = re.sub(r"^(\w[\w., *]*):", r"- `\1`:", inspect.cleandoc(lines), flags=re.MULTILINE)
    return f"**{heading}**\n\n{items}\n\n"
