"""Deferred accumulation on GPUs: collects gradients of leaves, so that one kernel launch adds many of them to `.grad`.

A launch costs more than adding a small gradient. While a backward pass runs, gradients for leaves that already have one are
collected, per thread. They are added when there are enough of them, when the pass ends, and before user code could see them:
every caller of a hook or of a user's function calls `settle` first.
"""

from __future__ import annotations

import threading
from typing import Any

from .._array.device import device_of, on_device, pointer
from .._kernels.accumulate import add_many
from .._kernels.table import TENSORS

_SMALL = 1 << 16  # elements; larger gradients justify a launch, and keeping them would cost memory


class _Waiting(threading.local):
    """The collected gradients of this thread."""

    passes = 0  # nested backward passes of this thread; each ends with `settle`

    def __init__(self) -> None:
        self.held: list[Any] = []
        self.grads: list[Any] = []
        self.places: set[int] = set()  # addresses of `held`: two additions to one address in a launch would race


WAITING = _Waiting()


def waits(held: Any, grad: Any) -> bool:
    """Collect a gradient for `held`, both on a GPU; False if it must be added at once."""
    if not WAITING.passes or held.size > _SMALL or held.shape != grad.shape or held.dtype != grad.dtype:
        return False
    place = pointer(held)
    if place in WAITING.places or len(WAITING.held) == TENSORS:
        settle()
    WAITING.held.append(held)
    WAITING.grads.append(grad)
    WAITING.places.add(place)
    return True


def settle() -> None:
    """Add all collected gradients of this thread."""
    if not WAITING.held:
        return
    # taken out first: a failed launch must not add the same gradients again
    held, grads = WAITING.held, WAITING.grads
    WAITING.held, WAITING.grads, WAITING.places = [], [], set()
    places: dict[Any, list[int]] = {}
    for nr, each in enumerate(held):
        places.setdefault(device_of(each), []).append(nr)
    for place, numbers in places.items():
        with on_device(place):
            add_many([held[nr] for nr in numbers], [grads[nr] for nr in numbers])
