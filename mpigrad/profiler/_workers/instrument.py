"""The instrument of a trace: records messages and backward passes of one worker, as reported by RPC and distributed autograd."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from mpigrad._core.rpc.calls import Instrument, label
from mpigrad.distributed.rpc._agent.profiling import title_of
from mpigrad.distributed.rpc._protocol.message import NAMES, NO_CALL, MessageType

from .recorder import Recorder

_ANSWERS = (int(MessageType.REPLY), int(MessageType.EXCEPTION))
_REMOTE, _FETCH = int(MessageType.PYTHON_REMOTE_CALL), int(MessageType.PYTHON_RREF_FETCH_CALL)
_TITLES: dict[int, str] = {
    MessageType.BACKWARD_AUTOGRAD_REQ: "propagate",
    MessageType.REACH_AUTOGRAD_REQ: "reach",
    MessageType.HOLD_AUTOGRAD_REQ: "hold",
    MessageType.REACHED_AUTOGRAD: "reach is over",
    MessageType.DONE_AUTOGRAD: "held part is done",
    MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ: "release of a context",
    MessageType.PYTHON_RREF_FETCH_CALL: "to_here",
}


def title(kind: int, function: bytes) -> str:
    """A readable name for a message."""
    if function and kind not in _TITLES:
        return function.decode(errors="replace").partition(":")[2]
    known = "call" if kind == MessageType.PYTHON_CALL else NAMES.get(kind, f"type {kind}").lower()
    return _TITLES.get(kind, known)


class _Calling(threading.local):
    """The function that a thread is about to call remotely; for methods of RRefs the message has another name."""

    func: Any = None


class TraceInstrument(Instrument):
    """Records the events of one agent. Other agents of the process are ignored."""

    def __init__(self, agent: Any, recorder: Recorder) -> None:
        self._agent, self._recorder = agent, recorder
        self._calling = _Calling()
        self._told: Counter[str] = Counter()  # messages without an answer have no call id and are counted instead

    # -- messages ----------------------------------------------------------------------------------------------------------
    def _key(self, src: int, dst: int, kind: int, call_id: int, extra: int, end: str) -> str:
        """A key that identifies a message on both workers.

        Messages without a call id are numbered on each worker; `end` tells the ones sent ("s") from those received ("f"), which
        have numbers of their own.
        """
        if call_id != NO_CALL:
            return f"{src}.{call_id}"
        told = f"{kind}.{src}.{dst}.{extra}"
        self._told[told + end] += 1
        return f"{told}.{self._told[told + end]}"

    def before_call(self, agent: Any, dst: int, func: Callable[..., Any], kind: int, sync: bool) -> None:
        if agent is self._agent:
            words = "rpc_sync" if sync else "rpc_remote" if kind == _REMOTE else "rpc_async"
            to = agent.workers[dst].name if dst in agent.workers else dst
            # `to_here` itself is an event, so its request is not recorded again
            name = "" if kind == _FETCH else f"{words}#{title_of(func)}({agent.info.name} -> {to})"
            self._recorder.begin_slice(name, "rpc")
            self._calling.func = func

    def after_call(self, agent: Any) -> None:
        if agent is self._agent:
            self._recorder.end_slice()

    def before_send(self, agent: Any, dst: int, kind: int, call_id: int, function: bytes, extra: int) -> None:
        if agent is self._agent:
            if kind in _ANSWERS:
                key, words = f"answer.{dst}.{call_id}", "answer"
            else:
                method = getattr(self._calling.func, "_wire_name", b"") == function and function
                named = label(self._calling.func) if method else title(kind, function)
                key, words = self._key(agent.rank, dst, kind, call_id, extra, "s"), "send " + named
            self._recorder.begin_slice(words, "send", key, "s")

    def after_send(self, agent: Any) -> None:
        if agent is self._agent:
            self._recorder.end_slice()

    def before_serve(self, agent: Any, src: int, kind: int, call_id: int, extra: int) -> None:
        if agent is self._agent:
            key = self._key(src, agent.rank, kind, call_id, extra, "f")
            self._recorder.begin_slice(title(kind, b""), "serve", key, "f")

    def after_serve(self, agent: Any) -> None:
        if agent is self._agent:
            self._recorder.end_slice()

    def before_answer(self, agent: Any, call_id: int) -> None:
        if agent is self._agent:
            self._recorder.begin_slice("answer", "answer", f"answer.{agent.rank}.{call_id}", "f")

    def after_answer(self, agent: Any) -> None:
        if agent is self._agent:
            self._recorder.end_slice()

    # -- backward passes ---------------------------------------------------------------------------------------------------
    def before_roots(self, worker: Any) -> None:
        if worker.agent is self._agent:
            self._recorder.begin_slice("propagate: roots", "backward")

    def after_roots(self, worker: Any) -> None:
        if worker.agent is self._agent:
            self._recorder.end_slice()

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
