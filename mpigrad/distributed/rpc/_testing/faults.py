"""Injected faults: the first sends of chosen message types fail, or are delayed. The agent's `Sender` asks before each send."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from mpigrad._core.rpc.calls import function_of, is_library
from mpigrad._core.rpc.payload import take_back

from .._protocol.errors import SendFailedError
from .._protocol.message import NO_CALL, MessageType

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent
    from mpigrad._core.rpc.calls import Message


_SCRIPT_CALLS = {
    int(MessageType.PYTHON_CALL): int(MessageType.SCRIPT_CALL),
    int(MessageType.PYTHON_REMOTE_CALL): int(MessageType.SCRIPT_REMOTE_CALL),
}


def _is_script(name: bytes) -> bool:
    return bool(name) and getattr(function_of(name), "_jit_mark", None) == "script"


def message_types(names: Any, argument: str) -> set[int]:
    """Return the numbers of the message types with these names; ValueError, with all valid names, if one is unknown."""
    unknown = [name for name in names if name not in MessageType.__members__]
    if unknown:
        raise ValueError(f"{argument}: {unknown} are not message types; valid are {list(MessageType.__members__)}")
    return {int(MessageType[name]) for name in names}


class Faults:
    """Decides for each message of an agent whether it fails, is delayed or is sent; arguments as in the options."""

    def __init__(self, messages_to_fail: Any, messages_to_delay: dict[str, float], num_fail_sends: int) -> None:
        self._fail = message_types(messages_to_fail, "messages_to_fail")
        message_types(messages_to_delay, "messages_to_delay")
        self._delay = {int(MessageType[name]): seconds for name, seconds in messages_to_delay.items()}
        self._num_fail_sends = num_fail_sends
        self._failed: dict[Any, int] = {}
        self._lock = threading.Lock()
        self._late = threading.local()  # `sending`: this thread sends a delayed message, which must not be delayed again

    def stops(self, agent: Agent, message: Message) -> bool:
        """Return whether a message must not be sent now: it fails, or a timer will send it later."""
        dst, kind, payload = message.dst, self._named(message), message.payload
        if getattr(self._late, "sending", False):
            return False
        if kind in self._fail and self._fails((dst, kind, payload.meta)):
            take_back(agent, dst, payload)
            self._report(agent, dst, kind, message.call_id)
            return True
        seconds = self._delay.get(kind, 0)
        if seconds:
            agent.after(seconds, lambda: self._send_late(agent, message))
        return bool(seconds)

    def _named(self, message: Message) -> int:
        """Return the type by which the options name a message, a number of `MessageType`.

        PyTorch has separate types for calls of operators and scripted functions, and for fetches of their results.
        Fetches are not distinguishable here, so they get the type that the options name.
        """
        kind = message.kind
        if kind in _SCRIPT_CALLS and (is_library(message.function) or _is_script(message.function)):
            return _SCRIPT_CALLS[kind]
        if kind == MessageType.PYTHON_RREF_FETCH_CALL and kind not in self._fail and kind not in self._delay:
            return int(MessageType.SCRIPT_RREF_FETCH_CALL)
        return kind

    def _fails(self, key: Any) -> bool:
        with self._lock:
            count = self._failed.get(key, 0)
            self._failed[key] = count + 1
        return count < self._num_fail_sends

    def _report(self, agent: Agent, dst: int, kind: int, call_id: int) -> None:
        name, to = MessageType(kind).name, agent.workers.get(dst, dst)
        error = SendFailedError(f"Send attempt failed intentionally for {name} to {to}")
        if call_id != NO_CALL:
            agent.calls.fail_unsent(call_id, error)

    def _send_late(self, agent: Agent, message: Message) -> None:
        self._late.sending = True
        try:
            agent.sender.send(*message)
        finally:
            self._late.sending = False
