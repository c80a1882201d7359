"""The measured calls, from worker 0 to one other worker, by kind and by size."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

SIZES = tuple(8 * 4**power for power in range(11))  # 8 B to 8 MiB
WINDOW = 64

Case = tuple[str, Callable[[], object], int]


def nothing() -> None:
    """Do nothing: the function of the empty call."""


def take(tensor: mpigrad.Tensor) -> None:
    """Receive a tensor and return None."""


def double(tensor: mpigrad.Tensor) -> mpigrad.Tensor:
    """Return twice the tensor: a call whose gradient has to return to the caller."""
    return tensor + tensor


def _many_at_once(to: str) -> None:
    for future in [rpc.rpc_async(to, nothing) for _ in range(WINDOW)]:
        future.wait()


def _forward_and_backward(to: str, tensor: mpigrad.Tensor) -> None:
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(to, double, args=(tensor,)).sum()
        dist_autograd.backward(context_id, [loss])


def kinds(to: str) -> Iterator[Case]:
    """Name, function and number of RPCs of each kind of call to the worker `to`."""
    small = mpigrad.ones(3, 3)
    leaf = mpigrad.ones(3, 3, requires_grad=True)
    yield "rpc_sync, empty", lambda: rpc.rpc_sync(to, nothing), 1
    yield "rpc_sync, add 3x3", lambda: rpc.rpc_sync(to, mpigrad.add, args=(small, small)), 1
    yield f"rpc_async, {WINDOW} at once", lambda: _many_at_once(to), WINDOW
    yield "remote and to_here", lambda: rpc.remote(to, mpigrad.add, args=(small, small)).to_here(), 1
    yield "forward and backward, 3x3", lambda: _forward_and_backward(to, leaf), 1


def sizes(to: str) -> Iterator[tuple[int, Callable[[], object]]]:
    """Numbers of bytes, each with a call that sends them and waits until they have been received."""
    for size in SIZES:
        tensor = mpigrad.zeros(size // 4)
        yield size, lambda tensor=tensor: rpc.rpc_sync(to, take, args=(tensor,))  # type: ignore[misc]
