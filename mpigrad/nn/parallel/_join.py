"""`join`: ranks that run out of input take part in the collectives of those that have more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mpigrad._core.tensor import wrap
from mpigrad.distributed._process_group.collectives import all_gather_into_tensor

if TYPE_CHECKING:
    from .distributed import DistributedDataParallel

_EARLY = (
    "Detected at least one rank that exhausted inputs. Throwing across all ranks: join got throw_on_early_termination=True"
)


class Join:
    """The context manager of `DistributedDataParallel.join`.

    Before each forward all ranks exchange whether they have input. A rank that has left its loop keeps exchanging, and takes
    part in the collectives of the others, until no rank has input.
    """

    def __init__(self, model: DistributedDataParallel, divide_by_initial: bool, throws: bool) -> None:
        self._model, self._divide_by_initial, self._throws = model, divide_by_initial, throws

    def __enter__(self) -> Join:
        self._model._join = self
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        model = self._model
        model._join = None
        try:
            if kind is None:
                self._shadow()
        finally:
            model.reducer.divisor = model.process_group.size()

    def _tell(self, active: bool, reduces: bool, buffers: bool) -> np.ndarray:
        """Exchange with all ranks what they do next; returns a row for each rank."""
        size = self._model.process_group.size()
        made = wrap(np.empty((size, 3), "i8"))
        all_gather_into_tensor(made, wrap(np.array([active, reduces, buffers], "i8")), self._model.process_group)
        rows = made._array
        count = int(rows[:, 0].sum())
        if self._throws and 0 < count < size:
            raise RuntimeError(_EARLY)
        if count and not self._divide_by_initial:
            self._model.reducer.divisor = count
        return rows

    def before_forward(self, reduces: bool, buffers: bool) -> int:
        """Called by an active rank before an iteration; returns the rank whose buffers all ranks copy."""
        return _last_active(self._tell(True, reduces, buffers))

    def _shadow(self) -> None:
        model, last = self._model, True
        while True:
            rows = self._tell(False, False, False)
            if not rows[:, 0].any():
                break
            last = False
            if rows[:, 1].any():
                model.reducer.rebuild()
            if rows[:, 2].any():
                model._copy_buffers(_last_active(rows))
            if rows[:, 1].any():
                model.reducer.shadow()
        rows = self._tell(last, False, False) if not self._throws else np.array([[1, 0, 0]])
        model._copy_state(_last_active(rows))


def _last_active(rows: np.ndarray) -> int:
    return int(np.flatnonzero(rows[:, 0])[-1])
