"""Where a trace listens: methods of RPC are replaced while it is on, and put back after; an instrument tells of backward phases.

So RPC does not know of traces, and its code costs nothing more while there is none. What is replaced: of this worker's
agent the few methods that every message passes (`_post`, `_serve_...`, `_complete`).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

from mpigrad.distributed.rpc._agent.profiling import title_of
from mpigrad.distributed.rpc._protocol.header import read_header
from mpigrad.distributed.rpc._protocol.instruments import Instrument, add_instrument, remove_instrument
from mpigrad.distributed.rpc._protocol.message import NO_CALL, MessageType

from .recorder import Recorder

_ANSWERS = (int(MessageType.REPLY), int(MessageType.EXCEPTION))
_REMOTE, _FETCH = int(MessageType.PYTHON_REMOTE_CALL), int(MessageType.PYTHON_RREF_FETCH_CALL)
_TITLES = {
    MessageType.BACKWARD_AUTOGRAD_REQ: "propagate",
    MessageType.REACH_AUTOGRAD_REQ: "reach",
    MessageType.HOLD_AUTOGRAD_REQ: "hold",
    MessageType.REACHED_AUTOGRAD: "reach is over",
    MessageType.DONE_AUTOGRAD: "held part is done",
    MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ: "release of a context",
    MessageType.PYTHON_RREF_FETCH_CALL: "to_here",
}
Replaced = tuple[Any, str, Any]


def title(kind: int, function: bytes) -> str:
    """What a message is about, in words."""
    known = MessageType(kind)
    if function and known not in _TITLES:
        return function.decode(errors="replace").partition(":")[2]
    return _TITLES.get(known, "call" if known is MessageType.PYTHON_CALL else known.name.lower())


class _Inside(threading.local):
    """Whether this thread is inside `rpc_sync`, whose call is not one of its own."""

    sync = False


class _BackwardPhases(Instrument):
    """Notes when the phases of one agent's backward passes begin and end."""

    def __init__(self, agent: Any, recorder: Recorder) -> None:
        self._agent, self._recorder = agent, recorder
        self._roots = _Roots()

    def before_roots(self, worker: Any) -> None:
        if worker.agent is self._agent:
            opened = self._recorder.slice("propagate: roots", "backward")
            opened.__enter__()
            self._roots.open.append(opened)

    def after_roots(self, worker: Any) -> None:
        if worker.agent is self._agent and self._roots.open:
            self._roots.open.pop().__exit__(None, None, None)

    def reach_started(self, worker: Any, pass_id: int) -> None:
        if worker.agent is self._agent:
            self._recorder.begin_phase("reach phase", pass_id)

    def reach_ended(self, worker: Any, pass_id: int) -> None:
        if worker.agent is self._agent:
            self._recorder.end_phase("reach phase", pass_id)

    def part_held(self, worker: Any, part: Any) -> None:
        if worker.agent is self._agent:
            self._recorder.begin_phase("held part", id(part))

    def part_done(self, worker: Any, part: Any) -> None:
        if worker.agent is self._agent:
            self._recorder.end_phase("held part", id(part))


class _Roots(threading.local):
    """The slices of roots that are open on this thread: a pass may run inside another's hook."""

    def __init__(self) -> None:
        self.open: list[Any] = []


class Taps:
    """The replaced methods of one agent, and the instrument for its backward passes."""

    def __init__(self, agent: Any, recorder: Recorder) -> None:
        self._agent, self._recorder = agent, recorder
        self._replaced: list[Replaced] = []
        self._inside = _Inside()
        self._phases = _BackwardPhases(agent, recorder)
        self._told: Counter[str] = Counter()  # messages without an answer have no number: they are counted instead

    def install(self) -> None:
        """Begin to listen."""
        agent = self._agent
        self._replace(agent, "_post", self._post)
        self._replace(agent, "_complete", self._complete)
        for name in ("_serve_call", "_serve_internal", "_serve_special"):
            self._replace(agent, name, self._serve)
        self._replace(agent, "call", self._call)
        self._replace(agent, "call_sync", self._call_sync)
        add_instrument(self._phases)

    def remove(self) -> None:
        """Put everything back."""
        remove_instrument(self._phases)
        while self._replaced:
            owner, name, before = self._replaced.pop()
            if owner is self._agent:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        before = getattr(owner, name)
        self._replaced.append((owner, name, before))
        setattr(owner, name, wraps(before)(make(before)))

    # -- messages ----------------------------------------------------------------------------------------------------------
    def _key(self, src: int, dst: int, kind: int, call_id: int, extra: int, end: str) -> str:
        """The same on both sides of a message, and of no other one."""
        if call_id != NO_CALL:
            return f"{src}.{call_id}"
        told = f"{kind}.{src}.{dst}.{extra}"
        self._told[told + end] += 1
        return f"{told}.{self._told[told + end]}"

    def _post(self, before: Any) -> Any:
        recorder, rank = self._recorder, self._agent.rank

        def post(dst: int, kind: int, payload: Any, flags: int, call_id: int, context: int, message: int, name: bytes,
                 extra: int, extra2: int) -> None:  # fmt: skip
            if kind in _ANSWERS:
                key, words = f"answer.{dst}.{call_id}", "answer"
            else:
                key, words = self._key(rank, dst, kind, call_id, extra, "s"), "send " + title(kind, name)
            with recorder.slice(words, "send", key, "s"):
                before(dst, kind, payload, flags, call_id, context, message, name, extra, extra2)

        return post

    def _serve(self, before: Any) -> Any:
        recorder, rank = self._recorder, self._agent.rank

        def serve(frame: Any, *handler: Any) -> None:
            header = read_header(frame)
            key = self._key(header.src, rank, header.kind, header.call_id, header.extra, "f")
            with recorder.slice(title(header.kind, b""), "serve", key, "f"):
                before(frame, *handler)

        return serve

    def _complete(self, before: Any) -> Any:
        recorder, rank = self._recorder, self._agent.rank

        def complete(frame: Any) -> None:
            key = f"answer.{rank}.{read_header(frame).call_id}"
            with recorder.slice("answer", "answer", key, "f"):
                before(frame)

        return complete

    def _call(self, before: Any) -> Any:
        def call(dst: int, func: Any, args: Any, kwargs: Any, timeout: float, *more: Any, **named: Any) -> Any:
            kind = named.get("kind")
            if self._inside.sync or kind == _FETCH:  # profilers see `to_here` itself
                return before(dst, func, args, kwargs, timeout, *more, **named)
            words = "rpc_remote" if kind == _REMOTE else "rpc_async"
            with self._recorder.slice(self._route(words, title_of(func), dst), "rpc"):
                return before(dst, func, args, kwargs, timeout, *more, **named)

        return call

    def _call_sync(self, before: Any) -> Any:
        def call_sync(dst: int, func: Any, args: Any, kwargs: Any, timeout: float) -> Any:
            self._inside.sync = True
            try:
                with self._recorder.slice(self._route("rpc_sync", title_of(func), dst), "rpc"):
                    return before(dst, func, args, kwargs, timeout)
            finally:
                self._inside.sync = False

        return call_sync

    def _route(self, kind: str, function: str, dst: int) -> str:
        agent = self._agent
        return f"{kind}#{function}({agent.info.name} -> {agent.workers[dst].name if dst in agent.workers else dst})"
