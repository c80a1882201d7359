"""Stress: many threads of all ranks make mixed calls to each other, and nothing gets lost, mixed up or left over."""

from __future__ import annotations

import os
import random
import threading
import zlib

import numpy as np
import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._blocks import kept_bytes

from . import support_functions as far

THREADS = 8
CALLS = int(os.environ.get("MPIGRAD_STRESS_CALLS", "60"))


class Expected(Exception):
    """Raised on purpose."""


def checksum(array: np.ndarray) -> tuple[np.ndarray, int]:
    return array, zlib.crc32(array)


def fail_with(number: int) -> None:
    raise Expected(number, "on purpose")


def descend(depth: int, array: np.ndarray, ranks: list[int]) -> int:
    """Carry an array along a chain of calls and return its checksum from the far end."""
    if depth == 0:
        return zlib.crc32(array)
    return rpc.rpc_sync(ranks[depth % len(ranks)], descend, args=(depth - 1, array, ranks))


def one_call(random_: random.Random, size: int) -> None:
    to = random_.randrange(size)
    kind = random_.random()
    length = int(2 ** random_.uniform(0, 22 if kind < 0.02 else 14))
    array = np.frombuffer(random_.randbytes(length), np.uint8)
    crc = zlib.crc32(array)
    if kind < 0.4:
        back, remote = rpc.rpc_sync(to, checksum, args=(array,))
        assert remote == crc == zlib.crc32(back)
    elif kind < 0.6:
        futures = [rpc.rpc_async(to, far.add, args=(length, i)) for i in range(3)]
        assert [fut.wait() for fut in futures] == [length + i for i in range(3)]
    elif kind < 0.75:
        ranks = [random_.randrange(size) for _ in range(4)]
        assert rpc.rpc_sync(to, descend, args=(random_.randrange(9), array[:5000], ranks)) == zlib.crc32(array[:5000])
    elif kind < 0.9:
        with pytest.raises(Expected) as caught:
            rpc.rpc_sync(to, fail_with, args=(length,))
        assert caught.value.args == (length, "on purpose")
    else:
        fut = rpc.rpc_async(to, checksum, args=(array,)).then(lambda f: f.wait()[1])
        assert fut.wait() == crc


@pytest.mark.mpi(min_size=4)
@pytest.mark.deadline(55 + CALLS)
def test_mixed_calls_from_many_threads(rpc_world) -> None:
    errors: list[BaseException] = []

    def run(seed: int) -> None:
        random_ = random.Random(seed)
        try:
            for _ in range(CALLS):
                one_call(random_, rpc_world.world_size)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(rpc_world.rank * 100 + i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(50 + CALLS)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]
    agent = rpc.api._get_current_rpc_agent()
    far.wait_for(lambda: not agent._pending)
    rpc_world.barrier()
    far.wait_for(agent.quiet)
    assert len(agent.progress._threads) < 120 and kept_bytes() <= 1 << 30
