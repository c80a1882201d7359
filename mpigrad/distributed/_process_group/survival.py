"""What a group does when a member dies, in a job that survives deaths (MPIGRAD_SURVIVE=1, `mpirun --with-ft ulfm`).

A group with a dead member fails as a whole: its operations raise a `RankLostError`, which names the dead, on every
survivor. The first member that learns of the death (an operation fails, or a waiting thread finds the rank among MPI's
failed ones) revokes the communicator (MPI_Comm_revoke), which ends the pending operations of all other members. `shrink`
creates the communicator of the survivors.

- Every request of a group is tested to its end, also if its `Work` has timed out or was dropped: MPI's agreement on who
  is left may crash otherwise. `Watch` keeps the requests for that.
- Buffers of a failed operation are kept until the group has been shrunk: a survivor that has not learnt of the death may
  still read or write them.
- Blocking calls run in a thread of their own. They need MPI_THREAD_MULTIPLE, which the only MPI that survives deaths has.
- All methods that call MPI, except `create`, `drain` and `shrink`, are called in `mpi_turn`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from mpigrad._core.objects import Mutex

from .._mpi import mpi, mpi_turn

_LOOK = 0.01  # seconds between two questions to MPI for failed members, while an operation is pending
_PATIENCE = 2.0  # seconds in which the name of the dead rank arrives after the error


class RankLostError(RuntimeError):
    """Raised by an operation of a process group whose member has died: the operation cannot complete.

    Only in jobs that survive the death of a process (`mpigrad run --survive`). `what` names the operation, `ranks` are the
    global ranks of the dead processes, `members` all ranks of the group. `ProcessGroup.shrink` makes a group of the
    survivors.

    >>> import mpigrad.distributed as dist
    >>> error = dist.RankLostError("all_reduce", [2], [0, 1, 2, 3])
    >>> error.ranks
    [2]
    """

    def __init__(self, what: str, ranks: list[int], members: list[int]) -> None:
        super().__init__(what, ranks, members)
        self.what, self.ranks, self.members = what, ranks, members

    def __str__(self) -> str:
        who = f"rank {self.ranks[0]} was" if len(self.ranks) == 1 else f"ranks {', '.join(map(str, self.ranks))} were"
        return f"{self.what}: {who} lost from the group {self.members}; shrink() of the group creates one of the survivors"


class Watch:
    """Watches the members of one communicator, whose global ranks are `ranks`.

    `revokes` is False for a communicator that is not the group's own, such as COMM_WORLD: revoking it would end the operations of
    its other users, too, so a death then ends only the operations of this process.
    """

    def __init__(self, comm: Any, ranks: list[int], revokes: bool = True) -> None:
        self._comm, self._ranks, self._revokes = comm, ranks, revokes
        self._open: set[_Watched] = set()  # pending and failed operations
        self._looked = 0.0

    def start(self, what: str, begin: Callable[[], Any]) -> _Watched:
        """Start an operation with `begin()`, which returns an MPI request; returns an object like it.

        `what` is its name in errors. An error of the start is raised by the first test.
        """
        made = _Watched(self, what, begin)
        self._open.add(made)
        return made

    def ended(self, operation: _Watched) -> None:
        """Forget an operation, and with it its buffers."""
        self._open.discard(operation)

    def lost(self) -> list[int]:
        """Return the global ranks of the members that MPI knows to be dead, in order."""
        MPI = mpi()
        failed, own = self._comm.Get_failed(), self._comm.Get_group()  # groups of MPI, which must be freed
        places = MPI.Group.Translate_ranks(failed, list(range(failed.size)), own)
        failed.Free()
        own.Free()
        return sorted(self._ranks[place] for place in places if 0 <= place < len(self._ranks))

    def look(self, what: str) -> None:
        """Ask MPI for dead members, unless that was done a moment ago; if there are any, end all members' pending operations.

        `what` is the operation that waits, for the error.
        """
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        if lost := self.lost():
            if not self._revokes:
                raise RankLostError(what, lost, self._ranks)
            self.revoke()

    def revoke(self) -> None:
        """Make the pending operations of all members fail, and later ones too (MPI_Comm_revoke)."""
        if self._revokes and not self._comm.Is_revoked():
            self._comm.Revoke()

    def explain(self, what: str, error: Exception, since: float) -> None:
        """Raise the error of the operation `what`, which failed with `error` at the time `since`.

        Returns without raising if the cause may be a death that MPI has not reported yet; the caller then asks again
        later.
        """
        if lost := self.lost():
            self.revoke()
            raise RankLostError(what, lost, self._ranks) from error
        if not _may_be_death(error):
            raise error
        if time.monotonic() - since > _PATIENCE:
            revoked = self._revokes and self._comm.Is_revoked()
            why = "another member has ended this group by shrink()" if revoked else f"it failed and all ranks live: {error}"
            raise RuntimeError(f"{what} in the group {self._ranks}: {why}") from error
        mpi().COMM_SELF.Iprobe()  # lets MPI make progress

    def drain(self, deadline: float) -> None:
        """Test all pending operations until they end. The communicator must have been revoked, or they might not.

        RuntimeError if one does not end before the deadline.
        """
        for each in list(self._open):
            while not each.over:
                with mpi_turn():
                    each.advance(None)
                if time.monotonic() > deadline:
                    raise RuntimeError(f"shrink: {each.what} of the group {self._ranks} does not end after its revocation")
                time.sleep(1e-4)

    def create(self, what: str, members: list[int], create: Callable[[], Any], seconds: float) -> Any:
        """Run the blocking call `create` in a thread, and return its result; `what` is its name in errors.

        It needs the ranks `members`: RankLostError if one of them is lost meanwhile, RuntimeError after `seconds`.
        """
        call, deadline = _Aside(create), time.monotonic() + seconds
        while not call.ends(time.monotonic() + _LOOK):
            if lost := self._lost_of(members):
                with mpi_turn():
                    self.revoke()  # ends the call, in most cases
                call.ends(time.monotonic() + _PATIENCE)
                raise RankLostError(what, lost, members)
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what} did not end within {seconds:g} s: one of the ranks {members} has not called it")
        try:
            return call.result()
        except mpi().Exception as error:
            if lost := self._lost_of(members):
                raise RankLostError(what, lost, members) from error
            raise

    def _lost_of(self, members: list[int]) -> list[int]:
        with mpi_turn():
            return [rank for rank in self.lost() if rank in members]

    def shrink(self, seconds: float) -> tuple[Any, list[int]]:
        """Create the communicator of the survivors; returns it and their global ranks, in order.

        All survivors must call it; RuntimeError if one does not within `seconds`.
        """
        deadline = time.monotonic() + seconds
        with mpi_turn():
            self.revoke()
        self.drain(deadline)
        shrinking = _Aside(self._comm.Shrink)
        if not shrinking.ends(deadline):
            raise RuntimeError(
                f"shrink of the group {self._ranks} did not end within {seconds:g} s: another survivor has not called it"
            )
        made = shrinking.result()
        MPI = mpi()
        with mpi_turn():
            made.Set_errhandler(MPI.ERRORS_RETURN)
            own, left = self._comm.Get_group(), made.Get_group()
            places = MPI.Group.Translate_ranks(left, list(range(left.size)), own)
        self._open.clear()  # all survivors have left the failed operations, so their buffers are free
        return made, [self._ranks[place] for place in places]


class _Watched:
    """A request like MPI's, whose `Test` raises a `RankLostError` if the operation fails because of a death."""

    def __init__(self, watch: Watch, what: str, begin: Callable[[], Any]) -> None:
        self.what, self.over = what, False
        self._watch, self._begin = watch, begin  # `begin` holds the buffers
        self._testing = Mutex()
        self._request: Any = None
        self._error: Exception | None = None
        self._since = 0.0
        try:
            self._request = begin()
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.over, self._error, self._since = True, error, time.monotonic()

    def advance(self, status: Any) -> None:
        """Test the operation, unless it has ended."""
        with self._testing:
            if self.over:
                return
            try:
                self.over = self._request.Test(status)
            except Exception as error:
                if _class_of(error) != mpi().ERR_PROC_FAILED_PENDING:  # a receive from any rank stays pending
                    self._fail(error)
        if self.over and self._error is None:
            self._watch.ended(self)

    def Test(self, status: Any = None) -> bool:
        self.advance(status)
        if self._error is not None:
            self._watch.explain(self.what, self._error, self._since)
            return False
        if not self.over:
            self._watch.look(self.what)
        return self.over

    def Cancel(self) -> None:
        self._request.Cancel()

    def Wait(self, status: Any = None) -> bool:
        while not self.Test(status):
            time.sleep(1e-4)
        return True


def _class_of(error: BaseException | None) -> int | None:
    """Return the error class of an MPI error, or of the MPI error that caused it; None if there is none."""
    while error is not None and not isinstance(error, mpi().Exception):
        error = error.__cause__
    return None if error is None else error.Get_error_class()


def _may_be_death(error: Exception) -> bool:
    """Return whether the death of a rank may be the cause of an error: MPI reports deaths with several codes."""
    MPI = mpi()
    return _class_of(error) in (
        MPI.ERR_PROC_FAILED, MPI.ERR_PROC_FAILED_PENDING, MPI.ERR_REVOKED, MPI.ERR_OTHER, MPI.ERR_INTERN, MPI.ERR_UNKNOWN,
        MPI.ERR_IN_STATUS,
    )  # fmt: skip


class _Aside:
    """A blocking call of MPI in a thread of its own, so that the caller can watch members and time meanwhile."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._found: list[Any] = []
        self._thread = threading.Thread(target=self._run, args=(call,), name="mpigrad-blocking-call", daemon=True)
        self._thread.start()

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            self._found.append(call())
        except Exception as error:
            self._found.append(error)

    def ends(self, deadline: float) -> bool:
        """Wait until the call has ended, or until the deadline (of `time.monotonic()`); returns whether it has ended."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        return bool(self._found)

    def result(self) -> Any:
        if isinstance(self._found[0], Exception):
            raise self._found[0]
        return self._found[0]
