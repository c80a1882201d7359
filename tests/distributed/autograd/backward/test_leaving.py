"""Workers that leave, or do not answer, before or in the middle of a pass, on ranks of MPI: errors soon, nothing left."""

from __future__ import annotations

import threading
import time

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._core.autograd import contexts
from tests.support.device import with_maps
from tests.support.eventually import eventually

from .. import functions as fn

pytestmark = [pytest.mark.mpi(min_size=4), pytest.mark.deadline(120)]

def reached() -> bool:
    return fn.REACHED.is_set()


@pytest.fixture
def start(world):
    """RPC among the ranks, which every rank ends for itself."""
    fn.REACHED.clear()
    fn.GATE.clear()

    def init(seconds: float = 60) -> None:
        rpc.init_rpc(
            world.name,
            rank=world.rank,
            world_size=world.world_size,
            rpc_backend_options=with_maps(rpc.MPIRpcBackendOptions(rpc_timeout=seconds), world),
        )

    yield init
    fn.GATE.set()
    if rpc._is_current_rpc_agent_set():
        rpc.shutdown(graceful=False)
    eventually(lambda: not any(thread.name.startswith("mpigrad-") for thread in threading.enumerate()))
    world.barrier()


def gone(name: str) -> bool:
    try:
        rpc.rpc_sync(name, int)
    except RuntimeError:
        return True
    return False


def check_next_pass(to: str) -> None:
    """A pass among those who stayed is right."""
    a = fn.ones(3)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [fn.square(to, a).sum()])
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [2.0] * 3


def test_workers_left_before_the_pass(world, start) -> None:
    start()
    a = fn.ones(3)
    with dist_autograd.context() as context_id:
        result = rpc.rpc_sync(world.next_name, mpigrad.add, args=(a, a))
        world.barrier()
        if world.rank % 2:
            rpc.shutdown(graceful=False)
        else:
            eventually(lambda: gone("worker1") and gone("worker3"))
            with pytest.raises(RuntimeError, match="has left"):
                dist_autograd.backward(context_id, [result.sum()])
    world.barrier()
    if world.rank % 2 == 0:
        check_next_pass(world.worker(world.rank + 2))
        world.barrier()
        eventually(dist_autograd._get_debug_info, equals=fn.AT_REST)
    else:
        world.barrier()


def test_the_last_of_a_chain_left_before_the_pass(world, start) -> None:
    start()
    if world.rank == 0:
        a = fn.ones(3)
        with dist_autograd.context() as context_id:
            result = rpc.rpc_sync("worker1", fn.nested, args=(a, a, ["worker2", "worker3"]))
            world.barrier()
            eventually(lambda: gone("worker3"))
            with pytest.raises(RuntimeError, match="worker3.* has left"):
                dist_autograd.backward(context_id, [result.sum()])
        check_next_pass("worker2")
    else:
        world.barrier()
        if world.rank == 3:
            rpc.shutdown(graceful=False)
    world.barrier()
    if world.rank != 3:
        eventually(dist_autograd._get_debug_info, equals=fn.AT_REST)


@pytest.mark.parametrize("leaver", [0, 1, 3], ids=["initiator", "holder", "awaited"])
def test_a_worker_leaves_in_mid_pass(world, start, leaver) -> None:
    """Gradients of worker2 and worker3 meet on worker1, in a pass of worker0; worker3's come late."""
    start()
    if world.rank == 0:
        one = Started()
        eventually(lambda: rpc.rpc_sync("worker1", _holding) and rpc.rpc_sync("worker3", reached))
    world.barrier()  # here all ranks are in the middle of the pass
    if world.rank == leaver:
        rpc.shutdown(graceful=False)
    elif world.rank == 1:
        eventually(lambda: gone(f"worker{leaver}") and not _holding())
    if world.rank == 0:
        one.check(leaver)
    world.barrier()
    fn.GATE.set()
    if world.rank != leaver:
        eventually(dist_autograd._get_debug_info, equals=fn.AT_REST)
        others = [rank for rank in range(4) if rank != leaver]
        check_next_pass(world.worker(others[(others.index(world.rank) + 1) % 3]))
    world.barrier()


def test_a_worker_does_not_answer_within_the_timeout(world, start) -> None:
    start(seconds=2)
    if world.rank == 0:
        one = Started()
        began = time.monotonic()
        one.thread.join(40)
        assert not one.thread.is_alive(), "the pass hangs"
        assert time.monotonic() - began < 30
        assert isinstance(one.error, RuntimeError) and "2.0 s" in str(one.error), one.error
        dist_autograd._release_context(one.context_id)
    world.barrier()
    fn.GATE.set()
    eventually(dist_autograd._get_debug_info, equals=fn.AT_REST)
    world.barrier()
    check_next_pass(world.next_name)
    world.barrier()


def _holding() -> bool:
    return any(context.joined for context in list(contexts.this_worker().container.contexts.values()))


class Started:
    """A pass of worker0 on a thread of its own."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        context = dist_autograd._new_context()
        self.context_id = context._context_id()
        self.loss = rpc.rpc_sync("worker1", fn.meeting, args=(fn.ones(3), "worker2", "worker3")).sum()
        contexts.CURRENT.context = None  # this thread goes on outside of it
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            dist_autograd.backward(self.context_id, [self.loss])
        except BaseException as error:
            self.error = error

    def check(self, leaver: int) -> None:
        """It ended soon, and says who left."""
        self.thread.join(30)
        assert not self.thread.is_alive(), "the pass hangs"
        assert isinstance(self.error, RuntimeError), self.error
        if leaver != 0:
            assert f"worker{leaver}" in str(self.error) and "has left" in str(self.error)
            dist_autograd._release_context(self.context_id)
