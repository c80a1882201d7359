"""The modules that are compiled when mpigrad is installed, and the switch that runs them as plain Python.

The folder `_core` is compiled with Cython; docs/compiled.md explains why, and the rules for code in it. Both forms behave alike.
`MPIGRAD_COMPILED=0` selects plain Python; `mpigrad doctor` shows which form runs.
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

_CORE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_core")


def _modules() -> tuple[str, ...]:
    """Every module of the folder `_core`, by its name in the package."""
    found = []
    for folder, _, names in os.walk(_CORE):
        above = os.path.relpath(folder, os.path.dirname(_CORE)).replace(os.sep, ".")
        found += [f"{above}.{name[:-3]}" for name in names if name.endswith(".py") and name != "__init__.py"]
    return tuple(sorted(found))


MODULES = _modules()
SETTING = "MPIGRAD_COMPILED"


def wanted() -> bool | None:
    """The environment's choice: compiled modules (True), plain Python (False), or whichever exists (None)."""
    text = os.environ.get(SETTING, "")
    if text not in ("", "0", "1"):
        raise ValueError(f"{SETTING} is {text!r}: it can be 0 (plain Python), 1 (compiled modules required) or unset (either)")
    return None if not text else text == "1"


class _PlainPython:
    """An import finder that selects the Python source of modules that also have a compiled form."""

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
    """Apply the environment's choice. Called once, before the first module of `_core` is imported."""
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
    """The modules that have a compiled form for this interpreter, with the files."""
    from pathlib import Path

    home = Path(__file__).parent
    for name in MODULES:
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            file = home / (name.replace(".", "/") + suffix)
            if file.exists():
                yield name, file
                break


def running() -> tuple[int, int]:
    """The number of MODULES that run compiled in this process, and the number of those that have been imported."""
    loaded = [module for name in MODULES if (module := sys.modules.get(f"{__package__}.{name}")) is not None]
    return sum(not str(module.__file__).endswith(".py") for module in loaded), len(loaded)


def state() -> str:
    """A description of the form that runs, for `mpigrad doctor`."""
    if wanted() is False:
        return "plain Python, as MPIGRAD_COMPILED=0 asks for"
    found = [file for _, file in files()]
    if not found:
        return "plain Python"
    count = "" if len(found) == len(MODULES) else f"{len(found)} of "
    trained = ", with a profile of a training run" if all(map(_trained, found)) else ""
    return f"{count}{len(MODULES)} modules compiled{trained}"


def _trained(file: Path) -> bool:
    return b"-fprofile-use" in file.read_bytes()  # GCC records its options in the file


def stale() -> list[str]:
    """The modules whose source has changed since they were compiled."""
    return [name for name, file in files() if file.stat().st_mtime < max(map(_changed, _sources(name, file)))]


def _sources(name: str, file: Path) -> Iterator[Path]:
    stem = file.name.partition(".")[0]
    yield file.with_name(stem + ".py")
    yield from file.parent.glob(stem + ".p[xy][dx]")


def _changed(file: Path) -> float:
    return file.stat().st_mtime


def breathe() -> None:
    """Let signal handlers and other threads run, for long loops in compiled code.

    The interpreter checks for both whenever it enters a Python function; compiled code never does.
    """
