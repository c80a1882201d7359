"""One rank of a real run: ``mpiexec -n N python -m benchmarks.scaling.rank OUT``; rank 0 writes what each step cost to OUT.

`MPIGRAD_SCALE_BEGAN` is the time (`time.time`) at which the job was started.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpigrad.distributed.rpc as rpc
from benchmarks.scaling import programs
from mpigrad._core.rpc.calls import INSTRUMENTS, Instrument
from mpigrad._process.rank import launched_rank

PATIENCE = 900.0  # seconds; with a hundred ranks on a core everything is slow


class Sends(Instrument):
    """Counts the messages that this rank sends."""

    count = 0

    def before_send(self, *about: Any) -> None:
        self.count += 1


SENDS = Sends()


def own_state() -> tuple[int, int, int]:
    """The messages that this rank has sent so far, its resident memory and its share of it (bytes)."""
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    share = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return SENDS.count, resident, share


class Steps:
    """Runs the programs on rank 0, and asks all ranks between them what they have sent."""

    def __init__(self, size: int) -> None:
        self.size, self.found = size, list[dict[str, Any]]()
        self._before = self._ask()

    def _ask(self) -> list[tuple[int, int, int]]:
        others = [rpc.rpc_async(rank, own_state) for rank in range(1, self.size)]
        answers = [fut.wait() for fut in others]
        return [own_state(), *answers]

    def run(self, name: str, program: Callable[[], Any]) -> None:
        """Run a program and record its time and messages."""
        began = time.perf_counter()
        program()
        seconds, mine = time.perf_counter() - began, SENDS.count
        after = self._ask()
        # the others have also sent one answer to the question before; rank 0's own questions came after `mine` was read
        sent = [now[0] - before[0] - 1 for now, before in zip(after[1:], self._before[1:])]
        sent.insert(0, mine - self._before[0][0])
        self._before = after
        self.found.append({"name": name, "seconds": seconds, "messages": sum(sent), "busiest": max(sent)})
        print(f"{self.size} ranks, {name}: {seconds:.3f} s, {sum(sent)} messages", flush=True)

    def memory(self) -> dict[str, float]:
        """Resident memory of a rank, and its share of what it has in common with others: means over all ranks, in bytes."""
        return {
            "resident": sum(state[1] for state in self._before) / self.size,
            "share": sum(state[2] for state in self._before) / self.size,
        }


def call_first_from_all(size: int) -> None:
    """Worker0 asks all workers to call it, so that all calls are under way at once."""
    for fut in [rpc.rpc_async(rank, programs.call_first) for rank in range(size)]:
        fut.wait()


def run_steps(size: int) -> Steps:
    steps = Steps(size)
    steps.run("calls from one worker to each", lambda: programs.call_each(size))
    steps.run("calls of all workers to one", lambda: call_first_from_all(size))
    steps.run("call to a group", lambda: programs.group_call(size))
    for name, grouped in (("group", True), ("nested calls", False)):
        recorded = programs.Recorded(size, grouped)
        steps.run(f"{name}: forward", recorded.forward)
        steps.run(f"{name}: backward", recorded.backward)
        steps.run(f"{name}: release", recorded.release)
    steps.run("an RRef to all workers", lambda: programs.spread_reference(size))
    return steps


def main(out: str) -> None:
    INSTRUMENTS.add(SENDS)
    rank = launched_rank() or 0
    options = rpc.MPIRpcBackendOptions(rpc_timeout=PATIENCE, init_timeout=PATIENCE)
    rpc.init_rpc(f"worker{rank}", rpc_backend_options=options)
    size = len(rpc.api._get_worker_infos())
    started = time.time() - float(os.environ["MPIGRAD_SCALE_BEGAN"])
    steps = run_steps(size) if rank == 0 else None
    began = time.perf_counter()
    rpc.shutdown(timeout=PATIENCE)
    if steps is not None:
        end = {"name": "shutdown", "seconds": time.perf_counter() - began}
        start = {"name": "start", "seconds": started}
        found = {"ranks": size, "memory": steps.memory(), "steps": [start, *steps.found, end]}
        Path(out).write_text(json.dumps(found))
        print(f"{size} ranks: start {started:.1f} s, shutdown {end['seconds']:.2f} s, {found['memory']}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
