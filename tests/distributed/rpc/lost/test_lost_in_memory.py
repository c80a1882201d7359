"""The loss of a worker over a transport in memory: who learns of it, in which order, and that nothing is left over."""

from __future__ import annotations

import threading

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.errors import WorkerGoneError
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.distributed.rpc._world.leaving import leave
from mpigrad.distributed.rpc._world.lost import lose
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .. import support_functions as far


@pytest.fixture(autouse=True)
def nothing_held():
    far.HELD.clear()
    yield
    far.HELD.clear()


def three(size: int = 3, **arguments):
    return world_in_memory(size, graceful=False, rpc_timeout=20, **arguments)


def forever() -> None:
    far.flag("forever").wait(10)


def test_pending_and_later_calls_fail_with_the_worker_in_the_error() -> None:
    with three() as agents, acting_as(agents[0]):
        pending = rpc.rpc_async(1, forever)
        agents[0].transport.network.lose(1)
        with pytest.raises(rpc.WorkerLostError, match=r"worker1 \(rank 1\) was lost: a test declared it lost") as told:
            pending.wait()
        assert (told.value.name, told.value.rank, told.value.incarnation) == ("worker1", 1, 0)
        assert isinstance(told.value, RuntimeError) and isinstance(told.value, WorkerGoneError)
        for to in (1, "worker1"):
            with pytest.raises(rpc.WorkerLostError, match="worker1"):
                rpc.rpc_sync(to, far.nothing)
        assert [info.name for info in rpc.get_worker_infos()] == ["worker0", "worker2"]
        assert rpc.rpc_sync(2, far.add, args=(1, 2)) == 3
        assert not agents[0].calls.pending
        far.set_flag("forever")


def test_the_error_keeps_its_fields_on_the_way_through_another_worker() -> None:
    with three() as agents, acting_as(agents[0]):
        agents[0].transport.network.lose(2)
        eventually(lambda: 2 in agents[1].lost)
        with pytest.raises(rpc.WorkerLostError, match="worker2") as told:
            rpc.rpc_sync(1, call, args=(2,))
        assert (told.value.name, told.value.rank, told.value.why) == ("worker2", 2, "a test declared it lost")


def call(rank: int) -> None:
    rpc.rpc_sync(rank, far.nothing)


def test_layers_learn_of_it_in_order_and_callbacks_last_on_another_thread() -> None:
    order: list[str] = []
    with three() as agents, acting_as(agents[0]):
        agent = agents[0]
        pending = rpc.rpc_async(1, forever)
        pending.add_done_callback(lambda fut: order.append("call"))

        def hook(which, rank):
            if which is agent:
                assert rank in agent.lost and rank not in agent.workers and pending.done()
                order.append("hook")

        extensions.worker_lost_hooks.append(hook)
        threads = []
        try:
            rpc.on_worker_lost(lambda *about: (threads.append(threading.current_thread()), order.append("callback")))
            agent.transport.network.lose(1)
            eventually(lambda: "callback" in order)
        finally:
            extensions.worker_lost_hooks.remove(hook)
        eventually(lambda: len(order) == 3)
        assert order.index("hook") < order.index("callback")
        assert threads[0] is not threading.current_thread()
        far.set_flag("forever")


def test_callbacks_get_every_loss_once_and_in_order_and_earlier_ones_too() -> None:
    with three(4) as agents, acting_as(agents[0]):
        told: list[list[int]] = [[], []]

        @rpc.on_worker_lost
        def fails(worker, incarnation, why):
            told[0].append(worker.id)
            raise ValueError("a callback's own error is logged")

        network = agents[0].transport.network
        network.lose(2)
        network.lose(2)
        network.lose(1, seconds=0.01)
        eventually(lambda: told[0], equals=[2, 1])
        rpc.on_worker_lost(lambda worker, incarnation, why: told[1].append(worker.id))
        eventually(lambda: told[1], equals=[2, 1])
        lose(agents[0], 1, 0, 3, 0)
        lose(agents[0], 3, 5, 3, 0)  # another incarnation than the known one
        assert rpc.rpc_sync(3, far.add, args=(1, 1)) == 2
        assert told == [[2, 1], [2, 1]]


def test_callbacks_may_make_calls() -> None:
    with three() as agents, acting_as(agents[0]):
        answers: list[int] = []
        rpc.on_worker_lost(lambda worker, *_: answers.append(rpc.rpc_sync(2, far.add, args=(worker.id, 10))))
        agents[0].transport.network.lose(1)
        eventually(lambda: answers, equals=[11])


def test_a_callback_must_be_callable() -> None:
    with three(1) as agents, acting_as(agents[0]), pytest.raises(TypeError, match="not 5"):
        rpc.on_worker_lost(5)  # type: ignore[arg-type]


def test_values_of_a_lost_owner_raise_and_forks_of_a_lost_user_end() -> None:
    with three() as agents, acting_as(agents[0]):
        there, mine = rpc.remote(1, far.add, args=(1, 2)), rpc.RRef("x")
        assert there.to_here() == 3
        rpc.rpc_sync(1, far.hold, args=(mine,))
        assert agents[0].rrefs.debug_info()["num_forks"] == "1"
        agents[0].transport.network.lose(1)
        eventually(lambda: 1 in agents[0].lost)
        for use in (there.to_here, lambda rref=there: rref.rpc_sync().bit_length()):
            with pytest.raises(rpc.WorkerLostError, match="worker1"):
                use()
        eventually(lambda: agents[0].rrefs.debug_info()["num_forks"], equals="0")
        del there, mine, use
        eventually(lambda: agents[0].rrefs.debug_info()["num_owner_rrefs"], equals="0")


@pytest.mark.parametrize("late", [0.0, 0.05])
def test_a_fork_that_came_through_the_lost_worker_keeps_its_value(late: float) -> None:
    with three() as agents, acting_as(agents[0]):
        rpc.rpc_sync(1, hand_on, args=(rpc.RRef("x"), 2))
        network = agents[0].transport.network
        network.lose(1, [0])
        network.lose(1, [2], late)
        eventually(lambda: 1 in agents[0].lost and 1 in agents[2].lost)
        assert rpc.rpc_sync(2, held_value) == "x"


def hand_on(rref, rank: int) -> None:
    rpc.rpc_sync(rank, far.hold, args=(rref,))


def held_value():
    return far.HELD[-1].to_here()


def test_passes_through_the_lost_worker_fail_and_others_finish() -> None:
    with three() as agents, acting_as(agents[0]):
        with dist_autograd.context() as context_id:
            x = mpigrad.ones(3, requires_grad=True)
            lost = rpc.rpc_sync(1, mpigrad.mul, args=(x, x))
            kept = rpc.rpc_sync(2, mpigrad.mul, args=(x, 3))
            agents[0].transport.network.lose(1)
            eventually(lambda: 1 in agents[0].lost)
            with pytest.raises(rpc.WorkerLostError, match="worker1"):
                dist_autograd.backward(context_id, [lost.sum()])
            dist_autograd.backward(context_id, [kept.sum()])
            assert dist_autograd.get_gradients(context_id)[x].tolist() == [3, 3, 3]
        eventually(lambda: not agents[2].autograd.container.contexts and not agents[0].autograd.releasing)


def through(rank: int, x):
    return rpc.rpc_sync(rank, mpigrad.mul, args=(x, x)) * 2


def test_a_pass_names_the_lost_worker_that_only_another_worker_called() -> None:
    with three(4) as agents, acting_as(agents[0]):
        with dist_autograd.context() as context_id:
            x = mpigrad.ones(3, requires_grad=True)
            y = rpc.rpc_sync(1, through, args=(2, x))
            agents[0].transport.network.lose(2)
            eventually(lambda: all(2 in agents[rank].lost for rank in (0, 1, 3)))
            with pytest.raises(rpc.WorkerLostError, match="worker2"):
                dist_autograd.backward(context_id, [y.sum()])
        eventually(lambda: not agents[1].autograd.container.contexts)


def test_contexts_of_a_lost_worker_are_released() -> None:
    with three() as agents:
        with acting_as(agents[1]):
            manager = dist_autograd.context()
            manager.__enter__()
            rpc.rpc_sync(0, mpigrad.add, args=(mpigrad.ones(2, requires_grad=True), 1))
        assert agents[0].autograd.container.contexts
        agents[0].transport.network.lose(1)
        eventually(lambda: not agents[0].autograd.container.contexts)
        with acting_as(agents[1]):
            manager.__exit__(None, None, None)


def late(x):
    far.set_flag("late")
    return x


def through_late(rank: int, x):
    return rpc.rpc_sync(rank, late, args=(x,))


def test_a_late_message_does_not_recreate_a_context_of_a_lost_worker() -> None:
    def fate(src: int, dst: int, frame: bytes) -> float | None:
        if (src, dst) != (0, 1):
            return 0.0
        # the call is late; the release never comes, as if worker0 had been lost, too, before it could send it
        return None if frame[0] == MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ else 0.3 if b"late" in frame else 0.0

    with three(fate=fate) as agents:
        with acting_as(agents[2]):
            manager = dist_autograd.context()
            manager.__enter__()
            rpc.rpc_async(0, through_late, args=(1, mpigrad.ones(2, requires_grad=True)))
        eventually(lambda: agents[0].autograd.container.contexts)
        agents[0].transport.network.lose(2)
        assert far.flag("late").wait(10)
        assert not agents[1].autograd.container.contexts
        with acting_as(agents[2]):
            manager.__exit__(None, None, None)


def leave_as(agent) -> None:
    with acting_as(agent):
        leave(agent, True, 20)


@pytest.mark.parametrize("lost", [[0], [2], [0, 1]])
def test_survivors_shut_down_together(lost: list[int]) -> None:
    with three(4) as agents:
        network = agents[0].transport.network
        alive = [agent for agent in agents if agent.rank not in lost]
        threads = [threading.Thread(target=leave_as, args=(agent,), daemon=True) for agent in alive[1:]]
        for thread in threads:
            thread.start()
        for rank in lost:
            network.lose(rank)
        leave_as(alive[0])
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive()


def test_losses_among_calls_of_all_to_all() -> None:
    with three(4, seed=5) as agents:
        network = agents[0].transport.network
        results: list[int] = []

        def many(agent):
            with acting_as(agent):
                for number in range(150):
                    to = (agent.rank + 1 + number % 3) % 4
                    try:
                        assert rpc.rpc_sync(to, far.add, args=(number, 1)) == number + 1
                        results.append(to)
                    except rpc.WorkerLostError as error:
                        assert error.rank == to and to in (2, 3)

        threads = [threading.Thread(target=many, args=(agents[rank],), daemon=True) for rank in (0, 1)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(results) > 60)
        network.lose(3)
        network.lose(2)
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive()
        assert results.count(0) + results.count(1) == 100
        assert all(not agents[rank].calls.pending for rank in (0, 1))
