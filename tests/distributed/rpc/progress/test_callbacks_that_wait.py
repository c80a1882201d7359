"""A callback may make calls and wait for them, whichever thread received the answer that triggered it."""

from __future__ import annotations

import threading
import time

import mpigrad
import mpigrad.distributed.rpc as rpc
from tests.support.in_memory import acting_as, world_in_memory


def test_a_callback_that_calls_while_only_the_pool_polls() -> None:
    called = threading.Event()

    def call_on(_: object) -> None:
        rpc.rpc_sync("worker2", mpigrad.add, args=(mpigrad.ones(1), 1))
        called.set()

    with world_in_memory(3, rpc_timeout=10) as agents, acting_as(agents[0]):
        rpc.rpc_async("worker1", time.sleep, args=(0.05,)).add_done_callback(call_on)
        assert called.wait(20), "the callback's own call was never answered"
