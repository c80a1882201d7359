"""A third framework is added by an adapter of a page: HIPS autograd."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from tests.interop.hips_autograd import variable
from tests.support.in_memory import acting_as, world_in_memory


@pytest.fixture(autouse=True)
def world() -> Iterator[None]:
    with world_in_memory(3) as agents, acting_as(agents[0]):
        yield


W = variable(np.linspace(0.1, 0.9, 9).reshape(3, 3))  # a parameter, on the worker that uses it


def layer(w: Any, x: Any) -> Any:
    return anp.tanh(anp.dot(x, w))


def on_worker(x: Any) -> Any:
    return layer(W, x)


def around(x: Any, workers: list[str]) -> Any:
    """Every worker applies the layer, and lets the next one go on."""
    y = on_worker(x)
    return y if not workers else rpc.rpc_sync(workers[0], around, args=(y, workers[1:]))


def twice(x: Any) -> Any:
    return x, anp.sin(x)


def own_gradient(context_id: int) -> Any:
    """Runs on a worker: its part of the gradient of W."""
    return dist_autograd.get_gradients(context_id).get(W, 0.0)


def gradient_of_w(context_id: int) -> Any:
    return sum(rpc.rpc_sync(f"worker{rank}", own_gradient, args=(context_id,)) for rank in range(3))


X = np.linspace(-1, 1, 6).reshape(2, 3)


def test_boxes_travel() -> None:
    x = variable(X)
    assert np.array_equal(rpc.rpc_sync("worker1", on_worker, args=(x,))._value, layer(W._value, X))


def test_gradients_are_those_of_one_process() -> None:
    x = variable(X)
    with dist_autograd.context() as context_id:
        y = rpc.rpc_sync("worker1", on_worker, args=(x,))
        loss = anp.sum(anp.sin(y) ** 2)
        dist_autograd.backward(context_id, [loss])
        found = dist_autograd.get_gradients(context_id)[x], gradient_of_w(context_id)
    wanted = autograd.grad(lambda x, w: anp.sum(anp.sin(layer(w, x)) ** 2), (0, 1))(X, W._value)
    assert np.allclose(found[0], wanted[0]) and np.allclose(found[1], wanted[1])


def test_a_chain_around_the_workers() -> None:
    x = variable(X)
    with dist_autograd.context() as context_id:
        loss = anp.sum(around(x, ["worker1", "worker2", "worker0", "worker1"]))
        dist_autograd.backward(context_id, [loss])
        found = dist_autograd.get_gradients(context_id)[x], gradient_of_w(context_id)

    def alone(x: Any, w: Any) -> Any:
        for _ in range(5):
            x = layer(w, x)
        return anp.sum(x)

    wanted = autograd.grad(alone, (0, 1))(X, W._value)
    assert np.allclose(found[0], wanted[0]) and np.allclose(found[1], wanted[1])


def test_several_results_and_one_of_them_unused() -> None:
    x = variable(X)
    with dist_autograd.context() as context_id:
        _, sine = rpc.rpc_sync("worker1", twice, args=(x * 2.0,))
        dist_autograd.backward(context_id, [anp.sum(sine * x)])
        found = dist_autograd.get_gradients(context_id)[x]
    assert np.allclose(found, autograd.grad(lambda x: anp.sum(anp.sin(x * 2.0) * x))(X))


def test_both_kinds_of_tensors_in_one_message() -> None:
    with dist_autograd.context() as context_id:
        x, y = variable(X), mpigrad.ones(2, 3, dtype=mpigrad.float64, requires_grad=True)
        boxed, ours = rpc.rpc_sync("worker1", swap, args=(y, x))
        dist_autograd.backward(context_id, [anp.sum(boxed**2), (ours**2).sum()])
        found = dist_autograd.get_gradients(context_id)
    assert np.allclose(found[x], 2 * X) and found[y].tolist() == [[2.0] * 3] * 2


def swap(first: Any, second: Any) -> Any:
    return second, first
