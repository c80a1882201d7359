"""Every name of PyTorch's modules for distributed programs exists here, or docs/porting.md lists it with the reason."""

from __future__ import annotations

import importlib
import pkgutil
import re
import types
import typing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
PAGE = Path(__file__).parents[2] / "docs" / "porting.md"
WHOLE = ["distributed.rpc", "distributed.autograd", "distributed.optim", "distributed.nn", "futures"]  # _private names, too
PUBLIC = ["distributed", "distributed.pipelining", "distributed.tensor.parallel", "multiprocessing"]


def ours(module: str) -> Any:
    """Our module of that name; None if there is none."""
    try:
        return importlib.import_module(f"mpigrad.{module}")
    except ImportError:
        return None


def modules_of(package: str) -> list[str]:
    found = importlib.import_module(f"torch.{package}")
    below = pkgutil.walk_packages(found.__path__, found.__name__ + ".") if hasattr(found, "__path__") else []
    return [each.partition(".")[2] for each in (found.__name__, *(each.name for each in below))]


def names_of(module: str) -> set[str]:
    """PyTorch's own names in a module: those it defines; of packages, also those they take from other parts of PyTorch."""
    theirs = importlib.import_module(f"torch.{module}")
    homes = ("torch",) if hasattr(theirs, "__path__") else (theirs.__name__, "torch._C")
    found = set()
    for name, value in vars(theirs).items():
        home = getattr(value, "__module__", None)
        plain = not isinstance(home, str) and not hasattr(typing, name)
        if not name.startswith("__") and not isinstance(value, (types.ModuleType, typing.TypeVar)):
            if plain or isinstance(home, str) and home.startswith(homes):
                found.add(name)
    return found


def absent() -> set[str]:
    """What of PyTorch's is not here."""
    found = set()
    for module in (each for package in WHOLE for each in modules_of(package)):
        here = ours(module)
        found |= {module} if here is None else {f"{module}.{name}" for name in names_of(module) if not hasattr(here, name)}
    for package in PUBLIC:
        theirs, here = importlib.import_module(f"torch.{package}"), ours(package)
        names = names_of(package) | {each.name for each in pkgutil.iter_modules(theirs.__path__)}
        found |= {f"{package}.{name}" for name in names if not name.startswith("_") and not hasattr(here, name)}
    return found


def listed() -> set[str]:
    """What the page says is missing: rows of a module, its names (or "all of it"), and the reason."""
    (table,) = re.findall(r"^### Names\n(.*?)(?=^#|\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    found = set()
    for modules, names, why in re.findall(r"^\| (`.*?) \| (.*?) \| (.*?) \|$", table, re.MULTILINE):
        assert why.strip(), f"no reason for {modules}: {names}"
        for module in re.findall(r"`([\w.]+)`", modules):
            found |= {module} if names == "all of it" else {f"{module}.{name}" for name in re.findall(r"`(\w+)`", names)}
    return found


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # importing all of PyTorch's modules
def test_the_list_of_missing_names_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.distributed.rpc import backend_registry

    monkeypatch.setattr(backend_registry, "BackendType", backend_registry.BackendType)  # one of PyTorch's modules replaces it
    missing, told = absent(), listed()
    assert not missing - told, f"neither here nor listed in docs/porting.md: {sorted(missing - told)}"
    assert not told - missing, f"listed in docs/porting.md, but here, or not PyTorch's: {sorted(told - missing)}"
