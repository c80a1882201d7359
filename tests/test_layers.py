"""The layer table of docs/design.md, checked against every import of the package; and no cycles between modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mpigrad"

# Imports that go up the table or close a cycle, each with the reason why it has to. (importer, imported): reason
SAVE = "`f.save()` is PyTorch's method; files need everything else of the compiler"
SCRIPTED_RPC = "scripted functions may call these by name; they are imported when such a function is compiled"
LOADED = "every worker must be able to take part in what these layers do, so they are loaded before it serves"
DECLARED = {
    ("mpigrad.distributed.rpc._world.new_agent", "mpigrad.distributed.autograd"): LOADED,
    ("mpigrad.distributed.rpc._world.new_agent", "mpigrad._watchdog.install"): LOADED,
    ("mpigrad._ops.create.legacy", "mpigrad.cuda"): "names `torch.cuda.FloatTensor` in a class's `__module__`; imports nothing",
    ("mpigrad._ops.tensor.file_names", "mpigrad.nn.parameter"): "files may name parameters, whose module is then imported",
    ("mpigrad.profiler", "mpigrad.profiler._workers.trace"): "`profiler.trace_workers` is loaded when it is asked for",
    ("mpigrad.jit._ir.operators", "mpigrad.distributed.rpc"): SCRIPTED_RPC,
    ("mpigrad.jit._ir.operators", "mpigrad.distributed.autograd"): SCRIPTED_RPC,
    ("mpigrad.jit._ir.operators", "mpigrad.distributed.rpc._scripts"): SCRIPTED_RPC,
    ("mpigrad.jit._ir.operators", "mpigrad.distributed.rpc._rref.in_files"): "RRefs in files, imported when there is one",
    ("mpigrad.jit._files.archive", "mpigrad.jit"): "the name of the file format; imports nothing",
    ("mpigrad.jit._frontend.function", "mpigrad.jit._files.save"): SAVE,
    ("mpigrad.jit._frontend.module", "mpigrad.jit._files.save"): SAVE,
    ("mpigrad.jit._frontend.module", "mpigrad.jit._files.load"): "scripted modules travel between workers as files do",
}


@cache
def layer_table() -> dict[str, int]:
    """The row of each module named in the design's table."""
    text = (ROOT / "docs" / "design.md").read_text()
    rows = re.findall(r"^\| *(\d+) *\|(.*)\|$", text, re.MULTILINE)
    return {name: int(row) for row, cell in rows for name in re.findall(r"`(mpigrad[\w.]*)`", cell)}


def row_of(module: str) -> int | None:
    """The row of the longest table entry that covers the module, or None for the package itself."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        row = layer_table().get(".".join(parts[:length]))
        if row is not None:
            return row
    return None


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def import_nodes(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import statement below a node, at any depth, except those for type checkers only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif _is_type_checking(child):
            for other in child.orelse:
                yield from import_nodes(other)
        else:
            yield from import_nodes(child)


Nodes = Callable[[ast.AST], Iterator[ast.Import | ast.ImportFrom]]


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def imported(path: Path, nodes: Nodes = import_nodes) -> Iterator[tuple[int, str]]:
    """Line and full module name of everything that a file imports."""
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    for node in nodes(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
            continue
        base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        module = ".".join([*base, *filter(None, [node.module])])
        for alias in node.names:
            full = f"{module}.{alias.name}"
            yield node.lineno, full if module.startswith("mpigrad") and is_module(full) else module


def named(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of modules that stand in a file as text, as `import_module` takes them."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"mpigrad(\.\w+)+", node.value):
            if is_module(node.value):
                yield node.lineno, node.value


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def test_table_is_found() -> None:
    assert layer_table()["mpigrad._version"] == 1
    assert row_of("mpigrad.distributed.rpc.api") < row_of("mpigrad.distributed.autograd")


def test_table_names_exist_or_are_planned_once() -> None:
    text = (ROOT / "docs" / "design.md").read_text()
    cells = re.findall(r"^\| *\d+ *\|(.*)\|$", text, re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`(mpigrad[\w.]*)`", cell)]
    assert len(names) == len(set(names))


def problems(path: Path) -> Iterator[str]:
    """Imports of one file that the table forbids."""
    module = module_name(path)
    last = max(layer_table().values())
    own = row_of(module)
    if own is None and path.name != "__init__.py":
        yield f"{module} is in no row of docs/design.md"
    own = last if own is None else own  # a package that only holds others
    for line, name in (*imported(path), *named(path)):
        where = f"{path.relative_to(ROOT)}:{line}"
        row = row_of(name) if name.startswith("mpigrad.") else None
        if name == "mpigrad" and own < last:
            yield f"{where} imports the package root; import from the defining file"
        elif row is not None and row > own and (module, name) not in DECLARED:
            yield f"{where} (row {own}) imports {name} (row {row})"
        elif name.split(".")[0] in ("cupy", "cupyx") and module != "mpigrad._array.device":
            yield f"{where} imports cupy; ask mpigrad._array.device for the array module"


def test_imports_come_from_rows_above() -> None:
    found = [problem for path in FILES for problem in problems(path)]
    assert not found, "\n".join(found)


def test_a_forbidden_import_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    layer_table()  # remembered from the real file
    file = tmp_path / "mpigrad" / "_array" / "device.py"
    file.parent.mkdir(parents=True)
    file.write_text("def f():\n    import mpigrad.distributed.rpc\nfrom .. import _tensor\nimport mpigrad\n")
    (tmp_path / "mpigrad" / "_tensor.py").touch()
    assert [problem.partition(" ")[0] for problem in problems(file)] == [f"mpigrad/_array/device.py:{n}" for n in (2, 3, 4)]


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The modules that import each other, directly or through others (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            at = stack.index(module)
            component = stack[at:]
            del stack[at:]
            if len(component) > 1:
                found.append(sorted(component))

    for module in sorted(graph):
        if module not in index:
            visit(module)
    return found


def import_graph() -> dict[str, set[str]]:
    """Every import between modules of the package, also those inside functions. Packages that only re-export are left out."""
    modules = {module_name(path): path for path in FILES if path.name != "__init__.py"}
    return {module: {name for _, name in imported(path)} & modules.keys() - {module} for module, path in modules.items()}


def test_no_module_imports_itself_through_others() -> None:
    graph = import_graph()
    for module, name in DECLARED:
        graph.get(module, set()).discard(name)
    assert cycles(graph) == []


def test_declared_imports_exist_and_have_a_reason() -> None:
    graph = import_graph()
    texts = {module_name(path): {name for _, name in named(path)} for path in FILES}
    for (module, name), reason in DECLARED.items():
        assert name in graph.get(module, set()) | texts[module], f"{module} does not import {name} any more"
        assert reason, f"why does {module} import {name}?"


# Packages that a worker imports before it has threads, with all modules that they import.
BEFORE_THREADS = {"mpigrad._core.rpc", "mpigrad._core.autograd", "mpigrad.interop"}


def waiting_graph() -> dict[str, set[str]]:
    """For which other modules the import of a module waits: those that it imports when it is executed, and its package."""
    modules = {module_name(path): path for path in FILES}
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        names = {name for _, name in imported(path, import_nodes_when_executed)}
        found[module] = (names | {module.rpartition(".")[0]}) & modules.keys() - {module}
    return found


def import_nodes_when_executed(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif not isinstance(child, (ast.FunctionDef, ast.Lambda)) and not _is_type_checking(child):
            yield from import_nodes_when_executed(child)


def test_threads_do_not_wait_for_each_others_imports() -> None:
    """A package and its modules may wait for each other if the package is always imported first.

    Otherwise a thread that imports such a module and one that imports the package wait for each other, and Python gives one of
    them a half-imported module. So a package whose modules are imported one by one imports none itself: see `_process/lazy.py`.
    """
    graph = waiting_graph()
    for knot in cycles(graph):
        head = min(knot, key=lambda name: (name.count("."), name))
        if head in BEFORE_THREADS or head.startswith(("mpigrad._cli", "mpigrad.testing")):
            continue
        for module, names in graph.items():
            inner = (names & set(knot)) - {head}
            assert module in knot or not inner, f"{module} imports {inner}, which {head} imports: make {head} lazy"


def test_cycles_are_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
