"""Stress: many threads of all ranks make mixed calls to each other; no call may be lost, confused with another or left over.

    mpiexec -n 4 python -m benchmarks.stress 2000

Every rank runs 8 threads that make that many calls each: arrays of 1 B to 4 MiB with checksums, several calls at once,
chains of calls up to 8 deep, exceptions, callbacks, and RRefs that are forked through other workers and held there for a
while. At the end no call, future or RRef may be left, the pool must have ended, and the memory that was used must not
have grown with the number of calls.
"""

from __future__ import annotations

import gc
import random
import sys
import threading
import time
import zlib
from typing import Any

import numpy as np

import mpigrad.distributed.rpc as rpc
from benchmarks.soak import resident
from mpigrad.distributed.rpc.api import _rref_context_get_debug_info
from mpigrad.futures import Future, collect_all

THREADS = 8
DEEPEST = 8
LARGEST_BITS = 22  # 4 MiB
PATIENCE = 60.0
_held: dict[int, Any] = {}  # RRefs that other workers have left on this one


class Expected(Exception):
    """Raised on purpose, as a function's error."""


def checksum(array: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the array and its checksum on this worker."""
    return array, zlib.crc32(array)


def add(x: int, y: int) -> int:
    """A small call."""
    return x + y


def fail_with(number: int) -> None:
    """Raise an exception with two arguments."""
    raise Expected(number, "on purpose")


def descend(depth: int, array: np.ndarray, ranks: list[int]) -> int:
    """Pass an array along a chain of calls and return its checksum on the last worker."""
    if depth == 0:
        return zlib.crc32(array)
    return rpc.rpc_sync(ranks[depth % len(ranks)], descend, args=(depth - 1, array, ranks))


def keep(array: np.ndarray) -> np.ndarray:
    """The value for an RRef."""
    return array


def read_through(rref: Any, hops: list[int], key: int) -> int:
    """Pass an RRef on along a chain of workers; the last one reads it, and all of them keep it until `let_go`."""
    _held[key] = rref
    if hops:
        return rpc.rpc_sync(hops[0], read_through, args=(rref, hops[1:], key))
    return zlib.crc32(rref.to_here())


def let_go(key: int) -> None:
    """Drop the RRefs that `read_through` has kept."""
    _held.pop(key, None)


def _echo(to: int, array: np.ndarray, crc: int, pick: random.Random, size: int) -> None:
    back, there = rpc.rpc_sync(to, checksum, args=(array,))
    _same(there, crc)
    _same(zlib.crc32(back), crc)


def _several(to: int, array: np.ndarray, crc: int, pick: random.Random, size: int) -> None:
    futures = [rpc.rpc_async(to, add, args=(crc, each)) for each in range(5)]
    _same([fut.value() for fut in collect_all(futures).wait()], [crc + each for each in range(5)])


def _chain(to: int, array: np.ndarray, crc: int, pick: random.Random, size: int) -> None:
    ranks = [pick.randrange(size) for _ in range(4)]
    _same(rpc.rpc_sync(to, descend, args=(pick.randint(0, DEEPEST), array[:5000], ranks)), zlib.crc32(array[:5000]))


def _error(to: int, array: np.ndarray, crc: int, pick: random.Random, size: int) -> None:
    try:
        rpc.rpc_sync(to, fail_with, args=(crc,))
    except Expected as error:
        _same(error.args, (crc, "on purpose"))
    else:
        raise AssertionError("a call that raises returned")


def _callback(to: int, array: np.ndarray, crc: int, pick: random.Random, size: int) -> None:
    _same(rpc.rpc_async(to, checksum, args=(array,)).then(lambda fut: fut.wait()[1]).wait(), crc)


def _rref(to: int, array: np.ndarray, crc: int, pick: random.Random, size: int) -> None:
    key = pick.getrandbits(60)
    rref = rpc.remote(to, keep, args=(array,))
    hops = [pick.randrange(size) for _ in range(pick.randint(1, 3))]
    _same(rpc.rpc_sync(hops[0], read_through, args=(rref, hops[1:], key)), crc)
    _same(zlib.crc32(rref.to_here()), crc)
    for hop in set(hops):
        rpc.rpc_async(hop, let_go, args=(key,))


KINDS = {_echo: 35, _several: 15, _chain: 15, _error: 15, _callback: 10, _rref: 10}


def _same(found: Any, expected: Any) -> None:
    if found != expected:
        raise AssertionError(f"got {found!r} instead of {expected!r}")


def one_call(pick: random.Random, size: int) -> None:
    """One call of a random kind with a random array to a random rank."""
    bits = LARGEST_BITS if pick.random() < 0.05 else 14
    array = np.frombuffer(pick.randbytes(int(2 ** pick.uniform(0, bits))), np.uint8)
    kind = pick.choices(list(KINDS), list(KINDS.values()))[0]
    kind(pick.randrange(size), array, zlib.crc32(array), pick, size)


class Stress:
    """The threads of one rank."""

    def __init__(self, rank: int, size: int, calls: int, threads: int = THREADS) -> None:
        self.errors: list[BaseException] = []
        self.memory: list[int] = []  # after each tenth of the calls of the first thread
        self._size, self._calls = size, calls
        self._threads = [
            threading.Thread(target=self._run, args=(1000 * rank + number, number == 0), daemon=True)
            for number in range(threads)
        ]

    def _run(self, seed: int, watches: bool) -> None:
        pick = random.Random(seed)
        try:
            for number in range(1, self._calls + 1):
                one_call(pick, self._size)
                if watches and number % max(1, self._calls // 10) == 0:
                    self.memory.append(resident())
        except BaseException as error:
            self.errors.append(error)

    def run(self, seconds: float) -> None:
        """Make all calls; raises the first error, if there was one."""
        limit = time.monotonic() + seconds
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join(max(0.0, limit - time.monotonic()))
        if self.errors:
            raise self.errors[0]
        stuck = sum(thread.is_alive() for thread in self._threads)
        if stuck:
            raise AssertionError(f"{stuck} of {len(self._threads)} threads did not end within {seconds} s")


def unfinished() -> int:
    """The number of futures in this process that are not done; an idle agent has some, too."""
    gc.collect()
    return sum(isinstance(each, Future) and not each.done() for each in gc.get_objects())


def left_over(futures: int) -> dict[str, int]:
    """The objects that this worker holds beyond the given number of futures; there should be none after all calls."""
    agent = rpc.api._get_current_rpc_agent()
    found = {name: int(value) for name, value in _rref_context_get_debug_info().items()}
    found |= {"calls": len(agent.calls.pending), "served": len(agent.server.running), "held": len(_held)}
    found["futures"] = unfinished() - futures
    return {name: value for name, value in found.items() if value > 0}


def wait_until_nothing_is_left(futures: int) -> dict[str, int]:
    """Wait until nothing is left over; returns the objects that remain after a while."""
    limit = time.monotonic() + PATIENCE
    while (found := left_over(futures)) and time.monotonic() < limit:
        time.sleep(0.01)
    return found


def main() -> None:
    """Run the stress test on every rank."""
    from mpi4py import MPI

    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    comm = MPI.COMM_WORLD
    rpc.init_rpc(f"worker{comm.rank}", rank=comm.rank, world_size=comm.size)
    futures, began = unfinished(), time.perf_counter()
    stress = Stress(comm.rank, comm.size, calls)
    stress.run(3600)
    seconds = time.perf_counter() - began
    rpc.api._barrier({info.name for info in rpc.api._get_worker_infos()})
    left = wait_until_nothing_is_left(futures)
    pool = rpc.api._get_current_rpc_agent().debug_info()["agent.num_threads"]
    rpc.api._barrier({info.name for info in rpc.api._get_worker_infos()})
    rpc.shutdown()
    threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("mpigrad-")]
    megabytes = [round(each / 1e6) for each in stress.memory]
    print(f"rank {comm.rank}: {THREADS} x {calls} calls in {seconds:.0f} s, {pool} pool threads; MB:", *megabytes, flush=True)
    if left or threads or max(megabytes) > 2 * max(megabytes[:3]) + 100:
        raise SystemExit(f"rank {comm.rank} has left over {left}, threads {threads}, memory {megabytes} MB")


if __name__ == "__main__":
    main()
