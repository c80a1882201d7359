"""What a rank without input does for a `DistributedDataParallel`: it takes part in the reductions of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mpigrad._core.tensor import wrap
from mpigrad.distributed._process_group.collectives import all_gather_into_tensor
from mpigrad.distributed.algorithms.join import JoinHook

if TYPE_CHECKING:
    from ._data_parallel import DataParallel


class DataParallelHook(JoinHook):
    """The hook of a `DistributedDataParallel`. Before each forward all ranks exchange what they do next."""

    def __init__(self, model: DataParallel, divide_by_initial: bool) -> None:
        self._model, self._divide_by_initial = model, divide_by_initial

    def main_hook(self) -> None:
        model, rows = self._model, self._tell(False, False, False)
        if rows[:, 1].any():
            model.reducer.rebuild()
        if rows[:, 2].any():
            model._copy_buffers(_last(rows))
        if rows[:, 1].any():
            model.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        self._model._copy_state(_last(self._tell(is_last_joiner, False, False)))
        self._model.reducer.divisor = self._model.process_group.size()

    def before_forward(self, reduces: bool, buffers: bool) -> int:
        """Called by an active rank before an iteration; returns the rank whose buffers all ranks copy.

        `reduces`: gradients will be averaged in this iteration. `buffers`: buffers are copied before it.
        """
        return _last(self._tell(True, reduces, buffers))

    def _tell(self, active: bool, reduces: bool, buffers: bool) -> np.ndarray:
        """Exchange with all ranks what they do next; returns a row for each rank, with its three answers as 0 or 1."""
        made = wrap(np.empty((self._model.process_group.size(), 3), "i8"))
        all_gather_into_tensor(made, wrap(np.array([active, reduces, buffers], "i8")), self._model.process_group)
        rows: Any = made._array
        if not self._divide_by_initial:
            self._model.reducer.divisor = int(rows[:, 0].sum())
        return rows


def _last(rows: np.ndarray) -> int:
    """The last rank that is active, or was in the last iteration."""
    return int(np.flatnonzero(rows[:, 0])[-1])
