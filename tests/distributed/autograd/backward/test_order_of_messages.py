"""Passes while messages overtake each other, other passes run in the same context, and parts are dropped in mid-run."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._core.autograd import contexts, engine
from mpigrad._core.autograd.contexts import record_send
from mpigrad._core.autograd.passes import _REQUEST, Pass, find_part
from mpigrad._core.rpc.calls import INSTRUMENTS, Instrument
from mpigrad.distributed.rpc._agent import current
from mpigrad.distributed.rpc._testing.faults import Faults
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .. import functions as fn
from .passes import Started, leaf, settled


@pytest.fixture
def agents():
    with world_in_memory(4, graceful=False, rpc_timeout=8) as made, acting_as(made[0]):
        fn.GATE.clear()
        yield made
        fn.GATE.set()
        settled(made)


def meeting_at(function: Any, x: mpigrad.Tensor) -> mpigrad.Tensor:
    """Two calls of this worker whose gradients meet at a function of the user's."""
    y = function(x)
    fn.square("worker2", y)  # unused: its gradients will not come, which only the reach phase finds out
    return fn.square("worker2", y) + fn.square("worker3", y)


def at_a_failing_one(x: mpigrad.Tensor) -> mpigrad.Tensor:
    return meeting_at(fn.failing, x)


def at_a_waiting_one(x: mpigrad.Tensor) -> mpigrad.Tensor:
    return meeting_at(fn.waiting, x)


def test_the_news_of_a_failure_comes_late(agents) -> None:
    """Nothing that a worker says afterwards may look like the end of the pass."""
    agents[1].sender.faults = Faults([], {"FAILED_AUTOGRAD": 0.15}, 0)
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync("worker1", at_a_failing_one, args=(a,)).sum()
        with pytest.raises(KeyError, match="no gradient today"):
            dist_autograd.backward(context_id, [loss])


def test_a_part_that_the_initiator_cannot_wait_for_fails_the_pass(agents, monkeypatch) -> None:
    def refused(*_: Any) -> Any:
        raise ConnectionError("no way to ask")

    monkeypatch.setattr(engine, "reach", refused)
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        y = a * 3
        fn.square("worker3", y)  # unused
        with pytest.raises(ConnectionError, match="no way to ask"):
            dist_autograd.backward(context_id, [(fn.square("worker1", y) + fn.square("worker2", y)).sum()])
        with pytest.raises(ConnectionError, match="no way to ask"):
            dist_autograd.backward(context_id, [(fn.square("worker1", y) + y).sum()])
        loss = rpc.rpc_sync("worker1", at_a_waiting_one, args=(a,)).sum()
        with pytest.raises(ConnectionError, match="no way to ask"):
            dist_autograd.backward(context_id, [loss])


class Sent(Instrument):
    """Notes the types of the messages that one agent sends."""

    def __init__(self, agent) -> None:
        self.agent, self.kinds = agent, []

    def before_send(self, agent, dst, kind, call_id, function, extra) -> None:
        if agent is self.agent:
            self.kinds.append(kind)


@pytest.fixture
def sent(agents):
    made = Sent(agents[1])
    INSTRUMENTS.add(made)
    yield made
    INSTRUMENTS.remove(made)


def test_a_pass_fails_while_a_part_of_it_runs(agents, sent) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        far = rpc.rpc_sync("worker1", at_a_waiting_one, args=(a,))
        one = Started(agents[0], context_id, far.sum())
        eventually(lambda: any(part._running for part in parts_of(agents[1], context_id)))
        (part,) = parts_of(agents[1], context_id)
        sent.kinds.clear()
        (started,) = agents[0].autograd.initiated.values()
        started.fail(ArithmeticError("given up"))
        eventually(lambda: part._aborted)
        assert part.branch in agents[1].autograd.live, "its own work still runs"
        fn.GATE.set()
        assert isinstance(one.end(), ArithmeticError)
        settled(agents)
        assert _REQUEST not in sent.kinds, "a part that was dropped sends nothing"


def parts_of(agent: Any, context_id: int) -> list[Any]:
    context = agent.autograd.container.contexts[context_id]
    return list({part for parts in list(context.joined.values()) for part in list(parts.values())})


def test_what_is_sent_in_mid_pass_makes_no_pass_wait_for_what_it_has_done(agents) -> None:
    """Two passes have run a source on its own when a new send joins it with another, whose gradients one of them awaits."""
    a, b = leaf(1.0, 2.0) * 2, leaf(3.0, 4.0) * 3
    with dist_autograd.context():
        context, worker = dist_autograd._current_context(), agents[0].autograd
        record_send(context, 1, [a])
        record_send(context, 2, [b])
        context.parts.catch_up()
        first, second = context.parts.source(1), context.parts.source(2)
        one, other = (Pass.begin(0, number, True, True, False) for number in (1, 2))
        assert context.parts.claim_independent(first, one.id) and context.parts.claim_independent(first, other.id)
        record_send(context, 3, [a + b])
        context.parts.catch_up()
        assert not context.parts.claim_independent(second, one.id)
        part = find_part(worker, context, one, second)
        assert first not in part.sources and second in part.sources
        part.abort()


def test_recorded_passes_at_once_in_one_context(agents) -> None:
    """What one pass records may join parts that another has run half of."""
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    agents[2].sender.faults = Faults([], {"BACKWARD_AUTOGRAD_REQ": 0.002, "REPLY": 0.003}, 0)
    with dist_autograd.context() as context_id:
        loss = (fn.square("worker1", a * 2) * fn.square("worker2", b * 3) * fn.square("worker3", a * 5)).sum()
        errors: list[BaseException] = []

        def differentiate() -> None:
            with acting_as(agents[0]):
                try:
                    for _ in range(4):
                        found = dist_autograd.grad(context_id, loss, [a, b], create_graph=True)
                        assert [each.tolist() for each in found] == wanted
                except BaseException as error:
                    errors.append(error)

        there = (4 * a * a * 9 * b * b * 25 * a * a).sum()
        wanted = [each.tolist() for each in mpigrad.autograd.grad(there, [a, b])]
        threads = [threading.Thread(target=differentiate, daemon=True) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(40)
            assert not thread.is_alive(), "a pass hangs"
        assert not errors, errors


def test_hooks_of_recv_functions_are_called_by_grad_too(agents) -> None:
    a, seen = leaf(1.0, 2.0), []
    with dist_autograd.context() as context_id:
        far = fn.square("worker1", a)
        far.grad_fn.register_prehook(lambda grads: seen.append(grads[0].tolist()))
        (found,) = dist_autograd.grad(context_id, far.sum(), a)
        assert found.tolist() == [2.0, 4.0] and seen == [[1.0, 1.0]]


def context_of(_: Any = None) -> int | None:
    return dist_autograd._current_context()._context_id() if dist_autograd._has_valid_context() else None


def slowly(x: Any) -> Any:
    time.sleep(0.02)
    return x


def test_callbacks_run_in_the_context_in_which_they_were_added(agents) -> None:
    outside = rpc.rpc_async("worker1", slowly, args=(1,)).then(context_of)
    with dist_autograd.context() as context_id:
        inside = rpc.rpc_async("worker1", slowly, args=(1,)).then(context_of)
        seen: list[Any] = []
        rpc.rpc_async("worker1", slowly, args=(1,)).add_done_callback(lambda _: seen.append(context_of()))
        assert outside.wait() is None and inside.wait() == context_id
        eventually(lambda: seen)
        assert seen == [context_id] and context_of() == context_id


def test_contexts_of_a_worker_that_is_gone_end_everywhere(agents) -> None:
    with acting_as(agents[1]):
        context = dist_autograd._new_context()
        rpc.rpc_sync("worker2", fn.nested, args=(leaf(1.0), 2.0, ["worker3"]))
        contexts.CURRENT.context = None
    assert all(context.context_id in agent.autograd.container.contexts for agent in agents[1:])
    agents[2].lose(1, "worker1 (rank 1) has left")
    eventually(lambda: not any(context.context_id in agent.autograd.container.contexts for agent in agents[2:]))


def test_a_context_that_came_through_a_worker_that_is_gone_ends_with_its_makers(agents) -> None:
    """worker0 knows worker1, which called worker2, which called worker3; both learn from worker0 of the end."""
    for moment in ("before", "after"):
        context = dist_autograd._new_context()
        context_id = context.context_id
        rpc.rpc_sync("worker1", fn.nested, args=(leaf(1.0), 2.0, ["worker2", "worker3"]))
        if moment == "after":
            agents[0].gone[1] = "worker1 has left"
            dist_autograd._release_context(context_id)
        for agent in agents[2:]:
            agent.lose(1, "worker1 (rank 1) has left")
        if moment == "before":
            eventually(lambda known=context._known_worker_ids: known() == {1, 2, 3})
            agents[0].gone[1] = "worker1 has left"
            dist_autograd._release_context(context_id)
        eventually(lambda gone=context_id: not any(gone in agent.autograd.container.contexts for agent in agents[2:]))
        for agent in (agents[0], *agents[2:]):  # it is back
            agent.gone.pop(1, None)
            agent.workers[1], agent.by_name["worker1"] = agents[1].info, agents[1].info


def test_rpc_ends_inside_a_context() -> None:
    with world_in_memory(2, graceful=False) as made:
        with acting_as(made[0]):
            with dist_autograd.context():
                rpc.rpc_sync("worker1", fn.add, args=(leaf(1.0), 2.0))
                current.set_agent(None)
            assert not dist_autograd._has_valid_context()
