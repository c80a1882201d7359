"""Instruments: observers that RPC and distributed autograd call at named points, for traces and profilers.

`INSTRUMENTS.active` is a tuple, empty by default, so that a point costs one comparison. Points come in pairs that enclose what
they are about and nest properly on one thread, unless they say otherwise. Every method gets the agent or worker first: several
may share a process. An instrument must not block, nor ask anything of RPC or of a context: some points lie inside locks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

logger = logging.getLogger(__name__)


class Instrument:
    """Does nothing at every point; derive from it and override the points of interest."""

    def before_call(self, agent: Any, dst: int, func: Callable[..., Any], kind: int, sync: bool) -> None:
        """A call is about to be encoded and sent; with `sync` the caller also waits for its answer before `after_call`."""

    def after_call(self, agent: Any) -> None:
        """The call was sent (or answered, if `sync`), or failed."""

    def before_send(self, agent: Any, dst: int, kind: int, call_id: int, function: bytes, extra: int) -> None:
        """A frame is about to be handed to the transport."""

    def after_send(self, agent: Any) -> None:
        """The frame was handed over, or failed."""

    def before_serve(self, agent: Any, src: int, kind: int, call_id: int, extra: int) -> None:
        """A request of `src` is about to be served."""

    def after_serve(self, agent: Any) -> None:
        """It was served; its answer may come later."""

    def before_answer(self, agent: Any, call_id: int) -> None:
        """An answer has come and is about to complete its call."""

    def after_answer(self, agent: Any) -> None:
        """The call is complete."""

    def before_roots(self, worker: Any) -> None:
        """A backward pass is about to run the graph below its roots."""

    def after_roots(self, worker: Any) -> None:
        """The graph below the roots has run, or was held."""

    def reach_started(self, worker: Any, pass_id: int) -> None:
        """The reach phase of a pass begins; its end may come on another thread."""

    def reach_ended(self, worker: Any, pass_id: int) -> None:
        """The reach phase is over."""

    def part_held(self, worker: Any, part: Any) -> None:
        """A joined part begins to wait for gradients; its end may come on another thread."""

    def part_done(self, worker: Any, part: Any) -> None:
        """The part has run, or was dropped."""


class Instruments:
    """The instruments of this process. An object instead of a variable of the module: compiled code reads its field at once."""

    def __init__(self) -> None:
        self.active: tuple[Instrument, ...] = ()

    def add(self, instrument: Instrument) -> None:
        """Call this instrument from now on."""
        self.active = (*self.active, instrument)

    def remove(self, instrument: Instrument) -> None:
        """Call it no more; unknown ones are ignored."""
        self.active = tuple([each for each in self.active if each is not instrument])


INSTRUMENTS = Instruments()


def tell(observers: tuple[Instrument, ...], point: str, *about: Any) -> None:
    """Call a point of these instruments, in reverse order if it is the end of something. Their errors are logged."""
    for each in reversed(observers) if point.startswith("after_") else observers:
        try:
            getattr(each, point)(*about)
        except Exception:
            logger.exception("the instrument %r failed at %s", each, point)
