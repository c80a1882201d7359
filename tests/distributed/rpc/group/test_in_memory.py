"""Calls to groups, with 1 to 16 workers in one process."""

from __future__ import annotations

import operator
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._core.rpc.calls import INSTRUMENTS, Instrument
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.distributed.rpc._world.leaving import leave
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from . import functions as far


@pytest.mark.parametrize("fan_out", [None, 1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 16])
def test_results_are_in_the_order_of_members(size: int, fan_out: int | None) -> None:
    with world_in_memory(size, seed=3) as agents, acting_as(agents[size // 2]):
        assert rpc.WorkerGroup(fan_out=fan_out).rpc_sync(far.rank) == list(range(size))
        some = list(range(size - 1, -1, -2))
        group = rpc.WorkerGroup(some, fan_out=fan_out)
        assert group.rpc_sync(far.rank) == some
        assert group.rpc_sync(far.name, reduce=far.words) == " ".join(f"worker{each}" for each in some)
        assert [fut.wait() for fut in group.rpc_async_each(far.later, (10,))] == [each + 10 for each in some]
        assert [(rref.owner().id, rref.to_here()) for rref in group.remote(far.rank)] == [(each, each) for each in some]


def test_arguments_by_keyword_operators_lambdas_and_futures() -> None:
    with world_in_memory(7) as agents, acting_as(agents[2]):
        group = rpc.WorkerGroup(fan_out=2)
        assert group.rpc_sync(far.fail_on, args=([],), kwargs={"value": 5}) == [5 + rank for rank in range(7)]
        assert group.rpc_async(mpigrad.add, args=(mpigrad.ones(2), 1)).wait()[6].tolist() == [2.0, 2.0]
        assert group.rpc_sync(far.later, args=(1,)) == [1 + rank for rank in range(7)]
        rref = rpc.RRef(3)
        assert [each.owner().id for each in group.rpc_sync(operator.getitem, args=([rref], 0))] == [2] * 7
        with rpc.api._wait_all():
            several = group.rpc_async_each(far.later, args=(1,))
        assert all(fut.done() for fut in several)
        with rpc.api._wait_all():
            fut = group.rpc_async(far.rank)
        assert fut.done()


def test_members_change_their_own_copy_of_an_argument() -> None:
    x = np.ones(100_000)  # large: is sent after the call that sends it has returned
    with world_in_memory(8) as agents, acting_as(agents[0]):
        found = rpc.WorkerGroup(fan_out=2).rpc_sync(far.scale_in_place, args=(mpigrad.from_numpy(x.copy()),))
        for rank, each in enumerate(found):
            assert each.tolist() == [rank + 2.0] * len(x)


class Sent(Instrument):
    """Counts frames by type, sender and receiver, and the bytes of all."""

    def __init__(self) -> None:
        self.frames: Counter[tuple[int, int, int]] = Counter()

    def before_send(self, agent: Any, dst: int, kind: int, call_id: int, function: bytes, extra: int) -> None:
        self.frames[kind, agent.rank, dst] += 1

    def __enter__(self) -> Sent:
        INSTRUMENTS.add(self)
        return self

    def __exit__(self, *_: Any) -> None:
        INSTRUMENTS.remove(self)


def test_the_caller_sends_one_request_to_each_child_and_large_arguments_once_per_edge() -> None:
    nbytes = 8 << 20
    with world_in_memory(16) as agents, acting_as(agents[0]), Sent() as sent:
        before = [agent.transport.bytes_sent for agent in agents]
        group = rpc.WorkerGroup(range(1, 16), fan_out=3)
        assert group.rpc_sync(len, args=(np.zeros(nbytes, np.uint8),)) == [nbytes] * 15
        calls = {(src, dst) for kind, src, dst in sent.frames if kind == MessageType.PYTHON_CALL}
        assert sorted(dst for src, dst in calls if src == 0) == [1, 6, 11]
        assert max(Counter(src for src, dst in calls if src != dst).values()) <= 3
        assert all(sum(dst == rank != src for src, dst in calls) == 1 for rank in range(1, 16))
        used = [agent.transport.bytes_sent - was for agent, was in zip(agents, before)]
        assert nbytes * 3 <= used[0] < nbytes * 3.1


def gradients(size: int, call: Any) -> tuple[list[Any], dict[str, Any]]:
    """The gradient of an argument in a context, which `call(x)` sends to all workers; and who sent gradients to whom."""
    with world_in_memory(size, seed=1) as agents, acting_as(agents[0]), dist_autograd.context() as context_id:
        x = mpigrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
        loss = sum(value.sum() * (i + 1) for i, value in enumerate(call(x)))
        with Sent() as sent:
            dist_autograd.backward(context_id, [loss])
        return dist_autograd.get_gradients(context_id)[x].tolist(), {"frames": sent.frames}


@pytest.mark.parametrize("size", [1, 2, 4, 9, 16])
def test_gradients_are_those_of_a_loop_of_calls(size: int) -> None:
    loop, _ = gradients(size, lambda x: [rpc.rpc_sync(rank, far.scaled, args=(x,)) for rank in range(size)])
    tree, _ = gradients(size, lambda x: rpc.WorkerGroup(fan_out=2).rpc_sync(far.scaled, args=(x,)))
    assert tree == loop
    reduced, _ = gradients(size, lambda x: [rpc.WorkerGroup(fan_out=2).rpc_sync(far.scaled, args=(x,), reduce=operator.add)])
    expected = [sum(rank + 1 + 2 * value for rank in range(size)) for value in (1.0, -2.0, 3.0)]
    assert reduced == expected


def test_gradients_are_summed_on_the_way() -> None:
    """The caller gets the gradients of its argument once from each child, not from each member."""
    _, found = gradients(16, lambda x: rpc.WorkerGroup(range(1, 16), fan_out=3).rpc_sync(far.scaled, args=(x,)))
    to_caller = Counter(
        src for kind, src, dst in found["frames"].elements() if kind == MessageType.BACKWARD_AUTOGRAD_REQ and dst == 0 != src
    )
    assert not to_caller  # they come in the answers
    from_caller = {dst for kind, src, dst in found["frames"] if kind == MessageType.BACKWARD_AUTOGRAD_REQ and src == 0}
    assert from_caller == {1, 6, 11}
    kinds = Counter(kind for kind, src, dst in found["frames"].elements() if src != dst)
    assert kinds[MessageType.BACKWARD_AUTOGRAD_REQ] == kinds[MessageType.REPLY] == 15  # one each along every edge
    assert set(kinds) == {MessageType.BACKWARD_AUTOGRAD_REQ, MessageType.REPLY}  # no hold, no reach phase


def test_gradients_of_gradients_and_repeated_passes() -> None:
    with world_in_memory(5) as agents, acting_as(agents[0]), dist_autograd.context() as context_id:
        x = mpigrad.tensor([1.0, 2.0], requires_grad=True)
        loss = rpc.WorkerGroup(fan_out=2).rpc_sync(far.scaled, args=(x,), reduce=operator.add).sum()
        dist_autograd.backward(context_id, [loss], retain_graph=True)
        once = dist_autograd.get_gradients(context_id)[x].tolist()
        dist_autograd.backward(context_id, [loss])
        assert dist_autograd.get_gradients(context_id)[x].tolist() == [2 * each for each in once] == [50.0, 70.0]


def test_a_group_is_sent_and_called_by_a_member() -> None:
    with world_in_memory(6) as agents, acting_as(agents[0]), dist_autograd.context() as context_id:
        group = rpc.WorkerGroup(fan_out=2)
        x = mpigrad.ones(2, requires_grad=True)
        loss = rpc.rpc_sync("worker3", far.loss_of_group, args=(group, x))
        dist_autograd.backward(context_id, [loss])
        assert dist_autograd.get_gradients(context_id)[x].tolist() == [sum(range(1, 7)) + 2.0 * 6] * 2


def test_errors_name_every_failed_member_and_the_others_answer() -> None:
    with world_in_memory(12) as agents, acting_as(agents[0]):
        group = rpc.WorkerGroup(fan_out=2)
        with pytest.raises(rpc.GroupError, match="3 of 12 members of the group failed") as caught:
            group.rpc_sync(far.fail_on, args=([0, 4, 11],))
        assert list(caught.value.errors) == ["worker0", "worker4", "worker11"]
        for name, error in caught.value.errors.items():
            assert isinstance(error, ValueError) and f"refused by rank {name[6:]}" in str(error)
            assert name in str(caught.value) and "in fail_on" in str(error.__cause__)
        futures = group.rpc_async_each(far.fail_on, args=([3, 4],))
        eventually(lambda: all(fut.done() for fut in futures))
        assert [i for i, fut in enumerate(futures) if fut._state == 2] == [3, 4]
        assert [fut.value() for i, fut in enumerate(futures) if i not in (3, 4)] == [0, 1, 2, *range(5, 12)]
        with pytest.raises(rpc.GroupError, match="worker3"):
            group.rpc_sync(far.fail_on, args=([3],), reduce=operator.add)
        with pytest.raises((rpc.GroupError, KeyError), match="no such sum"):
            group.rpc_sync(far.rank, reduce=far.failing_reduce)
        with pytest.raises(rpc.GroupError, match="12 of 12"):
            group.rpc_sync(far.strange)
        refs = group.remote(far.fail_on, args=([7],))
        with pytest.raises(ValueError, match="refused by rank 7"):
            refs[7].to_here()
        assert refs[8].to_here() == 8


def test_arguments_that_cannot_be_sent_are_an_error_of_the_caller() -> None:
    with world_in_memory(5) as agents, acting_as(agents[0]):
        with pytest.raises(rpc.GroupError, match="5 of 5"):
            rpc.WorkerGroup(fan_out=2).rpc_sync(len, args=((each for each in ()),))
        with pytest.raises(TypeError, match="function should be callable"):
            rpc.WorkerGroup().rpc_sync(3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="reduce should be a function of two results, got 3"):
            rpc.WorkerGroup().rpc_sync(len, reduce=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("slow", [[5], [1], [3, 15]])
def test_a_timeout_names_the_members_that_did_not_answer(slow: list[int]) -> None:
    far.RELEASE.clear()
    with world_in_memory(16, graceful=False) as agents, acting_as(agents[0]):
        try:
            group = rpc.WorkerGroup(fan_out=2)
            began = time.monotonic()
            with pytest.raises(rpc.GroupError, match=f"{len(slow)} of 16 members") as caught:
                group.rpc_sync(far.wait_on, args=(slow,), timeout=2.0)
            assert time.monotonic() - began < 15  # `wait_on` waits for 20 s
            assert list(caught.value.errors) == [f"worker{rank}" for rank in slow]
            assert "RPC ran for more than set timeout" in str(caught.value)
        finally:
            far.RELEASE.set()


def test_members_behind_a_lost_head_are_named_with_the_reason() -> None:
    far.RELEASE.clear()
    with world_in_memory(9, graceful=False) as agents, acting_as(agents[0]):
        try:
            group = rpc.WorkerGroup(range(1, 9), fan_out=2)  # heads 1 and 5
            fut = group.rpc_async(far.wait_on, args=([7],))
            eventually(lambda: agents[7].server.running)
            with acting_as(agents[5]):
                leave(agents[5], False, 0)
            with pytest.raises(rpc.GroupError, match="4 of 8 members") as caught:
                fut.wait()
            errors = caught.value.errors
            assert list(errors) == ["worker5", "worker6", "worker7", "worker8"]
            assert "worker5" in str(errors["worker5"]) and "has left" in str(errors["worker5"])
            assert "not known whether worker8 ran the function: its call went through worker5" in str(errors["worker8"])
            eventually(lambda: all(5 in agent.gone for i, agent in enumerate(agents) if i != 5))
            with pytest.raises(rpc.GroupError, match="1 of 8 members") as caught:
                group.rpc_sync(far.rank)
            assert list(caught.value.errors) == ["worker5"]
        finally:
            far.RELEASE.set()


def test_a_member_that_is_killed_during_a_call_is_named_and_all_others_answer() -> None:
    far.RELEASE.clear()
    with world_in_memory(9, graceful=False) as agents, acting_as(agents[0]):
        try:
            group = rpc.WorkerGroup(range(1, 9), fan_out=2)  # worker7 is called by worker5
            whole, each = group.rpc_async(far.wait_on, args=([7],)), group.rpc_async_each(far.wait_on, args=([7],))
            eventually(lambda: len(agents[7].server.running) == 2)
            agents[0].transport.network.lose(7)
            with pytest.raises(rpc.GroupError, match="1 of 8 members") as caught:
                whole.wait()
            (error,) = caught.value.errors.values()
            assert isinstance(error, rpc.WorkerLostError) and (error.name, error.rank) == ("worker7", 7)
            assert [fut.wait() for i, fut in enumerate(each) if i != 6] == [1, 2, 3, 4, 5, 6, 8]
            with pytest.raises(rpc.WorkerLostError, match="worker7"):
                each[6].wait()
        finally:
            far.RELEASE.set()


def test_meshes() -> None:
    with world_in_memory(12) as agents, acting_as(agents[7]):
        group = rpc.WorkerGroup(shape={"data": 3, "pipe": 4})
        assert [each.id for each in group.slice(pipe=1)] == [1, 5, 9]
        assert [each.id for each in group.slice(data=2)] == [8, 9, 10, 11]
        assert [each.id for each in group.slice(data=slice(1, None), pipe=slice(0, 4, 2))] == [4, 6, 8, 10]
        assert group.slice(data=slice(1, None), pipe=0).shape == {"data": 2}
        assert [each.id for each in group.slice(data=1, pipe=3)] == [7]
        assert group.slice(data=1, pipe=3).shape == {}
        assert group.coordinates() == {"data": 1, "pipe": 3} and group.coordinates("worker4") == {"data": 1, "pipe": 0}
        assert [part.rpc_sync(far.rank, reduce=operator.add) for part in group.slices("data")] == [6, 22, 38]
        assert len(group) == 12 and "worker3" in group and 3 in group and "worker12" not in group
        assert repr(group) == "WorkerGroup(12 workers, shape={'data': 3, 'pipe': 4})"


def test_what_a_group_refuses() -> None:
    with world_in_memory(4) as agents, acting_as(agents[0]):
        with pytest.raises(ValueError, match=r"a mesh of shape \{'data': 3\} has 3 workers, got 4"):
            rpc.WorkerGroup(shape={"data": 3})
        with pytest.raises(ValueError, match="at least one worker"):
            rpc.WorkerGroup([])
        with pytest.raises(ValueError, match=r"name=worker1\) is given more often"):
            rpc.WorkerGroup(["worker1", 1])
        with pytest.raises(RuntimeError, match="could not find destination name worker9"):
            rpc.WorkerGroup(["worker9"])
        with pytest.raises(ValueError, match="fan_out must be at least 1, got 0"):
            rpc.WorkerGroup(fan_out=0)
        with pytest.raises(ValueError, match="has no shape"):
            rpc.WorkerGroup().slice(data=0)
        with pytest.raises(ValueError, match=r"unknown dimension 'dat': the mesh has \['data'\]"):
            rpc.WorkerGroup(shape={"data": 4}).slice(dat=0)
        with pytest.raises(ValueError, match=r"WorkerInfo\(id=0, name=worker0\) is not a member"):
            rpc.WorkerGroup([1, 2], shape={"data": 2}).coordinates()
