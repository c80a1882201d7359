"""Simulated worlds: results, virtual time, waits that never end, lost workers, and the model of the network."""

from __future__ import annotations

import threading
import time

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from benchmarks.scaling import programs
from mpigrad.futures import Future
from mpigrad.testing.simulation import Network, Simulation
from mpigrad.testing.simulation._network import Links

IDEAL = Network(latency=0.0, overhead=1.0, bandwidth=1e30)


def fail() -> None:
    raise LookupError("no such thing")


def descend(path: list[int]) -> int:
    return 1 + (rpc.rpc_sync(path[0], descend, args=(path[1:],)) if path else 0)


def virtual_now() -> float:
    return time.monotonic()


def test_calls_and_errors() -> None:
    with Simulation(3) as world:
        assert world.on(1, lambda: rpc.rpc_sync("worker2", max, args=(2, 5))) == 5
        with pytest.raises(LookupError, match="no such thing"):
            world.on(0, lambda: rpc.rpc_sync(2, fail))
        assert world.on_each(programs.own_rank) == [0, 1, 2]
        assert world.on(0, lambda: descend([1, 2, 1, 0, 2, 0])) == 7


def test_gradients_are_those_of_a_local_run() -> None:
    recorded = programs.Recorded(13, grouped=False)
    with Simulation(13) as world:
        world.on(0, recorded.forward)
        world.on(0, recorded.backward)  # compares with W*(W+1)/2
        world.on(0, recorded.release)
        for agent in world.agents:
            assert not agent.autograd.container.contexts and agent.autograd.idle


def test_a_joined_graph() -> None:
    x = mpigrad.ones(2, requires_grad=True)

    def program() -> list[float]:
        with dist_autograd.context() as context:
            left, right = (rpc.rpc_sync(rank, mpigrad.mul, args=(x, 3.0)) for rank in (1, 2))
            both = rpc.rpc_sync(3, mpigrad.mul, args=(left * right, left + x))
            dist_autograd.backward(context, [both.sum()])
            return dist_autograd.get_gradients(context)[x].tolist()

    with Simulation(4) as world:
        assert world.on(0, program) == [108.0, 108.0]  # of 36 x**3


def test_messages_and_their_sequence_are_counted() -> None:
    with Simulation(5, IDEAL) as world:
        world.on(0, lambda: rpc.rpc_sync(1, programs.own_rank))
        one = world.phases[-1]
        assert (one.messages, one.sequential, one.busiest, one.seconds) == (2, 2, 2, 4.0)
        world.on(0, lambda: programs.call_each(5))
        star = world.phases[-1]
        assert star.messages == 10 and star.busiest == 12 and star.seconds >= 10.0 and star.sequential >= 5


def test_the_same_simulation_twice_gives_the_same() -> None:
    def phases() -> list[tuple[object, ...]]:
        with Simulation(9) as world:
            recorded = programs.Recorded(9, grouped=False)
            for step in (recorded.forward, recorded.backward, recorded.release):
                world.on(0, step)
        return [(each.name, each.messages, each.bytes, each.sequential, each.seconds) for each in world.phases]

    assert phases() == phases()


def test_a_call_to_a_lost_worker_times_out_in_virtual_time() -> None:
    with Simulation(3) as world:
        world.lose(2)
        with pytest.raises(RuntimeError, match="did not answer within 500"):
            world.on(0, lambda: rpc.rpc_sync(2, programs.own_rank, timeout=500.0))
        assert 500.0 <= world.phases[-1].seconds < 501.0
        fut = world.on(1, lambda: rpc.rpc_async(2, programs.own_rank, timeout=100.0))
        with pytest.raises(RuntimeError, match="did not answer within 100"):
            fut.value()
        world.tell_lost(2)
        with pytest.raises(RuntimeError, match="worker2.* was lost"):
            world.on(1, lambda: rpc.rpc_sync("worker2", programs.own_rank))


def test_each_worker_has_its_own_clock() -> None:
    with Simulation(2, IDEAL) as world:
        begin, end = world.on(0, lambda: (virtual_now(), rpc.rpc_sync(1, virtual_now)))
        assert end - begin == 2.0  # one send, one receive
    assert time.monotonic() > 100 or time.monotonic is not virtual_now
    assert abs(time.monotonic() - time.clock_gettime(time.CLOCK_MONOTONIC)) < 5


def test_a_wait_that_cannot_end_is_an_error() -> None:
    world = Simulation(3)
    with pytest.raises(RuntimeError, match="1 workers still wait: worker2"), world:
        world.on(2, lambda: Future().wait())
    assert not [each for each in threading.enumerate() if each.name == "mpigrad-simulation"]


def test_waiting_outside_of_a_program_is_an_error() -> None:
    with Simulation(2) as world:
        with pytest.raises(RuntimeError, match=r"only inside of `Simulation.on`"):
            rpc.rpc_sync(1, programs.own_rank)
        assert world.on(1, programs.own_rank) == 1


def test_idle_workers_need_no_thread() -> None:
    with Simulation(50) as world:
        world.on(0, lambda: descend([10, 20, 30]))
        assert world.scheduler.fibers == 4  # three functions that wait, and one that runs


def test_links_are_shared() -> None:
    links = Links(Network(latency=1.0, overhead=0.0, bandwidth=10.0, ranks_per_node=2, host_latency=0.5), 6)
    assert links.arrival(0, 1, 100, at=0.0) == 0.5  # the same node
    assert links.arrival(0, 2, 100, at=0.0) == 11.0
    assert links.arrival(1, 4, 100, at=0.0) == 21.0  # behind the other message on the link out of node 0
    assert links.arrival(5, 2, 100, at=0.0) == 21.0  # behind the first message on the link into node 1
    assert links.arrival(3, 3, 100, at=7.0) == 7.0


def test_constants_from_a_benchmark() -> None:
    kinds = [{"name": "rpc_sync, empty", "median_us": 20.0}, {"name": "rpc_async, 64 at once", "per_second": 250_000.0}]
    found = Network.from_bench({"kinds": kinds, "sizes": [{"mb_s": 1.0}, {"mb_s": 5000.0}]})
    assert found == pytest.approx((6e-6, 2e-6, 5e9, 1, 0.0))  # 2*6 us of latency, and 4*2 us of overhead make 20 us
    with Simulation(2, found) as world:
        world.on(0, lambda: rpc.rpc_sync(1, programs.own_rank))
        assert world.phases[-1].seconds == pytest.approx(20e-6, rel=0.01)
