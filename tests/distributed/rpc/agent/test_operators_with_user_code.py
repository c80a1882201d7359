"""Library operators run where they are received, but not if their arguments bring code of users along."""

from __future__ import annotations

import threading

import mpigrad
import mpigrad.distributed.rpc as rpc
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .. import support_functions as far

DECODING = threading.Event()




class Carrier:
    """Something that is a number only after a call."""

    def __reduce__(self):
        return made_by_a_call, ()


def made_by_a_call() -> float:
    DECODING.set()
    return rpc.rpc_sync("worker2", far.add, args=(1.0, 1.0), timeout=10)


def test_an_argument_may_make_calls_while_the_receiver_waits_for_something_else() -> None:
    with world_in_memory(3, rpc_timeout=20) as agents:
        DECODING.clear()
        waiting = threading.Thread(target=wait_as, args=(agents[1],))
        waiting.start()
        eventually(lambda: agents[1].progress.lead.poller)
        with acting_as(agents[0]):
            got = rpc.rpc_sync("worker1", mpigrad.add, args=(mpigrad.ones(1),), kwargs={"other": Carrier()})
        assert got.tolist() == [3.0] and DECODING.is_set()
        far.set_flag("waited")
        waiting.join(20)
    far.FLAGS.clear()


def wait_as(agent) -> None:
    with acting_as(agent):
        rpc.rpc_sync("worker2", far.poll_flag, args=("waited",))


def asks_back(x: mpigrad.Tensor) -> bool:
    return rpc.rpc_sync("worker0", mpigrad.mul, args=(x, 2)).requires_grad


def test_operators_do_not_get_the_grad_mode_of_the_thread_that_waits() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]), mpigrad.no_grad():
        for _ in range(20):
            assert rpc.rpc_sync("worker1", asks_back, args=(mpigrad.ones(2, requires_grad=True),))
