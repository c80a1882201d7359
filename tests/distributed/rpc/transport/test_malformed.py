"""Malformed messages over MPI: the sender gets an error, and the receiver goes on."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad._core.rpc import mpi as _mpi
from mpigrad._core.rpc.calls import NO_CONTEXT, CallFuture
from mpigrad._core.rpc.frames import pack_header
from mpigrad.distributed._mpi import mpi
from mpigrad.distributed.rpc._protocol.message import HEADER_SIZE, TRANSFER
from mpigrad.futures import Future

from .. import support_functions as far

pytestmark = pytest.mark.mpi(min_size=2)


def inject(body: bytes = b"", **fields: int) -> Future:
    """Send a frame with these fields in its header to rank 1, past everything that would not make it so; its answer."""
    agent = rpc.api._get_current_rpc_agent()
    header = {"kind": 2, "mode": 1, "src": 0, "length": HEADER_SIZE + len(body), "call_id": next(agent.calls.issued.numbers)}
    header |= fields
    answer = agent.calls.pending[header["call_id"]] = CallFuture()
    answer.dst, answer.func, answer.timeout, answer.deadline, answer.recorded = 1, "injected", 20.0, float("inf"), True
    answer.context_id = NO_CONTEXT
    with agent.progress.queue.lock:
        agent.transport._comm.Isend([pack_header(**header) + body, mpi().BYTE], 1, agent.transport._frame_tag)
    return answer


def pool_threads() -> list[int]:
    return [thread.ident for thread in threading.enumerate() if thread.name.startswith("mpigrad-")]


def test_tables_of_transfers_that_cannot_be(rpc_world) -> None:
    if rpc_world.rank == 0:
        before = rpc.rpc_sync(1, pool_threads)
        for fields, body, pattern in (
            ({"transfers": 5}, b"", "5 transfers announced in a frame of"),
            ({"transfers": 1}, TRANSFER.pack(1 << 63 | 5), "is not a device transfer"),
            ({"meta_length": 5000}, b"", "meta of 5000 bytes"),
            ({}, b"", "a text of 0 bytes has no length at 0"),
        ):
            with pytest.raises(ValueError, match=f"malformed message: .*{pattern}"):
                inject(body, **fields).wait()
        with pytest.raises(MemoryError, match="Unable to allocate"):
            inject(TRANSFER.pack(1 << 45), transfers=1).wait()
        assert set(before) <= set(rpc.rpc_sync(1, pool_threads))
    rpc_world.barrier()


def test_a_message_of_nobody_is_dropped_and_a_waiting_thread_does_not_notice(rpc_world) -> None:
    if rpc_world.rank == 0:
        waiting = rpc.rpc_async(1, ask_and_wait, args=(0,))
        unanswered = inject(TRANSFER.pack(100_000), transfers=1, src=4242)
        far.set_flag("asked")
        assert waiting.wait() == "asked"
        agent = rpc.api._get_current_rpc_agent()
        for number, fut in list(agent.calls.pending.items()):
            if fut is unanswered:
                del agent.calls.pending[number]
        assert rpc.rpc_sync(1, far.add, args=(1, 2)) == 3
        far.FLAGS.clear()
    rpc_world.barrier()


def ask_and_wait(rank: int) -> str:
    return rpc.rpc_sync(rank, far.poll_flag, args=("asked",))


def test_a_message_without_a_header_is_dropped(rpc_world) -> None:
    agent = rpc.api._get_current_rpc_agent()
    if rpc_world.rank == 0:
        counted = rpc.RRef([])
        for _ in range(40):  # each place of the ring has had a call
            rpc.rpc_sync(1, append_to, args=(counted,))
        for size in (0, 0, 7, 15):
            with agent.progress.queue.lock:
                agent.transport._comm.Isend([bytes(size), mpi().BYTE], 1, agent.transport._frame_tag)
        for _ in range(40):
            rpc.rpc_sync(1, append_to, args=(counted,))
        assert len(counted.local_value()) == 80
    rpc_world.barrier()


def append_to(rref: rpc.RRef) -> None:
    rref.rpc_sync().append(1)


def test_arrays_that_never_come_are_given_up(rpc_world, monkeypatch) -> None:
    monkeypatch.setattr(_mpi, "COMING_SECONDS", 0.05)
    rpc_world.barrier()
    if rpc_world.rank == 0:
        with pytest.raises(ConnectionError, match="an array that rank 0 announced did not come within 0.05 s"):
            inject(TRANSFER.pack(100_000), transfers=1).wait()
        with pytest.raises(ConnectionError, match="announced did not come"):
            inject(TRANSFER.pack(100_000) + TRANSFER.pack(50_000), transfers=2).wait()
        assert rpc.rpc_sync(1, arrays_under_way) == 0
        large = np.arange(100_000.0)
        assert np.array_equal(rpc.rpc_sync(1, far.echo, args=(large,)), large)
    rpc_world.barrier()


def arrays_under_way() -> int:
    return len(rpc.api._get_current_rpc_agent().transport._coming)


def test_announced_arrays_are_bounded(rpc_world, monkeypatch) -> None:
    monkeypatch.setattr(_mpi, "COMING_MAX", 20)
    rpc_world.barrier()
    if rpc_world.rank == 0:
        answers = [inject(TRANSFER.pack(100_000), transfers=1) for _ in range(60)]
        for answer in answers[:30]:
            with pytest.raises(ConnectionError, match="announced did not come"):
                answer.wait()
        assert rpc.rpc_sync(1, arrays_under_way) <= 20
        rpc.rpc_sync(1, give_up_all)
        for answer in answers:
            with pytest.raises(ConnectionError, match="announced did not come"):
                answer.wait()
    rpc_world.barrier()


def give_up_all() -> None:
    _mpi.COMING_MAX = 0
