"""Deaths at any time: ranks are killed or stopped during calls, transfers, RRefs, backward passes, collectives and `shutdown`.

    python -m tests.attack.deaths --kills 200

Each job has 4 or 8 ranks, of which about half die at random moments. All survivors work on: each of them makes calls, passes and
RRefs with random others. A call to a dead worker must fail with WorkerLostError, which names it; every other operation must
succeed with the right result, every call that succeeded must have run once, and nothing may be left over at the end. The
parent process starts the jobs, checks that all survivors end well and in time, and prints the times from death to event.

With `--collectives` another thread of each rank makes collectives with all; each must succeed, or fail on all survivors, which
then shrink the group. Open MPI 5.0.11 crashes now and then (in ompi_comm_revoke_local) if a rank dies while others are inside
MPI_Comm_shrink.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("MPIGRAD_HOST_TRANSFERS", "both_ends")  # also with more ranks than cores

import numpy as np

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

MIDDLE = (1_000, 30_000)  # bytes of arrays inside a frame, some of which MPI would send in parts
LARGE = np.arange(150_000, dtype=np.float64)  # 1.2 MB
DEADLINE = 60.0  # seconds for one job
PHASES = ("work", "work", "work", "shutdown")


class Death:
    """Which rank dies, when and how."""

    def __init__(self, rank: int, how: str, phase: str, seconds: float) -> None:
        self.rank, self.how, self.phase, self.seconds = rank, how, phase, seconds


def plan(seed: int, size: int, stops: bool) -> list[Death]:
    """Return the deaths of one job, the same on all ranks; some are at almost the same time."""
    draw = random.Random(seed)
    ranks = draw.sample(range(size), size // 2 + (size > 4))
    deaths, moment = [], 0.3
    for rank in ranks:
        how = "stop" if stops and draw.random() < 0.4 else "kill"
        phase = "work" if how == "stop" else draw.choice(PHASES)
        moment += draw.choice([0.0, 0.001, 0.03, 0.2, 0.5])
        deaths.append(Death(rank, how, phase, moment if phase == "work" else draw.uniform(0, 0.03)))
    return deaths


class Log:
    """Lines that ranks append to one file, each in a single write."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, **entry: Any) -> None:
        os.write(self._file, (json.dumps(entry | {"time": time.monotonic()}) + "\n").encode())


def die_later(log: Log, death: Death) -> None:
    def die() -> None:
        time.sleep(death.seconds)
        log.write(event="death", rank=death.rank, how=death.how, phase=death.phase)
        os.kill(os.getpid(), signal.SIGKILL if death.how == "kill" else signal.SIGSTOP)

    threading.Thread(target=die, daemon=True).start()


RUNS: Counter[str] = Counter()


def run_once(token: str, array: Any) -> Any:
    RUNS[token] += 1
    return array


def runs_of(tokens: list[str]) -> list[int]:
    return [RUNS[token] for token in tokens]


def twice(x: Any) -> Any:
    return x * 2


def through(rank: int, x: Any) -> Any:
    return rpc.rpc_sync(rank, twice, args=(x,)) * 3


class Survivor:
    """The work of one rank, and what it has seen."""

    def __init__(self, rank: int, size: int, seed: int, doomed: set[int]) -> None:
        self.rank, self.size, self.doomed = rank, size, doomed
        self.random = random.Random(seed * 1000 + rank)
        self.sent: dict[int, list[str]] = {other: [] for other in range(size)}
        self.counts: Counter[str] = Counter()

    def other(self) -> int:
        return self.random.choice([other for other in range(self.size) if other != self.rank])

    def step(self) -> None:
        """One operation: succeeds with the right result, or fails because of a worker that was to die."""
        name = self.random.choice(["call", "middle", "large", "rref", "backward", "deep"])
        first, second = self.other(), self.other()
        try:
            getattr(self, name)(first, second)
            self.counts[name] += 1
        except rpc.WorkerLostError as error:
            assert error.rank in self.doomed and error.rank in (first, second), (name, first, second, error)
            assert error.name == f"worker{error.rank}" and error.name in str(error), error
            self.counts[f"{name} failed"] += 1

    def call(self, to: int, _: int) -> None:
        token = f"{self.rank}-{sum(self.counts.values())}-{self.random.random()}"
        assert rpc.rpc_sync(to, run_once, args=(token, 7)) == 7
        self.sent[to].append(token)

    def middle(self, to: int, _: int) -> None:
        sent = [np.full(self.random.randint(*MIDDLE), each, dtype=np.int8) for each in range(2)]
        token = f"{self.rank}-{self.random.random()}"
        got = rpc.rpc_sync(to, run_once, args=(token, sent))
        assert all(map(np.array_equal, got, sent))
        self.sent[to].append(token)

    def large(self, to: int, _: int) -> None:
        token = f"{self.rank}-{self.random.random()}"
        got = rpc.rpc_sync(to, run_once, args=(token, LARGE))
        assert np.array_equal(got, LARGE)
        self.sent[to].append(token)

    def rref(self, to: int, user: int) -> None:
        made = rpc.remote(to, twice, args=(mpigrad.ones(3),))
        if user != to:
            assert rpc.rpc_sync(user, value_of, args=(made,)) == [2, 2, 2]
        assert made.to_here().tolist() == [2, 2, 2]

    def backward(self, to: int, also: int) -> None:
        with dist_autograd.context() as context_id:
            x = mpigrad.ones(4, requires_grad=True)
            y = rpc.rpc_sync(to, twice, args=(x,)) + rpc.rpc_sync(also, twice, args=(x,))
            dist_autograd.backward(context_id, [y.sum()])
            assert dist_autograd.get_gradients(context_id)[x].tolist() == [4] * 4

    def deep(self, to: int, then: int) -> None:
        with dist_autograd.context() as context_id:
            x = mpigrad.ones(4, requires_grad=True)
            y = rpc.rpc_sync(to, through, args=(then, x))
            dist_autograd.backward(context_id, [y.sum()])
            assert dist_autograd.get_gradients(context_id)[x].tolist() == [6] * 4

    def check_runs(self) -> None:
        """Check that every call that was answered has run once, on the workers that still live."""
        for to, tokens in self.sent.items():
            if to not in self.doomed and tokens:
                assert set(rpc.rpc_sync(to, runs_of, args=(tokens,))) == {1}


class Collectives(threading.Thread):
    """Sums over all live ranks, one after the other, until all ranks want to end."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.wants_to_end = False
        self.made = self.shrunk = 0
        self.error: BaseException | None = None
        dist.init_process_group()
        self.start()

    def run(self) -> None:
        try:
            while not self._all_want_to_end():
                time.sleep(0.002)
        except BaseException as error:
            self.error = error

    def _all_want_to_end(self) -> bool:
        sums = mpigrad.tensor([1.0, float(self.wants_to_end)])
        try:
            dist.all_reduce(sums)
        except dist.RankLostError as error:
            assert error.ranks, error
            dist.group.WORLD.shrink()
            self.shrunk += 1
            return False
        self.made += 1
        assert sums[0] == dist.get_world_size(), sums
        return bool(sums[0] == sums[1])

    def end(self, expected: int) -> None:
        """Wait until all want to end; the group must have this size then."""
        self.wants_to_end = True
        self.join(30)
        if self.error is not None:
            raise self.error
        assert not self.is_alive(), "the collectives did not end"
        assert dist.get_world_size() == expected, (dist.get_world_size(), expected)
        dist.destroy_process_group()


def value_of(rref: Any) -> Any:
    return rref.to_here().tolist()


def left_over(agent: Any) -> dict[str, Any]:
    """Return the objects of finished operations that a survivor still has; there should be none."""
    gc.collect()
    counts = agent.rrefs.debug_info()
    transport = agent.transport
    return {
        "calls": len(agent.calls.pending),
        "running": len(agent.server.running),
        "contexts": len(agent.autograd.container.contexts),
        "passes": len(agent.autograd.initiated),
        "releases": len(agent.autograd.releasing),
        "owners": int(counts["num_owner_rrefs"]),
        "forks": int(counts["num_forks"]),
        "receives": len(transport._coming),
        "queued": sum(map(len, transport._queued.values())),
        "offers": len(transport._offers.out),
    }


def wait_until(condition: Any, what: str, seconds: float = 20.0) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"{what} after {seconds} s"
        time.sleep(0.01)


def one_rank(seed: int, stops: bool, path: str, with_collectives: bool) -> None:
    """The program of each rank."""
    from mpi4py import MPI

    rank, size, log = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, Log(path)
    deaths = plan(seed, size, stops)
    doomed, early = {death.rank for death in deaths}, {death.rank for death in deaths if death.phase == "work"}
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    agent = rpc.api._get_current_rpc_agent()
    collectives = Collectives() if with_collectives else None
    rpc.on_worker_lost(lambda worker, incarnation, why: log.write(event="lost", rank=worker.id, seen_by=rank, why=why))
    mine = next((death for death in deaths if death.rank == rank), None)
    if mine is not None and mine.phase == "work":
        die_later(log, mine)
    survivor = Survivor(rank, size, seed, doomed)
    steps = 0
    while not early <= agent.lost.keys() or steps < 20:
        survivor.step()
        steps += 1
    if collectives is not None:
        collectives.end(size - len(early))
    survivor.check_runs()
    rpc.api._barrier({f"worker{other}" for other in range(size) if other not in early})  # all have checked and work no more
    wait_until(lambda: not any(left_over(agent).values()), f"left over: {left_over(agent)}")
    rpc.api._barrier({f"worker{other}" for other in range(size) if other not in early})
    if mine is not None:
        die_later(log, mine)
    rpc.shutdown(timeout=30)
    if mine is not None:
        time.sleep(60)
    made = {} if collectives is None else {"collectives": collectives.made, "shrunk": collectives.shrunk}
    log.write(event="survived", rank=rank, steps=steps, counts=survivor.counts | made)


# -- the parent --------------------------------------------------------------------------------------------------------
def one_job(seed: int, size: int, stops: bool, collectives: bool = False) -> dict[str, Any]:
    """Run one job; AssertionError if a survivor failed, hung, or ended with an error. Returns its numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        options = ["--heartbeat", "2"] if stops else []
        command = [sys.executable, "-m", "mpigrad", "run", "--survive", *options, "-n", str(size), "-m", "tests.attack.deaths"]
        began = time.monotonic()
        done = subprocess.run(
            [*command, "--rank-program", str(path), "--seed", str(seed), *(["--stops"] if stops else []),
             *(["--collectives"] if collectives else [])],
            capture_output=True, text=True, timeout=DEADLINE + 30,
        )  # fmt: skip
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        deaths = {line["rank"]: line for line in lines if line["event"] == "death"}
        planned = plan(seed, size, stops)
        survived = sorted(line["rank"] for line in lines if line["event"] == "survived")
        expected = sorted(set(range(size)) - {death.rank for death in planned})
        what = f"seed {seed}, {size} ranks, stops {stops}, code {done.returncode}: {done.stdout}\n{done.stderr}\n{lines}"
        assert survived == expected and done.returncode == 0, f"survived {survived}, not {expected}; {what}"
        times: dict[str, list[float]] = {"kill": [], "stop": []}
        for line in lines:
            if line["event"] == "lost" and line["seen_by"] in expected:
                death = deaths[line["rank"]]
                times[death["how"]].append(line["time"] - death["time"])
        return {"deaths": len(deaths), "times": times, "seconds": time.monotonic() - began}


def attack(
    kills: int, seed: int, sizes: tuple[int, ...] = (4, 8), quiet: bool = False, collectives: bool = False
) -> dict[str, list[float]]:
    """Run jobs until so many ranks have died; prints a line for each, and the times from death to event."""
    died, times = 0, {"kill": [], "stop": []}  # type: tuple[int, dict[str, list[float]]]
    while died < kills:
        job = one_job(seed, sizes[seed % len(sizes)], stops=seed % 3 == 2, collectives=collectives)
        died += job["deaths"]
        for how, each in job["times"].items():
            times[how] += each
        if not quiet:
            print(f"seed {seed}: {job['deaths']} deaths in {job['seconds']:.1f} s, {died} of {kills}", flush=True)
        seed += 1
    for how, each in times.items():
        if each and not quiet:
            median, worst = statistics.median(each) * 1e3, max(each) * 1e3
            print(f"{how}: {len(each)} events, from death to event {median:.0f} ms (median), {worst:.0f} ms (worst)", flush=True)
    return times


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stops", action="store_true")
    parser.add_argument("--collectives", action="store_true")
    parser.add_argument("--rank-program", metavar="LOG")
    given = parser.parse_args()
    if given.rank_program:
        one_rank(given.seed, given.stops, given.rank_program, given.collectives)
    else:
        attack(given.kills, given.seed, collectives=given.collectives)
