"""Sparse tensors and sparse gradients across workers: every result equals that of the same program in one process."""

from __future__ import annotations

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from tests.distributed.autograd import functions as far
from tests.support.eventually import eventually

from . import functions as fn
from .functions import sparse

SEND, RECV = "torch::distributed::autograd::SendRpcBackward", "torch::distributed::autograd::RecvRpcBackward"
LEAF = "torch::autograd::AccumulateGrad"
HOW = ["sync", "async", "remote"]

pytestmark = pytest.mark.mpi(min_size=2)


def call(how, to, function, *args):
    if how == "here":
        return function(*args)
    if how == "sync":
        return rpc.rpc_sync(to, function, args=args)
    if how == "async":
        return rpc.rpc_async(to, function, args=args).wait()
    return rpc.remote(to, function, args=args).to_here()


def total(tensor):
    return mpigrad.sparse.sum(tensor)


def same(found, wanted) -> None:
    """Both sparse or both dense, of one type, with the same elements."""
    assert found.is_sparse == wanted.is_sparse and found.dtype is wanted.dtype and found.shape == wanted.shape
    np.testing.assert_allclose(found.detach().to_dense().numpy(), wanted.detach().to_dense().numpy(), rtol=1e-5)


def check(to, program, *tensors, hows=HOW) -> None:
    """`program(call, *tensors)` gives a loss; in a context it must give the gradients that it gives in one process."""
    wanted = mpigrad.autograd.grad(
        program(lambda function, *args: function(*args), *tensors), tensors, allow_unused=True
    )
    assert any(each is not None and each.is_sparse for each in wanted)
    for how in hows:
        with dist_autograd.context() as context_id:
            loss = program(lambda function, *args, how=how: call(how, to, function, *args), *tensors)
            dist_autograd.backward(context_id, [loss])
            found = dist_autograd.get_gradients(context_id)
            for tensor, grad in zip(tensors, wanted):
                if grad is None:
                    assert tensor not in found
                else:
                    same(found[tensor], grad)
            assert all(tensor.grad is None for tensor in tensors)


# -- what a call records -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("function", [mpigrad.add, far.add], ids=["operator", "function"])
def test_a_call_with_sparse_tensors_records_both_ends(rpc_world, how, function) -> None:
    t1, t2 = sparse(), sparse()
    with dist_autograd.context() as context_id:
        result = call(how, rpc_world.next_name, function, t1, t2)
        same(result, t1 + t2)
        rpc.rpc_sync(rpc_world.next_name, far.tell, args=(1, context_id))
        context = dist_autograd._current_context()
        (send,), (recv,) = context._send_functions().values(), context._recv_functions().values()
        assert send.name() == SEND and result.grad_fn is recv and recv.name() == RECV
        assert [node.variable for node, _ in send.next_functions] == [t1, t2]
        rpc_world.barrier()
        (answer,) = dist_autograd._retrieve_context(far.CONTEXTS[1])._send_functions().values()
        ((added, _),) = answer.next_functions
        assert added.name() == "AddBackward0"
        assert [(node.name(), nr) for node, nr in added.next_functions] == [(RECV, 0), (RECV, 1)]
        rpc_world.barrier()


@pytest.mark.mpi(min_size=4)
@pytest.mark.parametrize("how", ["sync", "remote"])
def test_a_nested_call_with_sparse_tensors_records_every_hop(rpc_world, how) -> None:
    rank, size = rpc_world.rank, rpc_world.world_size
    hops = [rpc_world.worker((rank + distance) % size) for distance in (1, 2, 3)]
    t1, t2 = sparse(), sparse()
    with dist_autograd.context() as context_id:
        result = call(how, hops[0], far.nested, t1, t2, hops[1:])
        for distance, name in enumerate(hops, 1):
            rpc.rpc_sync(name, far.tell, args=(distance, context_id))
        rpc_world.barrier()
        counts = [
            len(dist_autograd._retrieve_context(far.CONTEXTS[distance])._send_functions()) for distance in (1, 2, 3)
        ]
        assert counts == [2, 2, 1]
        rpc_world.barrier()
        dist_autograd.backward(context_id, [total(result)])
        found = dist_autograd.get_gradients(context_id)
        for each in (t1, t2):
            same(found[each], mpigrad.autograd.grad(total(t1 + t2), each)[0])
        rpc_world.barrier()


@pytest.mark.parametrize("how", ["sync", "remote"])
def test_a_call_that_comes_back_to_its_caller(rpc_world, how) -> None:
    t1, t2 = sparse(), sparse()
    with dist_autograd.context() as context_id:
        result = call(how, rpc_world.next_name, far.nested, t1, t2, [rpc_world.name])
        context = dist_autograd._current_context()
        assert len(context._send_functions()) == len(context._recv_functions()) == 2
        dist_autograd.backward(context_id, [total(result)])
        same(dist_autograd.get_gradients(context_id)[t1], mpigrad.autograd.grad(total(t1 + t2), t1)[0])


@pytest.mark.parametrize("how", ["sync", "remote"])
def test_sparse_tensors_without_gradients_record_nothing(rpc_world, how) -> None:
    with dist_autograd.context() as context_id:
        found = call(how, rpc_world.next_name, mpigrad.add, sparse(False), sparse(False))
        assert found.is_sparse and not found.requires_grad
        context = dist_autograd._current_context()
        assert not context._send_functions() and not context._recv_functions()
        assert rpc.rpc_sync(rpc_world.next_name, far.context_exists, args=(context_id,))


@pytest.mark.parametrize("how", ["sync", "remote"])
def test_sparse_tensors_inside_a_list(rpc_world, how) -> None:
    tensors = [sparse(requires_grad=i % 2 == 0, scale=i + 1) for i in range(8)]
    with dist_autograd.context():
        found = call(how, rpc_world.next_name, mpigrad.stack, tensors)
        same(found, mpigrad.stack(tensors))
        (send,) = dist_autograd._current_context()._send_functions().values()
        assert [node.variable for node, _ in send.next_functions] == tensors[::2]


@pytest.mark.mpi(min_size=4)
@pytest.mark.parametrize("grads", [(True, True), (False, False)], ids=["gradients", "none"])
@pytest.mark.parametrize("hops", [0, 2])
def test_leaving_a_context_ends_it_on_every_worker(rpc_world, grads, hops) -> None:
    rank, size = rpc_world.rank, rpc_world.world_size
    way = [rpc_world.worker((rank + distance) % size) for distance in range(1, size)]
    with dist_autograd.context() as context_id:
        if hops:
            rpc.rpc_sync(way[0], far.nested, args=(sparse(grads[0]), sparse(grads[1]), way[1 : 1 + hops]))
        else:
            for name in way:
                rpc.rpc_sync(name, mpigrad.add, args=(sparse(grads[0]), sparse(grads[1])))
    eventually(lambda: not any(rpc.rpc_sync(name, far.context_exists, args=(context_id,)) for name in way))
    rpc_world.barrier()


# -- gradients -----------------------------------------------------------------------------------------------------------
PROGRAMS = {
    "add": lambda call, a, b: total(call(mpigrad.add, a, b)),
    "a Python function": lambda call, a, b: total(call(far.add, a, b)),
    "a product": lambda call, a, b: total(call(mpigrad.mul, a, b)),
    "a chain": lambda call, a, b: total(call(mpigrad.mul, call(mpigrad.add, a, b), call(mpigrad.neg, a))),
    "to dense there": lambda call, a, b: (call(mpigrad.Tensor.to_dense, a) * b.to_dense()).sum(),
    "sum there": lambda call, a, b: call(mpigrad.sparse.sum, call(mpigrad.mul, a, b)),
    "shared": lambda call, a, b: total(call(mpigrad.add, a * 2, b)) + total(a * 3),
    "a matrix product": lambda call, a, b: call(mpigrad.sparse.mm, a, mpigrad.ones(3, 2)).sum() + total(b),
    "unused": lambda call, a, b: (call(mpigrad.add, a, b), total(a * 2))[1],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_equal_those_of_one_process(rpc_world, name) -> None:
    check(rpc_world.next_name, PROGRAMS[name], sparse(), sparse(scale=0.5))


@pytest.mark.parametrize("name", ["add", "a product"])
@pytest.mark.parametrize("coalesced", [False, True])
def test_a_worker_may_call_itself(rpc_world, name, coalesced) -> None:
    check(rpc_world.name, PROGRAMS[name], sparse(coalesced=coalesced), sparse(coalesced=coalesced))


def test_several_round_trips(rpc_world) -> None:
    def program(call, a, c, e):
        b, d = sparse(False), sparse(False, scale=2.0)
        value = call(mpigrad.mul, c, call(mpigrad.add, a, b))
        first, second = call(mpigrad.stack, [d, value]), call(mpigrad.stack, [e, value])
        both = call(mpigrad.mul, first, second)
        return total(call(mpigrad.mul, both, both))

    check(rpc_world.next_name, program, sparse(), sparse(scale=0.5), sparse(scale=-1.0))


@pytest.mark.parametrize("second", [mpigrad.float64, mpigrad.float16], ids=str)
def test_types_are_kept(rpc_world, second) -> None:
    check(rpc_world.next_name, PROGRAMS["add"], sparse(), sparse(dtype=second))


def test_a_dense_and_a_sparse_gradient_meet(rpc_world) -> None:
    def program(call, a, b):
        return total(call(mpigrad.add, a, b)) + (call(mpigrad.Tensor.to_dense, a)).sum() + a.sum()

    a, b = sparse(), sparse()
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [program(lambda f, *args: f(*args), a, b)])
        found = dist_autograd.get_gradients(context_id)
        assert not found[a].is_sparse and found[b].is_sparse
    check(rpc_world.next_name, program, a, b)


def test_only_the_first_needs_a_gradient(rpc_world) -> None:
    t1, t2 = sparse(), sparse(False, scale=3.0)
    for how in HOW:
        with dist_autograd.context() as context_id:
            found = call(how, rpc_world.next_name, fn.multiply_if_first_needs, t1, t2)
            same(found, t1 * t2)
            dist_autograd.backward(context_id, [total(found)])
            grads = dist_autograd.get_gradients(context_id)
            assert t1 in grads and t2 not in grads
            same(grads[t1], t2)


def test_a_function_that_calls_on(rpc_world) -> None:
    a, b = sparse(), sparse(scale=0.5)
    wanted = mpigrad.autograd.grad(total(fn.tangled(a, b, None)), (a, b))
    with dist_autograd.context() as context_id:
        found = rpc.rpc_sync(rpc_world.next_name, fn.tangled, args=(a, b, rpc_world.worker(rpc_world.rank + 2)))
        dist_autograd.backward(context_id, [total(found)])
        grads = dist_autograd.get_gradients(context_id)
        same(grads[a], wanted[0])
        same(grads[b], wanted[1])


def test_passes_leave_grad_alone(rpc_world) -> None:
    t1, t2 = sparse(), sparse()
    with dist_autograd.context() as context_id:
        loss = total(rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(t1, t2)))
        dist_autograd.backward(context_id, [loss], retain_graph=True)
        assert t1.grad is None and t2.grad is None
        total(t1 + t2).backward()
        before = [(each.grad, each.grad._values().tolist()) for each in (t1, t2)]
        dist_autograd.backward(context_id, [loss])
        for each, (grad, values) in zip((t1, t2), before):
            assert each.grad is grad and grad._values().tolist() == values


def test_a_callee_runs_a_pass_first(rpc_world) -> None:
    t1, t2 = sparse(), sparse()
    one = mpigrad.autograd.grad(total(t1 + t2), t1)[0]
    with dist_autograd.context() as context_id:
        to = rpc_world.worker(rpc_world.rank + 2)
        loss = total(rpc.rpc_sync(rpc_world.next_name, fn.add_and_run_backward, args=(t1, t2, to)))
        dist_autograd.backward(context_id, [loss], retain_graph=True)
        dist_autograd.backward(context_id, [loss])
        same(dist_autograd.get_gradients(context_id)[t1], one * 3)


def test_a_thousand_passes_over_a_kept_graph(rpc_world) -> None:
    t1, t2 = sparse(), sparse()
    with dist_autograd.context() as context_id:
        loss = total(rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(t1, t2)))
        dist_autograd.backward(context_id, [loss], retain_graph=True)
        for _ in range(999):
            dist_autograd.backward(context_id, [loss], retain_graph=True)
        found = dist_autograd.get_gradients(context_id)[t1]
        same(found, mpigrad.autograd.grad(total(t1 + t2) * 1000, t1)[0])
        assert found._nnz() <= 9


# -- RRefs ---------------------------------------------------------------------------------------------------------------
def check_rref(rpc_world, callee, owner) -> None:
    t1, t2 = sparse(), sparse(scale=2.0)
    wanted = mpigrad.autograd.grad(total(t1 + t2), (t1, t2))
    with dist_autograd.context() as context_id:
        rref = rpc.remote(owner, sparse)
        args = (rref, t2) if callee == owner else (owner, rref, t2)
        found = rpc.remote(callee, far.add_to_rref if callee == owner else fn.add_to_rref_at, args=args).to_here()
        dist_autograd.backward(context_id, [total(found)])
        same(dist_autograd.get_gradients(context_id)[t2], wanted[1])
        same(rpc.rpc_sync(owner, far.gradient_of_rref, args=(context_id, rref)), wanted[0])


def test_the_gradient_of_a_value_behind_an_rref_stays_with_its_owner(rpc_world) -> None:
    check_rref(rpc_world, rpc_world.next_name, rpc_world.next_name)


def test_an_rref_to_a_value_of_the_caller(rpc_world) -> None:
    check_rref(rpc_world, rpc_world.next_name, rpc_world.name)


@pytest.mark.mpi(min_size=3)
def test_an_rref_passed_to_a_third_worker(rpc_world) -> None:
    check_rref(rpc_world, rpc_world.next_name, rpc_world.worker(rpc_world.rank + 2))


@pytest.mark.mpi(min_size=4)
def test_every_rank_is_a_parameter_server_for_the_others(rpc_world) -> None:
    t1, t2 = sparse(), sparse()
    wanted = mpigrad.autograd.grad(total(t1 + t2), t1)[0]
    rref = rpc.remote(rpc_world.name, sparse)
    trainers = [rpc_world.worker(rpc_world.rank + distance) for distance in (1, 2, 3)]
    for fut in [rpc.rpc_async(name, fn.train, args=(rref, t2, rpc_world.name)) for name in trainers]:
        there, own = fut.wait()
        same(there, wanted)
        same(own, wanted)
    assert rref.local_value().grad is None
    rpc_world.barrier()


# -- embeddings ----------------------------------------------------------------------------------------------------------
def test_a_bag_with_samples_weights_runs_backward_twice(rpc_world) -> None:
    to = rpc_world.next_name
    rref = rpc.remote(to, mpigrad.nn.EmbeddingBag, args=(16, 8), kwargs={"mode": "sum", "sparse": True})
    local = mpigrad.nn.EmbeddingBag.from_pretrained(
        rpc.rpc_sync(to, fn.weight_of, args=(rref,)), freeze=False, mode="sum", sparse=True
    )
    ids, offsets = mpigrad.tensor([3, 1, 1, 7, 15, 3, 0, 7]), mpigrad.tensor([0, 5])
    samples = mpigrad.rand(8, requires_grad=True)
    result = local(ids, offsets, samples)
    result.sum().backward(retain_graph=True)
    result.sum().backward()
    with dist_autograd.context() as context_id:
        found = rpc.rpc_sync(to, fn.look_up, args=(rref, ids, offsets, samples))
        same(found, result)
        dist_autograd.backward(context_id, [found.sum()], retain_graph=True)
        dist_autograd.backward(context_id, [found.sum()])
        same(rpc.rpc_sync(to, fn.gradient_of_weight, args=(context_id, rref)), local.weight.grad)
        same(dist_autograd.get_gradients(context_id)[samples], samples.grad)


@pytest.mark.parametrize("mode", ["sum", "mean", "max", None])
def test_an_embedding_on_a_server_is_trained_like_a_local_one(rpc_world, mode) -> None:
    kind, kwargs = (mpigrad.nn.Embedding, {}) if mode is None else (mpigrad.nn.EmbeddingBag, {"mode": mode})
    kwargs["sparse"] = mode != "max"  # which has dense gradients only
    rref = rpc.remote(rpc_world.next_name, kind, args=(20, 4), kwargs=kwargs)
    weight = rpc.rpc_sync(rpc_world.next_name, fn.weight_of, args=(rref,)).clone()
    local = kind.from_pretrained(weight, freeze=False, **kwargs)
    optimizer = mpigrad.optim.SGD(local.parameters(), lr=0.5)
    for ids in ([[1, 2, 2], [5, 19, 1]], [[0, 0, 0], [2, 3, 4]]):
        batch = mpigrad.tensor(ids)
        (local(batch) ** 2).sum().backward()
        with dist_autograd.context() as context_id:
            found = rpc.rpc_sync(rpc_world.next_name, fn.look_up, args=(rref, batch))
            dist_autograd.backward(context_id, [(found**2).sum()])
            grad = rpc.rpc_sync(rpc_world.next_name, fn.gradient_of_weight, args=(context_id, rref))
            same(grad, local.weight.grad)
            rpc.rpc_sync(rpc_world.next_name, fn.step_rows, args=(context_id, rref, 0.5))
        optimizer.step()
        optimizer.zero_grad()
    same(rpc.rpc_sync(rpc_world.next_name, fn.weight_of, args=(rref,)), local.weight)
    rpc_world.barrier()
