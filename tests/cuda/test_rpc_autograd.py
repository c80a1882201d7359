"""Distributed autograd with device tensors: gradients take the reverse way, through any number of workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._array.device import host
from mpigrad.testing import World

pytestmark = pytest.mark.mpi(min_size=2)
Tensor = mpigrad.Tensor


def multiply(a: Tensor, b: Tensor) -> Tensor:
    return a * b + a


def through(others: list[str], a: Tensor, b: Tensor) -> Tensor:
    if not others:
        return multiply(a, b)
    return rpc.rpc_sync(others[0], through, (others[1:], a, b)) * 2


def leaves(place: str, size: int = 5) -> tuple[Tensor, Tensor]:
    a = mpigrad.arange(float(size), device=place).requires_grad_()
    b = mpigrad.full((size,), 3.0, device=place).requires_grad_()
    return a, b


def check_gradients(context_id: int, a: Tensor, b: Tensor, factor: float = 1.0) -> None:
    grads = dist_autograd.get_gradients(context_id)
    assert a.grad is None and grads[a].device == a.device and grads[b].device == b.device
    np.testing.assert_allclose(host(grads[a]._array), np.full(a.shape, 4.0 * factor))
    np.testing.assert_allclose(host(grads[b]._array), np.arange(float(b.numel())) * factor)


@pytest.mark.parametrize("size", [5, 40_000, 1_100_000])
@pytest.mark.parametrize("place", ["cuda:0", "cuda:1"])
def test_gradients_return_to_the_device_the_tensor_left(swapped: World, place: str, size: int) -> None:
    a, b = leaves(place, size)
    with dist_autograd.context() as context_id:
        got = rpc.rpc_sync(swapped.next_name, multiply, (a, b))
        assert got.device == mpigrad.device(place)
        dist_autograd.backward(context_id, [got.sum()])
        check_gradients(context_id, a, b)


def test_through_all_workers_and_back(swapped: World) -> None:
    a, b = leaves("cuda:0")
    order = [swapped.worker(swapped.rank + 1 + i) for i in range(2 * swapped.world_size)]
    with dist_autograd.context() as context_id:
        got = through(order, a, b)
        dist_autograd.backward(context_id, [got.sum()])
        check_gradients(context_id, a, b, 2.0 ** len(order))


def test_calls_to_oneself(swapped: World) -> None:
    a, b = leaves("cuda:1")
    with dist_autograd.context() as context_id:
        got = rpc.rpc_sync(swapped.name, multiply, (a, b))
        dist_autograd.backward(context_id, [got.sum()])
        check_gradients(context_id, a, b)


def test_several_results_that_meet(swapped: World) -> None:
    """Gradients of several messages meet at one node: held until all are there."""
    a, b = leaves("cuda:0")
    with dist_autograd.context() as context_id:
        shared = a * 1
        parts = [rpc.rpc_async(swapped.worker(swapped.rank + i), multiply, (shared, b)) for i in range(4)]
        unused = rpc.rpc_sync(swapped.next_name, multiply, (shared, b))
        loss = sum(part.wait().sum() for part in parts)
        dist_autograd.backward(context_id, [loss])
        check_gradients(context_id, a, b, 4.0)
        assert unused.requires_grad


def test_passes_add_up(swapped: World) -> None:
    a, b = leaves("cuda:0", 300)
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(swapped.next_name, multiply, (a, b)).sum()
        for _ in range(3):
            dist_autograd.backward(context_id, [loss], retain_graph=True)
        check_gradients(context_id, a, b, 3.0)


def remember(context: int, x: Tensor) -> Tensor:
    return x * WEIGHT[0]


WEIGHT: list[Tensor] = []


def weight_gradient(context_id: int) -> Tensor:
    return dist_autograd.get_gradients(context_id)[WEIGHT[0]]


def test_leaves_of_other_workers(swapped: World) -> None:
    WEIGHT[:] = [mpigrad.full((4,), 2.0 + swapped.rank, device="cuda:1").requires_grad_()]
    swapped.barrier()
    x = mpigrad.arange(4.0, device="cuda:0")
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(swapped.next_name, remember, (context_id, x)).sum()
        dist_autograd.backward(context_id, [loss])
        grad = rpc.rpc_sync(swapped.next_name, weight_gradient, (context_id,))
        assert grad.device == mpigrad.device("cuda:0")
        np.testing.assert_allclose(host(grad._array), np.arange(4.0))
    swapped.barrier()


def test_gradients_of_gradients(swapped: World) -> None:
    x = mpigrad.tensor([1.0, 2.0, 3.0], device="cuda:0").requires_grad_()
    with dist_autograd.context() as context_id:
        y = rpc.rpc_sync(swapped.next_name, cube, (x,)).sum()
        (first,) = dist_autograd.grad(context_id, y, x, create_graph=True)
        assert first.device == x.device
        dist_autograd.backward(context_id, [first.sum()])
        second = dist_autograd.get_gradients(context_id)[x]
        assert second.device == x.device
        np.testing.assert_allclose(host(first._array), 3 * np.array([1.0, 4.0, 9.0]))
        np.testing.assert_allclose(host(second._array), 6 * np.array([1.0, 2.0, 3.0]))


def cube(x: Tensor) -> Tensor:
    return x * x * x


@pytest.mark.parametrize("maps, place, there", [({"cpu": 1}, "cpu", "cuda:1"), ({0: "cpu"}, "cuda:0", "cpu")])
def test_between_host_and_gpu(start: Any, maps: Any, place: str, there: str) -> None:
    world = start(maps)
    a, b = leaves(place)
    with dist_autograd.context() as context_id:
        got = rpc.rpc_sync(world.next_name, multiply_on, (there, a, b))
        dist_autograd.backward(context_id, [got.sum()])
        check_gradients(context_id, a, b)


def multiply_on(place: str, a: Tensor, b: Tensor) -> Tensor:
    assert a.device == b.device == mpigrad.device(place)
    return multiply(a, b)


def test_rref_values_take_part(swapped: World) -> None:
    a, b = leaves("cuda:0")
    with dist_autograd.context() as context_id:
        rref = rpc.remote(swapped.next_name, multiply, (a, b))
        dist_autograd.backward(context_id, [rref.to_here().sum()])
        check_gradients(context_id, a, b)


