"""`Process`: Python's own class, except in loops that start the ranks of a world one by one.

PyTorch programs often do that: `for rank in range(size): Process(target=run, args=(rank, size, ...)).start()`. A process whose
first two arguments are its number in the loop and the size of the world, with the start method "spawn", is treated as a rank:

- in a plain program the last `start` of the loop starts all of them, as one MPI job, like `spawn`;
- in a program that a launcher has started, each rank runs its own process inside `start`, unless it has joined RPC or a
  process group before.

All other processes are plain Python processes and not ranks. They are started without the launcher's environment variables, so
that an MPI library in them does not mistake them for their parent.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from mpigrad._process.rank import how_to_start, launched_rank, launched_size, without_launcher
from mpigrad.multiprocessing._in_job import run_here
from mpigrad.multiprocessing._job import StartedJob, launch
from mpigrad.multiprocessing._task import Task

SECONDS_BETWEEN_LOOKS = 0.05


class RankPopen:
    """The `Popen` object of one rank of a job, with the interface that Python's processes use."""

    method = "mpi"
    sentinel = -1  # not known before the rank runs: see Process.sentinel

    def __init__(self, world: World, rank: int) -> None:
        self._world, self._rank = world, rank

    @property
    def pid(self) -> int | None:
        job = self._world.job
        return None if job is None else job.pid(self._rank)

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def poll(self, flag: int = 0) -> int | None:
        job = self._world.job
        return None if job is None else job.exit_code(self._rank)

    def wait(self, timeout: float | None = None) -> int | None:
        job = self._world.begun()
        end = None if timeout is None else time.monotonic() + timeout
        while (code := job.exit_code(self._rank)) is None:
            left = SECONDS_BETWEEN_LOOKS if end is None else min(SECONDS_BETWEEN_LOOKS, end - time.monotonic())
            if left < 0:
                return None
            job.look(left)
        return code

    def terminate(self) -> None:
        """End the job of this rank: a single rank cannot be ended."""
        self._world.begun().process.terminate()

    def kill(self) -> None:
        """End the job of this rank: a single rank cannot be ended."""
        self._world.begun().process.kill()

    def close(self) -> None:
        """No effect: no resources are held for a single rank."""


class World:
    """The processes of one loop; when all are started, their job."""

    def __init__(self, size: int) -> None:
        self.size, self.tasks, self.daemon = size, [], True
        self.job: StartedJob | None = None

    tasks: list[Task]

    def add(self, process: Any) -> RankPopen:
        """Add a process; the last one starts the job."""
        self.tasks.append(Task(process._target, process._args, process._kwargs, numbered=False))
        self.daemon = self.daemon and process.daemon
        if len(self.tasks) == self.size:
            self.job = launch(self.tasks, self.daemon)
        return RankPopen(self, len(self.tasks) - 1)

    def begun(self) -> StartedJob:
        """The started job; RuntimeError if some of the processes were never started."""
        if self.job is None:
            raise RuntimeError(f"{len(self.tasks)} of {self.size} ranks were started. " + how_to_start(self.size))
        return self.job


class InJobPopen:
    """The `Popen` object of a loop's process in a launched program: this rank's process has run, others run on other ranks."""

    method, sentinel, returncode = "mpi", -1, 0

    def __init__(self) -> None:
        self.pid = os.getpid()

    def poll(self, flag: int = 0) -> int:
        return 0

    def wait(self, timeout: float | None = None) -> int:
        return 0

    def terminate(self) -> None:
        """No effect: the process has ended."""

    kill = close = terminate


class _Loop:
    """The state of the current loop: the size of the world, and the number of ranks that it has started."""

    def __init__(self) -> None:
        self.next = self.size = 0
        self.world: World | None = None
        self.ran_here = False

    def takes(self, process: Any) -> bool:
        """Whether a process is the next rank of the loop: its first arguments are the next number and the size."""
        args = process._args
        # a subclass with its own `run` has no target whose arguments could be examined
        if type(process).run is not multiprocessing.Process.run or process._target is None or len(args) < 2:
            return False
        if any(type(arg) is not int for arg in args[:2]) or not 0 <= args[0] < args[1] or args[1] < 2:
            return False
        return args[0] == 0 or (args[0], args[1]) == (self.next, self.size)

    def start(self, process: Any) -> Any:
        """Start the next rank, or remember it until the loop is complete."""
        rank, size = process._args[:2]
        if rank == 0:
            self.size, self.world = size, None
        self.next = rank + 1
        launched = launched_size()
        if launched is not None:
            self.ran_here = True
            # every rank runs the whole loop, and its own iteration in it
            if rank == launched_rank():
                _run_as_rank(process, size, launched)
            return InJobPopen()
        if self.world is None:
            self.world = World(size)
        return self.world.add(process)


def _run_as_rank(process: Any, size: int, launched: int) -> None:
    target, args, keywords = process._target, process._args, process._kwargs
    run_here(lambda rank, *rest: target(rank, *rest, **keywords), args[1:], size, launched)


_loop = _Loop()


def _has_joined() -> bool:
    """Whether this process has joined RPC or a process group; then new processes are helpers and not ranks."""
    groups = sys.modules.get("mpigrad.distributed._process_group.groups")
    rpc = sys.modules.get("mpigrad.distributed.rpc.api")
    return groups is not None and groups.is_initialized() or rpc is not None and rpc._is_current_rpc_agent_set()


@contextlib.contextmanager
def _no_launcher() -> Iterator[None]:
    """Remove the launcher's variables from the environment while a new process is started."""
    before = dict(os.environ)
    kept = without_launcher(before)
    for name in before.keys() - kept.keys():
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(before)


class Process(multiprocessing.Process):
    """Python's `multiprocessing.Process`. If a loop starts several with `args=(number, size, ...)`, each becomes a rank of an
    MPI job.
    """

    _start_method: str | None = None  # or the default one

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        method = process_obj._start_method or multiprocessing.get_start_method()
        # a forked process shares the connections of its parent's MPI and can never be a rank
        if method != "fork" and _loop.takes(process_obj) and (_loop.ran_here or not _has_joined()):
            return _loop.start(process_obj)
        popen = multiprocessing.get_context(method).Process._Popen  # type: ignore[attr-defined]
        if launched_rank() is None or method == "fork":
            return popen(process_obj)
        with _no_launcher():
            return popen(process_obj)

    @property
    def sentinel(self) -> int:
        """A file descriptor that becomes ready for reading when the process ends."""
        popen = self._popen  # type: ignore[attr-defined]
        if not isinstance(popen, RankPopen):
            return super().sentinel
        if self._sentinel < 0:
            self._sentinel = popen._world.begun().sentinel(popen._rank)
        return self._sentinel

    _sentinel: int = -1


def processes_of(job: StartedJob, nprocs: int) -> list[Process]:
    """Process objects for the ranks of a started job."""
    world = World(nprocs)
    world.job = job
    made = []
    for rank in range(nprocs):
        process = Process(name=f"rank {rank}")
        process._popen = RankPopen(world, rank)  # type: ignore[attr-defined]
        made.append(process)
    return made


def this_process() -> list[Any]:
    """In a launched program: a process object for this rank, whose function has already run."""
    process = Process(name=f"rank {launched_rank()}")
    process._popen = InJobPopen()  # type: ignore[attr-defined]
    return [process]


class SpawnProcess(Process):
    """A process of the context "spawn"."""

    _start_method = "spawn"


class ForkProcess(Process):
    """A process of the context "fork"."""

    _start_method = "fork"


class ForkServerProcess(Process):
    """A process of the context "forkserver"."""

    _start_method = "forkserver"


_CLASSES = {"spawn": SpawnProcess, "fork": ForkProcess, "forkserver": ForkServerProcess}


class Context:
    """One of Python's multiprocessing contexts, with mpigrad's `Process`."""

    def __init__(self, context: Any) -> None:
        self._python = context
        self.Process = _CLASSES.get(context._name, Process)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._python, name)

    def get_context(self, method: str | None = None) -> Any:
        """The context of a start method, or the default one."""
        return self if method is None else get_context(method)


def get_context(method: str | None = None) -> Any:
    """The context of a start method ("spawn", "fork", "forkserver"), or the default one.

    >>> import mpigrad.multiprocessing as mp
    >>> mp.get_context("spawn").get_start_method()
    'spawn'
    """
    return Context(multiprocessing.get_context(method))
