"""Gradients of gradients across workers equal those of one process."""

from __future__ import annotations

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

from .. import functions as fn

pytestmark = pytest.mark.mpi(min_size=2)


def cube(x):
    return x * x * x


def mixed(a, b):
    return (a * a * b).sin() + b


def test_three_orders(rpc_world) -> None:
    x = mpigrad.tensor([2.0, -1.0], dtype=mpigrad.float64, requires_grad=True)
    with dist_autograd.context() as context_id:
        y = rpc.rpc_sync(rpc_world.next_name, cube, args=(x,)).sum()
        (first,) = dist_autograd.grad(context_id, y, x, create_graph=True)
        (second,) = dist_autograd.grad(context_id, first.sum(), x, create_graph=True)
        (third,) = dist_autograd.grad(context_id, second.sum(), x)
        assert first.tolist() == [12.0, 3.0] and second.tolist() == [12.0, -6.0] and third.tolist() == [6.0, 6.0]
        assert dist_autograd.get_gradients(context_id) == {}


def test_hessian_vector_product_of_two_inputs(rpc_world) -> None:
    a = mpigrad.tensor([0.3, 0.7], dtype=mpigrad.float64, requires_grad=True)
    b = mpigrad.tensor([1.1, -0.4], dtype=mpigrad.float64, requires_grad=True)

    def second_order(first_of, second_of, value):
        ga, gb = first_of(value.sum())
        return second_of((ga * 2 + gb * ga).sum())

    wanted = second_order(
        lambda y: mpigrad.autograd.grad(y, (a, b), create_graph=True),
        lambda y: mpigrad.autograd.grad(y, (a, b)),
        mixed(a, b),
    )
    with dist_autograd.context() as context_id:
        found = second_order(
            lambda y: dist_autograd.grad(context_id, y, (a, b), create_graph=True),
            lambda y: dist_autograd.grad(context_id, y, (a, b)),
            rpc.rpc_sync(rpc_world.next_name, mixed, args=(a, b)),
        )
    for mine, theirs in zip(found, wanted):
        assert mpigrad.allclose(mine, theirs, rtol=1e-10)


def test_backward_twice_with_create_graph(rpc_world) -> None:
    x = mpigrad.tensor([2.0], dtype=mpigrad.float64, requires_grad=True)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(
            context_id, [rpc.rpc_sync(rpc_world.next_name, cube, args=(x,)).sum()], create_graph=True
        )
        first = dist_autograd.get_gradients(context_id)[x]
        dist_autograd.backward(context_id, [first.sum()])
        assert dist_autograd.get_gradients(context_id)[x].item() == pytest.approx(12.0 + 12.0)


def test_unused_inputs(rpc_world) -> None:
    x, other = fn.ones(2), fn.ones(2)
    with dist_autograd.context() as context_id:
        y = rpc.rpc_sync(rpc_world.next_name, cube, args=(x,)).sum()
        with pytest.raises(RuntimeError, match="not have been used"):
            dist_autograd.grad(context_id, y, (x, other), retain_graph=True)
        found = dist_autograd.grad(context_id, y, (x, other), allow_unused=True)
        assert found[0].tolist() == [3.0, 3.0] and found[1] is None


def through_two(x, to):
    return rpc.rpc_sync(to, cube, args=(x * x,)) + x


@pytest.mark.mpi(min_size=3)
def test_second_order_through_nested_calls(rpc_world) -> None:
    x = mpigrad.tensor([1.5], dtype=mpigrad.float64, requires_grad=True)
    beyond = rpc_world.worker((rpc_world.rank + 2) % rpc_world.world_size)
    with dist_autograd.context() as context_id:
        y = rpc.rpc_sync(rpc_world.next_name, through_two, args=(x, beyond)).sum()
        (first,) = dist_autograd.grad(context_id, y, x, create_graph=True)
        (second,) = dist_autograd.grad(context_id, first.sum(), x)
        assert first.item() == pytest.approx(6 * 1.5**5 + 1) and second.item() == pytest.approx(30 * 1.5**4)


def curved(a, b, to):
    """A function on two workers, whose gradients meet again on the first."""
    y = a * b + a.sin()
    return rpc.rpc_sync(to, mixed, args=(y, b)) * y + rpc.rpc_sync(to, cube, args=(y,))


def workers_for(name: str) -> tuple[str, str]:
    size = len(rpc._get_current_rpc_agent().workers)
    here = int(name.removeprefix("worker"))
    return f"worker{(here + 1) % size}", f"worker{(here + 2) % size}"


def fresh(*tensors):
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


class Far(mpigrad.autograd.Function):
    """`curved` on other workers as one operation, whose derivatives of both orders come from `dist_autograd.grad`."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        to, beyond = workers_for(rpc.get_worker_info().name)
        return rpc.rpc_sync(to, curved, args=(a, b, beyond))

    @staticmethod
    def backward(ctx, grad):
        return FarGradient.apply(*ctx.saved_tensors, grad)


class FarGradient(mpigrad.autograd.Function):
    """The gradients of `Far`."""

    @staticmethod
    def forward(ctx, a, b, grad):
        ctx.save_for_backward(a, b, grad)
        return FarGradient.first(*fresh(a, b, grad), lambda context_id, first, given: first, create=False)

    @staticmethod
    def first(a, b, grad, then, create):
        to, beyond = workers_for(rpc.get_worker_info().name)
        with mpigrad.enable_grad(), dist_autograd.context() as context_id:
            y = rpc.rpc_sync(to, curved, args=(a, b, beyond))
            found = dist_autograd.grad(context_id, (y * grad).sum(), (a, b), create_graph=create)
            return then(context_id, found, (a, b, grad))

    @staticmethod
    def backward(ctx, u, v):
        def second(context_id, first, given):
            return dist_autograd.grad(context_id, (first[0] * u + first[1] * v).sum(), given)

        return FarGradient.first(*fresh(*ctx.saved_tensors), second, create=True)


def test_gradcheck_and_gradgradcheck_across_workers(rpc_world) -> None:
    a = mpigrad.tensor([0.3, 0.7], dtype=mpigrad.float64, requires_grad=True)
    b = mpigrad.tensor([1.1, -0.4], dtype=mpigrad.float64, requires_grad=True)
    assert mpigrad.autograd.gradcheck(Far.apply, (a, b))
    assert mpigrad.autograd.gradgradcheck(Far.apply, (a, b))
