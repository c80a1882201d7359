"""`RawMessage`: what the handler of an internal message gets of its frame."""

from __future__ import annotations

from typing import Any


class RawMessage:
    """A received internal message: who sent it, its bytes and arrays, and fields of the header."""

    __slots__ = ("arrays", "body", "context_id", "extra", "extra2", "message_id", "src")

    def __init__(
        self, src: int, body: bytes, arrays: list[Any], extra: int, extra2: int, context_id: int, message_id: int
    ) -> None:
        self.src, self.body, self.arrays, self.extra, self.extra2 = src, body, arrays, extra, extra2
        self.context_id, self.message_id = context_id, message_id
