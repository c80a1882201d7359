"""Scripted functions that call others on other workers, with arguments that are known only when they run."""

# ruff: noqa: B008 (what is scripted here is the test)

from __future__ import annotations

import time
from typing import Any

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad import Tensor
from mpigrad.autograd.profiler import record_function
from mpigrad.futures import Future


@mpigrad.jit.script
def two_and_two(first, second, third=mpigrad.tensor([3, 3]), fourth=mpigrad.tensor([4, 4])):
    return first + second + third + fourth


@mpigrad.jit.script
def mixed(t: Tensor, s: str, n: int, more: Tensor = mpigrad.tensor([2, 2]), end: str = "end", by: int = 2):
    return t + more, s + end, n + by


@mpigrad.jit.script
def nothing():
    return 0


@mpigrad.jit.script
def halved(x: float) -> float:
    return x / 2


@mpigrad.jit.script
def call_async(to: str, args: tuple[Tensor, Tensor], kwargs: dict[str, Tensor]):
    return rpc.rpc_async(to, two_and_two, args, kwargs).wait()


@mpigrad.jit.script
def call_sync(to: str, args: tuple[Tensor, Tensor], kwargs: dict[str, Tensor]):
    return rpc.rpc_sync(to, two_and_two, args, kwargs)


@mpigrad.jit.script
def call_remote(to: str, args: tuple[Tensor, Tensor], kwargs: dict[str, Tensor]):
    return rpc.remote(to, two_and_two, args, kwargs).to_here()


CALLS = (call_async, call_sync, call_remote)


@mpigrad.jit.script
def call_mixed(to: str):
    args = (mpigrad.tensor([1, 1]), "start ", 1)
    kwargs: dict[str, Any] = {"more": mpigrad.tensor([3, 3]), "end": "here", "by": 3}
    return rpc.rpc_async(to, mixed, args, kwargs).wait()


@mpigrad.jit.script
def call_without(to: str) -> tuple[int, int, int]:
    args = ()
    return rpc.rpc_async(to, nothing).wait(), rpc.rpc_sync(to, nothing, args), rpc.remote(to, nothing, args, None).to_here()


@mpigrad.jit.script
def call_with_an_int_for_a_float(to: str, x: int) -> float:
    return rpc.rpc_sync(to, halved, (x,))


@mpigrad.jit.ignore
def wait_for(seconds: float) -> None:
    time.sleep(seconds)


@mpigrad.jit.script
def slow(seconds: float) -> int:
    wait_for(seconds)
    return 1


@mpigrad.jit.script
def call_slow(to: str, seconds: float, timeout: float) -> int:
    return rpc.rpc_sync(to, slow, (seconds,), {}, timeout)


@mpigrad.jit.script
def start_slow(to: str, seconds: float, timeout: float) -> Future[int]:
    return rpc.rpc_async(to, slow, (seconds,), None, timeout)


@mpigrad.jit.script
def fetch_slow(to: str, seconds: float, timeout: float) -> int:
    return rpc.remote(to, slow, (seconds,)).to_here(timeout)


@mpigrad.jit.script
def fail(x: Tensor) -> Tensor:
    if x.numel() == 2:
        raise ValueError("two elements")
    return x


@mpigrad.jit.script
def call_fail(to: str, x: Tensor) -> Tensor:
    return rpc.rpc_async(to, fail, (x,)).wait()


def python_function():
    return 0


@mpigrad.jit.script
def add(x: Tensor, y: Tensor) -> Tensor:
    return x + y


@rpc.functions.async_execution
@mpigrad.jit.script
def later_add(to: str, x: Tensor, y: Tensor) -> Future[Tensor]:
    return rpc.rpc_async(to, add, (x, y))


@rpc.functions.async_execution
@mpigrad.jit.script
def no_future() -> Tensor:
    return mpigrad.zeros(2)


@mpigrad.jit.script
def add_in_block(x, block: str):
    with record_function(block):
        return mpigrad.add(x, mpigrad.ones(1))


@mpigrad.jit.script
def call_add_in_block(to: str, block: str) -> Tensor:
    return rpc.rpc_async(to, add_in_block, (mpigrad.tensor(1), block)).wait()


@mpigrad.jit.script
def calls_in_a_block(to: str, block: str) -> Tensor:
    t: Tensor = mpigrad.ones(1)
    with record_function(block):
        first = rpc.rpc_async(to, add, (t, t))
        second = rpc.rpc_async(to, add, (t, t))
        result = first.wait() + second.wait()
    return result


@mpigrad.jit.script
def call_within(record: mpigrad.classes.profiler._RecordFunction, to: str) -> Tensor:
    fut = rpc.rpc_async(to, add, (mpigrad.ones(1), mpigrad.ones(1)))
    mpigrad.ops.profiler._call_end_callbacks_on_jit_fut(record, fut)
    return fut.wait()
