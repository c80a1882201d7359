"""`lazily`: packages that import the modules with their public names on first use, so that a program loads only what it needs.

    if TYPE_CHECKING:
        from .adam import Adam, AdamW
    else:
        __getattr__, __dir__ = lazily(__name__)

Type checkers read the block; at run time the first use of `Adam` imports `.adam`. The table of names is read from the block.

Threads may use such a package at any time. A thread that needs a module which another thread is importing waits for it, and no
two threads wait for each other: the import of a module waits for its package, that of a lazy package for none of its modules.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any


def load(module: str) -> bool:
    """Import a module of mpigrad, named without the package's name; False if this thread is just executing it."""
    found = importlib.import_module(f"mpigrad.{module}")
    return not getattr(found.__spec__, "_initializing", False)


def submodule(package: str, name: str) -> Any:
    """Import and return a module that a program uses as an attribute of its package without having imported it."""
    if name[:2] != "__" and name.isidentifier():  # it may come from a file
        try:
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise
    raise AttributeError(f"module {package!r} has no attribute {name!r}")


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package."""

    @cache
    def names() -> dict[str, tuple[str, str | None]]:
        return dict(_declared(package))

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return sorted(each for each in names() if each[0] != "_")
        if name[:2] == "__" or name not in names():
            return submodule(package, name)
        module, attribute = names()[name]
        found: Any = importlib.import_module(module)
        if attribute is not None:
            found = getattr(found, attribute)
        setattr(sys.modules[package], name, found)
        return found

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names()})

    return __getattr__, __dir__


def _declared(package: str) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """(name, (module, attribute)) of each name in the `if TYPE_CHECKING:` block of a package; no attribute for modules."""
    import ast

    from .._names import EXPORTS

    spec: Any = sys.modules[package].__spec__
    tree = ast.parse(spec.loader.get_data(spec.origin))  # which loaders of archives, and that of pytest, have as well
    blocks = (node for node in tree.body if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING")
    for block in blocks:
        for node in block.body:
            if isinstance(node, ast.ImportFrom):
                above = package.split(".")
                base = ".".join(above[: len(above) - node.level + 1] if node.level else [])
                module = ".".join(filter(None, [base, node.module]))
                for alias in node.names:
                    if alias.name == "*":
                        yield from _starred(package, module, EXPORTS)
                        continue
                    whole = node.module is None  # `from . import functional`
                    yield alias.asname or alias.name, (f"{module}.{alias.name}", None) if whole else (module, alias.name)


def _starred(package: str, module: str, exports: dict[str, dict[str, str]]) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """The names that `from module import *` gives: those of the table `exports`, or else those that the module has."""
    listed = exports.get(package.removeprefix("mpigrad."), {}).get(module.removeprefix("mpigrad."))
    for name in importlib.import_module(module).__all__ if listed is None else listed.split():
        yield name, (module, name)
