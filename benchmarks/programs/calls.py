"""Calls between two ranks: empty, on small tensors, many in flight, and echoes of large ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.library import library, part
from benchmarks.timing import Sample, repeat

rpc = part("distributed.rpc")
dist_autograd = part("distributed.autograd")

IN_FLIGHT = 64
ECHO_MIB = (1, 16, 64, 256)


def nothing() -> None:
    """The function of the empty call."""


def combine(left: Any, right: Any) -> Any:
    """The function of the call on small tensors: a user's function, not a built-in operator."""
    return left + right


def echo(tensor: Any) -> Any:
    """Return the argument."""
    return tensor


def empty(seconds: float) -> Sample:
    """A round trip of a function without arguments or result."""
    return repeat(lambda: rpc.rpc_sync("worker1", nothing), seconds)


def small_in_context(seconds: float) -> Sample:
    """A Python function on two 3x3 tensors that need gradients, inside one context."""
    left, right = library.ones(3, 3, requires_grad=True), library.ones(3, 3, requires_grad=True)

    def contexts_of_fifty() -> None:
        # A new context after every fifty calls, so that the recorded graph stays small; the calls are what is timed.
        with dist_autograd.context():
            for _ in range(50):
                rpc.rpc_sync("worker1", combine, args=(left, right))

    return repeat(contexts_of_fifty, seconds, per=50)


def in_flight(seconds: float) -> Sample:
    """Seconds per call when 64 calls are started before the first is waited for."""

    def batch() -> None:
        for future in [rpc.rpc_async("worker1", nothing) for _ in range(IN_FLIGHT)]:
            future.wait()

    return repeat(batch, seconds, per=IN_FLIGHT)


def echo_of(mebibytes: int) -> Callable[[float], Sample]:
    """Define a measure that sends a float32 tensor of this many MiB and gets it back."""

    def measure(seconds: float) -> Sample:
        tensor = library.ones(mebibytes * 2**18)
        return repeat(lambda: rpc.rpc_sync("worker1", echo, args=(tensor,)), seconds)

    return measure


MEASURES = {
    "empty": empty,
    "small_in_context": small_in_context,
    "in_flight": in_flight,
    **{f"echo_{size}": echo_of(size) for size in ECHO_MIB},
}
