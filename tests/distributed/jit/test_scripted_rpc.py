"""Scripted functions between workers: called by name, calling others, with gradients through all of it."""

from __future__ import annotations

import threading

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import Tensor
from mpigrad.testing import FileCheck

from . import scripts

pytestmark = pytest.mark.mpi(min_size=2)


def leaf(*shape: int) -> Tensor:
    return mpigrad.rand(*shape, requires_grad=True)


def call(how: str, dst: str, function, *args):
    if how == "local":
        return function(*args)
    if how == "sync":
        return rpc.rpc_sync(dst, function, args=args)
    if how == "async":
        return rpc.rpc_async(dst, function, args=args).wait()
    return rpc.remote(dst, function, args=args).to_here()


@pytest.mark.parametrize("how", ["local", "sync", "async", "remote"])
def test_a_script_gives_the_same_gradients_everywhere(rpc_world, how) -> None:
    t1, t2 = leaf(3, 3), leaf(3, 3)
    with dist_autograd.context() as context_id:
        loss = (call(how, rpc_world.next_name, scripts.local_add, t1, t2) * 2).sum()
        dist_autograd.backward(context_id, [loss])
        grads = dist_autograd.get_gradients(context_id)
        assert grads[t1].tolist() == grads[t2].tolist() == [[2.0] * 3] * 3


def sparse_leaf(*values: float) -> Tensor:
    return mpigrad.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], list(values), (3, 3), requires_grad=True)


@pytest.mark.parametrize("how", ["local", "sync", "async", "remote"])
def test_a_script_of_sparse_tensors_gives_the_same_gradients_everywhere(rpc_world, how) -> None:
    t1, t2 = sparse_leaf(1.0, 2.0, 3.0), sparse_leaf(4.0, 5.0, 6.0)
    with dist_autograd.context() as context_id:
        loss = mpigrad.sparse.sum(call(how, rpc_world.next_name, scripts.local_add, t1, t2))
        assert loss.item() == 21.0
        dist_autograd.backward(context_id, [loss])
        grads = dist_autograd.get_gradients(context_id)
        found = [grads[each].to_dense() if grads[each].is_sparse else grads[each] for each in (t1, t2)]
        (wanted,) = mpigrad.autograd.grad(mpigrad.sparse.sum(t1 + t2), t1)
        wanted = wanted.to_dense() if wanted.is_sparse else wanted
        assert found[0].tolist() == found[1].tolist() == wanted.tolist()


def train_beside_others(server_rref, t2: Tensor) -> list[list[float]]:
    """Runs on each trainer, at the same time: what the server has for this trainer's context alone."""
    with dist_autograd.context() as context_id:
        answer = rpc.rpc_sync(server_rref.owner(), scripts.ref_add, args=(server_rref, t2))
        loss = mpigrad.sparse.sum(answer) if answer.is_sparse else (answer * (rpc.get_worker_info().id + 1)).sum()
        scripts.train_step(context_id, loss)
        assert len(dist_autograd.get_gradients(context_id)) == 1  # of what travelled here
        return rpc.rpc_sync(server_rref.owner(), gradients_there, args=(context_id, server_rref)).tolist()


@pytest.mark.parametrize("sparse", [False, True])
def test_trainers_at_once_with_a_scripted_parameter_server(rpc_world, sparse) -> None:
    if rpc_world.rank == 0:
        rref = rpc.remote(rpc_world.name, scripts.make_ones)
        t2 = sparse_leaf(3.2, 4.1, 5.3) if sparse else leaf(3, 3)
        trainers = range(1, rpc_world.world_size)
        going = [rpc.rpc_async(rpc_world.worker(rank), train_beside_others, args=(rref, t2)) for rank in trainers]
        for rank, each in zip(trainers, going):
            assert each.wait() == [[1.0 + rank] * 3] * 3
    rpc_world.barrier()


def test_get_gradients_in_a_script(rpc_world) -> None:
    @mpigrad.jit.script
    def dist_get_gradients(context_id: int) -> dict[Tensor, Tensor]:
        return dist_autograd.get_gradients(context_id)

    FileCheck().check("get_gradients").run(str(dist_get_gradients.graph))
    with dist_autograd.context() as context_id:
        t1, t2 = leaf(3, 3), leaf(3, 3)
        dist_autograd.backward(context_id, [mpigrad.add(t1, t2).sum()])
        grads = dist_get_gradients(context_id)
        assert len(grads) == 2
        assert grads[t1].tolist() == grads[t2].tolist() == [[1.0] * 3] * 3


def test_backward_in_a_script(rpc_world) -> None:
    FileCheck().check("dist_backward").run(str(scripts.train_step.graph))
    with dist_autograd.context() as context_id:
        t1, t2 = leaf(3, 3), leaf(3, 3)
        loss = rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(t1, t2)).sum()
        assert scripts.train_step(context_id, loss) is None
        assert dist_autograd.get_gradients(context_id)[t1].tolist() == [[1.0] * 3] * 3


def test_fork_keeps_the_context(rpc_world) -> None:
    FileCheck().check("prim::fork").check("aten::wait").run(scripts.fork_add.graph)
    with dist_autograd.context() as context_id:
        t1, t2 = leaf(3, 3), leaf(3, 3)
        loss = scripts.fork_add(t1, t2, rpc_world.next_name).sum()
        dist_autograd.backward(context_id, [loss])
        grads = dist_autograd.get_gradients(context_id)
        assert len(grads) == 2 and t1 in grads and t2 in grads


def test_forks_run_on_the_agents_pool(rpc_world) -> None:
    def where() -> str:
        return threading.current_thread().name

    assert mpigrad.jit.fork(where).wait().startswith("mpigrad-")


def test_the_context_is_still_there_after_waiting(rpc_world) -> None:
    @mpigrad.jit.script
    def forward_script(context_id: int, dst: str, t1: Tensor, t2: Tensor) -> tuple[Tensor, Tensor]:
        res1 = rpc.rpc_async(dst, scripts.local_add, (t1, t1)).wait()
        loss1 = res1.sum()
        res2_fut = rpc.rpc_async(dst, scripts.local_add, (t2, t2))
        res2 = res2_fut.wait()
        loss2 = res2.sum()
        return loss1, loss2

    FileCheck().check_count("prim::rpc_async", 2, exactly=True).run(forward_script.graph)
    with dist_autograd.context() as context_id:
        t1, t2 = mpigrad.ones((2, 3), requires_grad=True), mpigrad.ones((2, 3), requires_grad=True)
        losses = forward_script(context_id, rpc_world.next_name, t1, t2)
        dist_autograd.backward(context_id, list(losses))
        grads = dist_autograd.get_gradients(context_id)
        assert grads[t1].tolist() == grads[t2].tolist() == [[2.0] * 3] * 2


def test_calls_from_scripts_show_in_the_graph_and_run(rpc_world) -> None:
    dst = rpc_world.next_name
    t1, t2 = mpigrad.ones(2), mpigrad.ones(2)
    FileCheck().check("prim::rpc_sync").run(scripts.sync_add.graph)
    FileCheck().check("RRef[Tensor] = prim::rpc_remote").run(scripts.make_there.graph)
    assert scripts.sync_add(t1, t2, dst).tolist() == [2.0, 2.0]
    assert scripts.make_there(t1, t2, dst).to_here().tolist() == [2.0, 2.0]
    assert scripts.on_two(t1, t2, dst, rpc_world.name).tolist() == [4.0, 4.0]
    assert scripts.on_two(t1, t2, dst, rpc_world.name, 0.5).tolist() == [2.0, 2.0]


def test_futures_are_values_of_scripts(rpc_world) -> None:
    FileCheck().check("Future[Tensor]").check("aten::wait").run(scripts.finished.graph)
    names = [rpc_world.worker(rank) for rank in range(rpc_world.world_size)]
    with dist_autograd.context() as context_id:
        t1, t2 = leaf(2), leaf(2)
        futures = [scripts.started(t1, t2, name) for name in names]
        both = scripts.finished(futures[0], futures[1:]) + scripts.gathered(t1, t2, names)
        scripts.train_step(context_id, both.sum())
        assert dist_autograd.get_gradients(context_id)[t1].tolist() == [2.0 * len(names)] * 2
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'Future\[Tensor\]' for argument 'first'"):
        scripts.finished(t1, [])


def test_scripts_of_scripts_on_several_workers(rpc_world) -> None:
    """The script runs on the next worker and calls the one after it."""
    after = rpc_world.worker((rpc_world.rank + 2) % rpc_world.world_size)
    with dist_autograd.context() as context_id:
        t1, t2 = leaf(2), leaf(2)
        loss = rpc.rpc_sync(rpc_world.next_name, scripts.fork_add, args=(t1, t2, after)).sum()
        scripts.train_step(context_id, loss)
        assert dist_autograd.get_gradients(context_id)[t2].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("sparse", [False, True])
def test_trainer_and_parameter_server(rpc_world, sparse) -> None:
    t1 = rpc.rpc_sync(rpc_world.next_name, scripts.make_ones) if not sparse else None
    assert sparse or t1.tolist() == [[1.0] * 3] * 3
    rref = rpc.remote(rpc_world.next_name, scripts.make_ones)
    if sparse:
        t2 = mpigrad.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.2, 4.1, 5.3], (3, 3), requires_grad=True)
    else:
        t2 = leaf(3, 3)
    with dist_autograd.context() as context_id:
        answer = rpc.rpc_sync(rpc_world.next_name, scripts.ref_add, args=(rref, t2))
        scripts.train_step(context_id, answer.sum())
        grads = dist_autograd.get_gradients(context_id)
        found = grads[t2]
        assert (found.to_dense() if found.is_sparse else found).sum().item() in (3.0, 9.0)
        there = rpc.rpc_sync(rpc_world.next_name, gradients_there, args=(context_id, rref))
        assert there.tolist() == [[1.0] * 3] * 3


def gradients_there(context_id: int, rref) -> Tensor:
    return dist_autograd.get_gradients(context_id)[rref.local_value()]


def test_local_value_of_a_reference_in_a_script(rpc_world) -> None:
    rref = rpc.remote(rpc_world.next_name, scripts.make_ones)
    assert rpc.rpc_sync(rpc_world.next_name, scripts.local_value_add, args=(rref, mpigrad.ones(3))).tolist() == [[2.0] * 3] * 3
    with pytest.raises(RuntimeError, match="local_value_add"):
        scripts.local_value_add(rref, mpigrad.ones(3))


def test_an_error_in_a_script_names_it(rpc_world) -> None:
    with pytest.raises(mpigrad.jit.Error, match=r"(?s)in refuse.*limit is too small"):
        rpc.rpc_sync(rpc_world.next_name, scripts.refuse, args=(mpigrad.ones(2), 1))
    with pytest.raises(RuntimeError, match=r"(?s)in mismatched"):
        rpc.rpc_async(rpc_world.next_name, scripts.mismatched, args=(mpigrad.ones(2, 3), mpigrad.ones(2, 3))).wait()
    with pytest.raises(RuntimeError, match=r"refuse\(\) Expected a value of type 'int' for argument 'limit'"):
        rpc.remote(rpc_world.next_name, scripts.refuse, args=(mpigrad.ones(2), "1")).to_here()


def test_a_script_that_the_other_worker_does_not_have(rpc_world) -> None:
    if rpc_world.rank == 0:

        @mpigrad.jit.script
        def only_here(x):
            return x + 1

        with pytest.raises(RuntimeError, match="only_here' is not defined on this worker"):
            rpc.rpc_sync(rpc_world.next_name, only_here, args=(mpigrad.ones(2),))
    rpc_world.barrier()


def test_scripts_defined_inside_functions_travel_too(rpc_world) -> None:
    @mpigrad.jit.script
    def inner(x, n: int):
        for _ in range(n):
            x = x * 2
        return x

    rpc_world.barrier()
    assert rpc.rpc_sync(rpc_world.next_name, inner, args=(mpigrad.ones(2), 3)).tolist() == [8.0, 8.0]
    rpc_world.barrier()


def test_wrong_calls_are_refused_while_scripting(rpc_world) -> None:
    def too_few(t, dst: str):
        return rpc_async_of(dst, t)

    def rpc_async_of(dst: str, t: Tensor) -> Tensor:
        return rpc.rpc_async(dst, scripts.local_add, (t,)).wait()

    def python_function(t, dst: str):
        return rpc.rpc_async(dst, len, (t,)).wait()

    with pytest.raises(RuntimeError, match="Argument t2 not provided"):
        mpigrad.jit.script(too_few)
    with pytest.raises(RuntimeError, match="rpc_async needs a scripted function"):
        mpigrad.jit.script(python_function)
