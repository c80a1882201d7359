"""Several backward passes at once, from several threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mpigrad
from mpigrad._core import node

F64 = mpigrad.float64
THREADS, ROUNDS = 4, 200


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[int], Any]) -> list[Any]:
    results: list[Any] = [None] * THREADS
    start = threading.Barrier(THREADS)

    def run(place: int) -> None:
        start.wait(10)
        try:
            results[place] = work(place)
        except BaseException as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


@pytest.mark.parametrize("create_graph", [False, True])
def test_one_leaf_gets_all_gradients(create_graph: bool) -> None:
    x = mpigrad.ones(3, dtype=F64, requires_grad=True)

    def work(place: int) -> None:
        for _ in range(ROUNDS):
            ((x * 2) + x).sum().backward(create_graph=create_graph)

    in_threads(work)
    assert x.grad.tolist() == [3.0 * THREADS * ROUNDS] * 3


def test_one_graph_many_passes() -> None:
    x = mpigrad.ones(3, dtype=F64, requires_grad=True)
    y = x
    for _ in range(50):
        y = y * 1.0 + x * 0.0

    def work(place: int) -> list[float]:
        for _ in range(10):
            (grad,) = mpigrad.autograd.grad(y.sum(), x, retain_graph=True)
        return grad.tolist()

    assert in_threads(work) == [[1.0, 1.0, 1.0]] * THREADS


def test_modes_are_each_threads_own() -> None:
    def work(place: int) -> bool:
        x = mpigrad.ones(1, dtype=F64, requires_grad=True)
        for _ in range(ROUNDS):
            if place % 2:
                with mpigrad.no_grad():
                    assert not (x * 2).requires_grad
            else:
                assert (x * 2).requires_grad
                (x * 2).backward()
        return mpigrad.is_grad_enabled()

    assert in_threads(work) == [True] * THREADS


def test_hooks_of_one_leaf() -> None:
    x, seen, lock = mpigrad.ones(1, dtype=F64, requires_grad=True), [], threading.Lock()

    def hook(grad: mpigrad.Tensor) -> None:
        with lock:
            seen.append(grad.item())

    x.register_hook(hook)
    in_threads(lambda place: [(x * float(place)).backward() for _ in range(50)])
    assert sorted(seen) == sorted([float(place) for place in range(THREADS)] * 50)


def test_an_accumulator_is_found_only_with_its_hooks(monkeypatch) -> None:
    """Another thread looks for the leaf's accumulator at the very moment its hooks are attached."""
    x = mpigrad.ones(1, dtype=F64, requires_grad=True)
    x.register_hook(lambda grad: grad * 10)
    attach, found = node.hooks_of, []

    def attach_slowly(made: node.Node) -> node.Hooks:
        found.append(x._extra.accumulate is not None and x._extra.accumulate() is made)
        return attach(made)

    monkeypatch.setattr(node, "hooks_of", attach_slowly)
    (x * 2).backward()
    assert found == [False] and x.grad.item() == 20.0


def test_threads_agree_on_the_end_of_the_graph() -> None:
    """A leaf that several threads use for the first time at once has one AccumulateGrad all the same."""
    leaves = [mpigrad.ones(1, dtype=F64, requires_grad=True) for _ in range(ROUNDS)]

    def work(place: int) -> list[float]:
        made = [leaf * 2 for leaf in leaves]
        return [mpigrad.autograd.grad(y, leaf)[0].item() for y, leaf in zip(made, leaves)]

    assert in_threads(work) == [[2.0] * ROUNDS] * THREADS


def test_hook_ids_are_unique() -> None:
    x = mpigrad.ones(1, dtype=F64, requires_grad=True)
    handles = in_threads(lambda place: [x.register_hook(lambda grad: None).id for _ in range(ROUNDS)])
    assert len({each for ids in handles for each in ids}) == THREADS * ROUNDS
