"""Functions that the tests call on members of groups."""

from __future__ import annotations

import operator
import threading
from typing import Any

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad.futures import Future

CALLED: list[tuple[int, str, int]] = []  # id of the process-wide test, worker, autograd id
RELEASE = threading.Event()


def rank() -> int:
    return rpc.get_worker_info().id


def name() -> str:
    return rpc.get_worker_info().name


def scaled(x: Any) -> Any:
    """Differs by worker, so that a gradient tells which members took part."""
    return x * (rank() + 1) + x * x


def scale_in_place(x: Any) -> Any:
    """Changes its argument: other members must not see that."""
    return x.mul_(rank() + 2).clone()


def words(a: str, b: str) -> str:
    """Associative, not commutative."""
    return f"{a} {b}"


def fail_on(ranks: list[int], value: int = 0) -> int:
    if rank() in ranks:
        raise ValueError(f"refused by rank {rank()}")
    return rank() + value


def wait_on(ranks: list[int]) -> int:
    if rank() in ranks:
        RELEASE.wait(20)
    return rank()


@rpc.functions.async_execution
def later(x: int) -> Future:
    return rpc.rpc_async(rank(), operator.add, args=(x, rank()))


def failing_reduce(a: Any, b: Any) -> Any:
    raise KeyError("no such sum")


class Strange(Exception):
    """An exception that cannot be described."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)

    def __str__(self) -> str:
        raise OSError("no text")

    __repr__ = __str__  # type: ignore[assignment]


def strange() -> None:
    raise Strange(1, 2)


def loss_of_group(group: rpc.WorkerGroup, x: Any) -> Any:
    """A call to a group from inside a call."""
    return sum(each.sum() for each in group.rpc_sync(scaled, args=(x,)))


def keep(x: Any) -> Any:
    return mpigrad.tensor(float(rank())) + x
