"""Deferred work: run by the next thread whose poll finds nothing, never lost, and never more of it than the limit; and what such
a thread does otherwise."""

from __future__ import annotations

import os
import threading
import time

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._core.rpc.progress import DEFERRED_MAX, Idle, Lead
from mpigrad._core.rpc.transport import Transport
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .. import support_functions as far


class Still(Transport):
    """A transport in which nothing moves."""

    def pending(self) -> bool:
        return False


class Sending(Transport):
    """A transport with a frame that the receiver has not taken yet."""

    def pending(self) -> bool:
        return True


class Quiet:
    """A handler that has nothing to do."""

    def housekeep(self, now: float) -> None:
        pass


def new_idle(transport: type[Transport] = Still) -> Idle:
    return Idle(transport(), Quiet(), Lead())


def test_whoever_rests_does_one_piece_and_looks_again() -> None:
    idle, done = new_idle(), []
    for piece in range(3):
        idle.run_when_idle(done.append, piece)
    assert done == []
    for seen in ([0], [0, 1], [0, 1, 2], [0, 1, 2]):
        idle.back_off(time.monotonic(), 0.0, None)
        assert done == seen


def test_a_worker_that_never_rests_works_the_oldest_off() -> None:
    idle, done = new_idle(), []
    for piece in range(3 * DEFERRED_MAX):
        idle.run_when_idle(done.append, piece)
        assert len(idle._deferred) <= DEFERRED_MAX
    assert done == list(range(2 * DEFERRED_MAX))


def test_a_piece_that_fails_is_said_and_holds_up_nothing(caplog) -> None:
    idle, done = new_idle(), []
    idle.run_when_idle(lambda number: 1 // number, 0)
    idle.run_when_idle(done.append, 1)
    for _ in range(2):
        idle.back_off(time.monotonic(), 0.0, None)
    assert done == [1]
    assert "deferred work failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("transport", [Still, Sending])
def test_the_core_is_yielded_at_once(transport: type[Transport], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while a frame is in flight: the process that has to receive it may need this core."""
    yielded = []
    monkeypatch.setattr(os, "sched_yield", lambda: yielded.append(True))
    new_idle(transport).back_off(time.monotonic(), 0.0, None)
    assert yielded == [True]


def test_the_leader_does_it_when_nobody_waits() -> None:
    with world_in_memory(1) as agents:
        done = threading.Event()
        agents[0].progress.idle.run_when_idle(lambda event: event.set(), done)
        assert done.wait(20)


def test_releases_arrive_without_another_call() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        tensor = mpigrad.ones(2, requires_grad=True)
        with dist_autograd.context() as context_id:
            rpc.rpc_sync(1, far.add, args=(tensor, tensor))
            assert context_id in agents[1].autograd.container.contexts
        assert context_id not in agents[0].autograd.container.contexts
        eventually(lambda: context_id not in agents[1].autograd.container.contexts)
        eventually(lambda: not agents[0].autograd.releasing)


def test_what_was_sent_is_walked_before_gradients_come() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        tensor = mpigrad.ones(2, requires_grad=True)
        with dist_autograd.context() as context_id:
            rpc.rpc_sync(1, far.add, args=(tensor, tensor))
            for agent in agents:
                context = agent.autograd.container.contexts[context_id]
                eventually(lambda context=context: len(context.parts.sources) == len(context.sends) == 1)


def test_a_world_that_closes_at_once_has_told_everybody() -> None:
    for _ in range(20):
        with world_in_memory(3) as agents, acting_as(agents[0]):
            tensor = mpigrad.ones(2, requires_grad=True)
            with dist_autograd.context():
                for rank in (1, 2):
                    rpc.rpc_sync(rank, far.add, args=(tensor, tensor))
        assert [len(agent.autograd.container.contexts) for agent in agents] == [0, 0, 0]
        assert not agents[0].autograd.releasing
