"""The report of a worker about its state, for another worker that waits for its answer."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, NamedTuple

from mpigrad._core.rpc.calls import label
from mpigrad.distributed.rpc._agent.current import get_agent

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent

THREAD_NAME = "mpigrad-stall-watch"
POOL = "mpigrad-"  # prefix of the names of pool threads
FRAMES = 12


class Wait(NamedTuple):
    """A call that waits for its answer: the callee's rank, the function, and the time so far."""

    call_id: int
    rank: int
    function: str
    seconds: float | None  # None: the call has no deadline, so its start is not known


class View(NamedTuple):
    """The state of one worker: its waits, and the stacks of its threads."""

    name: str
    waits: list[Wait]
    stacks: list[tuple[str, str]]


def waits_of(agent: Agent) -> list[Wait]:
    """The pending calls of a worker, oldest first."""
    now, waits = time.monotonic(), []
    for call_id, fut in list(agent.calls.pending.items()):
        seconds = now - (fut.deadline - fut.timeout) if fut.timeout else None
        waits.append(Wait(call_id, fut.dst, fut.func if isinstance(fut.func, str) else label(fut.func), seconds))
    # call ids grow with time
    return sorted(waits)


def _without_machinery(stack: traceback.StackSummary) -> list[traceback.FrameSummary]:
    """A stack without the leading frames of RPC and threading."""
    own = ("/distributed/rpc/", "/_core/rpc/", "/_watchdog/", "/_launch/")
    outer = (*(f"/mpigrad{folder}" for folder in own), "/threading.py", "runpy")
    frames = list(stack)
    while frames and any(part in frames[0].filename for part in outer):
        frames.pop(0)
    return frames


def _all_stacks() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Name and stack of each thread that runs a function for others, and of each other thread of the user."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    serving: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for ident, frame in sys._current_frames().items():
        name = names.get(ident, str(ident))
        stack = traceback.extract_stack(frame)
        serves = any(known.filename.endswith("/_core/rpc/agent.py") and known.name.startswith("_serve_") for known in stack)
        frames = _without_machinery(stack) or stack[-1:] * serves  # a function written in C has no frames
        if frames and ident != threading.get_ident() and name != THREAD_NAME:
            serves = serves or name.startswith(POOL)  # compiled, the server has no frames
            (serving if serves else others).append((name, "".join(traceback.format_list(frames[:FRAMES]))))
    return serving, others


def served() -> list[tuple[str, str]]:
    """Name and stack of each thread that runs a function for another worker."""
    return _all_stacks()[0]


def stacks() -> list[tuple[str, str]]:
    """Name and stack of each thread that runs a function for another worker; if there is none, of the user's threads."""
    serving, others = _all_stacks()
    return serving or others


def view() -> View:
    """The state of this worker; other workers call it by RPC."""
    agent = get_agent()
    return View(agent.info.name, [wait for wait in waits_of(agent) if wait.function != view.__qualname__], stacks())
