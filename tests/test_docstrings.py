"""Every public name says what it does, is in the reference, and, where this library adds to PyTorch, shows it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.rpc


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = load("reference")
SHOWN = (  # each function of these has an example, which the doctests run
    "mpigrad.autograd.functional",
    "mpigrad.distributed",
    "mpigrad.distributed.autograd",
    "mpigrad.distributed.checkpoint",
    "mpigrad.distributed.domain",
    "mpigrad.distributed.optim",
    "mpigrad.distributed.rpc",
    "mpigrad.futures",
    "mpigrad.multiprocessing",
    "mpigrad.profiler",
)
SAME_AS_ANOTHER = {"start_processes"}  # spawn under another name
# doctests have one rank
BETWEEN_TWO = {"batch_isend_irecv", "irecv", "isend", "recv", "recv_object_list", "send", "send_object_list"}
CLASSES_SHOWN = ("mpigrad.optim", "mpigrad.optim.lr_scheduler")
BASES = {"LRScheduler", "Optimizer"}


@pytest.mark.parametrize("name", reference.modules())
def test_public_names_have_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    missing = [each for each, value in reference.public(module) if not value.__doc__]
    assert not missing, f"without a docstring in {name}: {missing}"


@pytest.mark.parametrize("name", SHOWN)
def test_functions_have_examples(name: str) -> None:
    functions = [(each, value) for each, value in reference.public(importlib.import_module(name)) if inspect.isfunction(value)]
    known = SAME_AS_ANOTHER | BETWEEN_TWO
    missing = [each for each, value in functions if ">>>" not in inspect.getdoc(value) and each not in known]
    assert not missing, f"without an example in {name}: {missing}"


@pytest.mark.parametrize("name", CLASSES_SHOWN)
def test_optimizers_and_schedules_have_examples(name: str) -> None:
    found = reference.public(importlib.import_module(name))
    missing = [each for each, value in found if ">>>" not in (inspect.getdoc(value) or "") and each not in BASES]
    assert not missing, f"without an example in {name}: {missing}"


def test_every_public_name_is_in_the_reference() -> None:
    """Those that people import by a longer path, too."""
    pages = reference.modules()
    assert set(reference.MODULES) < set(pages) and len(pages) == len(set(pages))
    assert {"mpigrad.autograd.function", "mpigrad.nn.utils.rnn"} < set(pages)
    for page in pages:
        assert importlib.import_module(page).__doc__, page
    shown = {id(value) for page in pages for _, value in reference.public(importlib.import_module(page))}
    for each in pkgutil.walk_packages(mpigrad.__path__, "mpigrad."):
        if not any(part.startswith("_") for part in each.name.split(".")):
            hidden = [value for value in reference.listed(importlib.import_module(each.name)) if id(value) not in shown]
            assert not hidden, f"not in the reference: {hidden} of {each.name}"
    words = "\n".join(reference.page(mpigrad))
    assert "| `float32` | `mpigrad.float32` |" in words and "### Tensor.polygamma" in words
    said = dict(reference.methods(mpigrad.Tensor))
    silent = [name for name in vars(mpigrad.Tensor) if name[0] != "_" and name not in said]
    assert all(not callable(getattr(mpigrad.Tensor, name)) for name in silent), silent


def test_signatures_are_readable() -> None:
    assert reference.signature(mpigrad.distributed.rpc.get_worker_info) == "(worker_name: str | None = None) -> WorkerInfo"
    long = reference.wrapped("f", reference.signature(mpigrad.distributed.rpc.init_rpc))
    assert long.splitlines()[:2] == ["f(", "    name: str,"] and long.endswith("\n) -> None")
    options = reference.text_of(mpigrad.distributed.rpc.MPIRpcBackendOptions)
    assert "**Args**\n\n- `num_worker_threads`: how many" in options


def test_the_index_begins_with_starting_and_names_what_exists() -> None:
    text = "\n".join(reference.index())
    assert text.index("init_rpc") < text.index("rpc_sync") < text.index("all_reduce")
    shown = {f"{page}.{name}" for page in reference.modules() for name, _ in reference.public(importlib.import_module(page))}
    assert set(reference.FIRST) <= shown
    assert reference.public(mpigrad.distributed.rpc)[0][0] == "init_rpc"
    page = "\n".join(reference.page(mpigrad.distributed.autograd))
    assert "{py:function} backward" in page and "DistAutogradContext." not in page
