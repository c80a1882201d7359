"""Which send and recv functions a call records, on the caller, on the callee, and through nested calls."""

from __future__ import annotations

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

from .. import functions as fn

SEND, RECV = "torch::distributed::autograd::SendRpcBackward", "torch::distributed::autograd::RecvRpcBackward"
LEAF = "torch::autograd::AccumulateGrad"

pytestmark = pytest.mark.mpi(min_size=2)


def call(how: str, to: str, function, *args):
    if how == "sync":
        return rpc.rpc_sync(to, function, args=args)
    if how == "async":
        return rpc.rpc_async(to, function, args=args).wait()
    return rpc.remote(to, function, args=args).to_here()


def only(functions):
    (found,) = functions.values()
    return found


def check_caller(context, t1, t2, result) -> None:
    """The caller's side of one call: tensors left through a send, the result came through a recv."""
    send = next(iter(context._send_functions().values()))
    assert send.name() == SEND
    assert [node.name() for node, _ in send.next_functions] == [LEAF, LEAF]
    assert [node.variable for node, _ in send.next_functions] == [t1, t2]
    assert result.grad_fn.name() == RECV and result.grad_fn in context._recv_functions().values()


def check_callee(context) -> None:
    """The callee's side: the answer's send hangs on the addition, which hangs on the request's recv."""
    send = list(context._send_functions().values())[-1]
    ((added, _),) = send.next_functions
    assert added.name() == "AddBackward0"
    (first, nr1), (second, nr2) = added.next_functions
    assert first is second and first.name() == RECV and (nr1, nr2) == (0, 1)


def check_middle(context) -> None:
    """A worker that passes a call on: two sends and two recvs, tensors and answer handed on as they came."""
    sends, recvs = list(context._send_functions().values()), list(context._recv_functions().values())
    assert len(sends) == len(recvs) == 2
    assert sends[0].next_functions == ((recvs[0], 0), (recvs[0], 1))
    assert sends[1].next_functions == ((recvs[1], 0),)
    assert [node.name() for node in (*sends, *recvs)] == [SEND, SEND, RECV, RECV]


@pytest.mark.parametrize("how", ["sync", "async", "remote"])
@pytest.mark.parametrize("function", [mpigrad.add, fn.add], ids=["operator", "function"])
def test_a_call_records_both_ends(rpc_world, how, function) -> None:
    t1, t2 = fn.ones(3, 3), fn.ones(3, 3)
    with dist_autograd.context() as context_id:
        result = call(how, rpc_world.next_name, function, t1, t2)
        rpc.rpc_sync(rpc_world.next_name, fn.tell, args=(1, context_id))
        context = dist_autograd._current_context()
        assert context._context_id() == context_id
        assert len(context._send_functions()) == len(context._recv_functions()) == 1
        assert context._known_worker_ids() == {(rpc_world.rank + 1) % rpc_world.world_size}
        check_caller(context, t1, t2, result)
        rpc_world.barrier()
        theirs = dist_autograd._retrieve_context(fn.CONTEXTS[1])
        assert len(theirs._send_functions()) == 1
        check_callee(theirs)
        rpc_world.barrier()
    with pytest.raises(RuntimeError, match="Could not find autograd context with id"):
        dist_autograd._retrieve_context(context_id)
    with pytest.raises(RuntimeError, match="doesn't have a valid autograd context"):
        dist_autograd._current_context()


@pytest.mark.mpi(min_size=4)
@pytest.mark.parametrize("how", ["sync", "remote"])
def test_a_nested_call_records_every_hop(rpc_world, how) -> None:
    rank, size = rpc_world.rank, rpc_world.world_size
    t1, t2 = fn.ones(3, 3), fn.ones(3, 3)
    hops = [rpc_world.worker((rank + distance) % size) for distance in (1, 2, 3)]
    with dist_autograd.context() as context_id:
        result = call(how, hops[0], fn.nested, t1, t2, hops[1:])
        for distance in (1, 2, 3):
            rpc.rpc_sync(rpc_world.worker((rank + distance) % size), fn.tell, args=(distance, context_id))
        rpc_world.barrier()
        context = dist_autograd._current_context()
        assert len(context._send_functions()) == len(context._recv_functions()) == 1
        check_caller(context, t1, t2, result)
        for distance in (1, 2):
            check_middle(dist_autograd._retrieve_context(fn.CONTEXTS[distance]))
        check_callee(dist_autograd._retrieve_context(fn.CONTEXTS[3]))
        rpc_world.barrier()


@pytest.mark.parametrize("how", ["sync", "remote"])
def test_a_call_that_comes_back_to_its_caller(rpc_world, how) -> None:
    t1, t2 = fn.ones(3, 3), fn.ones(3, 3)
    with dist_autograd.context() as context_id:
        result = call(how, rpc_world.next_name, fn.nested, t1, t2, [rpc_world.worker(rpc_world.rank)])
        rpc.rpc_sync(rpc_world.next_name, fn.tell, args=(1, context_id))
        context = dist_autograd._current_context()
        assert len(context._send_functions()) == len(context._recv_functions()) == 2
        check_caller(context, t1, t2, result)
        assert list(context._recv_functions().values())[1] is result.grad_fn
        check_callee(context)
        rpc_world.barrier()
        check_middle(dist_autograd._retrieve_context(fn.CONTEXTS[1]))
        rpc_world.barrier()


@pytest.mark.parametrize("how", ["sync", "remote"])
def test_tensors_without_gradients_record_nothing_but_the_context_travels(rpc_world, how) -> None:
    with dist_autograd.context() as context_id:
        call(how, rpc_world.next_name, mpigrad.add, mpigrad.ones(3), mpigrad.zeros(3))
        context = dist_autograd._current_context()
        assert not context._send_functions() and not context._recv_functions()
        assert rpc.rpc_sync(rpc_world.next_name, fn.context_exists, args=(context_id,))


@pytest.mark.parametrize("how", ["sync", "remote"])
def test_only_tensors_that_need_gradients_are_attached(rpc_world, how) -> None:
    tensors = [mpigrad.ones(3, 3, requires_grad=i % 2 == 0) for i in range(10)]
    with dist_autograd.context():
        found = call(how, rpc_world.next_name, mpigrad.stack, tensors)
        assert mpigrad.equal(found, mpigrad.stack(tensors))
        send = only(dist_autograd._current_context()._send_functions())
        assert [node.variable for node, _ in send.next_functions] == tensors[::2]
        assert {node.name() for node, _ in send.next_functions} == {LEAF}
        assert dist_autograd._current_context()._known_worker_ids() == {rpc_world.next_rank}


@pytest.mark.parametrize("needs", [False, True], ids=["plain", "grad"])
def test_every_worker_called_is_known(rpc_world, needs) -> None:
    others = {rank for rank in range(rpc_world.world_size) if rank != rpc_world.rank}
    t = mpigrad.ones(3, requires_grad=needs)
    with dist_autograd.context() as context_id:
        for rank in others:
            rpc.rpc_sync(rank, mpigrad.add, args=(t, t))
            assert rpc_world.rank in rpc.rpc_sync(rank, known_there, args=(context_id,))
        assert dist_autograd._current_context()._known_worker_ids() == others


def known_there(context_id: int) -> set[int]:
    return dist_autograd._retrieve_context(context_id)._known_worker_ids()


@pytest.mark.parametrize("how", ["sync", "remote"])
def test_a_result_that_needs_gradients_though_no_argument_does(rpc_world, how) -> None:
    with dist_autograd.context() as context_id:
        found = call(how, rpc_world.next_name, fn.shared)
        context = dist_autograd._current_context()
        assert not context._send_functions() and len(context._recv_functions()) == 1
        dist_autograd.backward(context_id, [(found * found).sum()])
        there = rpc.rpc_sync(rpc_world.next_name, fn.gradient_of_shared, args=(context_id,))
        assert there.tolist() == [[4.0] * 3] * 3


def test_nothing_is_recorded_outside_a_context(rpc_world) -> None:
    found = rpc.rpc_sync(rpc_world.next_name, fn.add, args=(fn.ones(2), fn.ones(2)))
    assert found.grad_fn is None
    assert not dist_autograd._has_valid_context()


def identical(a, b):
    return a is b, a * b


@pytest.mark.parametrize("how", ["sync", "async", "remote"])
def test_a_tensor_given_twice_is_sent_once(rpc_world, how) -> None:
    t = fn.ones(3)
    with dist_autograd.context() as context_id:
        same, product = call(how, rpc_world.next_name, identical, t, t)
        send = only(dist_autograd._current_context()._send_functions())
        assert same and [node.name() for node, _ in send.next_functions] == [LEAF]
        added = call(how, rpc_world.next_name, mpigrad.add, t, t)
        dist_autograd.backward(context_id, [(product + added).sum()])
        assert dist_autograd.get_gradients(context_id)[t].tolist() == [4.0] * 3


@pytest.mark.parametrize("how", ["sync", "async", "remote"])
def test_nothing_is_recorded_under_no_grad(rpc_world, how) -> None:
    with dist_autograd.context() as context_id:
        with mpigrad.no_grad():
            future = None
            if how == "async":
                future = rpc.rpc_async(rpc_world.next_name, fn.add, args=(fn.ones(3), fn.ones(3)))
            else:
                found = call(how, rpc_world.next_name, fn.add, fn.ones(3), fn.ones(3))
        if future is not None:
            found = future.wait()  # made under no_grad, whenever the answer comes
        context = dist_autograd._current_context()
        assert not context._send_functions() and not context._recv_functions()
        assert context._known_worker_ids() == {rpc_world.next_rank}
        assert found.grad_fn is None and found.is_leaf
        assert rpc.rpc_sync(rpc_world.next_name, fn.context_exists, args=(context_id,))
        found = call(how, rpc_world.next_name, nested_under_no_grad, fn.ones(3), rpc_world.worker(rpc_world.rank + 2))
        dist_autograd.backward(context_id, [found.sum()])
        assert not dist_autograd.get_gradients(context_id)


def nested_under_no_grad(x, to):
    with mpigrad.no_grad():
        return rpc.rpc_sync(to, fn.add, args=(x, x))
