"""Passes in which gradients of several messages meet: parts that join, roots twice, passes at once, errors, releases."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._protocol.errors import WorkerGoneError
from tests.support.in_memory import acting_as, world_in_memory

from .. import functions as fn


@pytest.fixture
def agents():
    with world_in_memory(4, graceful=False, rpc_timeout=20) as made, acting_as(made[0]):
        yield made
        settled(made)


def settled(agents: Any) -> None:
    deadline = time.monotonic() + 10
    while any(agent.autograd.live or agent.autograd.initiated for agent in agents):
        assert time.monotonic() < deadline, [agent.autograd.live for agent in agents]
        time.sleep(0.002)


def leaf(*values: float) -> mpigrad.Tensor:
    return mpigrad.tensor(list(values), dtype=mpigrad.float64, requires_grad=True)


def square(to: str, x: mpigrad.Tensor) -> mpigrad.Tensor:
    return rpc.rpc_sync(to, mpigrad.mul, args=(x, x))


GATE = threading.Event()


class Waits(mpigrad.autograd.Function):
    """The identity, whose backward waits for a gate."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        assert GATE.wait(10)
        return grad


def waiting(x: Any) -> Any:
    return Waits.apply(x)


def until(condition: Any) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


class Started(threading.Thread):
    """A backward pass on a thread of its own; `error` is what it ended with."""

    def __init__(self, agent: Any, context_id: int, loss: mpigrad.Tensor, retain: bool = False) -> None:
        super().__init__(daemon=True)
        self.given, self.error = (agent, context_id, loss, retain), None
        self.start()

    def run(self) -> None:
        agent, context_id, loss, retain = self.given
        with acting_as(agent):
            try:
                dist_autograd.backward(context_id, [loss], retain_graph=retain)
            except BaseException as error:
                self.error = error

    def end(self) -> BaseException | None:
        self.join(15)
        assert not self.is_alive(), "the pass hangs"
        return self.error


def test_a_send_joins_a_part_of_two_with_a_part_of_one(agents) -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seen = []
    with dist_autograd.context() as context_id:
        y, z = a * a, b * b
        z.register_hook(lambda grad: seen.append(grad.tolist()))
        outs = [square("worker1", x) for x in (z, y, y, y + z)]
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
        loss = (square("worker1", y) + y).sum()
        dist_autograd.backward(context_id, [loss, loss])
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [42.0, 78.0]


def test_passes_from_the_same_roots_at_once(agents) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        y = a * 3
        far = rpc.rpc_sync("worker1", fn.nested, args=(y, y, ["worker2", "worker3", "worker1"]))
        loss = (far + square("worker2", y) + y).sum()
        passes = [Started(agents[0], context_id, loss, retain=True) for _ in range(6)]
        assert [each.end() for each in passes] == [None] * 6
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [6 * 27.0, 6 * 45.0]


def test_gradients_that_come_after_the_pass_has_failed(agents) -> None:
    GATE.clear()
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        y = a * 3
        late = rpc.rpc_sync("worker1", waiting, args=(y,))
        bad = rpc.rpc_sync("worker2", fn.failing, args=(y,))
        one = Started(agents[0], context_id, (late + bad).sum())
        until(lambda: any(each.error for each in agents[0].autograd.initiated.values()))
        GATE.set()
        assert isinstance(one.end(), KeyError)
        settled(agents)


def held(agent: Any, context_id: int) -> bool:
    context = agent.autograd.container.contexts.get(context_id)
    return context is not None and bool(context.joined)


def test_a_release_while_gradients_wait_for_each_other(agents) -> None:
    GATE.clear()
    a = leaf(1.0, 2.0)
    context = dist_autograd._new_context()
    y = a * 3
    loss = (square("worker2", y) + rpc.rpc_sync("worker1", waiting, args=(y,))).sum()
    one = Started(agents[0], context.context_id, loss)
    until(lambda: held(agents[0], context.context_id))
    dist_autograd._release_context(context.context_id)
    GATE.set()
    assert "Could not find autograd context with id" in str(one.end())


def twice(x: Any) -> Any:
    """Two calls that share their input, so that gradients meet here."""
    y = x * 3
    return square("worker2", y) + rpc.rpc_sync("worker3", waiting, args=(y,))


def test_a_worker_that_holds_gradients_leaves(agents) -> None:
    GATE.clear()
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        one = Started(agents[0], context_id, rpc.rpc_sync("worker1", twice, args=(a,)).sum())
        until(lambda: held(agents[1], context_id))
        agents[0].lose(1, "worker1 (rank 1) has left")
        error = one.end()
        assert isinstance(error, WorkerGoneError) and "worker1" in str(error)
        GATE.set()


def test_the_worker_that_began_a_pass_leaves(agents) -> None:
    GATE.clear()
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        one = Started(agents[0], context_id, rpc.rpc_sync("worker1", twice, args=(a,)).sum())
        until(lambda: held(agents[1], context_id))
        agents[1].lose(0, "worker0 (rank 0) has left")
        until(lambda: not held(agents[1], context_id))
        agents[0].lose(1, "worker1 (rank 1) has left")
        GATE.set()
        assert isinstance(one.end(), WorkerGoneError)
