"""Malformed messages over MPI: the sender gets an error, and the receiver goes on."""

from __future__ import annotations

import threading

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad._core.rpc.call_table import CallFuture
from mpigrad._core.rpc.codec import pack_header
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
            ({"transfers": 1}, TRANSFER.pack(1 << 63 | 5), "is no device transfer"),
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
