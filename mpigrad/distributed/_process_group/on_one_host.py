"""Sums of large arrays between the ranks of one host, by messages around a ring instead of MPI's non-blocking reduction.

Each rank owns a part of the array. In `size - 1` steps the parts travel around the ring and each rank adds its own elements; in
as many further steps the sums travel around. Each rank sends and receives about twice the array, independent of the number of
ranks, and all ranks have the same bits. Open MPI's `Iallreduce` moves arrays through a buffer in shared memory, which takes
longer than its blocking `Allreduce` for 1 MiB and than the ring for all sizes. Between hosts MPI knows the network better.

A `RingSum` is used like an MPI request: each `Test` makes progress.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import _mpi
from .groups import ProcessGroup
from .reduce_op import ReduceOp

_SMALLEST_PART = 1 << 18  # bytes; below it the latency of the steps counts more than the copies
_BELOW_HIGHEST_TAG, _TAGS = 1200, 512  # below those of `agreement.py`; sums in flight have different tags
_LOCAL_SIZES = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE")


def one_host() -> bool:
    """Return whether all ranks of the job run on this host, as far as the launcher says; False if it does not."""
    found = next((os.environ[name] for name in _LOCAL_SIZES if name in os.environ), "")
    return found.isdigit() and int(found) == _mpi.mpi().COMM_WORLD.Get_size()


def suits(found: ProcessGroup, array: Any, op: ReduceOp) -> bool:
    """Return whether a `RingSum` is faster than MPI for this array and group; the same on all ranks."""
    if op is not ReduceOp.SUM and op is not ReduceOp.AVG or array.nbytes < _SMALLEST_PART * found.size():
        return False
    if found.watch is not None:  # in a group that survives deaths, `Watch` must know each request of MPI
        return False
    if found.one_host is None:
        found.one_host = one_host()
    return found.one_host and found.size() > 1 and type(array) is np.ndarray and array.dtype.kind in "fciu"


class RingSum:
    """The sum (with `average`, the mean) of the arrays `given` of all ranks of a group, in `made`.

    Both are contiguous, and may be the same array. Used like an MPI request.
    """

    def __init__(self, found: ProcessGroup, given: np.ndarray, made: np.ndarray, average: bool = False) -> None:
        self._average = average
        self._comm, self._rank, self._size = found.comm, found.rank(), found.size()
        self._given, self._made = given.reshape(-1), made.reshape(-1)
        self._bounds = [self._made.size * part // self._size for part in range(self._size + 1)]
        # In place, what arrives must not overwrite elements that this rank has not added yet.
        self._spare = np.empty(-(-self._made.size // self._size) if made is given else 0, made.dtype)
        highest = _mpi.mpi().COMM_WORLD.Get_attr(_mpi.mpi().TAG_UB)
        self._tag = highest - _BELOW_HIGHEST_TAG - found.sums % _TAGS
        found.sums += 1
        self._step = 0
        self._start()

    def _part(self, array: np.ndarray, number: int) -> np.ndarray:
        """Return the part of an array that the rank `number` owns; numbers continue around the ring."""
        number %= self._size
        return array[self._bounds[number] : self._bounds[number + 1]]

    def _start(self) -> None:
        """Start the messages of the current step: a part goes to the next rank, and one comes from the previous rank."""
        number = self._rank - self._step
        leaving = self._part(self._given if self._step == 0 else self._made, number)
        arriving = self._part(self._made, number - 1)
        if self._step < self._size - 1 and self._spare.size:
            arriving = self._spare[: arriving.size]
        self._arrived = arriving
        after, before = (self._rank + 1) % self._size, (self._rank - 1) % self._size
        self._messages = [self._comm.Irecv(arriving, before, self._tag), self._comm.Isend(leaving, after, self._tag)]

    def Test(self, status: Any = None) -> bool:
        """Make progress; returns whether the sum is complete."""
        while self._messages:
            if not self._messages[-1].Test():
                self._messages[0].Test()  # MPI moves a message on only when it is tested
                return False
            self._messages.pop()
            if not self._messages:
                self._finish_step()
        return True

    def _finish_step(self) -> None:
        if self._step < self._size - 1:
            number = self._rank - self._step - 1
            total = self._part(self._made, number)
            np.add(self._part(self._given, number), self._arrived, out=total)
            if self._average and self._step == self._size - 2:  # this rank made the last addition: it has the whole sum
                total /= self._size
        self._step += 1
        if self._step < 2 * (self._size - 1):
            self._start()
