"""`Simulation`: starts simulated agents, runs programs on them, and counts messages, bytes, the critical path and memory."""

from __future__ import annotations

import gc
import logging
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, cast

from mpigrad._core.rpc.agent import Agent
from mpigrad.distributed.rpc._agent import current
from mpigrad.distributed.rpc._world.leaving import leave
from mpigrad.distributed.rpc._world.static import Known, known_workers, start_static
from mpigrad.distributed.rpc.options import MPIRpcBackendOptions
from mpigrad.testing.simulation._clock import virtual_time
from mpigrad.testing.simulation._network import Links, Network
from mpigrad.testing.simulation._progress import SimulatedPool, SimulatedTimers
from mpigrad.testing.simulation._scheduler import Scheduler
from mpigrad.testing.simulation._transport import SimulatedTransport

logger = logging.getLogger(__name__)


class Phase(NamedTuple):
    """What one phase of a `Simulation` cost; a phase is a call of `on`, `on_each` or `shutdown`, or a block of `phase`.

    `workers`, `messages`, `bytes`: how many workers there are, how many messages they sent, and their size.

    `sequential`: messages on the critical path. `busiest`: messages of the busiest worker. `seconds`: virtual time.
    `memory`: bytes per worker that were allocated and not freed, if measured. `wall`: seconds of real time.
    """

    name: str
    workers: int
    messages: int
    bytes: int
    sequential: int  # messages on the critical path: half of its sends and receives
    busiest: int  # messages sent and received by one worker, at most
    seconds: float  # of virtual time
    memory: float  # bytes per worker that the phase has allocated and not freed; 0 unless measured
    wall: float  # seconds that the simulation took


class Simulation:
    """A world of `size` workers, worker0, worker1 ..., in this process, with virtual time and a model of the network.

    Its methods run a program and everything that it causes, until no message is left. `phases` then has a `Phase` for each call:
    what it cost in messages, bytes, virtual time and memory. User functions take no virtual time, except for the messages that
    they send.

    Args:
        size: the number of workers.
        network: the constants of the model, by default `Network()`.
        measure_memory: measure the memory that each phase allocates; this collects garbage before and after it, which takes time.
        options: those of `MPIRpcBackendOptions`, such as `rpc_timeout`.

    >>> import mpigrad.distributed.rpc as rpc
    >>> from mpigrad.testing.simulation import Simulation
    >>> with Simulation(8) as world:
    ...     world.on(0, lambda: rpc.rpc_sync("worker5", max, args=(2, 3)))
    ...     world.phases[-1].messages
    3
    2
    """

    def __init__(
        self, size: int, network: Network | None = None, *, measure_memory: bool = False, **options: Any
    ) -> None:
        self.size = size
        self.network = Network() if network is None else network
        self.agents: list[Agent] = []
        self.phases: list[Phase] = []
        self._known = known_workers([f"worker{rank}" for rank in range(size)])  # shared by all agents
        self._everyone = dict.fromkeys(range(size), "the worker was simulated, and has shut down")
        self.scheduler = Scheduler(size, self._enter, self._next_timeout)
        self._links = Links(self.network, size)
        self._lost: set[int] = set()
        self._options, self._stack, self._measure_memory = options, ExitStack(), measure_memory
        self._counts = [0] * size
        self._messages = self._bytes = 0

    def __enter__(self) -> Simulation:
        with ExitStack() as stack:
            stack.enter_context(current.shared_process())
            stack.enter_context(virtual_time(self.scheduler.time, self.scheduler.wait))
            stack.callback(self.scheduler.end)
            with self.phase("start"):
                self._start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        with self._stack:
            try:
                if kind is None and not all(agent.progress.pool.stopping for agent in self._live()):
                    self.shutdown()
            finally:
                self.stop()

    # -- programs ----------------------------------------------------------------------------------------------------
    def on(self, rank: int, program: Callable[[], Any], name: str = "") -> Any:
        """Run a program on the worker `rank`, and all that it causes on others; returns its result or raises its error.

        `name` is that of the phase, by default the name of the function.
        """
        return self.on_each(program, [rank], name)[0]

    def on_each(self, program: Callable[[], Any], ranks: list[int] | None = None, name: str = "") -> list[Any]:
        """Run a program on several workers at once (default: all); returns the results in the order of `ranks`.

        If it fails on some of them, the first error is raised at the end.
        """
        ranks = [agent.rank for agent in self._live()] if ranks is None else ranks
        results: dict[int, Any] = {}
        errors: list[BaseException] = []

        def run(rank: int) -> None:
            try:
                results[rank] = program()
            except Exception as error:
                errors.append(error)

        with self.phase(name or getattr(program, "__name__", "program")):
            for rank in ranks:
                self.scheduler.at(self.scheduler.clocks[rank], rank, run, rank)
            self.scheduler.run()
        if errors:
            raise errors[0]
        if len(results) < len(ranks):
            raise RuntimeError(f"no event is left, but {self._stuck()}")
        return [results[rank] for rank in ranks]

    def shutdown(self, name: str = "shutdown") -> None:
        """Shut RPC down on all workers, as a graceful `rpc.shutdown()` on each of them does; this is a phase called `name`."""
        self.on_each(lambda: self._leave(current.get_agent()), name=name)

    def _leave(self, agent: Agent) -> None:
        leave(agent, True, 0)
        self._share_gone(agent)

    def _share_gone(self, agent: Agent) -> None:
        """After the end of an agent all workers are gone for it: let agents share that table."""
        agent.gone = agent.calls._gone = self._everyone

    def stop(self) -> None:
        """Stop all workers without a message; the end of the `with` block does so after a failure."""
        for agent in self.agents:
            if not agent.progress.pool.stopping:
                agent.fail_everything(f"{agent.info} was simulated, and the simulation has ended")
                agent.progress.pool.stop()
                agent.transport.close(False)
                self._share_gone(agent)

    def lose(self, rank: int) -> None:
        """Let the worker `rank` stop without a word, as if its process had died: others notice that its answers do not come."""
        self._lost.add(rank)

    def tell_lost(self, rank: int, name: str = "loss of a worker") -> None:
        """Tell all other workers, at the same virtual time, that the worker `rank` is lost, as MPI would; `name` is that of
        the phase.
        """
        info = self._known.workers[rank]
        workers, by_name = dict(self._known.workers), dict(self._known.by_name)
        del workers[rank], by_name[info.name]
        self._known = Known(workers, by_name)

        def tell() -> None:
            agent = current.get_agent()
            agent.workers, agent.by_name = self._known  # shared, so that a loss takes no memory for each pair of workers
            agent.left[rank] = info
            agent.lose(rank, f"{info} was lost: the simulation let it disappear")

        self.on_each(tell, name=name)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """A context manager: measure what happens in the block as one phase, called `name`. All workers start it at the same
        virtual time.
        """
        scheduler = self.scheduler
        begin = max(scheduler.clocks, default=0.0)
        scheduler.clocks[:] = [begin] * self.size
        scheduler.chains[:] = self._counts[:] = [0] * self.size
        self._messages = self._bytes = 0
        before, began = self._memory(), time.perf_counter()
        yield
        wall = time.perf_counter() - began
        self.phases.append(
            Phase(
                name, self.size, self._messages, self._bytes, -(-max(scheduler.chains) // 2), max(self._counts),
                max(scheduler.clocks) - begin, (self._memory() - before) / self.size, wall,
            )  # fmt: skip
        )

    # -- messages ----------------------------------------------------------------------------------------------------
    def send(self, src: int, dst: int, message: bytearray, nbytes: int) -> None:
        """For the simulated transport: queue the arrival of `message`, of `nbytes` bytes, from the worker `src` at the worker
        `dst`.
        """
        scheduler = self.scheduler
        scheduler.spend(src, self.network.overhead)
        self._counts[src] += 1
        self._messages += 1
        self._bytes += nbytes
        at = self._links.arrival(src, dst, nbytes, scheduler.clocks[src])
        scheduler.at(at, dst, self._arrive, (at, scheduler.chains[src], dst, message))

    def _arrive(self, arrived: tuple[float, int, int, bytearray]) -> None:
        at, chain, rank, message = arrived
        if rank in self._lost:
            return
        scheduler, agent = self.scheduler, self.agents[rank]
        if scheduler.clocks[rank] <= at:  # the worker was idle: the path to its present leads through the sender
            scheduler.chains[rank] = max(scheduler.chains[rank], chain)
        scheduler.spend(rank, self.network.overhead)
        self._counts[rank] += 1
        transport, pool = cast(SimulatedTransport, agent.transport), cast(SimulatedPool, agent.progress.pool)
        transport.deliver(pool.receive, message)

    # -- workers -----------------------------------------------------------------------------------------------------
    def _start(self) -> None:
        """Start the agents one by one. They know each other; the time of their all-gather of names comes from the model."""
        options = MPIRpcBackendOptions(**self._options)
        for rank in range(self.size):
            agent = start_static(f"worker{rank}", SimulatedTransport(self, rank), options, float("inf"), known=self._known)
            agent.calls.timers = SimulatedTimers(self.scheduler, rank)
            self.agents.append(agent)
        current.set_agent(self.agents[0])  # installs the hooks of futures
        seconds = self.network.allgather(self.size, len(f"worker{self.size}"))
        self.scheduler.clocks[:] = [clock + seconds for clock in self.scheduler.clocks]

    def _memory(self) -> int:
        if self._measure_memory:
            gc.collect()
        return _memory() if self._measure_memory else 0

    def _live(self) -> list[Agent]:
        return [agent for agent in self.agents if agent.rank not in self._lost]

    def _enter(self, rank: int) -> None:
        current.current.agent = self.agents[rank]

    def _next_timeout(self) -> tuple[float, int] | None:
        """The earliest deadline of a pending call, and the worker that made it; None if no call is pending."""
        deadlines = [
            (fut.deadline, agent.rank) for agent in self._live() for fut in agent.calls.pending.values() if fut.deadline < 1e300
        ]
        if not deadlines:
            return None
        due, rank = min(deadlines)
        self.scheduler.at(due, rank, self.agents[rank].housekeep, due)
        return due, rank

    def _stuck(self) -> str:
        ranks = sorted(set(self.scheduler.waiting.values()))
        names = ", ".join(self.agents[rank].info.name for rank in ranks[:10])
        return f"{len(ranks)} workers still wait: {names}"


def _memory() -> int:
    """The bytes that Python has allocated if they are traced (`tracemalloc`), otherwise the memory of the process."""
    if tracemalloc.is_tracing():
        return tracemalloc.get_traced_memory()[0]
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
