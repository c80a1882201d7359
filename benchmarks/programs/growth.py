"""How costs grow: with contexts alive, calls in a context, the depth of the graph across ranks, the payload, the world."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from benchmarks.library import library, part
from benchmarks.memory import resident
from benchmarks.timing import Sample, repeat, summarise

rpc = part("distributed.rpc")
dist_autograd = part("distributed.autograd")


def nothing() -> None:
    """The function of the empty call."""


def echo(tensor: Any) -> Any:
    """Return the argument."""
    return tensor


def empty(seconds: float) -> Sample:
    """An empty call, for growth with the size of the world."""
    return repeat(lambda: rpc.rpc_sync("worker1", nothing), seconds)


def step(left: Any, right: Any, hops: int = 1) -> None:
    """A context with this many remote adds in sequence, and its backward pass."""
    with dist_autograd.context() as context_id:
        result = right
        for _ in range(hops):
            result = rpc.rpc_sync("worker1", library.add, args=(left, result))
        dist_autograd.backward(context_id, [result.sum()])


def leaves() -> tuple[Any, Any]:
    return library.ones(3, 3, requires_grad=True), library.ones(3, 3, requires_grad=True)


def one_step(seconds: float) -> Sample:
    """Context, remote add and backward, for growth with the size of the world."""
    left, right = leaves()
    return repeat(lambda: step(left, right), seconds)


def keep_context(left: Any, right: Any) -> int:
    """Open a context that stays open on both ranks, and return its id."""
    context = dist_autograd._new_context()
    context_id: int = context._context_id()
    rpc.rpc_sync("worker1", library.add, args=(left, right))
    return context_id


def contexts_alive(count: int) -> Callable[[float], Sample]:
    """One step while this many other contexts, each with a remote add, are open on both ranks."""

    def measure(seconds: float) -> Sample:
        left, right = leaves()
        with ExitStack() as stack:
            for _ in range(count):
                stack.callback(dist_autograd._release_context, in_a_thread(keep_context, left, right))
            return repeat(lambda: step(left, right), seconds)

    return measure


def in_a_thread(function: Callable[..., int], *arguments: Any) -> int:
    """Run a function in a new thread: a context belongs to its thread, so each context that stays open needs one."""
    from threading import Thread

    answers: list[int] = []
    thread = Thread(target=lambda: answers.append(function(*arguments)))
    thread.start()
    thread.join()
    return answers[0]


def calls_in_a_context(count: int) -> Callable[[float], Sample]:
    """The time per call of the last hundred of this many recorded calls in one context."""

    def measure(seconds: float) -> Sample:
        left, right = leaves()
        times = []
        with dist_autograd.context():
            for _ in range(count):
                start = time.perf_counter()
                rpc.rpc_sync("worker1", library.add, args=(left, right))
                times.append(time.perf_counter() - start)
        return summarise(times[-100:])

    return measure


def bytes_of_a_call(count: int) -> Callable[[float], Sample]:
    """The memory of both workers per call, for the last nine tenths of this many recorded calls in one context."""

    def measure(seconds: float) -> Sample:
        left, right = leaves()
        before, first = 0, count // 10
        with dist_autograd.context():
            for number in range(count):
                if number == first:
                    before = memory_of_both()
                rpc.rpc_sync("worker1", library.add, args=(left, right))
            return summarise([(memory_of_both() - before) / (count - first)], "B")

    return measure


def memory_of_both() -> int:
    return own_memory() + int(rpc.rpc_sync("worker1", own_memory))


def own_memory() -> int:
    return resident(os.getpid())


def depth(hops: int) -> Callable[[float], Sample]:
    """The time per hop of a chain of this many remote adds, forward and backward."""

    def measure(seconds: float) -> Sample:
        left, right = leaves()
        return repeat(lambda: step(left, right, hops), seconds, per=hops)

    return measure


def payload(kibibytes: int) -> Callable[[float], Sample]:
    """An echo of this many KiB."""

    def measure(seconds: float) -> Sample:
        tensor = library.ones(kibibytes * 256)
        return repeat(lambda: rpc.rpc_sync("worker1", echo, args=(tensor,)), seconds)

    return measure


MEASURES = {
    "empty": empty,
    "one_step": one_step,
    **{f"contexts_{count}": contexts_alive(count) for count in (1, 16, 256, 2048)},
    **{f"call_bytes_{count}": bytes_of_a_call(count) for count in (100, 1_000, 10_000, 100_000)},
    **{f"calls_{count}": calls_in_a_context(count) for count in (100, 1_000, 10_000, 100_000)},
    **{f"depth_{hops}": depth(hops) for hops in (1, 4, 16, 64, 256)},
    **{f"payload_{size}": payload(size) for size in (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536)},
}
