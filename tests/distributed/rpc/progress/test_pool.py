"""Progress: slow, blocking, nested and polling functions block no other call; user code never runs on waiting threads."""

from __future__ import annotations

import sys
import threading
import time
from types import SimpleNamespace

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad._core.rpc import progress
from mpigrad._core.rpc.progress import Lead
from mpigrad._core.rpc.transport import Transport
from mpigrad.futures import Future, collect_all
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .. import support_functions as far


class Moving(Transport):
    """A transport that only says whether transfers are under way."""

    under_way = True

    def pending(self) -> bool:
        return self.under_way


def test_nobody_naps_right_after_a_long_transfer(monkeypatch) -> None:
    naps: list[float] = []
    monkeypatch.setattr(progress, "time", SimpleNamespace(sleep=naps.append))
    transport = Moving()
    idling = progress.Idle(transport, SimpleNamespace(housekeep=lambda now: None), Lead())
    idling.back_off(10.0, 0.1, None)
    transport.under_way = False
    idling.back_off(10.0001, 0.1001, None)  # the transfer took a tenth of a second, and has just ended
    assert naps == []
    idling.back_off(10.5, 0.6, None)
    assert len(naps) == 1


def test_nested_calls_far_deeper_than_the_pool() -> None:
    with world_in_memory(2, num_worker_threads=2) as agents, acting_as(agents[0]):
        assert rpc.rpc_sync(1, far.nested, args=(200, (0, 1))) == 200
        assert rpc.rpc_sync(0, far.nested, args=(50, (0,))) == 50


def test_nested_calls_around_a_ring_from_all_sides() -> None:
    with world_in_memory(4, num_worker_threads=1) as agents:
        got: list[int] = []

        def run(agent) -> None:
            with acting_as(agent):
                ring = tuple((agent.rank + 1 + i) % 4 for i in range(4))
                got.append(rpc.rpc_sync(ring[0], far.nested, args=(40, ring[1:] + ring[:1])))

        threads = [threading.Thread(target=run, args=(agent,)) for agent in agents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(50)
        assert got == [40] * 4


@pytest.mark.parametrize("pollers", [1, 2, 5])
def test_functions_that_poll_a_flag_set_by_another_call(pollers) -> None:
    name = f"polled by {pollers}"
    with world_in_memory(2, num_worker_threads=2) as agents, acting_as(agents[0]):
        futures = [rpc.rpc_async(1, far.poll_flag, args=(name,)) for _ in range(pollers)]
        rpc.rpc_sync(1, far.set_flag, args=(name,))
        assert [fut.wait() for fut in futures] == [name] * pollers


def test_slow_function_does_not_hold_up_others() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        slow = rpc.rpc_async(1, far.poll_flag, args=("slow",))
        for i in range(20):
            assert rpc.rpc_sync(1, far.add, args=(i, 1)) == i + 1
        assert not slow.done()
        rpc.rpc_sync(1, far.set_flag, args=("slow",))
        assert slow.wait() == "slow"


def test_slow_function_after_a_busy_time_does_not_hold_up_others() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        busy = time.monotonic() + 0.3  # by now the monitor checks rarely, since a thread always polls
        while time.monotonic() < busy:
            rpc.rpc_sync(1, far.add, args=(1, 1))
        slow = rpc.rpc_async(1, far.poll_flag, args=("slow after busy",))
        assert rpc.rpc_sync(1, far.add, args=(2, 1)) == 3
        assert not slow.done()
        rpc.rpc_sync(1, far.set_flag, args=("slow after busy",))
        assert slow.wait() == "slow after busy"


def test_at_most_so_many_functions_run_at_a_time() -> None:
    running, most = [], []

    def busy() -> None:
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        running.pop()

    with world_in_memory(2, num_worker_threads=3) as agents, acting_as(agents[0]):
        collect_all([rpc.rpc_async(1, busy_function(busy)) for _ in range(20)]).wait()
    assert 1 < max(most) <= 3


BUSY: list = []


def busy_function(function):
    BUSY[:] = [function]
    return run_busy


def run_busy() -> None:
    BUSY[0]()


def test_user_code_does_not_run_on_a_waiting_thread() -> None:
    """The caller waits inside a lock that both the served function and the callback want to look at."""
    main = threading.get_ident()
    seen: list[int] = []
    SEEN[:] = [seen]
    with world_in_memory(2) as agents, acting_as(agents[0]):
        chained = rpc.rpc_async(1, far.nothing).then(lambda fut: seen.append(threading.get_ident()))
        assert rpc.rpc_sync(1, call_back) == "called back"
        chained.wait()
    assert len(seen) == 2 and main not in seen


SEEN: list = []


def note_thread() -> None:
    SEEN[0].append(threading.get_ident())


def call_back() -> str:
    rpc.rpc_sync(0, note_thread)
    return "called back"


def test_callback_may_call_and_wait() -> None:
    with world_in_memory(2, num_worker_threads=1) as agents, acting_as(agents[0]):
        fut = rpc.rpc_async(1, far.add, args=(1, 1)).then(lambda f: rpc.rpc_sync(1, far.add, args=(f.wait(), 10)))
        assert fut.wait() == 12


def test_waiting_for_a_local_future_serves_others() -> None:
    """A function waits for a future that a later call completes, on the only thread of the pool."""
    FUTURES["x"] = Future()
    with world_in_memory(2, num_worker_threads=1) as agents, acting_as(agents[0]):
        waiting = [rpc.rpc_async(1, wait_for_future, args=("x",)) for _ in range(3)]
        rpc.rpc_sync(1, complete_future, args=("x", 7))
        assert [fut.wait() for fut in waiting] == [7, 7, 7]


FUTURES: dict[str, Future] = {}


def wait_for_future(name: str) -> int:
    return FUTURES[name].wait()


def complete_future(name: str, value: int) -> None:
    FUTURES[name].set_result(value)


def test_many_threads_call_at_once() -> None:
    with world_in_memory(2) as agents:
        wrong: list[int] = []

        def run(base: int) -> None:
            with acting_as(agents[0]):
                for i in range(100):
                    if rpc.rpc_sync(1, far.add, args=(base, i)) != base + i:
                        wrong.append(i)

        threads = [threading.Thread(target=run, args=(1000 * k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(50)
        assert not wrong and not any(thread.is_alive() for thread in threads)


def test_ten_thousand_calls_in_flight() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        futures = [rpc.rpc_async(1, far.add, args=(i, 1)) for i in range(10_000)]
        assert [fut.wait() for fut in futures] == list(range(1, 10_001))
        assert not agents[0].calls.pending and len(agents[1].progress.pool.threads) < 40


def test_idle_world_parks_its_monitor_and_wakes_up_again() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        rpc.rpc_sync(1, far.nothing)
        eventually(lambda: not agents[1].progress.lead.ticking)
        assert rpc.rpc_sync(1, far.add, args=(1, 2)) == 3
        slow = rpc.rpc_async(1, far.poll_flag, args=("after idle",))
        assert rpc.rpc_sync(1, far.add, args=(3, 4)) == 7
        rpc.rpc_sync(1, far.set_flag, args=("after idle",))
        assert slow.wait() == "after idle"


def test_switch_interval_is_shorter_while_rpc_runs() -> None:
    before = sys.getswitchinterval()
    with world_in_memory(2):
        assert sys.getswitchinterval() <= 0.00101
    assert sys.getswitchinterval() == before
