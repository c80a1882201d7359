"""Backward: gradients equal those of the same program in one process; roots, accumulation, RRefs, unused results, hooks."""

from __future__ import annotations

import threading

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

from .. import functions as fn

pytestmark = pytest.mark.mpi(min_size=2)


def leaves(*shapes):
    mpigrad.manual_seed(1)
    return [mpigrad.rand(*shape, requires_grad=True) for shape in shapes]


def check(program, *tensors, retain_graph: bool = False) -> None:
    """`program(call, *tensors)` gives a loss; `call` runs functions here, or on another worker."""
    wanted = mpigrad.autograd.grad(
        program(lambda function, *args: function(*args), *tensors), tensors, allow_unused=True
    )
    to = (rpc.get_worker_info().id + 1) % len(rpc._get_current_rpc_agent().workers)
    for how in (
        lambda function, *args: rpc.rpc_sync(to, function, args=args),
        lambda function, *args: rpc.rpc_async(to, function, args=args).wait(),
        lambda function, *args: rpc.remote(to, function, args=args).to_here(),
    ):
        with dist_autograd.context() as context_id:
            loss = program(how, *tensors)
            dist_autograd.backward(context_id, [loss], retain_graph=retain_graph)
            found = dist_autograd.get_gradients(context_id)
            for tensor, grad in zip(tensors, wanted):
                if grad is None:
                    assert tensor not in found or not found[tensor].any()
                else:
                    assert mpigrad.allclose(found[tensor], grad)
            assert all(tensor.grad is None for tensor in tensors)


PROGRAMS = {
    "one call": lambda call, a, b: call(mpigrad.add, a, b).sum(),
    "a function": lambda call, a, b: call(fn.add, a, b).sum(),
    "round trips": lambda call, a, b: call(mpigrad.mul, call(mpigrad.add, a, b), call(mpigrad.mul, a, b)).sum(),
    "shared input": lambda call, a, b: (call(mpigrad.add, a * 3, b) * (a * 3)).sum() + (a * 3).sum(),
    "shared middle": lambda call, a, b: _shared_middle(call, a * 3, b),
    "a chain": lambda call, a, b: call(mpigrad.sin, call(mpigrad.mul, call(mpigrad.sin, a), b)).sum(),
    "unused result": lambda call, a, b: (call(mpigrad.add, a, b), (a * 2).sum())[1],
    "unused result of a shared middle": lambda call, a, b: _unused(call, a * 3, b),
    "one of several results": lambda call, a, b: call(mpigrad.split, call(mpigrad.cat, [a, b]), 1)[0].sum(),
    "no call at all": lambda call, a, b: (a * b).sum(),
    "matmul": lambda call, a, b: call(mpigrad.matmul, a, b.t()).mean(),
    "in a list": lambda call, a, b: call(mpigrad.stack, [a, b, a]).prod(),
}


def _shared_middle(call, y, b):
    return (call(mpigrad.add, y, b) * call(mpigrad.mul, y, y) + y).sum()


def _unused(call, y, b):
    call(mpigrad.add, y, y)
    used = call(mpigrad.mul, y, b)
    call(mpigrad.add, used, b)
    return used.sum() + y.sum()


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_equal_those_of_one_process(rpc_world, name) -> None:
    check(PROGRAMS[name], *leaves((3, 3), (3, 3)))


def test_a_call_whose_result_is_unused_costs_nothing_and_hangs_nothing(rpc_world) -> None:
    x = mpigrad.ones(2, requires_grad=True)
    with dist_autograd.context() as context_id:
        y = x * 3
        rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(y, y))
        dist_autograd.backward(context_id, [y.sum()])
        assert dist_autograd.get_gradients(context_id)[x].tolist() == [3.0, 3.0]


@pytest.mark.parametrize("dtype", [mpigrad.float32, mpigrad.float64, mpigrad.float16], ids=str)
def test_types_are_kept(rpc_world, dtype) -> None:
    a = mpigrad.ones(2, 2, dtype=dtype, requires_grad=True)
    b = mpigrad.ones(2, 1, dtype=mpigrad.float64, requires_grad=True)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(a, b)).sum()])
        found = dist_autograd.get_gradients(context_id)
        assert found[a].dtype is dtype and found[b].dtype is mpigrad.float64 and found[b].tolist() == [[2.0], [2.0]]


def test_several_roots(rpc_world) -> None:
    (a, b), to = leaves((3,), (3,)), rpc_world.next_name
    with dist_autograd.context() as context_id:
        first = rpc.rpc_sync(to, mpigrad.add, args=(a, b)).sum()
        second = rpc.rpc_sync(to, mpigrad.mul, args=(a, b)).sum()
        dist_autograd.backward(context_id, [first, second, a.sum()])
        assert mpigrad.allclose(dist_autograd.get_gradients(context_id)[a], 2 + b.detach())
        assert mpigrad.allclose(dist_autograd.get_gradients(context_id)[b], 1 + a.detach())


def test_passes_add_up_in_place(rpc_world) -> None:
    a = fn.ones(3)
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(a, a)).sum()
        dist_autograd.backward(context_id, [loss], retain_graph=True)
        first = dist_autograd.get_gradients(context_id)[a]
        for _ in range(9):
            dist_autograd.backward(context_id, [loss], retain_graph=True)
        assert first.tolist() == [20.0] * 3  # as in PyTorch
        assert dist_autograd.get_gradients(context_id)[a] is first


def test_a_thousand_passes_over_a_kept_graph(rpc_world) -> None:
    a, b = fn.ones(3, 3), fn.ones(3, 3)
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(
            rpc_world.next_name, mpigrad.matmul, args=(a, rpc.rpc_sync(rpc_world.next_name, mpigrad.mul, args=(a, b)))
        ).sum()
        for _ in range(1000):
            dist_autograd.backward(context_id, [loss], retain_graph=True)
        assert dist_autograd.get_gradients(context_id)[b].tolist() == [[3000.0] * 3] * 3


def test_a_graph_that_was_not_kept_is_an_error_the_second_time(rpc_world) -> None:
    a = fn.ones(3)
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(rpc_world.next_name, mpigrad.mul, args=(a, a)).sum()
        dist_autograd.backward(context_id, [loss])
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            dist_autograd.backward(context_id, [loss])
        other = rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(a, a)).sum()
        dist_autograd.backward(context_id, [other])
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [4.0] * 3


def test_bad_roots(rpc_world) -> None:
    a = fn.ones(3)
    with dist_autograd.context() as context_id:
        with pytest.raises(RuntimeError, match="No tensors provided for gradient computation"):
            dist_autograd.backward(context_id, [])
        with pytest.raises(RuntimeError, match="requires_grad not set on root"):
            dist_autograd.backward(context_id, [mpigrad.ones(1)])
        with pytest.raises(RuntimeError, match="all roots need to be scalar"):
            dist_autograd.backward(context_id, [a * 2])
        with pytest.raises(TypeError, match="incompatible function arguments.*must be a Tensor"):
            dist_autograd.backward(context_id, [1.0])
        with pytest.raises(TypeError, match="incompatible function arguments.*list of Tensors"):
            dist_autograd.backward(context_id, a.sum())
        for context in (None, "a"):
            with pytest.raises(TypeError, match="incompatible function arguments"):
                dist_autograd.backward(context, [a.sum()])
            with pytest.raises(TypeError, match="incompatible function arguments"):
                dist_autograd.get_gradients(context)
        with pytest.raises(RuntimeError, match="does not have a valid gradient function"):
            dist_autograd.backward(context_id, [fn.ones(1)])
        with pytest.raises(RuntimeError, match="Could not find autograd context with id: 77"):
            dist_autograd.backward(77, [a.sum()])


@pytest.mark.parametrize("who", ["owner", "third"])
def test_rrefs(rpc_world, who) -> None:
    """A parameter on one worker, used by another."""
    owner = rpc_world.next_name
    callee = owner if who == "owner" else rpc_world.worker((rpc_world.rank + 2) % rpc_world.world_size)
    b = fn.ones(3, 3)
    with dist_autograd.context() as context_id:
        parameter = rpc.remote(owner, fn.ones, args=(3, 3))
        if callee == owner:
            result = rpc.remote(callee, fn.add_to_rref, args=(parameter, b)).to_here()
        else:
            result = rpc.rpc_sync(callee, _add_on_owner, args=(owner, parameter, b))
        dist_autograd.backward(context_id, [(result * result).sum()])
        assert dist_autograd.get_gradients(context_id)[b].tolist() == [[4.0] * 3] * 3
        there = rpc.rpc_sync(owner, fn.gradient_of_rref, args=(context_id, parameter))
        assert there.tolist() == [[4.0] * 3] * 3


def _add_on_owner(owner, parameter, b):
    return rpc.rpc_sync(owner, fn.add_to_rref, args=(parameter, b))


def test_backward_of_an_rref(rpc_world) -> None:
    a = fn.ones(3)
    with dist_autograd.context() as context_id:
        loss = rpc.remote(rpc_world.next_name, _sum_of_squares, args=(a,))
        loss.backward(context_id, retain_graph=True)
        loss.backward(context_id)
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [4.0] * 3
        with pytest.raises(RuntimeError, match="require 'dist_autograd_ctx_id'"):
            loss.backward()
        with pytest.raises(RuntimeError, match="contain a tensor"):
            rpc.remote(rpc_world.next_name, int, args=("3",)).backward(context_id)
    with dist_autograd.context() as context_id:  # on the owner, through another worker
        rpc.RRef(rpc.rpc_sync(rpc_world.next_name, _sum_of_squares, args=(a,))).backward(context_id)
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [2.0] * 3
    local = rpc.RRef(_sum_of_squares(a))
    local.backward()
    assert a.grad.tolist() == [2.0] * 3


def _sum_of_squares(x):
    return (x * x).sum()


def _train(weight, context_id, x):
    """Runs on the server: backward begins inside a remote function."""
    value = weight.local_value()
    dist_autograd.backward(context_id, [(value * x).sum()])
    return dist_autograd.get_gradients(context_id)[value]


def test_backward_inside_a_remote_function(rpc_world) -> None:
    x = mpigrad.full((3,), 5.0, requires_grad=True)
    with dist_autograd.context() as context_id:
        weight = rpc.remote(rpc_world.next_name, fn.ones, args=(3,))
        assert rpc.rpc_sync(rpc_world.next_name, _train, args=(weight, context_id, x)).tolist() == [5.0] * 3
        assert dist_autograd.get_gradients(context_id)[x].tolist() == [1.0] * 3


def test_every_rank_is_server_and_trainer_at_once(rpc_world) -> None:
    weights = [rpc.remote(rpc_world.worker(rank), fn.ones, args=(3,)) for rank in range(rpc_world.world_size)]
    errors = []

    def train(scale: float) -> None:
        try:
            for weight in weights:
                with dist_autograd.context() as context_id:
                    x = mpigrad.full((3,), scale, requires_grad=True)
                    result = rpc.rpc_sync(weight.owner(), fn.add_to_rref, args=(weight, x))
                    dist_autograd.backward(context_id, [(result * result).sum()])
                    wanted = [2 * (1 + scale)] * 3
                    assert dist_autograd.get_gradients(context_id)[x].tolist() == wanted
                    assert (
                        rpc.rpc_sync(weight.owner(), fn.gradient_of_rref, args=(context_id, weight)).tolist() == wanted
                    )
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=train, args=(float(scale),)) for scale in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(50)
    assert not errors and not any(thread.is_alive() for thread in threads)


def test_hooks_see_gradients_of_distributed_passes(rpc_world) -> None:
    a, seen = fn.ones(3), []
    a.register_hook(lambda grad: seen.append(grad.tolist()))
    with dist_autograd.context() as context_id:
        result = rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(a, a))
        result.register_hook(lambda grad: grad * 10)
        dist_autograd.backward(context_id, [result.sum()])
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [20.0] * 3
    assert sum(each[0] for each in seen) == 20.0


def test_leaves_below_a_shared_graph_are_never_touched(rpc_world) -> None:
    a = fn.ones(3)
    (a * 2).sum().backward()
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [rpc.rpc_sync(rpc_world.next_name, mpigrad.mul, args=(a, a)).sum()])
    assert a.grad.tolist() == [2.0] * 3
