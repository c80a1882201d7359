"""Write the table of names that `import mpigrad` does not load at once: python tools/names.py [--check]

Functions of the package's top level, methods of `Tensor` and the operators of derivatives (`F.name`) are imported on first use.
Which module has which name is found out by importing everything, and written to `mpigrad/_names.py`. `--check` writes nothing,
and fails if the file is out of date.
"""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
FILE = ROOT / "mpigrad" / "_names.py"
FAMILIES = ("_ops", "linalg", "autograd", "nn", "fft", "sparse")  # where operators and methods are defined
STARRED = ("mpigrad", "mpigrad.nn.functional", "mpigrad.nn.modules")  # packages that import `*` from modules
HEADER = '''"""Names that are imported on first use, by the module that defines them. Made by tools/names.py; do not edit."""

from __future__ import annotations

'''


class _Noted(importlib.machinery.SourceFileLoader):
    """Executes a module, and notes which methods and operators it has defined itself."""

    def exec_module(self, module: ModuleType) -> None:
        before = _defined()
        super().exec_module(module)
        for kind, names in _defined().items():
            new = [name for name in names if name not in before[kind] and name not in OWNERS[kind]]
            OWNERS[kind].update(dict.fromkeys(new, module.__name__.removeprefix("mpigrad.")))
            twice = [name for name, value in before[kind].items() if names[name] is not value]
            if twice:
                other = OWNERS[kind].get(twice[0])
                raise AssertionError(f"{module.__name__} and {other} both define {twice[0]} among the {kind}")


class _Finder:
    """Finds modules of the families."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if not name.startswith(tuple(f"mpigrad.{family}" for family in FAMILIES)) or path is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Noted(spec.loader.name, spec.loader.path)
        return spec


OWNERS: dict[str, dict[str, str]] = {"methods": {}, "operators": {}}


def _defined() -> dict[str, dict[str, Any]]:
    tensor, namespace = sys.modules.get("mpigrad._tensor"), sys.modules.get("mpigrad._graph.namespace")
    return {"methods": dict(getattr(tensor, "_DEFINED", {})), "operators": dict(getattr(namespace, "DEFINED", {}))}


def _exports(package: str) -> dict[str, list[str]]:
    """The modules of the `if TYPE_CHECKING:` block of a package, with the names that it imports from each."""
    path = Path(importlib.import_module(package).__file__ or "")
    owners: dict[str, str] = {}
    for node in _for_checkers(ast.parse(path.read_text())):
        module = importlib.import_module("." * node.level + (node.module or ""), package)
        named = [alias.name for alias in node.names]
        for name in module.__all__ if named == ["*"] else named:
            assert name not in owners, f"{package}: {owners.get(name)} and {module.__name__} both export {name}"
            owners[name] = module.__name__.removeprefix("mpigrad.")
    return _by_module(owners)


def _for_checkers(tree: ast.Module) -> Iterator[ast.ImportFrom]:
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from (each for each in node.body if isinstance(each, ast.ImportFrom))


def _by_module(owners: dict[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, module in owners.items():
        found.setdefault(module, []).append(name)
    return {module: sorted(names) for module, names in sorted(found.items())}


def _lines(table: dict[str, list[str]], indent: str) -> Iterator[str]:
    for module, names in table.items():
        words = textwrap.wrap(" ".join(names), 116, break_long_words=False, break_on_hyphens=False)
        if len(words) == 1 and len(module) + len(words[0]) + len(indent) < 110:
            yield f'{indent}"{module}": "{words[0]}",'
        else:
            yield f'{indent}"{module}": """'
            yield from (f"{indent}    {line}" for line in words)
            yield f'{indent}""",'


def text() -> str:
    """The file as it should be."""
    for family in FAMILIES:
        for path in sorted((ROOT / "mpigrad" / family).rglob("*.py")):
            if "parallel" not in path.parts:
                importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    lines = ["# The functions of packages that import `*` from modules.", "EXPORTS = {"]
    for package in STARRED:
        lines += [f'    "{package.removeprefix("mpigrad.")}": {{', *_lines(_exports(package), " " * 8), "    },"]
    lines += ["}", "# The methods that modules attach to `Tensor`.", "METHODS = {"]
    lines += [*_lines(_by_module(OWNERS["methods"]), "    "), "}", "# The operators that derivatives call as `F.name`."]
    lines += ["OPERATORS = {", *_lines(_by_module(OWNERS["operators"]), "    "), "}", ""]
    return HEADER + "\n".join(lines)


def main() -> int:
    sys.meta_path.insert(0, _Finder())  # type: ignore[arg-type]
    importlib.import_module("mpigrad")
    wanted = text()
    if FILE.read_text() == wanted:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{FILE.relative_to(ROOT)} is out of date: run python tools/names.py")
        return 1
    FILE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
