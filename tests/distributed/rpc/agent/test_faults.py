"""Injected faults: sends that fail, messages that come late, retries of control messages."""

from __future__ import annotations

import time

import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.distributed.rpc._testing import FaultyMPIRpcBackendOptions, FaultyTensorPipeRpcBackendOptions
from mpigrad.distributed.rpc._testing.faults import Faults
from mpigrad.futures import Future
from tests.distributed.jit.scripts import local_add
from tests.support.in_memory import acting_as, world_in_memory

from .. import support_functions as far


def with_retries(agent, body: bytes) -> Future:
    """The outcome of a control message to rank 1."""
    outcome = Future()

    def ended(last: Future) -> None:
        try:
            outcome.set_result(last.value())
        except Exception as error:
            outcome.set_exception(error)

    agent.request_with_retries(1, MessageType.RREF_ACK, body, then=ended)
    return outcome


def test_failed_send_fails_the_call_and_the_next_goes_through() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        agents[0].sender.faults = Faults(["PYTHON_CALL"], {}, 1)
        with pytest.raises(RuntimeError, match="Send attempt failed intentionally for PYTHON_CALL to WorkerInfo"):
            rpc.rpc_sync(1, far.add, args=(1, 2))
        assert rpc.rpc_sync(1, far.add, args=(1, 2)) == 3


def test_calls_of_operators_and_scripts_have_pytorchs_names() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        x = mpigrad.ones(2)
        for function in (mpigrad.add, local_add):
            agents[0].sender.faults = Faults(["SCRIPT_CALL", "SCRIPT_REMOTE_CALL", "SCRIPT_RREF_FETCH_CALL"], {}, 1)
            with pytest.raises(RuntimeError, match="Send attempt failed intentionally for SCRIPT_CALL to WorkerInfo"):
                rpc.rpc_sync(1, function, args=(x, x))
            assert rpc.rpc_sync(1, far.add, args=(1, 2)) == 3  # of Python: no fault
            with pytest.raises(RuntimeError, match="Send attempt failed intentionally for SCRIPT_REMOTE_CALL to WorkerInfo"):
                rpc.remote(1, function, args=(x, x))._get_future().wait()
            made = rpc.remote(1, function, args=(x, x))
            with pytest.raises(RuntimeError, match="Send attempt failed intentionally for SCRIPT_RREF_FETCH_CALL to WorkerInfo"):
                made.to_here()
            assert made.to_here().tolist() == [2.0, 2.0]


def test_delayed_call_times_out_or_arrives() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        agents[0].sender.faults = Faults([], {"PYTHON_CALL": 0.15}, 0)
        with pytest.raises(RuntimeError, match="timeout"):
            rpc.rpc_sync(1, far.nothing, timeout=0.03)
        began = time.monotonic()
        assert rpc.rpc_sync(1, far.add, args=(1, 2)) == 3
        assert time.monotonic() - began > 0.1


def test_control_messages_are_sent_again(monkeypatch) -> None:
    got = []
    monkeypatch.setitem(
        extensions.handlers,
        int(MessageType.RREF_ACK),
        extensions.HandlerEntry(lambda agent, m: got.append(m.body) or b"ok", True),
    )
    monkeypatch.setattr("mpigrad._core.rpc.calls.RETRY_SECONDS", 0.005)
    with world_in_memory(2) as agents, acting_as(agents[0]):
        agents[0].sender.faults = Faults(["RREF_ACK"], {}, 3)
        assert with_retries(agents[0], b"x").wait() == (b"ok", [])
        agents[0].sender.faults = Faults(["RREF_ACK"], {}, 100)
        with pytest.raises(RuntimeError, match="failed intentionally"):
            with_retries(agents[0], b"y").wait()
    assert got == [b"x"]


def test_options_know_the_message_types() -> None:
    options = FaultyTensorPipeRpcBackendOptions(2, 3.0, "env://", ["RREF_USER_DELETE"], {"PYTHON_CALL": 1.5}, 2)
    assert (options.messages_to_fail, options.messages_to_delay, options.num_fail_sends) == (
        ["RREF_USER_DELETE"], {"PYTHON_CALL": 1.5}, 2,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"messages_to_fail: \['NO_SUCH'\] are not message types"):
        FaultyMPIRpcBackendOptions(messages_to_fail=["NO_SUCH"])


@pytest.mark.mpi(min_size=2)
def test_faulty_backend(world) -> None:
    options = FaultyMPIRpcBackendOptions(messages_to_fail=["PYTHON_CALL"], num_fail_sends=1)
    rpc.init_rpc(
        world.name,
        backend=rpc.backend_registry.BackendType.FAULTY_TENSORPIPE,
        rank=world.rank,
        world_size=world.world_size,
        rpc_backend_options=options,
    )
    with pytest.raises(RuntimeError, match="failed intentionally"):
        rpc.rpc_sync(world.next_name, far.add, args=(1, 2))
    assert rpc.rpc_sync(world.next_name, far.add, args=(1, 2)) == 3
    rpc.shutdown()
