"""The current agent of this process, or of this thread where several agents share a process (tests).

Connects futures with the agent: a thread that waits for a future makes progress for the agent meanwhile. In a forked child the
agent is removed, because its threads and its MPI belong to the parent.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mpigrad._core import future as _future
from mpigrad._core.rpc.agent import Agent
from mpigrad._process import signals
from mpigrad._process.mpi_end import when_forked, why_unusable


class Current:
    """Holds the agent of the process; `shared_process` replaces it by a `LocalCurrent`."""

    agent: Agent | None = None


class LocalCurrent(threading.local):
    """Holds one current agent for each thread, for several agents in one process."""

    agent: Agent | None = None


current: Any = Current()


def get_agent() -> Agent:
    """Return the current agent; RuntimeError, with the reason, if RPC is not initialised or has ended."""
    agent = current.agent
    if agent is None:
        why = why_unusable()
        if why is not None:
            raise RuntimeError(why)
        raise RuntimeError("RPC has not been initialized. Call mpigrad.distributed.rpc.init_rpc first.")
    return agent


def set_agent(agent: Agent | None) -> None:
    """Make `agent` the current one; None removes it.

    From then on a thread that waits for a future polls for messages of this agent meanwhile.
    """
    current.agent = agent
    signals.unprotect() if agent is None else signals.protect()
    _future.set_wait_hook(None if agent is None else _wait)
    _future.set_defer_hook(None if agent is None else _defer)


@contextmanager
def shared_process() -> Iterator[None]:
    """Give each thread a current agent of its own inside the block, for tests with several agents in one process."""
    global current
    before = current
    current = LocalCurrent()
    try:
        yield
    finally:
        current = before
        set_agent(before.agent)


def _wait(fut: Any, deadline: float | None) -> None:
    """Wait for a future, with the agent's progress meanwhile if there is one. Returns at the deadline, done or not."""
    agent = current.agent
    while not fut._state:
        if agent is None:
            _future.block(fut, deadline)
        else:
            agent.wait(fut, deadline)
        if deadline is not None:  # `agent.wait` has waited until then; the caller checks whether the future is done
            return


def _defer(run: Any) -> bool:
    """Let the pool run `run` if the current thread polls; False if the caller may run it itself."""
    agent = current.agent
    return agent is not None and agent.defer(run)


def _start(run: Any) -> bool:
    """Let a thread of the pool run `run`; False if there is no agent."""
    agent = current.agent
    if agent is None:
        return False
    agent.progress.pool.submit(run)
    return True


_future.set_start_hook(_start)


def _abandon(why: str) -> None:
    """In a forked child: fail all pending calls with the text `why`, and forget the agent.

    The agent's threads exist only in the parent, so no call could be answered.
    """
    agent = current.agent
    if agent is not None:
        agent.gone.update(dict.fromkeys([*agent.workers, *agent.gone], why))
        for fut in agent.calls.pending.values():
            fut._finish(2, RuntimeError(why))
        agent.calls.pending.clear()
        set_agent(None)


when_forked(_abandon)
