"""`eventually`: waits for a condition on other threads or ranks, with a deadline and an error that says what did not happen."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

SECONDS = 30.0
PAUSE = 0.002
_TRUE: Any = object()


def eventually(probe: Callable[[], T], equals: Any = _TRUE, *, seconds: float = SECONDS, pause: float = PAUSE) -> T:
    """Call `probe` until it returns something true, or something equal to `equals` if that is given; return that value.

    Fails after `seconds` and names the source of the probe and its last value. A probe that does the work itself, and not
    only looks, may want no `pause` between its calls.
    """
    __tracebackhide__ = True  # pytest shows the caller's line instead
    end = time.monotonic() + seconds
    while True:
        late = time.monotonic() > end  # read before the probe, so that the last look is not too early
        value = probe()
        if value if equals is _TRUE else value == equals:
            return value
        if late:
            wanted = "something true" if equals is _TRUE else repr(equals)
            raise AssertionError(f"{_source(probe)} gave {value!r} and not {wanted} for {seconds:g} s")
        time.sleep(pause)


def _source(probe: Callable[[], Any]) -> str:
    try:
        return f"`{' '.join(inspect.getsource(probe).split())}`" if probe.__name__ == "<lambda>" else probe.__qualname__
    except (OSError, TypeError, AttributeError):
        return repr(probe)
