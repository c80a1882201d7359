"""Programs whose calls go round all ranks: gradients equal those of the same program in one process."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

from .. import functions as fn

pytestmark = pytest.mark.mpi(min_size=2)


def leaf(*shape: int, needs: bool = True) -> mpigrad.Tensor:
    return mpigrad.rand(*shape, dtype=mpigrad.float64, requires_grad=needs)


def here(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def ways(world: Any) -> list[Callable[..., Any]]:
    """Each gives a call that goes to another rank every time."""
    others = itertools.cycle([world.worker(world.rank + distance) for distance in range(1, world.world_size)])
    return [
        lambda function, *args: rpc.rpc_sync(next(others), function, args=args),
        lambda function, *args: rpc.rpc_async(next(others), function, args=args).wait(),
        lambda function, *args: rpc.remote(next(others), function, args=args).to_here(),
    ]


def check(world: Any, program: Callable[..., Any], *tensors: mpigrad.Tensor, calls: Any = None) -> None:
    """`program(call, *tensors)` gives roots; tensors that need no gradient must get none."""
    needing = [tensor for tensor in tensors if tensor.requires_grad]
    wanted = mpigrad.autograd.grad(program(here, *tensors), needing)
    for call in calls or ways(world):
        with dist_autograd.context() as context_id:
            dist_autograd.backward(context_id, program(call, *tensors))
            found = dist_autograd.get_gradients(context_id)
            assert len(found) == len(needing)
            for tensor, grad in zip(needing, wanted):
                assert mpigrad.allclose(found[tensor], grad)
    assert all(tensor.grad is None for tensor in tensors)


def chained(a: Any, b: Any) -> Any:
    """A function with a graph of its own on the callee."""
    c = a.mm(b)
    d = a + b * c
    return mpigrad.linalg.multi_dot([a, b, c, d])


def calls_on(a: Any, b: Any, to: str) -> Any:
    product, total = a * b, a + b
    return a * b * product * total * rpc.rpc_sync(to, fn.add, args=(product, total))


def calls_nobody(a: Any, b: Any, to: str) -> Any:
    product, total = a * b, a + b
    return a * b * product * total * fn.add(product, total)


def ignores_its_own_calls(a: Any, to: str) -> Any:
    """On the callee: results that are not used, or only in part, or in the middle of a chain."""
    y = a * 3
    rpc.rpc_sync(to, mpigrad.add, args=(y, y))
    first, _ = rpc.rpc_sync(to, mpigrad.split, args=(y.reshape(-1), y.numel() // 2 + 1))
    rpc.rpc_sync(to, mpigrad.mul, args=(rpc.rpc_sync(to, mpigrad.sin, args=(y,)), y))
    return first.sum() + rpc.rpc_sync(to, mpigrad.mul, args=(y, a)).sum()


def first_half_and_product(a: Any, to: str) -> Any:
    y = a * 3
    return y.reshape(-1)[: y.numel() // 2 + 1].sum() + (y * a).sum()


def test_round_trips_through_tensors_with_and_without_gradients(rpc_world) -> None:
    def program(call, t1, t2, t3, t4, t5):
        value = call(mpigrad.mul, t3, call(mpigrad.add, t1, t2))
        both = call(mpigrad.bmm, call(mpigrad.stack, (t4, value)), call(mpigrad.stack, (t5, value)))
        return [call(mpigrad.matmul, both, both).sum()]

    check(rpc_world, program, *(leaf(3, 3, needs=place % 2 == 0) for place in range(5)))


def test_matrices_of_different_shapes(rpc_world) -> None:
    def program(call, t1, t2, t3, t4):
        return [call(mpigrad.linalg.multi_dot, (call(mpigrad.matmul, t1, t2), t3, t4)).sum()]

    check(rpc_world, program, leaf(4, 6), leaf(6, 5, needs=False), leaf(5, 7), leaf(7, 9, needs=False))


def test_a_part_of_what_was_sent_is_not_used(rpc_world) -> None:
    def program(call, t1, t2, t3):
        all_three = call(mpigrad.stack, (t1, t2, t3))
        first, third = mpigrad.narrow(all_three, 0, 0, 1), mpigrad.narrow(all_three, 0, 2, 1)
        return [call(mpigrad.matmul, first, third).sum()]

    check(rpc_world, program, leaf(3, 3), leaf(3, 3), leaf(3, 3))


def test_some_of_several_results(rpc_world) -> None:
    def program(call, t):
        pieces = call(mpigrad.split, t, 2)
        return [call(mpigrad.linalg.multi_dot, (pieces[0], pieces[2], pieces[4])).sum()]

    check(rpc_world, program, leaf(10, 2))


def test_roots_of_graphs_that_have_only_leaves_in_common(rpc_world) -> None:
    def program(call, t1, t2):
        return [
            call(mpigrad.add, t1, t2).sum(),
            call(mpigrad.mul, t1, t2).sum(),
            call(mpigrad.cos, t1).sum(),
            call(mpigrad.div, t1, t2).sum(),
            (t1 * t2).sum(),
        ]

    check(rpc_world, program, leaf(3, 3), leaf(3, 3))


def test_a_function_with_a_graph_of_its_own(rpc_world) -> None:
    check(rpc_world, lambda call, a, b: [call(chained, a, b).sum()], leaf(3, 3), leaf(3, 3))


def test_a_function_that_calls_on(rpc_world) -> None:
    def program(call, a, b):
        function = calls_nobody if call is here else calls_on
        return [call(function, a, b, rpc_world.worker(rpc_world.rank + 2)).sum()]

    check(rpc_world, program, leaf(3, 3), leaf(3, 3))


def test_a_callee_does_not_use_the_results_of_its_own_calls(rpc_world) -> None:
    def program(call, a):
        function = first_half_and_product if call is here else ignores_its_own_calls
        return [call(function, a, rpc_world.worker(rpc_world.rank + 2))]

    check(rpc_world, program, leaf(3, 3))


def test_an_input_shared_between_a_used_and_an_unused_call(rpc_world) -> None:
    def program(call, a, b):
        y = a * 3
        call(mpigrad.add, y, b)
        used = call(mpigrad.mul, y, b)
        call(mpigrad.sin, call(mpigrad.cos, used))
        return [(call(mpigrad.mul, used, used) + y).sum()]

    check(rpc_world, program, leaf(2, 2), leaf(2, 2))


def test_a_worker_calls_itself(rpc_world) -> None:
    calls = [
        lambda function, *args: rpc.rpc_sync(rpc_world.name, function, args=args),
        lambda function, *args: rpc.remote(rpc_world.name, function, args=args).to_here(),
    ]
    check(rpc_world, lambda call, a, b: [call(fn.add, a, b).sum()], leaf(3, 3), leaf(3, 3), calls=calls)


def test_a_hook_that_changes_the_gradient_of_a_leaf(rpc_world) -> None:
    a, b = leaf(3, 3), leaf(3, 3)
    a.register_hook(lambda grad: grad * 2)
    check(rpc_world, lambda call, a, b: [call(mpigrad.matmul, a, b).sum()], a, b)


def minus_or_times(a: Any, b: Any) -> Any:
    return a - b if b.requires_grad else a * b


def test_a_callee_sees_which_tensors_need_gradients(rpc_world) -> None:
    a, b = leaf(3, 3), leaf(3, 3, needs=False)
    check(rpc_world, lambda call, a, b: [call(minus_or_times, a, b).sum()], a, b)
    assert a.requires_grad and not b.requires_grad


def test_passes_through_a_nested_call_add_up(rpc_world) -> None:
    a, b = leaf(3), leaf(3)
    hops = [rpc_world.worker(rpc_world.rank + distance) for distance in (1, 2)]
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(hops[0], fn.nested, args=(a, b, hops[1:])).sum()
        dist_autograd.backward(context_id, [loss], retain_graph=True)
        dist_autograd.backward(context_id, [loss])
        found = dist_autograd.get_gradients(context_id)
        assert found[a].tolist() == found[b].tolist() == [2.0] * 3


def test_parameters_of_all_ranks_live_on_one(rpc_world) -> None:
    a = leaf(3, 3)
    with dist_autograd.context() as context_id:
        parameter = rpc.remote("worker0", fn.ones, args=(3, 3))
        result = rpc.remote("worker0", fn.add_to_rref, args=(parameter, a)).to_here()
        dist_autograd.backward(context_id, [(result * result).sum()])
        wanted = 2 * (1 + a.detach())
        assert mpigrad.allclose(dist_autograd.get_gradients(context_id)[a], wanted)
        there = rpc.rpc_sync("worker0", fn.gradient_of_rref, args=(context_id, parameter))
        assert mpigrad.allclose(there, wanted.float())


def test_many_threads_of_all_ranks_work_with_one(rpc_world) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        def call(function, *args):
            return rpc.rpc_sync("worker0", function, args=args)

        try:
            for _ in range(3):
                check(rpc_world, chain, leaf(3, 3), leaf(3, 3), calls=[call])
        except BaseException as error:
            errors.append(error)

    def chain(call, t1, t2):
        t3 = call(mpigrad.add, t1, t2)
        t4 = call(mpigrad.mul, t2, t3)
        return [call(mpigrad.add, t4, call(mpigrad.matmul, t3, t4)).sum()]

    threads = [threading.Thread(target=work, daemon=True) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(50)
    assert not errors and not any(thread.is_alive() for thread in threads), errors
    rpc_world.barrier()
    assert dist_autograd._get_debug_info()["num_current_backward_passes"] == 0


def test_a_training_loop_of_calls_and_an_rref(rpc_world) -> None:
    """The loop of PyTorch's end-to-end program: six additions, an RRef, a pass, in one context after the other."""
    t1, t2 = fn.ones(3, 3), fn.ones(3, 3)
    for _ in range(20):
        with dist_autograd.context() as context_id:
            result = rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(t1, t2))
            for _ in range(5):
                result = rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(t1, result))
            result = rpc.remote(rpc_world.next_name, mpigrad.add, args=(t1, result)).to_here()
            dist_autograd.backward(context_id, [result.sum()])
            found = dist_autograd.get_gradients(context_id)
            assert found[t1].tolist() == [[7.0] * 3] * 3 and found[t2].tolist() == [[1.0] * 3] * 3
