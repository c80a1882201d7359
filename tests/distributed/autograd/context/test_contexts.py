"""Contexts: ids, threads, nesting, and their release on every worker they reached."""

from __future__ import annotations

import threading

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from tests.support.eventually import eventually

from .. import functions as fn

pytestmark = pytest.mark.mpi(min_size=2)


def contexts_here() -> int:
    return dist_autograd._get_debug_info()["num_autograd_contexts"]


def test_ids_carry_the_worker_in_their_top_bits(rpc_world) -> None:
    assert dist_autograd._get_max_id() == (rpc_world.rank << 48) | ((1 << 48) - 1)
    seen = []
    for _ in range(200):
        with dist_autograd.context() as context_id:
            assert context_id >> 48 == rpc_world.rank
            assert dist_autograd._retrieve_context(context_id)._context_id() == context_id
            dist_autograd._is_valid_context(context_id)
            seen.append(context_id)
    assert seen == list(range(seen[0], seen[0] + 200))
    for context_id in seen:
        with pytest.raises(RuntimeError, match=f"Could not find autograd context with id: {context_id}"):
            dist_autograd._retrieve_context(context_id)


def test_a_context_inside_a_context_is_refused(rpc_world) -> None:
    with dist_autograd.context() as context_id:
        with pytest.raises(RuntimeError, match=f"Already have an autograd context id for this thread: {context_id}"):
            with dist_autograd.context():
                pass
        assert dist_autograd._current_context()._context_id() == context_id


def test_threads_have_contexts_of_their_own(rpc_world) -> None:
    found = []

    def use() -> None:
        with dist_autograd.context() as context_id:
            x = fn.ones(2)
            dist_autograd.backward(context_id, [rpc.rpc_sync(rpc_world.next_name, fn.add, args=(x, x)).sum()])
            found.append((context_id, dist_autograd.get_gradients(context_id)[x].tolist()))

    with dist_autograd.context():
        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert len({context_id for context_id, _ in found}) == 4
    assert [grad for _, grad in found] == [[2.0, 2.0]] * 4


@pytest.mark.parametrize(
    "tensor", [mpigrad.ones(2), mpigrad.ones(2, requires_grad=True), 3], ids=["plain", "grad", "number"]
)
def test_release_reaches_every_worker(rpc_world, tensor) -> None:
    others = [rank for rank in range(rpc_world.world_size) if rank != rpc_world.rank]
    hops = [rpc_world.worker(rank) for rank in others]
    with dist_autograd.context() as context_id:
        rpc.rpc_sync(hops[0], fn.nested, args=(tensor, tensor, hops[1:]))
        assert all(rpc.rpc_sync(hop, fn.context_exists, args=(context_id,)) for hop in hops)
    rpc_world.barrier()
    eventually(contexts_here, equals=0)
    rpc_world.barrier()
    eventually(dist_autograd._num_unacknowledged_releases, equals=0)


def test_a_call_not_waited_for_neither_revives_nor_leaks_its_context(rpc_world) -> None:
    pending = []
    for _ in range(20):
        with dist_autograd.context():
            pending.append(rpc.rpc_async(rpc_world.next_name, fn.add, args=(fn.ones(2), fn.ones(2))))
    for future in pending:
        assert future.wait().tolist() == [2.0, 2.0]
    rpc_world.barrier()
    eventually(contexts_here, equals=0)


def test_many_contexts_leave_nothing(rpc_world) -> None:
    x = fn.ones(2)
    for _ in range(200):
        with dist_autograd.context() as context_id:
            dist_autograd.backward(context_id, [rpc.rpc_sync(rpc_world.next_name, fn.add, args=(x, x)).sum()])
    rpc_world.barrier()
    eventually(contexts_here, equals=0)
    assert dist_autograd._get_debug_info()["num_current_backward_passes"] == 0


def test_released_by_hand(rpc_world) -> None:
    context = dist_autograd._new_context()
    assert dist_autograd._has_valid_context()
    dist_autograd._release_context(context._context_id())
    assert not dist_autograd._has_valid_context()
    with pytest.raises(RuntimeError, match="Could not find autograd context with id"):
        dist_autograd._release_context(context._context_id())
