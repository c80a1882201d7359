"""Heartbeats: find lost workers that MPI does not report, for example because they exited by themselves, were stopped or cut off.

The live workers form a ring in the order of ranks. Each one watches the previous one, so that the cost per worker does not grow
with the world. A worker that finds the previous one lost tells all others, through a tree.

- It asks MPI now and then for failed processes that no receive of the transport has reported.
- If both are on one host, it checks now and then whether the other process exists: launchers report only deaths by a signal.
- If the job was started with `--heartbeat SECONDS`, each worker sends PARTS heartbeats to the next one in that time. A worker
  that misses PARTS heartbeats in a row declares the previous one lost. If several neighbours fall silent, they are found one
  after the other, each after that time.

A worker counts missed heartbeats in steps of its own clock, at most one for each step that really ran: a worker that was itself
stopped, or did not get a core, does not blame the previous one for it. Heartbeats are sent by polling threads, so user code that
keeps Python's GIL for longer than the given time makes its worker look silent.

A silent process keeps its launcher from ending. If the job survives deaths, the other workers of its host therefore kill it when
it is lost (`lost.py`); a process that goes on by itself ends when it reads that.
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
from typing import TYPE_CHECKING

from mpigrad._process.survival import survive

from .._protocol import extensions
from .._protocol.lost import BY_EXIT, BY_SILENCE
from .._protocol.message import MessageType
from .lost import lose, tell_all

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent

PARTS = 4  # heartbeats in the time after which a worker is lost
LOOK_SECONDS = 0.25  # between two checks whether the process of the previous worker exists, without heartbeats


class Heartbeat:
    """The heartbeats of one agent: sent to the next worker, expected of the previous one.

    `seconds`: a worker that is silent for so long is lost; 0 switches heartbeats off, and only the process of the
    previous worker is checked, if it is on the same host.
    """

    def __init__(self, agent: Agent, seconds: float) -> None:
        self._agent = agent
        self._step = seconds / PARTS if seconds else LOOK_SECONDS
        self._expects = seconds > 0
        self._next = self._previous = -1
        self._missed = self._absent = 0  # steps without a heartbeat; without a process
        self._heard = time.monotonic()
        self._pid = 0  # of the previous worker, if it is on this host
        self.beat()

    def beat(self) -> None:
        """Do one step and schedule the next: send a heartbeat to the next worker, and check the previous one."""
        agent = self._agent
        agent.after(self._step, self.beat)  # first: an error below must not end the heartbeats
        if agent.transport.reports_losses:
            with agent.progress.queue.lock:  # transports are used under it only
                agent.transport.look_for_losses()
        if len(agent.workers) < 2 or agent.rank not in agent.workers:
            return
        following = self._neighbour(1)
        if self._expects or following != self._next:
            self._next = following
            agent.notify(following, MessageType.HEARTBEAT, extra=os.getpid(), extra2=host_id())
        self._watch(self._neighbour(-1))

    def _neighbour(self, step: int) -> int:
        """Return the next worker in the ring (`step` 1), or the previous one (-1)."""
        agent = self._agent
        rank = (agent.rank + step) % agent.transport.size
        while rank not in agent.workers:
            rank = (rank + step) % agent.transport.size
        return rank

    def _watch(self, previous: int) -> None:
        if previous != self._previous:
            self._previous, self._missed, self._absent, self._heard, self._pid = previous, 0, 0, time.monotonic(), 0
            self._agent.notify(previous, MessageType.HEARTBEAT)  # asks for its process id
            return
        self._missed += 1
        # twice: a worker that left by itself said so before, in a message that may not have been read yet
        self._absent = self._absent + 1 if self._pid and not _exists(self._pid) else 0
        if self._absent > 1:
            self._declare_lost(previous, BY_EXIT)
        elif self._expects and self._missed > PARTS:
            self._declare_lost(previous, BY_SILENCE)

    def _declare_lost(self, rank: int, how: int) -> None:
        agent, silence = self._agent, int(1000 * (time.monotonic() - self._heard))
        life = agent.epochs.get(rank, 0)
        tell_all(agent, rank, life, how, silence)
        lose(agent, rank, life, how, agent.rank, silence)

    def heard(self, src: int, pid: int, host: int) -> None:
        """Handle a heartbeat of the worker `src`. `pid` is its process id, `host` its `host_id`.

        A heartbeat whose `pid` is 0 asks for one of this worker.
        """
        if not pid:
            self._agent.notify(src, MessageType.HEARTBEAT, extra=os.getpid(), extra2=host_id())
        elif src == self._previous:
            self._missed, self._heard = 0, time.monotonic()
            self._pid = pid if host == host_id() else 0


def host_id() -> int:
    """Return a number for this host and its process ids, 56 bits.

    Processes with the same number are on one host and in one PID namespace: each can look up the process id of the other.
    """
    try:
        space = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        space = 0
    return int.from_bytes(hashlib.blake2b(f"{socket.gethostname()}/{space}".encode(), digest_size=7).digest(), "little")


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def watch(agent: Agent, seconds: float) -> None:
    """Start to watch the previous worker, if the job survives deaths or `seconds` (see `Heartbeat`) is above 0."""
    if seconds or survive():
        agent.slots["heartbeat"] = Heartbeat(agent, seconds)


def _on_heartbeat(agent: Agent, message: extensions.RawMessage) -> None:
    beating = agent.slots.get("heartbeat")
    if beating is not None:
        beating.heard(message.src, message.extra, message.extra2)


extensions.register_handler(MessageType.HEARTBEAT, _on_heartbeat)
