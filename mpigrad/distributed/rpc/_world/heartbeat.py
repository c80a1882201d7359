"""Heartbeats: find workers that are silent although their process has not ended, because it was stopped or its link was cut.

The live workers form a ring in the order of ranks. Each sends a HEARTBEAT to the next one, PARTS times in the given number of
seconds, and expects those of the previous one. So the cost per worker does not grow with the world. A worker that misses PARTS
in a row tells all others, and the silent worker itself, that it is lost. If several neighbours fall silent, each takes that long.

A worker counts missed heartbeats in steps of its own clock, at most one for each step that really ran: a worker that was itself
stopped, or did not get a core, does not blame the previous one for it. Heartbeats are sent by polling threads, so user code that
keeps Python's GIL for longer than the given time makes its worker look silent.

A silent process keeps its launcher from ending. If the job survives deaths, the worker that misses its heartbeats therefore
kills it, if both are on one host. A process that goes on by itself ends when it reads that it is lost (`lost.py`).
"""

from __future__ import annotations

import hashlib
import logging
import os
import signal
import socket
import time
from typing import TYPE_CHECKING

from mpigrad._process.survival import survive

from .._protocol import extensions
from .._protocol.lost import BY_SILENCE
from .._protocol.message import MessageType
from .lost import lose

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent

logger = logging.getLogger(__name__)
PARTS = 4  # heartbeats in the time after which a worker is lost


class Heartbeat:
    """The heartbeats of one agent: sent to the next worker, expected of the previous one."""

    def __init__(self, agent: Agent, seconds: float, kill: bool) -> None:
        self._agent, self._step, self._kill = agent, seconds / PARTS, kill
        self._previous = -1
        self._missed = 0
        self._heard = time.monotonic()
        self._pid = 0  # of the previous worker, if it is on this host
        self.beat()

    def beat(self) -> None:
        """One step of the clock."""
        agent = self._agent
        agent.after(self._step, self.beat)
        ranks = sorted(agent.workers)
        if len(ranks) < 2:
            return
        place = ranks.index(agent.rank)
        agent.notify(ranks[(place + 1) % len(ranks)], MessageType.HEARTBEAT, extra=os.getpid(), extra2=host_id())
        self._expect(ranks[place - 1])

    def _expect(self, previous: int) -> None:
        if previous != self._previous:
            self._previous, self._missed, self._heard, self._pid = previous, 0, time.monotonic(), 0
            return
        self._missed += 1
        if self._missed > PARTS:
            self._declare_lost(previous)

    def _declare_lost(self, rank: int) -> None:
        agent, silence = self._agent, int(1000 * (time.monotonic() - self._heard))
        life = agent.epochs.get(rank, 0)
        for other in [*agent.workers]:  # the silent worker too: it ends if it reads this
            if other != agent.rank:
                agent.notify(other, MessageType.LOST, extra=rank, extra2=life, context=(silence, BY_SILENCE))
        if self._kill and self._pid:
            _end_process(self._pid)
        lose(agent, rank, life, BY_SILENCE, agent.rank, silence)

    def heard(self, src: int, pid: int, host: int) -> None:
        """A heartbeat has arrived."""
        if src == self._previous:
            self._missed, self._heard = 0, time.monotonic()
            self._pid = pid if host == host_id() else 0


def host_id() -> int:
    """A number for this host and its process ids: processes with the same number can send each other signals."""
    try:
        space = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        space = 0
    return int.from_bytes(hashlib.blake2b(f"{socket.gethostname()}/{space}".encode(), digest_size=7).digest(), "little")


def _end_process(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError as error:
        logger.warning("the silent process %s could not be ended: %s", pid, error)


def watch_silence(agent: Agent, seconds: float) -> None:
    """Start the heartbeats of an agent; 0 seconds: none."""
    if seconds:
        agent.slots["heartbeat"] = Heartbeat(agent, seconds, survive())


def _on_heartbeat(agent: Agent, message: extensions.RawMessage) -> None:
    beating = agent.slots.get("heartbeat")
    if beating is not None:
        beating.heard(message.src, message.extra, message.extra2)


extensions.register_handler(MessageType.HEARTBEAT, _on_heartbeat)
