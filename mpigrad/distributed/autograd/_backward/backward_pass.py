"""`Pass`: what every worker needs to know of one distributed backward pass, in a form that fits into a header."""

from __future__ import annotations

import threading
from typing import Any

from mpigrad._graph.engine import Captures
from mpigrad._graph.namespace import DIFF, RAW

_KEEP, _CREATE, _DISCARD, _BITS = 1, 2, 4, 3
_RANK_SHIFT = 44  # pass ids: the initiator's rank above a counter, three flags below

_capturing = threading.Lock()  # threads of one pass may meet at a captured leaf


class Pass:
    """One backward pass: its id (with the rank that began it), and how it runs."""

    __slots__ = ("F", "captured", "captures", "code", "discard", "initiator", "keep")

    def __init__(self, code: int) -> None:
        self.code = code  # id and flags in one number: travels in the header of every message of the pass
        self.initiator = code >> _RANK_SHIFT
        self.keep = bool(code & _KEEP)
        self.F: Any = DIFF if code & _CREATE else RAW
        self.discard = bool(code & _DISCARD)  # keep no gradients in contexts: the initiator captures what it wants
        self.captures: Captures | None = None  # on the initiator: the nodes whose gradients it wants
        self.captured: dict[int, Any] = {}

    @classmethod
    def begin(cls, rank: int, number: int, keep: bool, create: bool, discard: bool) -> Pass:
        """A new pass, numbered by its initiator."""
        flags = _KEEP * keep | _CREATE * create | _DISCARD * discard
        return cls(rank << _RANK_SHIFT | (number << _BITS) & ((1 << _RANK_SHIFT) - 1) | flags)

    def capture(self, found: dict[int, Any]) -> None:
        """Add what one part of the graph brought to the captured nodes."""
        with _capturing:
            for place, grad in found.items():
                if grad is not None:
                    held = self.captured.get(place)
                    self.captured[place] = grad if held is None else held + grad
