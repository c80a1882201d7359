"""Every public name says what it does, is in the reference, and, where this library adds to PyTorch, shows it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from pathlib import Path
from typing import Any

import pytest


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = load("reference")
SHOWN = (  # each function of these has an example, which the doctests run
    "mpigrad.autograd.functional",
    "mpigrad.distributed.autograd",
    "mpigrad.distributed.checkpoint",
    "mpigrad.distributed.optim",
    "mpigrad.distributed.rpc",
    "mpigrad.futures",
    "mpigrad.multiprocessing",
    "mpigrad.profiler",
)
SAME_AS_ANOTHER = {"start_processes"}  # spawn under another name


@pytest.mark.parametrize("name", reference.modules())
def test_public_names_have_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    missing = [each for each, value in reference.public(module) if not value.__doc__]
    assert not missing, f"without a docstring in {name}: {missing}"


@pytest.mark.parametrize("name", SHOWN)
def test_functions_have_examples(name: str) -> None:
    functions = [(each, value) for each, value in reference.public(importlib.import_module(name)) if inspect.isfunction(value)]
    missing = [each for each, value in functions if ">>>" not in inspect.getdoc(value) and each not in SAME_AS_ANOTHER]
    assert not missing, f"without an example in {name}: {missing}"


def test_every_public_name_is_in_the_reference() -> None:
    """Those that people import by a longer path, too."""
    pages = reference.modules()
    assert set(reference.MODULES) < set(pages) and len(pages) == len(set(pages))
    assert {"mpigrad.autograd.function", "mpigrad.nn.utils.rnn"} < set(pages)
    for page in pages:
        assert importlib.import_module(page).__doc__, page
