"""The table of operators run by PyTorch too (its source with one word replaced): values, gradients, names of nodes."""

from __future__ import annotations

import re
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpigrad
import tests.ops.table as our_table

torch = pytest.importorskip("torch")

FOLDER = Path(our_table.__file__).parent
FAMILIES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "case"))
# Compositions that are put together from other parts here, and heaviside, which has a derivative here.
COMPOSED = re.compile(
    r"pairwise_distance|kron|chain_matmul|einsum|shape: combinations|cross_entropy with probabilities|ndtr |trapezoid"
    r"|nanquantile|with a number: heaviside"
)
# PyTorch has no gradient, or one of other numbers: an arbitrary choice among equals, or the phase of a vector.
OTHER_GRADIENTS = re.compile(r"heaviside|linalg eig|linalg svd|vander")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # its threads would wait for each other on a busy machine
    yield
    torch.set_num_threads(before)


def _load(name: str) -> Any:
    """A family of the table, of PyTorch's functions."""
    full = f"torch_table.{name}"
    if full not in sys.modules:
        sys.modules.setdefault("torch_table", types.ModuleType("torch_table"))
        if name != "case":
            _load("case")
        made = sys.modules[full] = types.ModuleType(full)
        text = (FOLDER / f"{name}.py").read_text().replace("mpigrad", "torch").replace("tests.ops.table", "torch_table")
        exec(compile(text, f"{full} (from tests/ops/table)", "exec"), made.__dict__)
    return sys.modules[full]


def _run(lib: Any, case: Any) -> tuple[list[Any], list[Any]]:
    inputs = case.make(lib.float64)
    made = case.function(*inputs)
    outputs = list(made) if isinstance(made, (tuple, list)) else [made]
    recorded = [each for each in outputs if each.requires_grad]
    wanted = [each for each in inputs if each.requires_grad]
    if not recorded or OTHER_GRADIENTS.search(case.name):
        return outputs, []
    seeds = [_seed(lib, each) for each in recorded]
    return outputs, list(lib.autograd.grad(recorded, wanted, seeds, allow_unused=True))


def _seed(lib: Any, output: Any) -> Any:
    values = np.random.default_rng(output.numel()).uniform(0.5, 1.5, tuple(output.shape))
    return lib.tensor(values, dtype=output.dtype)


def _array(value: Any) -> np.ndarray:
    return value.detach().resolve_conj().numpy(force=True)


def _differences(ours: Any, theirs: Any) -> Iterator[str]:
    (mine, my_grads), (wanted, their_grads) = _run(mpigrad, ours), _run(torch, theirs)
    if len(mine) != len(wanted):
        yield f"{len(mine)} results, not {len(wanted)}"
        return
    for a, b in zip(mine, wanted):
        if a.shape != tuple(b.shape) or not np.allclose(_array(a), _array(b), rtol=1e-6, atol=1e-8, equal_nan=True):
            yield "other values"
        names = [each.grad_fn and each.grad_fn.name() for each in (a, b)]
        if names[0] != names[1] and not COMPOSED.match(ours.name):
            yield f"node {names[0]}, not {names[1]}"
    for a, b in zip(my_grads, their_grads):
        found, expected = (0 if each is None else _array(each) for each in (a, b))
        if not np.allclose(found, expected, rtol=1e-5, atol=1e-7):
            yield "other gradients"


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    ours = list(getattr(sys.modules[f"tests.ops.table.{family}"], family)())
    theirs = list(getattr(_load(family), family)())
    assert [each.name for each in ours] == [each.name for each in theirs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [f"{a.name}: {what}" for a, b in zip(ours, theirs) for what in _differences(a, b)]
    assert not found, "\n".join(found)
