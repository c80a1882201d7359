"""Products and softmaxes of sparse tensors beside PyTorch's: places, values, names of nodes, gradients and their layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad

torch: Any = pytest.importorskip("torch")
torch.set_num_threads(1)
torch.sparse.check_sparse_tensor_invariants.enable()  # or else it warns
BOTH = (torch, mpigrad)
LISTS = {
    "repeats": ([[0, 1, 1, 0], [2, 0, 2, 2]], [1.0, 2.0, 3.0, 4.0]),
    "longer": ([[1, 0, 1, 2, 1], [0, 2, 0, 2, 2]], [5.0, 6.0, 7.0, 8.0, 9.0]),
    "as long": ([[1, 0, 1, 2], [0, 2, 0, 2]], [5.0, 6.0, 7.0, 8.0]),
    "single": ([[1], [0]], [3.0]),
    "empty": ([[], []], []),
}


def matrix(lib: Any, name: str, coalesced: bool = False) -> Any:
    places, values = LISTS[name]
    made = lib.sparse_coo_tensor(lib.tensor(places, dtype=lib.int64), lib.tensor(values, dtype=lib.float32), (3, 3))
    return (made.coalesce() if coalesced else made).requires_grad_()


def parts(x: Any) -> tuple[Any, ...]:
    if x is None or not x.is_sparse:
        return (None if x is None else np.asarray(x.detach().tolist()),)
    return x.is_coalesced(), np.asarray(x._indices().tolist()), np.asarray(x.detach()._values().tolist())


def same(wanted: tuple[Any, ...], found: tuple[Any, ...]) -> None:
    assert len(wanted) == len(found)
    for ours, theirs in zip(found, wanted):
        if isinstance(theirs, np.ndarray):
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-7)
        else:
            assert ours == theirs


@pytest.mark.parametrize("first", list(LISTS))
@pytest.mark.parametrize("second", list(LISTS))
@pytest.mark.parametrize("coalesced", [(False, False), (True, False), (False, True), (True, True)])
def test_product_of_two(first: str, second: str, coalesced: tuple[bool, bool]) -> None:
    def run(lib: Any) -> list[Any]:
        x, y = matrix(lib, first, coalesced[0]), matrix(lib, second, coalesced[1])
        made = x * y
        lib.sparse.sum(made).backward()
        dense = [lib.zeros(3, 3) if each.grad is None else each.grad.to_dense() for each in (x, y)]
        return [(made.grad_fn.name(), *parts(made)), *map(parts, dense)]

    for theirs, ours in zip(*map(run, BOTH)):
        same(theirs, ours)


@pytest.mark.parametrize("how", ["addmm", "sparse.addmm", "method"])
@pytest.mark.parametrize("factors", [{}, {"beta": 0.5, "alpha": 2.0}, {"beta": 0}])
@pytest.mark.parametrize("shape", [(3, 4), (4,), (1, 4)])
def test_product_added_to_something(how: str, factors: dict[str, float], shape: tuple[int, ...]) -> None:
    def run(lib: Any) -> list[Any]:
        c = lib.arange(1.0, 1.0 + int(np.prod(shape))).reshape(shape).requires_grad_()
        a, b = matrix(lib, "repeats"), lib.arange(12.0).reshape(3, 4).requires_grad_()
        call = {"addmm": lib.addmm, "sparse.addmm": lib.sparse.addmm, "method": lambda c, *rest, **kw: c.addmm(*rest, **kw)}
        made = call[how](c, a, b, **factors)
        (made * lib.arange(12.0).reshape(3, 4)).sum().backward()
        sparse = a.grad.is_sparse
        return [(made.grad_fn.name(), sparse, *parts(made)), *map(parts, (c.grad, a.grad.to_dense(), b.grad))]

    for theirs, ours in zip(*map(run, BOTH)):
        same(theirs, ours)


def test_a_sparse_sum_is_refused() -> None:
    texts = []
    for lib in BOTH:
        with pytest.raises(RuntimeError) as caught:
            lib.addmm(matrix(lib, "repeats"), matrix(lib, "repeats"), lib.ones(3, 3))
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_along_dense_and_sparse_dimensions(name: str, dim: int) -> None:
    def run(lib: Any) -> list[Any]:
        values = [[[1.0, 2.0], [0.5, -1.0]], [[3.0, 4.0], [1.0, 1.0]], [[5.0, 7.0], [2.0, 0.0]]]
        x = lib.sparse_coo_tensor(lib.tensor([[0, 2, 0]]), lib.tensor(values), (3, 2, 2), requires_grad=True)
        made = getattr(lib.sparse, name)(x, dim)
        weights = lib.sparse_coo_tensor(made._indices(), lib.arange(8.0).reshape(2, 2, 2), (3, 2, 2)).coalesce()
        lib.sparse.sum(made * weights).backward()
        return [(made.grad_fn.name(), *parts(made)), parts(x.grad.to_dense())]

    for theirs, ours in zip(*map(run, BOTH)):
        same(theirs, ours)
