"""Several agents in one process, over the in-memory transport: for tests on one rank.

Each thread then has its own current agent: pool threads have the agent they belong to, the test's thread has the agent of its
`acting_as` block.

    with in_process_world(3) as agents:
        with acting_as(agents[0]):
            rpc.rpc_sync("worker1", ...)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mpigrad._core.rpc.agent import Agent

from .._agent import current
from .._agent.device_maps import profile_of
from .._transport.in_memory import Fate, MemoryNetwork
from ..options import MPIRpcBackendOptions
from .device_profiles import start_record
from .leaving import leave
from .static import start_static


@contextmanager
def in_process_world(
    size: int, fate: Fate | None = None, seed: int | None = None, graceful: bool = True, **options: Any
) -> Iterator[list[Agent]]:
    """Start the agents worker0, worker1 ... in this process; yields the list of them, and shuts them down at the end.

    Args:
        size: the number of agents.
        fate, seed: as in `MemoryNetwork`.
        graceful: whether to shut down gracefully at the end.
        options: those of `MPIRpcBackendOptions`, for all agents.
    """
    network = MemoryNetwork(size, fate, seed)
    with current.shared_process():
        agents: list[Agent] = []
        for rank in range(size):
            # agents start one by one, so none can wait for the others
            network._gathered[rank] = start_record(f"worker{rank}", MPIRpcBackendOptions())
        for rank in range(size):
            given = MPIRpcBackendOptions(**options)
            profiles = {f"worker{each}": profile_of(given) for each in range(size)} if profile_of(given) else {}
            agent = start_static(
                f"worker{rank}", network.transport(rank), given, time.monotonic() + 10, _adopt, profiles
            )
            agents.append(agent)
        try:
            yield agents
            if graceful:
                _leave_together(agents)
        finally:
            for agent in agents:
                if not agent.progress.pool.stopping:
                    leave(agent, False, 0)


def _adopt(agent: Agent) -> None:
    agent.progress.pool.on_thread_start(lambda: current.set_agent(agent))


@contextmanager
def acting_as(agent: Agent) -> Iterator[Agent]:
    """Make `agent` the current one of this thread inside the block."""
    before = current.current.agent
    current.set_agent(agent)
    try:
        yield agent
    finally:
        current.current.agent = before


def _leave_together(agents: list[Agent]) -> None:
    errors: list[BaseException] = []

    def one(agent: Agent) -> None:
        try:
            with acting_as(agent):
                leave(agent, True, 20)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(agent,), daemon=True) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    if errors:
        raise errors[0]
