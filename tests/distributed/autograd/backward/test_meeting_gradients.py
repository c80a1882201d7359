"""Passes in which gradients of several messages meet: parts that join, roots twice, passes at once, errors, releases."""

from __future__ import annotations

from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._protocol.errors import WorkerGoneError
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .. import functions as fn
from .passes import Started, leaf, settled


@pytest.fixture
def agents():
    with world_in_memory(4, graceful=False, rpc_timeout=20) as made, acting_as(made[0]):
        fn.GATE.clear()
        yield made
        fn.GATE.set()
        settled(made)


def test_a_send_joins_a_part_of_two_with_a_part_of_one(agents) -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seen = []
    with dist_autograd.context() as context_id:
        y, z = a * a, b * b
        z.register_hook(lambda grad: seen.append(grad.tolist()))
        outs = [fn.square("worker1", x) for x in (z, y, y, y + z)]
        dist_autograd.backward(context_id, [sum(outs).sum()])
        found = dist_autograd.get_gradients(context_id)
    y, z = a * a, b * b
    wanted = mpigrad.autograd.grad((z * z + y * y + y * y + (y + z) * (y + z)).sum(), [a, b])
    assert [found[a].tolist(), found[b].tolist()] == [each.tolist() for each in wanted]
    assert len(seen) == 1


def test_a_root_given_twice_where_it_meets_a_call(agents) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        y = a * 3
        loss = (fn.square("worker1", y) + y).sum()
        dist_autograd.backward(context_id, [loss, loss])
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [42.0, 78.0]


def test_passes_from_the_same_roots_at_once(agents) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        y = a * 3
        far = rpc.rpc_sync("worker1", fn.nested, args=(y, y, ["worker2", "worker3", "worker1"]))
        loss = (far + fn.square("worker2", y) + y).sum()
        passes = [Started(agents[0], context_id, loss, retain=True) for _ in range(6)]
        assert [each.end() for each in passes] == [None] * 6
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [6 * 27.0, 6 * 45.0]


def test_gradients_that_come_after_the_pass_has_failed(agents) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        y = a * 3
        late = rpc.rpc_sync("worker1", fn.waiting, args=(y,))
        bad = rpc.rpc_sync("worker2", fn.failing, args=(y,))
        one = Started(agents[0], context_id, (late + bad).sum())
        eventually(lambda: any(each.error for each in agents[0].autograd.initiated.values()))
        fn.GATE.set()
        assert isinstance(one.end(), KeyError)
        settled(agents)


def held(agent: Any, context_id: int) -> bool:
    context = agent.autograd.container.contexts.get(context_id)
    return context is not None and bool(context.joined)


def test_a_release_while_gradients_wait_for_each_other(agents) -> None:
    a = leaf(1.0, 2.0)
    context = dist_autograd._new_context()
    y = a * 3
    loss = (fn.square("worker2", y) + rpc.rpc_sync("worker1", fn.waiting, args=(y,))).sum()
    one = Started(agents[0], context.context_id, loss)
    eventually(lambda: held(agents[0], context.context_id))
    dist_autograd._release_context(context.context_id)
    fn.GATE.set()
    assert "Could not find autograd context with id" in str(one.end())


def test_a_worker_that_holds_gradients_leaves(agents) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        one = Started(agents[0], context_id, rpc.rpc_sync("worker1", fn.meeting, args=(a, "worker2", "worker3")).sum())
        eventually(lambda: held(agents[1], context_id))
        agents[0].lose(1, "worker1 (rank 1) has left")
        error = one.end()
        assert isinstance(error, WorkerGoneError) and "worker1" in str(error)
        fn.GATE.set()


def test_the_worker_that_began_a_pass_leaves(agents) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        one = Started(agents[0], context_id, rpc.rpc_sync("worker1", fn.meeting, args=(a, "worker2", "worker3")).sum())
        eventually(lambda: held(agents[1], context_id))
        agents[1].lose(0, "worker0 (rank 0) has left")
        eventually(lambda: not held(agents[1], context_id))
        agents[0].lose(1, "worker1 (rank 1) has left")
        fn.GATE.set()
        assert isinstance(one.end(), WorkerGoneError)
