"""User code that runs when an answer is pickled or unpickled: it may make calls, raise anything, and take long."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc import functions
from tests.support.in_memory import acting_as, world_in_memory


def call(*args: Any) -> Any:
    return rpc.rpc_sync("worker1", max, args=args, timeout=5)


class CallsWhenUnpickled:
    def __reduce__(self) -> Any:
        return call, (3, 4)


class CallsWhenPickled:
    def __getstate__(self) -> Any:
        return {"found": rpc.rpc_sync("worker0", max, args=(5, 6), timeout=5)}


class CallsInItsError(Exception):
    def __setstate__(self, state: Any) -> None:
        raise AssertionError("set without it")

    def __new__(cls, *args: Any) -> CallsInItsError:
        made = super().__new__(cls, *args)
        if args and rpc.get_worker_info().name == "worker0":
            made.found = call(*args)
        return made


class ExitsWhenShown(Exception):
    def __str__(self) -> str:
        sys.exit("enough")

    __repr__ = __str__


class ExitsWhenUnpickled:
    def __reduce__(self) -> Any:
        return sys.exit, ("enough",)


class WaitsWhenUnpickled:
    def __reduce__(self) -> Any:
        return wait_for_the_end, ()


END = threading.Event()


def wait_for_the_end() -> str:
    END.wait(20)
    return "late"


def give(cls: type) -> Any:
    return cls()


def fail(*args: Any) -> None:
    raise CallsInItsError(*args)


@functions.async_execution
def give_later(cls: type) -> Any:
    return rpc.rpc_async("worker0", time.sleep, args=(0.02,)).then(lambda fut: cls())


@functions.async_execution
def pass_on(cls: type) -> Any:
    return rpc.rpc_async("worker0", give, args=(cls,))


def test_calls_while_an_answer_is_unpickled() -> None:
    with world_in_memory(2, rpc_timeout=10) as agents, acting_as(agents[0]):
        began = time.monotonic()
        assert [rpc.rpc_sync("worker1", give, args=(CallsWhenUnpickled,)) for _ in range(20)] == [4] * 20
        assert rpc.rpc_async("worker1", give, args=(CallsWhenUnpickled,)).wait() == 4
        assert rpc.remote("worker1", give, args=(CallsWhenUnpickled,)).to_here() == 4
        assert time.monotonic() - began < 5  # the calls inside have that timeout


def test_calls_while_an_exception_is_made_again() -> None:
    with world_in_memory(2, rpc_timeout=10) as agents, acting_as(agents[0]):
        for _ in range(10):
            with pytest.raises(CallsInItsError) as caught:
                rpc.rpc_sync("worker1", fail, args=(1, 2))
            assert caught.value.found == 2


@pytest.mark.parametrize("function", [give, give_later, pass_on])
def test_calls_while_an_answer_is_pickled(function) -> None:
    with world_in_memory(2, rpc_timeout=10) as agents, acting_as(agents[0]):
        for _ in range(10):
            assert rpc.rpc_sync("worker1", function, args=(CallsWhenPickled,)).found == 6


def test_an_exit_while_an_answer_is_unpickled_completes_the_call() -> None:
    with world_in_memory(2, rpc_timeout=10) as agents, acting_as(agents[0]):
        fut = rpc.rpc_async("worker1", give, args=(ExitsWhenUnpickled,))
        time.sleep(0.2)  # a thread of the pool takes it in
        with pytest.raises(RuntimeError, match="SystemExit ended the decoding of the answer: enough"):
            fut.wait()
        with pytest.raises(SystemExit, match="enough"):  # this thread takes it in itself
            rpc.rpc_sync("worker1", give, args=(ExitsWhenUnpickled,))
        assert not agents[0].calls.pending
        assert rpc.rpc_sync("worker1", max, args=(1, 2)) == 2


def test_a_call_times_out_although_its_answer_is_being_unpickled() -> None:
    END.clear()
    with world_in_memory(2, rpc_timeout=10) as agents, acting_as(agents[0]):
        fut = rpc.rpc_async("worker1", give, args=(WaitsWhenUnpickled,), timeout=0.5)
        time.sleep(0.2)  # a thread of the pool takes it in
        with pytest.raises(RuntimeError, match="RPCErr:1:"):
            fut.wait()
        END.set()


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_whatever_a_callback_raises_its_future_is_completed(error) -> None:
    def raises(fut: Any) -> None:
        raise error("in a callback")

    with world_in_memory(2, rpc_timeout=10) as agents, acting_as(agents[0]):
        fut = rpc.rpc_async("worker1", time.sleep, args=(0.05,))
        chained, others = fut.then(raises), []
        fut.add_done_callback(raises)
        fut.add_done_callback(others.append)
        with pytest.raises(RuntimeError, match=f"{error.__name__}: in a callback"):
            chained.wait()
        assert others == [fut]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_whatever_a_callback_raises_on_the_thread_that_completes(error) -> None:
    def raises(fut: Any) -> None:
        raise error

    fut: Any = rpc.api.Future()
    chained, others = fut.then(raises), []
    fut.add_done_callback(others.append)
    with pytest.raises(error):
        fut.set_result(1)
    assert chained.done() and others == [fut]


def fail_unspeakably() -> None:
    raise ExitsWhenShown


def test_an_exception_that_cannot_be_described() -> None:
    with world_in_memory(2, rpc_timeout=5) as agents, acting_as(agents[0]):
        with pytest.raises(RuntimeError, match="ExitsWhenShown, which cannot be described: SystemExit in its methods"):
            rpc.rpc_sync("worker1", fail_unspeakably)


@pytest.mark.parametrize("function", [sys.exit, give])
def test_values_of_rrefs_that_exit(function) -> None:
    arguments = ("enough",) if function is sys.exit else (ExitsWhenUnpickled,)
    with world_in_memory(2, rpc_timeout=10) as agents, acting_as(agents[0]):
        with pytest.raises((RuntimeError, SystemExit), match="enough"):
            rpc.remote("worker1", function, args=arguments).to_here()
