"""Functions that the tests call on other workers."""

from __future__ import annotations

import threading
from typing import Any

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

CONTEXTS: dict[int, int] = {}  # how many ranks back -> the context id that was told
SHARED = mpigrad.full((3, 3), 2.0, requires_grad=True)
AT_REST = {"num_current_backward_passes": 0, "num_autograd_contexts": 0}  # what `_get_debug_info` says then


def add(a: Any, b: Any) -> Any:
    return mpigrad.add(a, b)


def add_to_rref(rref: Any, b: Any) -> Any:
    return mpigrad.add(rref.local_value(), b)


def ones(*shape: int) -> mpigrad.Tensor:
    return mpigrad.ones(*shape, requires_grad=True)


def shared() -> mpigrad.Tensor:
    return SHARED


def nested(a: Any, b: Any, hops: list[str]) -> Any:
    """Pass the call on through `hops`; the last one adds."""
    if not hops:
        return mpigrad.add(a, b)
    return rpc.rpc_sync(hops[0], nested, args=(a, b, hops[1:]))


def tell(distance: int, context_id: int) -> None:
    CONTEXTS[distance] = context_id


def context_exists(context_id: int) -> bool:
    try:
        dist_autograd._retrieve_context(context_id)
    except RuntimeError:
        return False
    return True


def gradient_of_rref(context_id: int, rref: Any) -> mpigrad.Tensor:
    return dist_autograd.get_gradients(context_id)[rref.local_value()]


def gradient_of_shared(context_id: int) -> Any:
    return dist_autograd.get_gradients(context_id).get(SHARED)


GATE, REACHED = threading.Event(), threading.Event()  # the backward of `waiting` may go on; it has begun here


class Waits(mpigrad.autograd.Function):
    """The identity, whose backward says that it was reached and waits for the gate."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        REACHED.set()
        assert GATE.wait(60)
        return grad


def waiting(x: Any) -> Any:
    return Waits.apply(x)


def square(to: str, x: Any) -> Any:
    return rpc.rpc_sync(to, mpigrad.mul, args=(x, x))


def meeting(x: Any, quick: str, slow: str) -> Any:
    """Two calls that share their input, so that gradients meet here, and one of them comes late."""
    y = x * 3
    return square(quick, y) + rpc.rpc_sync(slow, waiting, args=(y,))


class Fails(mpigrad.autograd.Function):
    """The identity, whose backward raises."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise KeyError("no gradient today")


def failing(x: Any) -> Any:
    return Fails.apply(x)


def fail_then_add(x: Any, to: str) -> Any:
    return rpc.rpc_sync(to, failing, args=(x,)) + x
