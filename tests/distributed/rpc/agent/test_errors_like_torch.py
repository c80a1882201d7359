"""Errors of calls and passes as programs for PyTorch expect them, on any number of ranks."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.futures import Future, collect_all, wait_all
from tests.support.eventually import eventually

from .. import support_functions as far

pytestmark = pytest.mark.mpi(min_size=1)
GATE = threading.Event()


class OddError(Exception):
    """A type that only this file has."""


class Odd(mpigrad.autograd.Function):
    """Its backward fails."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise OddError("odd backward")


def odd_sum(x: Any) -> Any:
    return Odd.apply(x).sum()


def fail_with(error: Exception) -> None:
    raise error


def fail_oddly() -> None:
    raise far.CustomError(3, "hint")


def wait_for_gate() -> bool:
    return GATE.wait(30)


def open_gate() -> None:
    GATE.set()


def fail_and_catch_stderr() -> str:
    """Fail in a call to oneself while stderr is a string."""
    caught = io.StringIO()
    with contextlib.redirect_stderr(caught), contextlib.suppress(ValueError):
        rpc.rpc_sync(rpc.get_worker_info().name, fail_with, args=(ValueError("printed here"),))
    assert sys.stderr is not caught
    return caught.getvalue()


def test_backward_raises_runtime_errors(rpc_world) -> None:
    x = mpigrad.ones(2, requires_grad=True)
    with dist_autograd.context() as context_id:
        for loss in (odd_sum(x), rpc.rpc_sync(rpc_world.next_name, odd_sum, args=(x,))):
            with pytest.raises(RuntimeError, match="odd backward") as caught:
                dist_autograd.backward(context_id, [loss])
            assert isinstance(caught.value, OddError)
        with pytest.raises(RuntimeError, match="odd backward") as caught:
            rpc.remote(rpc_world.next_name, odd_sum, args=(x,)).backward(context_id)
        assert isinstance(caught.value, OddError)


def test_calls_raise_both_types(rpc_world) -> None:
    for make in (rpc.rpc_sync, lambda *a, **k: rpc.rpc_async(*a, **k).wait(), lambda *a, **k: rpc.remote(*a, **k).to_here()):
        with pytest.raises(RuntimeError, match="no such key") as caught:
            make(rpc_world.next_name, fail_with, args=(KeyError("no such key"),))
        assert isinstance(caught.value, KeyError)
        with pytest.raises(RuntimeError, match="Original exception on remote side was CustomError") as caught:
            make(rpc_world.next_name, fail_oddly)
        assert isinstance(caught.value, far.CustomError)


def test_a_function_that_the_callee_does_not_have(rpc_world) -> None:
    if rpc_world.rank == 0:
        far.only_here = lambda: 1  # type: ignore[attr-defined]
        far.only_here.__module__, far.only_here.__qualname__ = far.__name__, "only_here"  # type: ignore[attr-defined]
    rpc_world.barrier()
    if rpc_world.rank == 0 and rpc_world.world_size > 1:
        with pytest.raises(RuntimeError, match="RPC pickler does not serialize the function code") as caught:
            rpc.rpc_sync(rpc_world.next_name, far.only_here)  # type: ignore[attr-defined]
        assert isinstance(caught.value, AttributeError)
    rpc_world.barrier()


def test_errors_are_printed_where_they_happen(rpc_world) -> None:
    text = fail_and_catch_stderr()
    assert f"On {rpc.get_worker_info()}:\nValueError('printed here')" in text and "fail_with" in text
    assert "_core" not in text  # only the user's part of the traceback
    rpc_world.barrier()


def test_many_futures_fail_with_the_first_failed_call(rpc_world) -> None:
    GATE.clear()
    rpc_world.barrier()
    to = rpc_world.next_name
    for wait in (wait_all, lambda futures: collect_all(futures).wait()):
        slow = rpc.rpc_async(to, wait_for_gate)
        with pytest.raises(ValueError, match="early"):
            wait([slow, rpc.rpc_async(to, fail_with, args=(ValueError("early"),))])
        assert not slow.done()
        done: Future = Future()
        done.set_result(None)
        with pytest.raises(RuntimeError, match="in a callback"):
            wait([slow, done.then(lambda fut: fail_with(ValueError("in a callback")))])
        assert not slow.done()
        given: Future = Future()
        given.set_exception(ValueError("given"))
        everything = collect_all([slow, given])
        assert not everything.done()  # such an error is a value, as in PyTorch
        rpc.rpc_sync(to, open_gate)
        with pytest.raises(ValueError, match="given"):
            everything.wait()
        eventually(slow.done, equals=True)
        rpc_world.barrier()
        GATE.clear()
        rpc_world.barrier()
