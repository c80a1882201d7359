"""An attack by deaths: the parent process kills or stops ranks of running jobs at random moments.

    python -m tests.attack.deaths --kills 200
    python -m tests.attack.deaths --kills 200 --seconds 400 --keep build/deaths.jsonl   # again and again, until all are done
    python -m tests.attack.deaths --kills 10 --hosts    # on four "hosts" of tools/hosts, whose links are cut, too (root)

Each job has 4 or 8 ranks, of which about half die at random moments, rank 0 too, some of them at the same moment. The parent
process sends the signals. It reads in a file what the ranks do, so it can choose the moment. There are four kinds of jobs:

    work         each rank makes calls, transfers, RRefs and passes with random others; some ranks are idle, and only answer
    collectives  the same, and another thread of each rank sums over all ranks, and shrinks the group after a death
    idle         no rank sends a message
    init         the signals arrive during `init_rpc`, which must then succeed on all survivors, or raise on all of them

In the first two kinds, some ranks die during `shutdown`. A call to a dead worker must fail with WorkerLostError, which names it,
and a collective with RankLostError, which names the dead; every other operation must succeed with the right result, every call
that succeeded must have run once, and nothing may be left over at the end. Each survivor must notice each death, within a second
if it was SIGKILL, and after SIGSTOP within the time that heartbeats allow. The job must end well, in time, and leave no process
behind.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
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
from functools import partial
from pathlib import Path
from typing import IO, Any

os.environ.setdefault("MPIGRAD_HOST_TRANSFERS", "both_ends")  # also with more ranks than cores

import numpy as np

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._launch.command import SURVIVING
from mpigrad._process.survival import HEARTBEAT as HEARTBEAT_SECONDS
from mpigrad._process.survival import SURVIVE
from mpigrad.futures import Future

MIDDLE = (1_000, 30_000)  # bytes of arrays inside a frame, some of which MPI would send in parts
LARGE = np.arange(150_000, dtype=np.float64)  # 1.2 MB
DEADLINE = 60.0  # seconds for one job
KINDS = ("work", "collectives", "idle", "init")
PHASES = ("work", "work", "work", "shutdown")
HEARTBEAT = 2.0  # seconds, in jobs with SIGSTOP
NOTICED = 1.0  # seconds in which a survivor notices a SIGKILL
STANDSTILL = (
    2.0  # seconds without a core (virtual machines are paused at times), after which the times of a job mean nothing
)
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
HOSTS = Path(__file__).parents[2] / "tools" / "hosts"


class Death:
    """Which rank dies, when and how: `seconds` after all ranks have begun the phase, or after the rank has begun to shut down."""

    def __init__(self, rank: int, how: str, phase: str, seconds: float) -> None:
        self.rank, self.how, self.phase, self.seconds = rank, how, phase, seconds


def plan(seed: int, size: int, kind: str, stops: str) -> list[Death]:
    """Return the deaths of one job, the same on all ranks; some are at the same time.

    `stops`: how ranks fall silent, which some do instead of being killed: "stop", "cut" (the link of their host; not that of rank
    0, where the launcher runs), or "" for no such ranks.
    """
    draw = random.Random(seed)
    ranks = draw.sample(range(size), size // 2 + (size > 4))
    deaths, moment = [], draw.uniform(0, 0.08) if kind == "init" else 0.3
    for rank in ranks:
        silent = stops and kind != "init" and draw.random() < 0.4 and (rank > 0 or stops == "stop")
        how = stops if silent else "kill"
        phase = "init" if kind == "init" else "work" if silent else draw.choice(PHASES)
        moment += draw.choice([0.0, 0.0, 0.001, 0.01] if kind == "init" else [0.0, 0.0, 0.001, 0.03, 0.2, 0.5])
        deaths.append(Death(rank, how, phase, draw.uniform(0, 0.03) if phase == "shutdown" else moment))
    return deaths


class Log:
    """Lines that ranks append to one file, each in a single write; the parent follows it."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, event: str, rank: int, **entry: Any) -> None:
        """`rank` is that of the writer."""
        line = {"event": event, "rank": rank, "time": time.monotonic(), **entry}
        os.write(self._file, (json.dumps(line) + "\n").encode())


RUNS: Counter[str] = Counter()
HELD: list[Future] = []


def run_once(token: str, array: Any) -> Any:
    RUNS[token] += 1
    return array


def runs_of(tokens: list[str]) -> list[int]:
    return [RUNS[token] for token in tokens]


def twice(x: Any) -> Any:
    return x * 2


def through(rank: int, x: Any) -> Any:
    return rpc.rpc_sync(rank, twice, args=(x,)) * 3


@rpc.functions.async_execution
def held() -> Future:
    """A call that is pending until this worker releases it, or dies."""
    HELD.append(Future())
    return HELD[-1]


def release() -> None:
    while HELD:
        HELD.pop().set_result(None)


class Survivor:
    """The work of one rank, and what it has seen."""

    def __init__(self, rank: int, size: int, seed: int, doomed: set[int]) -> None:
        self.rank, self.size, self.doomed = rank, size, doomed
        self.random = random.Random(seed * 1000 + rank)
        self.sent: dict[int, list[str]] = {other: [] for other in range(size)}
        self.counts: Counter[str] = Counter()

    def steps(self) -> int:
        return sum(self.counts.values())

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
        token = f"{self.rank}-{self.steps()}-{self.random.random()}"
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

    def wait_for_all(self, log: Log) -> None:
        """Make a call to each other worker that stays pending; log when it fails."""
        for to in range(self.size):
            if to != self.rank:
                rpc.rpc_async(to, held, timeout=0).add_done_callback(partial(self._answered, log, to))

    def _answered(self, log: Log, to: int, fut: Any) -> None:
        try:
            fut.wait()
        except rpc.WorkerLostError as error:
            log.write("error", self.rank, of=error.rank, right=error.rank == to and error.name == f"worker{to}")

    def check_runs(self) -> None:
        """Check that every call that was answered has run once, on the workers that still live."""
        for to, tokens in self.sent.items():
            if to not in self.doomed and tokens:
                assert set(rpc.rpc_sync(to, runs_of, args=(tokens,))) == {1}


class Collectives(threading.Thread):
    """Sums over all live ranks, one after the other, until all ranks want to end."""

    def __init__(self, doomed: set[int]) -> None:
        super().__init__(daemon=True)
        self.wants_to_end = False
        self.made = self.shrunk = 0
        self.error: BaseException | None = None
        self._doomed = doomed
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
            members = members_of(dist.group.WORLD)
            assert error.ranks and {members[rank] for rank in error.ranks} <= self._doomed, (error, members)
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


def members_of(group: Any) -> list[int]:
    """Return the members' ranks at the start of the job; a shrunken group has numbered them anew."""
    from mpi4py import MPI

    own, all_ranks = group.comm.Get_group(), MPI.COMM_WORLD.Get_group()
    return list(MPI.Group.Translate_ranks(own, list(range(own.size)), all_ranks))


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


def one_rank(seed: int, kind: str, stops: str, path: str) -> None:
    """The program of each rank."""
    from mpi4py import MPI

    rank, size, log = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, Log(path)
    deaths = plan(seed, size, kind, stops)
    doomed, early = {death.rank for death in deaths}, {death.rank for death in deaths if death.phase != "shutdown"}
    survivor = Survivor(rank, size, seed, doomed)
    log.write("init", rank, pid=os.getpid())
    time.sleep(survivor.random.uniform(0, 0.03))
    try:
        rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    except rpc.WorkerLostError as error:
        log.write("error", rank, of=error.rank, right=kind == "init" and f"rank {error.rank}" in str(error))
        wait_until(lambda: rank not in doomed, "its death", DEADLINE)
        log.write("survived", rank, started=False)
        return
    agent = rpc.api._get_current_rpc_agent()
    collectives = Collectives(early) if kind == "collectives" else None
    rpc.on_worker_lost(lambda worker, incarnation, why: log.write("lost", rank, of=worker.id, why=why))
    active = kind in ("work", "collectives") and survivor.random.random() < 0.75
    if active:
        survivor.wait_for_all(log)
    log.write("work", rank)
    if active:
        while not early <= agent.lost.keys() or survivor.steps() < 20:
            survivor.step()
    wait_until(lambda: early <= agent.lost.keys(), "all deaths were not noticed", DEADLINE)
    if collectives is not None:
        collectives.end(size - len(early))
    survivor.check_runs()
    left = {f"worker{other}" for other in range(size) if other not in early}
    rpc.api._barrier(left)  # all have checked and work no more
    release()
    wait_until(lambda: not any(left_over(agent).values()), f"left over: {left_over(agent)}")
    rpc.api._barrier(left)
    log.write("shutdown", rank)
    rpc.shutdown(timeout=30)
    wait_until(lambda: rank not in doomed, "its death", DEADLINE)
    made = {} if collectives is None else {"collectives": collectives.made, "shrunk": collectives.shrunk}
    log.write("survived", rank, started=True, counts=survivor.counts | made)


# -- the parent --------------------------------------------------------------------------------------------------------
class Job:
    """One job: starts it, sends the signals of its plan, and checks what its ranks have logged."""

    def __init__(self, seed: int, size: int, kind: str, stops: str) -> None:
        self.size, self.plan, self._hosts = size, plan(seed, size, kind, stops), stops == "cut"
        self.name = f"seed {seed}, {size} ranks, {kind}, {stops or 'kill'}"
        self._arguments = ["--seed", str(seed), "--kind", kind, "--stops", stops]
        self._options = ["--heartbeat", str(HEARTBEAT)] if stops else []
        self.lines: list[dict[str, Any]] = []
        self.died: dict[int, float] = {}  # rank -> time
        self._pids: dict[int, int] = {}
        self.stood_still = 0.0  # the longest time in which this process, which only waits, could not run

    def run(self) -> dict[str, Any]:
        """Run the job; AssertionError if a survivor failed, hung, or ended with an error. Returns its numbers."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "out", "w+") as output:
            log = Path(folder) / "log"
            log.touch()
            program = ["-m", "tests.attack.deaths", "--rank-program", str(log), *self._arguments]
            process = (self._start_on_hosts if self._hosts else self._start)(program, output)
            try:
                self._attack(process, log, began + DEADLINE + 30)
                left = [pid for pid in self._pids.values() if exists(pid)]
            finally:
                process.kill()
                process.wait()
                for pid in filter(exists, self._pids.values()):
                    os.kill(pid, signal.SIGKILL)
                if self._hosts:
                    end_hosts()
            output.seek(0)
            what = f"{self.name}, code {process.returncode}: {output.read()}\n{self.lines}"
        if not self._hosts:  # the launcher waits for processes behind a link that was cut
            assert process.returncode == 0, what
            assert not left, f"processes {left} are left over; {what}"
        return {"times": self._times(what), "started": self._started(what), "seconds": time.monotonic() - began}

    def _start(self, program: list[str], output: IO[str]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "mpigrad", "run", "--survive", *self._options, "-n", str(self.size)]
        return subprocess.Popen([*command, *program], stdout=output, stderr=subprocess.STDOUT)

    def _start_on_hosts(self, program: list[str], output: IO[str]) -> subprocess.Popen[bytes]:
        subprocess.run([HOSTS / "up.sh"], check=True)
        command = [HOSTS / "mpirun.sh", sys.prefix, str(self.size), str(DEADLINE), *program]
        variables = {SURVIVE: "1", HEARTBEAT_SECONDS: str(HEARTBEAT), "HOSTS_OPTIONS": " ".join(SURVIVING)}
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **variables})

    def _attack(self, process: subprocess.Popen[bytes], log: Path, limit: float) -> None:
        """Send the signals of the plan, and follow the log, until the job has ended."""
        waiting = list(self.plan)
        with log.open() as file:
            while process.poll() is None and time.monotonic() < limit and not (self._hosts and self._all_survived()):
                self._read(file)
                for death in [death for death in waiting if time.monotonic() >= self._due(death)]:
                    waiting.remove(death)
                    self.died[death.rank] = time.monotonic()
                    if death.how == "cut":
                        subprocess.run(["ip", "-n", "mgsw", "link", "set", f"v{death.rank + 1}", "down"], check=True)
                    else:
                        os.kill(self._pids[death.rank], SIGNALS[death.how])
                began = time.monotonic()
                time.sleep(0.0005)
                self.stood_still = max(self.stood_still, time.monotonic() - began)
            self._read(file)

    def _all_survived(self) -> bool:
        return sum(line["event"] == "survived" for line in self.lines) == self.size - len(self.plan)

    def _read(self, file: Any) -> None:
        for text in file:
            line = json.loads(text)
            self.lines.append(line)
            if line["event"] == "init":
                self._pids[line["rank"]] = line["pid"]

    def _due(self, death: Death) -> float:
        """Return when the death is due; infinity if that is not known yet."""
        begun = {line["rank"]: line["time"] for line in self.lines if line["event"] == death.phase}
        needed = {death.rank} if death.phase == "shutdown" else set(range(self.size))
        return max(begun[rank] for rank in needed) + death.seconds if needed <= begun.keys() else float("inf")

    def _times(self, what: str) -> dict[str, list[float]]:
        """Check what was logged; returns the times from deaths to events and to errors of pending calls, for each signal."""
        deaths = {death.rank: death for death in self.plan}
        survivors = set(range(self.size)) - deaths.keys()
        ended = {line["rank"]: line for line in self.lines if line["event"] == "survived"}
        assert ended.keys() == survivors, f"survived {sorted(ended)}, not {sorted(survivors)}; {what}"
        assert self.died.keys() == deaths.keys(), f"sent signals to {sorted(self.died)}, not {sorted(deaths)}; {what}"
        started = self._started(what)
        times: dict[str, list[float]] = {
            f"{how} {event}": [] for how in (*SIGNALS, "cut") for event in ("lost", "error")
        }
        seen = set()
        for line in self.lines:
            if line["event"] not in ("lost", "error") or line["rank"] not in survivors:
                continue
            assert line["of"] in self.died, f"{line} is about a rank that lives; {what}"
            assert line.get("right", True), f"{line} does not name the dead; {what}"
            death = deaths[line["of"]]
            # a start fails because of the first death that it meets
            since = min(self.died.values()) if not started else self.died[death.rank]
            seconds = line["time"] - since
            assert 0 <= seconds <= self._bound(death), f"{line} came after {seconds:.2f} s; {what}"
            times[f"{death.how} {line['event']}"].append(seconds)
            seen.add((line["rank"], death.rank))
        for death in self.plan:
            if death.phase != "shutdown" and started:
                missing = {rank for rank in survivors if (rank, death.rank) not in seen}
                assert not missing, f"ranks {missing} have not noticed the death of rank {death.rank}; {what}"
        return times

    def _started(self, what: str) -> bool:
        started = {line["started"] for line in self.lines if line["event"] == "survived"}
        assert len(started) == 1, f"init_rpc succeeded on some survivors only; {what}"
        return started.pop()

    def _bound(self, death: Death) -> float:
        """Return the seconds in which each survivor must notice a death.

        A silent rank is found by the next one, within 1.5 times the heartbeat's time. If that dies too, its successor must first
        find that, and then begins to count anew.
        """
        if death.how == "kill":
            return NOTICED
        doomed, following = {each.rank for each in self.plan}, 0
        while (death.rank + 1 + following) % self.size in doomed:
            following += 1
        return 1.5 * HEARTBEAT * (1 + following) + NOTICED


def end_hosts() -> None:
    """Kill all processes on the "hosts", such as daemons of Open MPI behind a link that was cut, and remove the hosts."""
    for host in ("mg1", "mg2", "mg3", "mg4"):
        for pid in subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True).stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    subprocess.run([HOSTS / "down.sh"], check=True)


def exists(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # a zombie has ended


def one_job(seed: int, size: int, kind: str, stops: str) -> dict[str, Any]:
    """Run one job and return its numbers: its deaths by signal, and the times from a death to what survivors saw of it."""
    job = Job(seed, size, kind, stops)
    try:
        done = job.run()
    except AssertionError:
        if job.stood_still < STANDSTILL:
            raise
        print(
            f"{job.name} failed, but this machine stood still for {job.stood_still:.1f} s: the job runs again",
            flush=True,
        )
        job = Job(seed, size, kind, stops)
        done = job.run()
    return {"seed": seed, "size": size, "kind": kind, "deaths": Counter(death.how for death in job.plan), **done}


def attack(kills: int, seed: int, seconds: float, keep: Path | None, hosts: bool) -> None:
    """Run jobs until so many ranks were killed, in these and in earlier runs with the same file `keep`, or the time is over."""
    kinds = ("work", "idle") if hosts else KINDS  # MPI does not learn of a link that was cut, and collectives need that
    jobs = [json.loads(line) for line in keep.read_text().splitlines()] if keep is not None and keep.exists() else []
    done = {job["seed"] for job in jobs}
    limit = time.monotonic() + seconds
    while (killed := sum(job["deaths"].get("kill", 0) for job in jobs)) < kills and time.monotonic() < limit:
        if seed not in done:
            size = 4 if hosts else (4, 8)[seed // len(kinds) % 2]
            job = one_job(seed, size, kinds[seed % len(kinds)], "cut" if hosts else "stop" if seed % 3 == 2 else "")
            jobs.append(job)
            what = f"{job['kind']}, {job['size']} ranks, {sum(job['deaths'].values())} deaths in {job['seconds']:.1f} s"
            print(f"seed {seed}: {what}; {killed + job['deaths'].get('kill', 0)} of {kills} killed", flush=True)
            if keep is not None:
                with keep.open("a") as file:
                    file.write(json.dumps(job) + "\n")
        seed += 1
    print(json.dumps(summary(jobs), indent=2))


def summary(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the numbers of all jobs, and the conditions."""
    from mpi4py import MPI

    found: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "MPI": MPI.Get_library_version().splitlines()[0].split(",")[0],
        "cores": len(os.sched_getaffinity(0)),
        "jobs": len(jobs),
        "jobs_whose_start_failed": sum(not job["started"] for job in jobs),
        "killed": sum(job["deaths"].get("kill", 0) for job in jobs),
        "stopped": sum(job["deaths"].get("stop", 0) for job in jobs),
        "links_cut": sum(job["deaths"].get("cut", 0) for job in jobs),
    }
    for name in dict.fromkeys(name for job in jobs for name in job["times"]):
        times = [each * 1e3 for job in jobs for each in job["times"].get(name, ())]
        if times:
            middle, worst = statistics.median(times), max(times)
            found[name] = {"times": len(times), "median_ms": round(middle), "worst_ms": round(worst)}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200, help="end after so many SIGKILLs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no job after this time")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="numbers of all jobs; those in it count")
    parser.add_argument("--hosts", action="store_true", help="on four hosts of tools/hosts, with links that are cut")
    parser.add_argument("--rank-program", metavar="LOG")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--stops", default="")
    given = parser.parse_args()
    if given.rank_program:
        one_rank(given.seed, given.kind, given.stops, given.rank_program)
    else:
        attack(given.kills, given.seed, given.seconds, given.keep, given.hosts)
