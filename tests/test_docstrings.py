"""Every public name says what it does."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

PUBLIC = (
    "mpigrad",
    "mpigrad.autograd",
    "mpigrad.autograd.function",
    "mpigrad.autograd.functional",
    "mpigrad.autograd.graph",
    "mpigrad.autograd.profiler",
    "mpigrad.futures",
    "mpigrad.linalg",
    "mpigrad.nn.functional",
    "mpigrad.profiler",
)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    listed = getattr(module, "__all__", [each for each in dir(module) if not each.startswith("_")])
    missing = []
    for each in listed:
        found = getattr(module, each)
        ours = str(getattr(found, "__module__", "")).startswith("mpigrad")
        if callable(found) and ours and not isinstance(found, ModuleType) and not found.__doc__:
            missing.append(each)
    assert not missing, f"without a docstring in {name}: {missing}"
