"""RRef bookkeeping: who keeps what alive, on this worker.

[Note: how RRefs are counted]
An RRef's value lives on its owner. Each time an RRef travels to another worker, the sender makes a *fork*: it counts one child
and the receiver becomes that child. A fork ends when its Python object is gone *and* all of its own children have ended; then
it tells its parent, the worker that made it. The owner is the parent of the first forks, and drops the value when it has no
children and no Python object of its own.

So every message about a fork goes to the worker that counted it, after it was counted: the order in which messages of different
workers arrive does not matter, nothing needs to be asked or confirmed, and no worker knows more than its own children. Only when
a worker is lost, the parents of its forks look for the forks that it made of them (`_rref/adoption.py`).

Changes are events in one queue, handled in order by one thread at a time, whoever comes first; adding one never blocks, so that
`RRef.__del__`, which Python may run anywhere, can do it. A count goes up (event) before the fork that it counts is sent, and
down (event) when the child's word arrives, hence never below zero.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from mpigrad.distributed.rpc._protocol.errors import CreationTimedOutError, RpcTimeoutError, SendFailedError, copied
from mpigrad.distributed.rpc._protocol.message import MessageType

from ..guard import enter, leave

if TYPE_CHECKING:
    from .agent import Agent

_DELETE = int(MessageType.RREF_USER_DELETE)
_LOCAL_BITS = 48
ORPHAN = -1  # parent of a fork whose parent has left
_numbers = itertools.count(0)  # of dynamic groups: forks of an RRef may outlive the life of the worker that made it


class GloballyUniqueId(NamedTuple):
    """An id that no other worker gives: its maker's rank and a number."""

    created_on: int
    local_id: int

    def __repr__(self) -> str:
        return f"GloballyUniqueId(created_on={self.created_on}, local_id={self.local_id})"

    def __int__(self) -> int:
        return self.created_on << _LOCAL_BITS | self.local_id

    @classmethod
    def of(cls, number: int) -> GloballyUniqueId:
        """The id again from its number."""
        return cls(number >> _LOCAL_BITS, number & ((1 << _LOCAL_BITS) - 1))


class Owner:
    """The owner's record of one RRef: its value, or the error of making it, and how many forks it was parent of."""

    __slots__ = ("__weakref__", "awaited", "children", "number", "value")

    def __init__(self, number: int, value: Any) -> None:
        self.number = number
        self.awaited = True  # a message has named it, and the call that makes the value has yet to come
        self.children: Counter[int] = Counter()  # by the rank that they are on; -1 - rank while orphans are looked for
        self.value = value


class User:
    """A fork on a worker that is not the owner."""

    __slots__ = (
        "alive",
        "children",
        "confirmed",
        "deleted",
        "error",
        "fork",
        "number",
        "owner",
        "parent",
        "parent_fork",
        "type_name",
    )

    def __init__(self, number: int, owner: int, fork: int, parent: int, parent_fork: int, confirmed: bool) -> None:
        self.number, self.owner, self.fork = number, owner, fork  # the fork's id is one less: 0 stands for the owner's record
        self.parent, self.parent_fork = (
            parent,
            parent_fork,
        )  # the rank that counted this fork, and which of its records did
        self.children: Counter[int] = Counter()
        self.alive = True
        self.confirmed = confirmed  # the owner has said that the value's record exists
        self.deleted = False  # by shutdown, while its object lives
        self.error: BaseException | None = None  # why the owner could not be reached; never raised itself
        self.type_name: Any = None


class Table:
    """All RRefs of one agent."""

    def __init__(self, agent: Agent, adopt: Callable[[Table, dict[Owner | User, int], int], Any]) -> None:
        self.agent = agent
        self._adopt = adopt  # finds new parents for the forks that a lost worker had made: (table, counts, rank)
        self.owners: weakref.WeakValueDictionary[int, Owner] = weakref.WeakValueDictionary()
        self.kept: dict[int, Owner] = {}  # owners that forks or unfinished calls keep alive
        self.users: dict[int, User] = {}
        self.deleting: set[object] = set()  # forks whose parents have not yet heard of their end
        self.lost: dict[int, int] = {}  # rank -> the latest of its lives (epochs) that is gone
        self._numbers = itertools.count(0)  # of a static world, which counts from 0 as PyTorch does
        self._events: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def new_id(self) -> int:
        """A number no other worker gives."""
        # asked each time: whether the world is static is not known yet when the table is made
        return self.agent.rank << _LOCAL_BITS | next(self._numbers if self.agent.static else _numbers)

    # -- events ------------------------------------------------------------------------------------------------------
    def enqueue(self, change: Callable[..., None], *args: Any) -> None:
        """Queue a change and handle what is queued, unless another thread is at it. Never blocks."""
        events, lock = self._events, self._lock
        before = enter()
        try:
            events.append((change, args))
            while events and lock.acquire(False):
                try:
                    while events:
                        do, given = events.popleft()
                        do(*given)
                finally:
                    lock.release()
        finally:
            leave(before)

    def _count_child(self, record: Owner | User, rank: int) -> None:
        record.children[rank] += 1
        if isinstance(record, Owner):
            self.kept[record.number] = record

    def _child_ended(self, fork: int, number: int, rank: int) -> None:
        record = self.users.get(fork) if fork else self.kept.get(number)
        if record is not None and (record.children[rank] or min(record.children, default=0) < 0):
            record.children[rank] -= 1  # below zero, if the word of an orphan overtakes the answer that counts it
            self.end_if_childless(record, rank)

    def end_if_childless(self, record: Owner | User, rank: int) -> None:
        """Forget a rank that has no forks of a record left, and the record if no rank has."""
        if not record.children[rank]:
            del record.children[rank]
        if isinstance(record, User):
            self._end_if_unused(record)
        elif not record.children:
            self.kept.pop(record.number, None)

    def _rank_lost(self, rank: int, epoch: int) -> None:
        self.lost[rank] = epoch
        for user in self.users.values():
            if user.parent == rank:
                user.parent = ORPHAN
        records: list[Owner | User] = [*self.users.values(), *self.kept.values()]
        held = {record: record.children.pop(rank) for record in records if rank in record.children}
        if held:
            for record, count in held.items():
                record.children[-1 - rank] += count  # apart from those of a later life of that rank
            self._adopt(self, held, rank)

    def has_lost(self, rank: int, epoch: int) -> bool:
        """Whether it is known here that this life of a worker, or a later one, is over. Epochs have 16 bits."""
        return rank in self.lost and (self.lost[rank] - epoch) % (1 << 16) < 1 << 15

    def adopted(self, held: dict[Owner | User, int], rank: int) -> None:
        """All orphans of a lost rank have been found: its own forks end now."""
        for record, count in held.items():
            record.children[-1 - rank] -= count
            self.end_if_childless(record, -1 - rank)

    def _object_gone(self, user: User) -> None:
        user.alive = False
        self._end_if_unused(user)

    def _confirmed(self, user: User, error: BaseException | None) -> None:
        user.confirmed, user.error = error is None, None if error is None else copied(error)
        if error is not None and not isinstance(error, RpcTimeoutError):
            self.users.pop(user.fork, None)  # the owner never made a record: nobody counts this fork
            return
        self._end_if_unused(user)  # an owner that is only slow does count it

    def _end_if_unused(self, user: User) -> None:
        if user.alive or user.children or not (user.confirmed or user.error):
            return
        if self.users.pop(user.fork, None) is not None:
            self.tell_parent(user.parent, user.parent_fork, user.number)

    def tell_parent(self, rank: int, fork: int, number: int) -> None:
        """Tell the worker that counted a fork that it has ended."""
        if rank == self.agent.rank:
            self._events.append((self._child_ended, (fork, number, rank)))
            return
        if rank == ORPHAN or rank in self.agent.gone:
            return
        token = object()
        self.deleting.add(token)
        self.agent.request_with_retries(rank, _DELETE, b"", fork, number, lambda reply: self.deleting.discard(token))

    # -- what the rest of the layer does -----------------------------------------------------------------------------
    def new_owner(self, number: int) -> Owner:
        """The owner's record for the call that makes the value."""
        owner = self.owner(number)
        owner.awaited = False
        return owner

    def owner(self, number: int) -> Owner:
        """The owner's record, made if a message names it before the call that fills it has come."""
        with self._making:
            found = self.owners.get(number)
            if found is None:
                found = self.owners[number] = Owner(number, self.agent.new_value())
            return found

    def keep(self, owner: Owner) -> None:
        """Keep a record alive until `unkeep`, as one child would."""
        self.enqueue(self._count_child, owner, self.agent.rank)

    def unkeep(self, number: int) -> None:
        """Undo `keep`."""
        self.enqueue(self._child_ended, 0, number, self.agent.rank)

    def count_child(self, record: Owner | User, rank: int) -> None:
        """A fork of this record is about to leave for a rank."""
        self.enqueue(self._count_child, record, rank)

    def child_ended(self, fork: int, number: int, rank: int) -> None:
        """A fork that left here for a rank has ended. `fork` 0 names the owner's own record."""
        self.enqueue(self._child_ended, fork, number, rank)

    def rank_lost(self, rank: int) -> None:
        """A worker is gone, and so are its forks: it will not tell of their end."""
        self.enqueue(self._rank_lost, rank, self.agent.epochs.get(rank, 0))

    def add_user(self, user: User) -> None:
        """A fork came to be here."""
        self.users[user.fork] = user

    def object_gone(self, user: User) -> None:
        """The Python object of a fork is gone."""
        self.enqueue(self._object_gone, user)

    def confirm(self, user: User, error: BaseException | None) -> None:
        """The owner answered (or could not be reached) about a new RRef."""
        self.enqueue(self._confirmed, user, error)

    def delete_users(self) -> None:
        """End every fork here, whatever still refers to it: rpc is shutting down."""
        for user in list(self.users.values()):
            user.deleted = True
            self.object_gone(user)

    def quiet(self) -> bool:
        """Whether no word about a fork is under way from here. A fork that only its children keep has none to say."""
        if self._events or self._lock.locked() or self.deleting:
            return False
        return all(user.alive or user.children for user in list(self.users.values()))

    def leaks(self) -> str:
        """The values here that other workers still refer to, a line for each; empty if there are none."""
        lines = []
        for owner in list(self.kept.values()):
            for rank, count in list(owner.children.items()):
                if count and rank != self.agent.rank and rank >= 0:
                    forks = "1 fork" if count == 1 else f"{count} forks"
                    lines.append(f"Leaking RRef {GloballyUniqueId.of(owner.number)} with {forks} on rank {rank}\n")
        return "".join(lines)

    def debug_info(self) -> dict[str, str]:
        """Counters, as strings, by PyTorch's names."""
        users, kept = list(self.users.values()), list(self.kept.values())
        return {
            "num_owner_rrefs": str(len(kept)),
            "num_pending_futures": str(sum(owner.awaited for owner in kept)),
            "num_pending_users": str(sum(not (user.confirmed or user.error) for user in users)),
            "num_pending_children": str(sum(user.children.total() for user in users)),
            "num_forks": str(sum(owner.children.total() for owner in kept)),
        }


def creation_error(error: BaseException) -> BaseException:
    """What a use of an RRef raises whose creation failed with this error: a new one each time, since the traceback of a raised
    error holds the frames that saw it, and these the RRef."""
    found = copied(error)
    if not isinstance(found, (RpcTimeoutError, SendFailedError)):
        return found
    made = CreationTimedOutError()
    made.__cause__ = found
    return made


def table_of(agent: Agent) -> Table:
    """The agent's table of RRefs."""
    return agent.rrefs
