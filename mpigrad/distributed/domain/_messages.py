"""The messages of one exchange of blocks: all sends and receives, which are started together and waited for together.

Arrays on a GPU take the paths of the collectives: through host memory, or by an MPI that reads device memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mpigrad._array.device import array_module, guard, is_loaded
from mpigrad._core.tensor import wrap

from .. import _mpi
from .._gpu.copies import to_device
from .._mpi import mpi_turn
from .._process_group.buffers import as_bytes, outgoing, settle, space
from .._process_group.finish_on_streams import finish_on_streams
from .._process_group.groups import ProcessGroup
from .._process_group.work import Work

_TAGS = 20000  # the first tag: above those that programs are likely to use in the same group
_dropped: list[Work] = []  # not waited for, so MPI may still use their buffers


class Outgoing(NamedTuple):
    """A block to send to a rank; `way` distinguishes several blocks between the same two ranks."""

    rank: int
    way: int
    array: Any


class Incoming(NamedTuple):
    """A block to receive from a rank; `at` is its position in the result."""

    rank: int
    way: int
    shape: tuple[int, ...]
    at: Any


class Messages:
    """The messages of one exchange, started at once; `wait` returns the blocks.

    `name` is that of the exchange, for errors; `like` is an array with the dtype and device of all blocks. Blocks that
    this rank sends to itself, as on a ring of one rank, are passed on without a message.
    """

    def __init__(
        self, name: str, group: ProcessGroup, sends: Sequence[Outgoing], receives: Sequence[Incoming], like: Any
    ) -> None:
        _dropped[:] = [work for work in _dropped if not work.is_completed()]
        own = group.rank()
        local = {each.way: each.array for each in sends if each.rank == own}
        self._local = [(each, local[each.way]) for each in receives if each.rank == own]
        self._receives = [each for each in receives if each.rank != own]
        self._like = like
        sends = [each for each in sends if each.rank != own]
        self._work: Work | None = None
        if sends or self._receives:
            self._start(name, group, sends)

    def _start(self, name: str, group: ProcessGroup, sends: Sequence[Outgoing]) -> None:
        into = [space(each.shape, self._like.dtype, self._like) for each in self._receives]
        out = [outgoing(wrap(each.array)) for each in sends]
        settle((*into, *out))
        sizes = [(buffer.nbytes, group.ranks[each.rank]) for each, buffer in zip(self._receives, into)]
        self._into = into
        starts: list[Any] = [(group.comm.Irecv, buffer, each) for each, buffer in zip(self._receives, into)]
        starts += [(group.comm.Isend, buffer, each) for each, buffer in zip(sends, out)]
        with mpi_turn():
            requests = [
                group.begin(name, partial(start, as_bytes(buffer), each.rank, _TAGS + each.way))
                for start, buffer, each in starts
            ]
        together = _Together(name, requests, sizes, group.watch is not None)
        self._work = Work(name, together, lambda _: None, group.timeout.total_seconds(), (into, out))
        if is_loaded():
            finish_on_streams(self._work)

    def wait(self) -> list[tuple[Any, Any]]:
        """Wait until all blocks have arrived; returns pairs of a block and its `at`."""
        found = [(each.at, array) for each, array in self._local]
        if self._work is not None:
            self._work.wait()
            found += [(each.at, _on_device(buffer, self._like)) for each, buffer in zip(self._receives, self._into)]
            self._work = None
        return found

    def __del__(self) -> None:
        work = getattr(self, "_work", None)
        if work is not None and not work._done:
            _dropped.append(work)


def _on_device(buffer: Any, like: Any) -> Any:
    """Return a received buffer on the device of `like`."""
    if type(buffer) is not np.ndarray or type(like) is np.ndarray:
        return buffer
    with guard(like):
        made = array_module(like).empty(buffer.shape, buffer.dtype)
        to_device(buffer, made)
    return made


class _Together:
    """Several MPI requests that `Work` tests as one.

    The first requests are the receives; `sizes` has the number of bytes and the sender of each. `watched` requests belong to a
    group that survives deaths, and can only be tested one by one.
    """

    def __init__(self, name: str, requests: list[Any], sizes: list[tuple[int, int]], watched: bool) -> None:
        self._name, self._requests, self._sizes, self._watched = name, requests, sizes, watched
        self._statuses = [_mpi.mpi().Status() for _ in requests]

    def Test(self, status: Any) -> bool:
        """Return whether all messages are complete; RuntimeError if one has another size than expected."""
        MPI = _mpi.mpi()
        try:
            if self._watched:
                done = all(each.Test(found) for each, found in zip(self._requests, self._statuses))
            else:
                done = MPI.Request.Testall(self._requests, self._statuses)
        except MPI.Exception as error:
            raise RuntimeError(f"{self._name}: a rank sent a larger block than this rank expects: {error}") from error
        if done:
            for (expected, rank), found in zip(self._sizes, self._statuses):
                if found.Get_count(MPI.BYTE) != expected:
                    raise RuntimeError(
                        f"{self._name}: this rank expects {expected} bytes from rank {rank}, which sent "
                        f"{found.Get_count(MPI.BYTE)}; shapes, dtypes and widths of the blocks do not fit together"
                    )
        return done
