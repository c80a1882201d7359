"""Hooks and custom functions in distributed passes: called once, with all of the gradient, and free to make calls."""

from __future__ import annotations

from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from tests.support.in_memory import acting_as, world_in_memory

from .passes import leaf


@pytest.fixture
def agents():
    with world_in_memory(3, seed=1, rpc_timeout=10) as made, acting_as(made[0]):
        yield made
        assert [len(agent.autograd.live) for agent in made] == [0, 0, 0]


def far_two() -> float:
    return rpc.rpc_sync("worker2", mpigrad.add, args=(mpigrad.ones(1), 1)).item()


class Doubles(mpigrad.autograd.Function):
    """The identity, whose backward asks another worker for the factor of its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * far_two()


def doubled(x: Any) -> Any:
    return Doubles.apply(x)


def square(to: str, x: mpigrad.Tensor) -> mpigrad.Tensor:
    return rpc.rpc_sync(to, mpigrad.mul, args=(x, x))


def test_a_hook_of_the_callers_makes_a_call(agents) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        y = a * 3
        y.register_hook(lambda grad: grad * far_two())
        dist_autograd.backward(context_id, [square("worker1", y).sum()])
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [36.0, 72.0]


def test_a_callees_backward_makes_a_call(agents) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [rpc.rpc_sync("worker1", doubled, args=(a,)).sum()])
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [2.0, 2.0]


def test_a_backward_makes_a_call_where_gradients_of_several_calls_meet(agents) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        y = Doubles.apply(a)
        loss = (square("worker1", y) + square("worker2", y) + y).sum()
        dist_autograd.backward(context_id, [loss])
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [10.0, 18.0]


def test_a_hook_of_a_leaf_that_several_calls_share_runs_once_with_the_sum(agents) -> None:
    a, seen = leaf(1.0, 2.0), []

    def clamp(grad: mpigrad.Tensor) -> mpigrad.Tensor:
        seen.append(grad.tolist())
        return grad.clamp(max=1)

    a.register_hook(clamp)
    with dist_autograd.context() as context_id:
        loss = sum(rpc.rpc_sync(to, mpigrad.add, args=(a, a)) for to in ("worker1", "worker2"))
        dist_autograd.backward(context_id, [(loss + a).sum()])
        assert seen == [[5.0, 5.0]]
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [1.0, 1.0]


def test_hooks_of_nodes_where_a_workers_graph_ends(agents) -> None:
    a, seen = leaf(1.0, 2.0), []
    with dist_autograd.context() as context_id:
        y = a * 2
        far = rpc.rpc_sync("worker1", mpigrad.add, args=(y, y))
        for name, node in (("recv", far.grad_fn), ("leaf", y.grad_fn.next_functions[0][0])):
            node.register_prehook(lambda grads, name=name: seen.append(f"{name} pre {len(grads)}"))
            node.register_hook(lambda ins, outs, name=name: seen.append(f"{name} post {len(ins)} {len(outs)}"))
        far.register_hook(lambda grad: seen.append("recv tensor"))
        a.register_hook(lambda grad: seen.append("leaf tensor"))
        dist_autograd.backward(context_id, [far.sum()])
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [4.0, 4.0]
    recv, own = ([f"{name} tensor", f"{name} pre 1", f"{name} post 0 1"] for name in ("recv", "leaf"))
    assert seen == recv + own


def test_a_hook_that_comes_between_two_passes_makes_a_call(agents) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        y = a * 3
        loss = square("worker1", y).sum()
        dist_autograd.backward(context_id, [loss], retain_graph=True)
        y.register_hook(lambda grad: grad * far_two())
        dist_autograd.backward(context_id, [loss], retain_graph=True)
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [54.0, 108.0]


def test_a_hook_of_a_shared_leaf_that_comes_between_two_passes_runs_once_with_the_sum(agents) -> None:
    a, seen = leaf(1.0, 2.0), []
    with dist_autograd.context() as context_id:
        loss = (sum(rpc.rpc_sync(to, mpigrad.add, args=(a, a)) for to in ("worker1", "worker2")) + a).sum()
        dist_autograd.backward(context_id, [loss], retain_graph=True)
        a.register_hook(lambda grad: seen.append(grad.tolist()))
        dist_autograd.backward(context_id, [loss], retain_graph=True)
        assert seen == [[5.0, 5.0]]
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [10.0, 10.0]
