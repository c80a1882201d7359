"""Calls between agents over the in-memory transport: order, losses, delays, late answers, timeouts, malformed frames."""

from __future__ import annotations

import operator
import threading
import time

import numpy as np
import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad._core.rpc.frames import pack_header
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.message import HEADER_SIZE, MessageType
from mpigrad.futures import Future
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .. import support_functions as far


def test_calls_between_all_pairs() -> None:
    with world_in_memory(3) as agents:
        for agent in agents:
            with acting_as(agent):
                assert [rpc.rpc_sync(f"worker{i}", far.whoami) for i in range(3)] == ["worker0", "worker1", "worker2"]


def test_answers_find_their_calls_when_senders_overtake_each_other() -> None:
    with world_in_memory(4, seed=1) as agents, acting_as(agents[0]):
        futures = [(i, rpc.rpc_async(i % 4, far.add, args=(i, 1))) for i in range(400)]
        assert [fut.wait() for _, fut in futures] == [i + 1 for i, _ in futures]


def test_random_delays_do_not_mix_up_answers() -> None:
    delays = np.random.default_rng(0).uniform(0, 0.003, 1000)
    count = iter(range(10**9))
    with world_in_memory(3, fate=lambda *_: delays[next(count) % 1000], seed=2) as agents, acting_as(agents[0]):
        arrays = [np.full((3, i % 7), float(i)) for i in range(100)]
        futures = [rpc.rpc_async(1 + i % 2, far.echo, args=(a,)) for i, a in enumerate(arrays)]
        for fut, array in zip(futures, arrays):
            np.testing.assert_array_equal(fut.wait(), array)


def test_lost_request_times_out_with_worker_function_and_seconds() -> None:
    def lose_calls(src: int, dst: int, frame: bytes) -> float | None:
        return None if frame[0] == MessageType.PYTHON_CALL else 0.0

    with world_in_memory(2, fate=lose_calls, graceful=False) as agents, acting_as(agents[0]):
        pattern = r"RPC ran for more than set timeout \(50 ms\).*nothing on WorkerInfo\(id=1, name=worker1\).*0.05 s"
        with pytest.raises(RuntimeError, match=pattern):
            rpc.rpc_sync("worker1", far.nothing, timeout=0.05)
        assert not agents[0].calls.pending


def test_unawaited_call_times_out_too() -> None:
    with world_in_memory(2, fate=lambda *_: None, graceful=False) as agents, acting_as(agents[0]):
        fut = rpc.rpc_async("worker1", far.nothing, timeout=0.02)
        seen = []
        fut.add_done_callback(lambda f: seen.append(f.done()))
        eventually(lambda: seen)


DECODED: list[int] = []


class Seen:
    """Tells when it is unpickled."""

    def __reduce__(self):
        return note_decoded, (1,)


def note_decoded(value: int) -> int:
    DECODED.append(value)
    return value


def make_seen() -> Seen:
    time.sleep(0.1)
    return Seen()


def test_answer_after_the_timeout_is_decoded_and_dropped() -> None:
    DECODED.clear()
    with world_in_memory(2) as agents, acting_as(agents[0]):
        with pytest.raises(RuntimeError, match="timeout"):
            rpc.rpc_sync("worker1", make_seen, timeout=0.01)
        eventually(lambda: DECODED)


@pytest.mark.parametrize("size", [1, 10_000, 100_000, 3_000_000])
def test_arrays_of_all_sizes(size) -> None:
    array = np.arange(size, dtype=np.uint8)
    with world_in_memory(2) as agents, acting_as(agents[0]):
        np.testing.assert_array_equal(rpc.rpc_sync(1, far.echo, args=(array,)), array)
        np.testing.assert_array_equal(rpc.rpc_sync(1, far.echo, args=({"x": array},))["x"], array)


def test_frames_of_unknown_type_are_answered_with_an_error() -> None:
    with world_in_memory(2, graceful=False) as agents, acting_as(agents[0]):
        fut = agents[0].call(1, far.nothing, None, None, 10.0, kind=200)
        with pytest.raises(RuntimeError, match="no handler for messages of type 200"):
            fut.wait()


def test_malformed_frames_do_not_stop_a_worker() -> None:
    with world_in_memory(2, graceful=False) as agents, acting_as(agents[0]):
        good = pack_header(kind=2, mode=1, src=0, length=120, name_length=10, meta_length=30, call_id=999_999)
        for frame in (good + b"x" * 40, good, bytes(HEADER_SIZE), good[:5] + bytes(200), bytes(range(200))):
            agents[0].progress.queue.post(1, frame, [], 0)
        assert rpc.rpc_sync(1, far.add, args=(1, 2)) == 3


def test_internal_messages_with_arrays_and_answers(monkeypatch) -> None:
    got = []

    def handler(agent, message):
        got.append((agent.rank, message.src, message.body, message.extra, message.extra2))
        return b"answer", [message.arrays[0] * 2]

    monkeypatch.setitem(extensions.handlers, int(MessageType.UNKNOWN), extensions.HandlerEntry(handler, True))
    with world_in_memory(2) as agents:
        fut = agents[0].request(1, MessageType.UNKNOWN, b"body", [np.arange(3.0)], extra=5, extra2=-6)
        body, arrays = fut.wait()
        assert got == [(1, 0, b"body", 5, -6)] and body == b"answer"
        np.testing.assert_array_equal(arrays[0], [0.0, 2.0, 4.0])


def test_internal_handlers_that_raise_or_answer_later(monkeypatch) -> None:
    later: list[Future] = []

    def handler(agent, message):
        if message.body == b"raise":
            raise KeyError("from the handler")
        later.append(Future())
        return later[0]

    monkeypatch.setitem(extensions.handlers, int(MessageType.UNKNOWN), extensions.HandlerEntry(handler, False))
    with world_in_memory(2) as agents, acting_as(agents[0]):
        with pytest.raises(KeyError, match="from the handler"):
            agents[0].request(1, MessageType.UNKNOWN, b"raise").wait()
        fut = agents[0].request(1, MessageType.UNKNOWN, b"later")
        eventually(lambda: later)
        assert not fut.done()
        later[0].set_result(b"now")
        assert fut.wait() == (b"now", [])


def test_builtin_operators_run() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        assert rpc.rpc_sync(1, operator.mul, args=(6, 7)) == 42
        assert rpc.rpc_sync(1, max, args=([3, 9, 2],)) == 9


def test_threads_end_with_the_world() -> None:
    before = threading.active_count()
    with world_in_memory(3) as agents, acting_as(agents[0]):
        rpc.rpc_sync(1, far.nothing)
    eventually(lambda: threading.active_count() <= before)
