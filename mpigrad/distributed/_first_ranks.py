"""`FirstRanks`: creates a communicator of the first ranks of another one, without the participation of other ranks.

Creating a communicator blocks until all its ranks have called it, without a timeout. So the ranks meet by messages first: each
sends the expected number of ranks to rank 0, which answers when all have arrived and agree. Only then do they create it.
"""

from __future__ import annotations

from typing import Any

from ._mpi import mpi, mpi_turn

FOR_RPC, FOR_GROUPS = 2, 3  # users of different messages: how far their tag is below those of dynamic worlds
_NO = 0  # the answer of rank 0 if the sizes differ


def refuse(what: str, size: int, rank: int) -> None:
    """Raise PyTorch's RuntimeError if `rank` is not among the first `size`; `what` is the function that was called."""
    if rank >= size:
        raise RuntimeError(
            f"{what} was given world_size={size}, but this process is rank {rank} of MPI, so it cannot be among them: "
            f"rank < size. {rank} vs {size}"
        )


def meet_first(parent: Any, size: int, user: int) -> FirstRanks:
    """Start a `FirstRanks`, or return one that an interrupt or a deadline has stopped, so that it can continue.

    `parent` and `size` are as in `FirstRanks`; `user` is FOR_RPC or FOR_GROUPS, whose messages have different tags.
    """
    key = mpi()._handleof(parent), size, user
    if key not in _begun:
        _begun[key] = FirstRanks(parent, size, user)
    return _begun[key]


class FirstRanks:
    """Creates a communicator of the first `size` ranks of the communicator `parent`; a request like MPI's.

    `Test`, which is called inside `mpi_turn`, makes progress and returns True when `comm`, the new communicator, exists.
    """

    def __init__(self, parent: Any, size: int, user: int) -> None:
        MPI = mpi()
        self.comm: Any = None
        self._parent, self._size, self._user = parent, size, user
        self._tag = (parent.Get_attr(MPI.TAG_UB) or 32767) // 2 - user
        self._rank = parent.Get_rank()
        self._answered = False
        self._own = size.to_bytes(8, "little")
        self._told = {rank: bytearray(8) for rank in ([0] if self._rank else range(1, size))}
        with mpi_turn():
            self._requests = [parent.Irecv([told, MPI.BYTE], rank, self._tag) for rank, told in self._told.items()]
            if self._rank:
                self._requests.append(parent.Isend([self._own, MPI.BYTE], 0, self._tag))

    def Test(self, status: Any = None) -> bool:
        """Make progress; returns whether `comm` exists. RuntimeError if the ranks do not agree on their number."""
        MPI = mpi()
        if self.comm is not None:
            return True
        if not MPI.Request.Testall(self._requests):
            return False
        sizes = {rank: int.from_bytes(told, "little") for rank, told in self._told.items()}
        agreed = all(size == self._size for size in sizes.values())
        if not self._rank and not self._answered:
            self._answered = True
            self._own = (self._size if agreed else _NO).to_bytes(8, "little")
            self._requests = [self._parent.Isend([self._own, MPI.BYTE], rank, self._tag) for rank in self._told]
            return self.Test()
        del _begun[MPI._handleof(self._parent), self._size, self._user]
        if not agreed:
            told = "rank 0 has the details" if self._rank else ", ".join(f"rank {rank}: {size}" for rank, size in sizes.items())
            raise RuntimeError(
                f"rank {self._rank} was given world_size={self._size}, but other ranks were given another one ({told})"
            )
        self.comm = self._parent.Create_group(self._parent.Get_group().Incl(range(self._size)), tag=self._user)
        return True


_begun: dict[tuple[int, int, int], FirstRanks] = {}
