"""The sender: makes frames of messages and hands them to the send queue."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mpigrad.distributed.rpc._protocol.message import BODY_FOLLOWS, HEADER_SIZE, NO_CALL, TRANSFER

from .base import FRAME_MAX, transfer_table
from .codec import build_frame, pack_header
from .instruments import INSTRUMENTS, tell
from .payload import Payload
from .send_queue import SendQueue

if TYPE_CHECKING:
    from .agent import Agent

_TAGS_PER_MESSAGE = 1024
_tags = itertools.count(0)  # of the process: tags are unique across restarts of an agent


class Message(NamedTuple):
    """The arguments of `Sender.send`, for injected faults."""

    dst: int
    kind: int
    payload: Payload
    flags: int
    call_id: int
    context_id: int
    message_id: int
    function: bytes
    extra: int
    extra2: int


class Sender:
    """Sends the messages of one agent."""

    def __init__(self, agent: Agent, queue: SendQueue, before_send: Callable[[], None] | None) -> None:
        self.faults: Any = None  # injected ones: see `_testing/faults.py`
        self._agent, self._queue, self._before_send, self._instruments = agent, queue, before_send, INSTRUMENTS
        self._rank, self._epochs = agent.rank, agent.epochs

    def send(
        self,
        dst: int,
        kind: int,
        payload: Payload,
        flags: int = 0,
        call_id: int = NO_CALL,
        context_id: int = 0,
        message_id: int = 0,
        function: bytes = b"",
        extra: int = 0,
        extra2: int = 0,
    ) -> None:
        """Send a message, or leave it to the thread that holds the transport. Never blocks."""
        if self._before_send is not None:
            self._before_send()
        if self.faults is not None:
            message = Message(dst, kind, payload, flags, call_id, context_id, message_id, function, extra, extra2)
            if self.faults.stops(self._agent, message):
                return
        observers = self._instruments.active
        if not observers:
            self._send(dst, kind, payload, flags, call_id, context_id, message_id, function, extra, extra2)
            return
        tell(observers, "before_send", self._agent, dst, kind, call_id, function, extra)
        try:
            self._send(dst, kind, payload, flags, call_id, context_id, message_id, function, extra, extra2)
        finally:
            tell(observers, "after_send", self._agent)

    def _send(
        self,
        dst: int,
        kind: int,
        payload: Payload,
        flags: int,
        call_id: int,
        context_id: int,
        message_id: int,
        function: bytes,
        extra: int,
        extra2: int,
    ) -> None:
        """Make the frame and post it."""
        epoch = self._epochs.get(dst, 0)
        data, meta, follow = payload.data, payload.meta, payload.follow
        if not follow and HEADER_SIZE + len(data) + len(meta) + len(function) <= FRAME_MAX:
            frame = build_frame(
                kind=kind, mode=payload.mode, flags=flags, epoch=epoch, src=self._rank, call_id=call_id,
                context_id=context_id, message_id=message_id, extra=extra, extra2=extra2, data=data, meta=meta,
                name=function,
            )  # fmt: skip
            self._queue.post(dst, frame, follow, 0)
            return
        body = b"".join((data, meta, function))
        if HEADER_SIZE + len(body) + TRANSFER.size * (len(follow) + 1) > FRAME_MAX:
            follow = [np.frombuffer(body, np.uint8), *follow]
            flags |= BODY_FOLLOWS
            body = b""
        tag = next(_tags) * _TAGS_PER_MESSAGE
        head = pack_header(
            kind=kind, mode=payload.mode, flags=flags, epoch=epoch, src=self._rank, call_id=call_id,
            context_id=context_id, message_id=message_id, extra=extra, extra2=extra2, name_length=len(function),
            meta_length=len(meta), transfers=len(follow), tag=tag,
            length=HEADER_SIZE + len(body) + TRANSFER.size * len(follow),
        )  # fmt: skip
        self._queue.post(dst, head + body + transfer_table(follow), follow, tag)
