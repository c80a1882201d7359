"""The reference: one Markdown page for each public module, from docstrings.

The modules that people import have a page each; so has any other public module that lists names found on none of these.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
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
    "mpigrad.distributed.autograd",
    "mpigrad.distributed.checkpoint",
    "mpigrad.distributed.nn",
    "mpigrad.distributed.optim",
    "mpigrad.distributed.rpc",
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
    "mpigrad.nn.utils",
    "mpigrad.optim",
    "mpigrad.optim.lr_scheduler",
    "mpigrad.profiler",
    "mpigrad.random",
    "mpigrad.serialization",
    "mpigrad.sparse",
    "mpigrad.special",
    "mpigrad.testing",
    "mpigrad.utils.data",
)
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
    """The functions and classes of ours in a module's `__all__`."""
    values = [getattr(module, name) for name in getattr(module, "__all__", ())]
    return [value for value in values if is_ours(value) and (inspect.isfunction(value) or inspect.isclass(value))]


def write(folder: Path) -> None:
    """Write all pages and their index."""
    folder.mkdir(parents=True)
    for name in modules():
        (folder / f"{name}.md").write_text("\n".join(page(importlib.import_module(name))))
    entries = "\n".join(modules())
    (folder / "index.md").write_text(f"# Reference\n\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n")


def page(module: ModuleType) -> Iterator[str]:
    """The lines of a module's page."""
    yield from (f"# {module.__name__}", "", text_of(module), "")
    for name, value in public(module):
        yield from entry(f"{module.__name__}.{name}", value, "##")
        if inspect.isclass(value):
            for method, function in methods(value):
                yield from entry(f"{name}.{method}", function, "###")


def public(module: ModuleType) -> list[tuple[str, Any]]:
    """What a module offers, by name: what it lists, or else its own functions and classes."""
    listed = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    found = [(name, getattr(module, name)) for name in sorted(set(listed), key=str.lower)]
    return [(name, value) for name, value in found if callable(value) and is_ours(value)]


def is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("mpigrad")


def methods(owner: type) -> list[tuple[str, Any]]:
    """The public methods and properties of a class with docstrings of their own, those of our base classes left out."""
    found = [(name, value) for name, value in sorted(vars(owner).items()) if not name.startswith("_")]
    return [(name, value) for name, value in found if (callable(value) or isinstance(value, property)) and value.__doc__]


def entry(name: str, value: Any, level: str) -> Iterator[str]:
    """A heading, the signature, and the docstring."""
    yield from (f"{level} {name.replace('_', chr(92) + '_')}", "")
    found = signature(value)
    if found:
        yield from ("```python", f"{name.rsplit('.', 1)[1]}{found}", "```", "")
    yield from (text_of(value), "")


def signature(value: Any) -> str:
    """The arguments, without addresses of defaults; nothing for what has none."""
    try:
        found = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    return re.sub(r"<(?:function |class )?'?([\w.]+)[^>]*>", r"\1", found)


def text_of(value: Any) -> str:
    """The docstring as Markdown: sessions become code, headings of arguments bold."""
    text = inspect.getdoc(value) or ""
    text = re.sub(r"^(Args|Returns|Raises|Example|Examples):$", r"**\1**\n", text, flags=re.MULTILINE)
    return SESSION.sub(lambda found: f"\n```python\n{inspect.cleandoc(found[0])}\n```", text)
