"""The modules that are compiled when mpigrad is installed, and the switch that runs them as plain Python.

Everything is written in Python and runs as such. The way of a message and of a backward pass consists of many small steps,
so `setup.py` has Cython translate the modules of MODULES, as they are, to C: a context with a remote call and its backward pass
takes half of the time then. A `.pxd` file beside a module says what C is to know of it: attributes that have a fixed place in
memory, types of a few variables, functions that compiled modules call without going through Python (`cpdef`). A `.pyx` file is
compiled in the module's place: what Python has no fast form for, and what needs calls of the system or the processor. The
`.pxd` files of modules that are not compiled (`_tensor`, `_core/nodes`) say where slots of their classes lie.

Both forms behave alike, and the tests run with both. `MPIGRAD_COMPILED=0` chooses plain Python, for a debugger or a profiler
that shall see every line; `mpigrad doctor` says which form runs.

What may be in MODULES
- Nothing that users pickle by value or look into with `inspect`, and no operator.
- Compiled code notices neither signals nor threads that want the GIL. A loop that waits calls `breathe`.
- Nothing that counts frames: compiled functions have none.
- Classes in `.pxd` files cannot be changed at run time, nor can methods of their objects: observers are called at named points
  (`_core/rpc/instruments.py`). Tests cannot replace a `cpdef` function in its module: compiled callers would not see it.
- A type in a `.pxd` file holds: `list` and `dict` are those and no subclass, a class may be a subclass or None. What may be given
  by users or a GPU's layer has no type there. Names are imported from the module that defines them, as the `.pxd` file does.
- An object whose slots are still empty has no type in a `.pxd` file: C would take what is not there for an object.
- `cpdef` functions have neither closures nor generators in them.
- No `__del__` in a class of a `.pxd` file: when Python ends, it would run after the module's variables are gone.
- Counted references are measured in place, never assumed: compiled callers hold fewer.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

MODULES = (
    "_core.accumulate",
    "_core.autograd.api",
    "_core.autograd.backward_pass",
    "_core.autograd.branch",
    "_core.autograd.container",
    "_core.autograd.context",
    "_core.autograd.coordination",
    "_core.autograd.engine",
    "_core.autograd.gradients",
    "_core.autograd.initiator",
    "_core.autograd.interceptor",
    "_core.autograd.joined",
    "_core.autograd.nodes",
    "_core.autograd.partition",
    "_core.autograd.path",
    "_core.autograd.reach",
    "_core.autograd.release",
    "_core.engine",
    "_core.future",
    "_core.guard",
    "_core.loops",
    "_core.mutex",
    "_core.node",
    "_core.recording",
    "_core.rpc.agent",
    "_core.rpc.arrays",
    "_core.rpc.base",
    "_core.rpc.call_table",
    "_core.rpc.codec",
    "_core.rpc.cross_memory",
    "_core.rpc.function_names",
    "_core.rpc.idle",
    "_core.rpc.instruments",
    "_core.rpc.lead",
    "_core.rpc.mpi",
    "_core.rpc.offers",
    "_core.rpc.owner_calls",
    "_core.rpc.payload",
    "_core.rpc.pickling",
    "_core.rpc.pool",
    "_core.rpc.raw_message",
    "_core.rpc.receive_pool",
    "_core.rpc.remote",
    "_core.rpc.rref",
    "_core.rpc.send_queue",
    "_core.rpc.sender",
    "_core.rpc.server",
    "_core.rpc.table",
    "_core.rpc.waiting",
    "_core.rpc.wire",
    "_core.saved",
    "_core.views",
    "_core.wrapping",
)
SETTING = "MPIGRAD_COMPILED"


def wanted() -> bool | None:
    """What the environment asks for: compiled modules (True), plain Python (False), or what there is (None)."""
    text = os.environ.get(SETTING, "")
    if text not in ("", "0", "1"):
        raise ValueError(f"{SETTING} is {text!r}: 0 runs plain Python, 1 demands compiled modules, nothing takes what there is")
    return None if not text else text == "1"


class _PlainPython:
    """Finds the Python source of modules that have a compiled form beside it."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        package, _, module = name.rpartition(".")
        if package.partition(".")[0] != __package__ or name.partition(".")[2] not in MODULES or path is None:
            return None
        for folder in path:
            file = os.path.join(folder, module + ".py")
            if os.path.exists(file):
                loader = importlib.machinery.SourceFileLoader(name, file)
                return importlib.util.spec_from_file_location(name, file, loader=loader)
        return None


def choose() -> None:
    """Follow the environment. Called once, before the first of MODULES is imported."""
    asked = wanted()
    if asked is False:
        import importlib.util  # noqa: F401

        sys.meta_path.insert(0, _PlainPython())  # type: ignore[arg-type]
    elif asked and (lacking := set(MODULES) - {name for name, _ in files()}):
        raise ImportError(
            f"{SETTING}=1, but {len(lacking)} of {len(MODULES)} modules are not compiled ({', '.join(sorted(lacking)[:3])} "
            "...): install mpigrad again with a C compiler, or unset it"
        )


def files() -> Iterator[tuple[str, Path]]:
    """The modules that have a compiled form for this interpreter, and its files."""
    from pathlib import Path

    home = Path(__file__).parent
    for name in MODULES:
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            file = home / (name.replace(".", "/") + suffix)
            if file.exists():
                yield name, file
                break


def running() -> tuple[int, int]:
    """How many of MODULES run compiled in this process, and how many were imported at all."""
    loaded = [module for name in MODULES if (module := sys.modules.get(f"{__package__}.{name}")) is not None]
    return sum(not str(module.__file__).endswith(".py") for module in loaded), len(loaded)


def state() -> str:
    """Which form runs, in words."""
    if wanted() is False:
        return "plain Python, as MPIGRAD_COMPILED=0 asks for"
    found = [file for _, file in files()]
    if not found:
        return "plain Python"
    count = "" if len(found) == len(MODULES) else f"{len(found)} of "
    trained = ", with a profile of a training run" if all(map(_trained, found)) else ""
    return f"{count}{len(MODULES)} modules compiled{trained}"


def _trained(file: Path) -> bool:
    return b"-fprofile-use" in file.read_bytes()  # GCC was asked to note how it was called


def stale() -> list[str]:
    """The modules whose source has changed since they were compiled: what runs is not what the files say."""
    return [name for name, file in files() if file.stat().st_mtime < max(map(_changed, _sources(name, file)))]


# By a module that knows them: where slots of classes lie that are not compiled. Others that do are compiled with it.
_LAYOUTS = {"_core.wrapping": "../_tensor", "_core.engine": "nodes", "_core.autograd.context": "ends"}


def _sources(name: str, file: Path) -> Iterator[Path]:
    stem = file.name.partition(".")[0]
    if name in _LAYOUTS:
        yield from file.parent.glob(_LAYOUTS[name] + ".pxd")
    yield file.with_name(stem + ".py")
    yield from file.parent.glob(stem + ".p[xy][dx]")


def _changed(file: Path) -> float:
    return file.stat().st_mtime


def breathe() -> None:
    """Give signals and other threads their turn: entering an interpreted function does, compiled code never."""
