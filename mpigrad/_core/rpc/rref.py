"""RRefs: references to values on some worker. A value is kept as long as any worker refers to it.

[Note: how RRefs are counted]
The value of an RRef is on its owner. Each time an RRef is sent to another worker, the sender makes a *fork*: it counts one child,
and the receiver becomes that child. A fork ends when its Python object is freed *and* all its children have ended; then it tells
its parent, the worker that made it. The owner is the parent of the first forks, and frees the value when it has no children and
no local Python object.

So every message about a fork goes to the worker that counted it, after it was counted. The order in which messages of different
workers arrive does not matter, no confirmation is needed, and each worker knows only its own children. Only when a worker is
lost do the forks that it had made need another parent: the owner (`_rref/adoption.py`).

Changes are events in a queue, which one thread at a time handles, in order. Adding an event never blocks, so that `RRef.__del__`
can do it, which the garbage collector may run on any thread at any point. A count is incremented (event) before the fork is
sent, and decremented (event) when the child's message arrives, so it never becomes negative.
"""

from __future__ import annotations

import itertools
import struct
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

from mpigrad._graph.grad_mode import TRACING
from mpigrad._process.mpi_end import why_unusable
from mpigrad._tensor import Tensor
from mpigrad.distributed.rpc._agent import current
from mpigrad.distributed.rpc._agent.current import get_agent
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.errors import (
    CreationTimedOutError,
    RpcTimeoutError,
    SendFailedError,
    WorkerGoneError,
    as_runtime_error,
    copied,
    pack_error,
    print_error,
    unpack_error,
)
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.distributed.rpc._protocol.worker_info import Args, Kwargs, To, WorkerInfo
from mpigrad.distributed.rpc.constants import UNSET_RPC_TIMEOUT

from ..future import Future
from ..guard import edge, enter, leave, leave_later
from .calls import check_call, label

if TYPE_CHECKING:
    from mpigrad import futures

    from .agent import Agent


# -- reference counting ----------------------------------------------------------------------------------------------
_DELETE, _ACCEPT = int(MessageType.RREF_USER_DELETE), int(MessageType.RREF_CHILD_ACCEPT)
_NUMBER = struct.Struct("<Q")
_LOCAL_BITS = 39  # with 24 bits for the worker: positive numbers of 64 bits
ORPHAN = -1  # the parent of a fork whose parent and owner have left
_numbers = itertools.count(0)  # for dynamic worlds, process-wide: forks of an RRef may outlive the incarnation that created it


class GloballyUniqueId(NamedTuple):
    """An id that is unique in the world: the rank of the worker that created it, and a number that is unique there.

    Encoded as one integer by `int()`; printed in the representation of RRefs.
    """

    created_on: int
    local_id: int

    def __repr__(self) -> str:
        return f"GloballyUniqueId(created_on={self.created_on}, local_id={self.local_id})"

    def __int__(self) -> int:
        return self.created_on << _LOCAL_BITS | self.local_id

    @classmethod
    def of(cls, number: int) -> GloballyUniqueId:
        """Return the id that an integer encodes."""
        return cls(number >> _LOCAL_BITS, number & ((1 << _LOCAL_BITS) - 1))


class Owner:
    """The owner's record of one RRef: the future of its value, and the forks that the owner has made."""

    __slots__ = ("__weakref__", "awaited", "children", "number", "value")

    def __init__(self, number: int, value: Any) -> None:
        self.number = number
        self.awaited = True  # a message has named the RRef, but the call that creates the value has not arrived yet
        self.children: Counter[int] = Counter()  # forks by rank; -1 - rank while forks of a lost rank are adopted
        self.value = value


class User:
    """The record of an RRef on a worker that is not the owner: a fork.

    `parent` and `parent_fork` say which worker, and which record there, counts this fork; `children` are the forks made
    of it.
    """

    __slots__ = (
        "alive",
        "children",
        "confirmed",
        "deleted",
        "error",
        "fork",
        "life",
        "number",
        "owner",
        "parent",
        "parent_fork",
        "type_name",
    )

    def __init__(
        self, number: int, owner: int, fork: int, parent: int, parent_fork: int, confirmed: bool, life: int
    ) -> None:
        self.number, self.owner, self.fork = number, owner, fork  # fork id + 1: 0 is the owner's record
        self.life = life  # the incarnation (epoch) of the owner
        self.parent, self.parent_fork = (
            parent,
            parent_fork,
        )  # the rank and the record that count this fork
        self.children: Counter[int] = Counter()
        self.alive = True
        self.confirmed = confirmed  # the owner has confirmed that it has a record
        self.deleted = False  # ended by shutdown although its Python object exists
        self.error: BaseException | None = None  # why the creation failed; copied before it is raised
        self.type_name: Any = None


def includes(lost: int, epoch: int) -> bool:
    """Return whether the loss of the incarnation `lost` of a rank says that `epoch` is lost: it is the same, or earlier.

    Epochs have 16 bits and wrap around, so "earlier" means less than 2**15 before.
    """
    return (lost - epoch) % (1 << 16) < 1 << 15


class Table:
    """All RRefs of one agent: the records of those that it owns and those that it uses, and the events that change them.

    `adopt(table, counts by record, rank)` is called after the loss of a worker that had forks of these records. It calls
    `adopted` when the forks that the lost worker had made have another parent.
    """

    def __init__(self, agent: Agent, adopt: Callable[[Table, dict[Owner | User, int], int], Any]) -> None:
        self.agent = agent
        self._adopt = adopt  # starts an adoption: (table, counts, rank)
        self.owners: weakref.WeakValueDictionary[int, Owner] = weakref.WeakValueDictionary()
        self.kept: dict[int, Owner] = {}  # strong references to owners with forks or unfinished calls
        self.users: dict[int, User] = {}
        self.deleting: set[object] = set()  # messages about ended forks that have not been answered
        self._moving: set[object] = set()  # messages to new parents that have not been answered
        self._when_moved: list[Callable[[], None]] = []
        self.lost: dict[int, int] = {}  # rank -> its latest lost incarnation (epoch)
        self._numbers = itertools.count(0)  # for static worlds: from 0, as in PyTorch
        self._events: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def new_id(self) -> int:
        """Return a number that is unique over all workers, for an RRef or a fork."""
        # checked each time, because `agent.static` is set after the table is created
        return self.agent.rank << _LOCAL_BITS | next(self._numbers if self.agent.static else _numbers)

    # -- events ------------------------------------------------------------------------------------------------------
    def enqueue(self, change: Callable[..., None], *args: Any) -> None:
        """Queue the change `change(*args)`, then make all queued changes unless another thread is doing that. Never blocks."""
        events, lock = self._events, self._lock
        before = enter()
        try:
            events.append((change, args))
            while events and lock.acquire(False):  # tested again: an event may be added before the holder's release
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
        if isinstance(record, Owner):  # `owners` is weak: from the first fork on the table itself keeps the value alive
            self.kept[record.number] = record

    def _child_ended(self, fork: int, number: int, rank: int) -> None:
        """Stop counting a fork on `rank`. The record is the user `fork`, or the owner of `number` if `fork` is 0."""
        record = self.users.get(fork) if fork else self.kept.get(number)
        if record is not None and record.children[rank]:
            record.children[rank] -= 1
            self.end_if_childless(record, rank)

    def end_if_childless(self, record: Owner | User, rank: int) -> None:
        """Forget `rank` in the children of a record if no fork is left there, and end the record if it has no children at all.

        A user's record ends only when its Python object is gone, too.
        """
        if not record.children[rank]:
            del record.children[rank]
        if isinstance(record, User):
            self._end_if_unused(record)
        elif not record.children:
            self.kept.pop(record.number, None)

    def _rank_lost(self, rank: int, epoch: int) -> None:
        """Give the forks that the lost rank counted to their owners, and start an adoption of those that it had itself."""
        self.note_lost(rank, epoch)
        self.move_orphans(rank)
        records: list[Owner | User] = [*list(self.users.values()), *list(self.kept.values())]
        held = {record: record.children.pop(rank) for record in records if rank in record.children}
        if held:
            for record, count in held.items():
                record.children[-1 - rank] += count  # separate from forks of a later incarnation of that rank
            self._adopt(self, held, rank)

    def move_orphans(self, rank: int) -> None:
        """Let the owners count the forks on this worker that the lost `rank` counted; one message to each owner."""
        moved: dict[int, list[User]] = {}
        for user in list(self.users.values()):
            if user.parent == rank:
                if user.owner in self.agent.gone or self.has_lost(user.owner, user.life):
                    user.parent = ORPHAN
                else:
                    # not confirmed until the owner has answered: its end must not be told before
                    user.parent, user.parent_fork, user.confirmed = user.owner, 0, False
                    moved.setdefault(user.owner, []).append(user)
        for owner, users in moved.items():
            token, body = object(), b"".join(_NUMBER.pack(user.number) for user in users)
            self._moving.add(token)
            self.agent.request_with_retries(owner, _ACCEPT, body, then=partial(self.enqueue, self._moved, token, users))

    def _moved(self, token: object, users: list[User], answer: Future) -> None:
        self._moving.discard(token)
        for user in users:
            user.confirmed = True
            self._end_if_unused(user)
        while self._when_moved and not self._moving:
            self._when_moved.pop()()

    def when_moved(self, run: Callable[[], None]) -> None:
        """Call `run` when the owners have counted the forks of all `move_orphans` so far; as an event."""
        if self._moving:
            self._when_moved.append(run)
        else:
            run()

    def _count_moved(self, body: bytes, rank: int) -> None:
        for (number,) in _NUMBER.iter_unpack(body):
            owner = self.owners.get(number)
            if owner is not None:
                self._count_child(owner, rank)

    def note_lost(self, rank: int, epoch: int) -> None:
        """Remember that this incarnation (`epoch`) of a rank, and all before it, have left."""
        if not self.has_lost(rank, epoch):
            self.lost[rank] = epoch

    def has_lost(self, rank: int, epoch: int) -> bool:
        """Return whether this worker knows that this incarnation of a rank, or a later one, is lost."""
        return rank in self.lost and includes(self.lost[rank], epoch)

    def adopted(self, held: dict[Owner | User, int], rank: int) -> None:
        """Complete an adoption: stop counting the forks of the lost rank. `held` is how many each record had."""
        for record, count in held.items():
            record.children[-1 - rank] -= count
            self.end_if_childless(record, -1 - rank)

    def _object_gone(self, user: User) -> None:
        user.alive = False
        self._end_if_unused(user)

    def _confirmed(self, user: User, error: BaseException | None) -> None:
        user.confirmed, user.error = error is None, None if error is None else copied(error)
        if error is not None and not isinstance(error, RpcTimeoutError):
            self.users.pop(user.fork, None)  # the owner has no record, so this fork is not counted
            return
        self._end_if_unused(user)  # after a timeout the owner may still count it

    def _end_if_unused(self, user: User) -> None:
        if user.alive or user.children or not (user.confirmed or user.error):
            return  # an unconfirmed fork must wait: the owner might not have counted it yet
        if self.users.pop(user.fork, None) is not None:
            self.tell_parent(user.parent, user.parent_fork, user.number)

    def tell_parent(self, rank: int, fork: int, number: int) -> None:
        """Tell the worker `rank`, which counted a fork in its record `fork` (0: as the owner of `number`), that it has ended."""
        if rank == self.agent.rank:  # this runs as an event, so the thread that runs events will find it
            self._events.append((self._child_ended, (fork, number, rank)))
            return
        if rank == ORPHAN or rank in self.agent.gone:
            return
        token = object()
        self.deleting.add(token)
        self.agent.request_with_retries(rank, _DELETE, b"", fork, number, lambda reply: self.deleting.discard(token))

    # -- used by the rest of the layer -----------------------------------------------------------------------------
    def new_owner(self, number: int) -> Owner:
        """Return the owner's record of the RRef `number`, for the call that creates the value, which has arrived now."""
        owner = self.owner(number)
        owner.awaited = False
        return owner

    def owner(self, number: int) -> Owner:
        """Return the owner's record of the RRef `number`; creates it if the call that creates the value has not arrived yet."""
        with self._making:  # two messages may name a new RRef at the same time
            found = self.owners.get(number)
            if found is None:
                found = self.owners[number] = Owner(number, self.agent.new_value())
            return found

    def keep(self, owner: Owner) -> None:
        """Keep a record alive until `unkeep`: counted like a fork on this worker."""
        self.enqueue(self._count_child, owner, self.agent.rank)

    def unkeep(self, number: int) -> None:
        """Undo `keep`."""
        self.enqueue(self._child_ended, 0, number, self.agent.rank)

    def count_child(self, record: Owner | User, rank: int) -> None:
        """Count a fork of this record, before it is sent to a rank."""
        self.enqueue(self._count_child, record, rank)

    def child_ended(self, fork: int, number: int, rank: int) -> None:
        """Note the end of a fork that was sent to a rank, by the user `fork` or (0) by the owner of `number`."""
        self.enqueue(self._child_ended, fork, number, rank)

    def rank_lost(self, rank: int) -> None:
        """Note the loss of a worker, whose forks are gone without a message."""
        self.enqueue(self._rank_lost, rank, self.agent.epochs.get(rank, 0))

    def add_user(self, user: User) -> None:
        """Add the record of a new fork on this worker."""
        self.users[user.fork] = user

    def object_gone(self, user: User) -> None:
        """Note that the Python object of a fork has been freed."""
        self.enqueue(self._object_gone, user)

    def confirm(self, user: User, error: BaseException | None) -> None:
        """Note the owner's confirmation of a new RRef, or the error of the call that creates its value."""
        self.enqueue(self._confirmed, user, error)

    def delete_users(self) -> None:
        """End all forks of this worker, even if the program still has their objects: used at shutdown."""
        for user in list(self.users.values()):
            user.deleted = True
            self.object_gone(user)

    def quiet(self) -> bool:
        """Return whether this worker has no messages about forks to send.

        Forks that only wait for their children do not count.
        """
        if self._events or self._lock.locked() or self.deleting:
            return False
        return all(user.alive or user.children for user in list(self.users.values()))

    def leaks(self) -> str:
        """Describe the values of this worker to which others still refer, one line each; empty if there are none."""
        lines = []
        for owner in list(self.kept.values()):
            for rank, count in list(owner.children.items()):
                if count and rank != self.agent.rank and rank >= 0:
                    forks = "1 fork" if count == 1 else f"{count} forks"
                    lines.append(f"Leaking RRef {GloballyUniqueId.of(owner.number)} with {forks} on rank {rank}\n")
        return "".join(lines)

    def debug_info(self) -> dict[str, str]:
        """Return the numbers of RRefs and forks, as strings under PyTorch's names."""
        users, kept = list(self.users.values()), list(self.kept.values())
        return {
            "num_owner_rrefs": str(len(kept)),
            "num_pending_futures": str(sum(owner.awaited for owner in kept)),
            "num_pending_users": str(sum(not (user.confirmed or user.error) for user in users)),
            "num_pending_children": str(sum(user.children.total() for user in users)),
            "num_forks": str(sum(owner.children.total() for owner in kept)),
        }


def creation_error(error: BaseException) -> BaseException:
    """Return the error to raise when an RRef is used whose creation failed.

    A copy each time: the traceback of a raised error refers to frames, and these to the RRef, which would never be freed.
    """
    found = copied(error)
    if not isinstance(found, (RpcTimeoutError, SendFailedError)):
        return found
    made = CreationTimedOutError()
    made.__cause__ = found
    return made


def table_of(agent: Agent) -> Table:
    """Return an agent's table of RRefs."""
    return agent.rrefs


# -- calls to the owner of an RRef --------------------------------------------------------------------
def seconds_of(agent: Agent, timeout: float) -> float:
    """Return a user's timeout in seconds; the agent's default if it is negative."""
    return agent.rpc_timeout if timeout < 0 else timeout


def value_of(number: int) -> Any:
    """Return the value of the RRef `number`, which this worker owns; waits until it has been created.

    RuntimeError if the call that creates it does not arrive within the timeout of calls: the value has been freed,
    because the caller gave up (a timeout, an interrupt) and dropped the RRef before this call was served.
    """
    agent = get_agent()
    owner = table_of(agent).owner(number)  # kept while waiting for the call that creates it
    if owner.awaited and agent.rpc_timeout:
        agent.wait(owner.value, time.monotonic() + agent.rpc_timeout)
        if owner.awaited and not owner.value.done():
            raise RuntimeError(f"the value of RRef {_id(number)} has been freed: its last user dropped it during this call")
    return owner.value.wait()


def call_owner(rref: RRef, func: Callable[..., Any], args: tuple[Any, ...], timeout: float) -> Any:
    """Call `func(number, *args)` on the owner of an RRef; returns a Future. The RRef is kept alive until the answer arrives.

    `timeout` is in seconds, negative for the default.
    """
    agent = rref._table.agent if isinstance(rref._record, Owner) else rref._usable(f"{func.__name__.strip('_')}()")
    seconds, profiler = seconds_of(agent, timeout), extensions.profiler

    def send(f: Any, a: Any, k: Any) -> Any:
        return agent.call(rref._info.id, f, a, k, seconds)

    args = rref._record.number, *args
    future = send(func, args, None) if profiler is None else profiler("rpc_async", rref._info, func, args, None, send)
    future._add(lambda fut: rref)
    return future


def _rref_typeof_on_owner(number: int) -> Any:
    return type(value_of(number))


def _type_once_made(value: Future) -> Future:
    """Return a future of the type of the value that `value` will have; it fails with the value's error."""
    known = Future()

    def made(fut: Future) -> None:
        if fut._state == 2:
            known.set_exception(fut._value)
        else:
            known.set_result(type(fut._value))

    value._add(made)
    return known


def ask_type(rref: RRef, timeout: float, blocking: bool) -> Any:
    """Return the type of an RRef's value, or (if not `blocking`) a Future of it. The owner is asked only once."""
    if isinstance(rref._record, Owner):
        future = _type_once_made(rref._record.value)
    else:
        if rref._record.type_name is None:
            rref._record.type_name = call_owner(rref, _rref_typeof_on_owner, (), timeout)
        future = rref._record.type_name
    return future.wait() if blocking else future


def _backward(number: int, context_id: int, retain_graph: bool) -> None:
    value = value_of(number)
    if not isinstance(value, Tensor):
        raise RuntimeError(f"RRef should contain a tensor for .backward(), not {type(value).__name__}")
    if context_id == -1:
        value.backward(retain_graph=retain_graph)
    elif extensions.backward is None:
        raise RuntimeError("RRef.backward(context_id) needs mpigrad.distributed.autograd, which is not loaded here")
    else:
        extensions.backward(context_id, [value], retain_graph)


def backward_on_owner(rref: RRef, context_id: int, retain_graph: bool) -> None:
    """Run backward from an RRef's value, on its owner; see `RRef.backward`."""
    if isinstance(rref._record, Owner):
        _backward(rref._record.number, context_id, retain_graph)
        return
    if context_id == -1:
        raise RuntimeError("User RRefs require 'dist_autograd_ctx_id' to be specified")
    try:
        call_owner(rref, _backward, (context_id, retain_graph), UNSET_RPC_TIMEOUT).wait()
    except Exception as error:
        raise as_runtime_error(error) from error.__cause__


# -- RRef --------------------------------------------------------------------------------------------------------------
T = TypeVar("T")
_FETCH = int(MessageType.PYTHON_RREF_FETCH_CALL)


class RRef(Generic[T]):
    """A reference to `value`, which this worker owns. `rpc.remote` returns references to values on other workers.

    RRefs can be passed to other workers as arguments and results of calls. The value lives on its owner as long as any
    worker has an RRef to it. `type_hint` is only for modules compiled by `mpigrad.jit.script`: the interface
    (`mpigrad.jit.interface`) that the module implements. Creating an RRef sends nothing; RuntimeError if RPC is not
    initialised.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> rpc.RRef([1, 2]).local_value()
    [1, 2]
    >>> rpc.shutdown()
    """

    __slots__ = ("__weakref__", "_creation", "_info", "_record", "_table")
    _table: Table
    _record: Any  # an Owner on the owner, a User elsewhere
    _info: WorkerInfo  # of the owner
    _creation: Any  # the Future of the call that creates the value; None for forks

    def __init__(self, value: T, type_hint: Any = None) -> None:
        if type_hint is not None or getattr(value, "_is_script_module", False):
            _check_hint(value, type_hint)
        agent = get_agent()
        table = table_of(agent)
        record = table.new_owner(table.new_id())
        record.value.set_result(value)
        _fill(self, table, record, agent.info)

    # -- the owner -------------------------------------------------------------------------------------------------
    def is_owner(self) -> bool:
        """Return whether this worker owns the value."""
        return isinstance(self._record, Owner)

    def owner(self) -> WorkerInfo:
        """Return the `WorkerInfo` of the worker that owns the value."""
        return self._info

    def owner_name(self) -> str:
        """Return the name of the worker that owns the value."""
        return self._info.name

    def confirmed_by_owner(self) -> bool:
        """Return whether the owner has confirmed that it knows this RRef; always True on the owner.

        On another worker it is False until the owner has answered the call of `remote` that creates the value.
        """
        return isinstance(self._record, Owner) or self._record.confirmed

    # -- the value ---------------------------------------------------------------------------------------------------
    def local_value(self) -> T:
        """Return the value itself, on its owner; RuntimeError on another worker (use `to_here`).

        If the value is still being created, this waits without a limit. An exception of the function that creates it is raised.
        """
        if not isinstance(self._record, Owner):
            raise RuntimeError(
                f"For {_described(self._record)}, can't call localValue() on user {self._table.agent.info}. "
                f"Call it on owner {self._info}"
            )
        return self._record.value.wait()

    def to_here(self, timeout: float = UNSET_RPC_TIMEOUT) -> T:
        """Return a copy of the value; on its owner, the value itself. Waits until it has been created.

        `timeout` is in seconds, 0 for no limit; by default `rpc_timeout` of the options of `init_rpc`. After it a RuntimeError is
        raised; on the owner there is no limit. An exception of the function that creates the value is raised here.
        """
        if isinstance(self._record, Owner):
            return self._record.value.wait()
        agent = self._usable("to_here()")
        future = agent.call(
            self._info.id, _nothing, None, None, seconds_of(agent, timeout), kind=_FETCH, extra=self._record.number
        )
        try:
            if TRACING.on:
                from mpigrad.autograd.profiler import record_function

                with record_function(f"to_here#({agent.info.name})->({self._info.name})"):
                    return future.wait()
            return future.wait()
        except RpcTimeoutError as error:
            raise RpcTimeoutError(str(error).replace(label(_nothing), self._origin())) from None

    def _origin(self) -> str:
        """Return what is fetched, for the error of a timeout."""
        func = getattr(self._creation, "func", None)
        made_by = "the value" if func is None else f"the value of {func if isinstance(func, str) else label(func)}"
        return f"to_here() of {made_by} (RRef {_id(self._record.number)})"

    def _usable(self, what: str) -> Any:
        """Return the agent if this fork can still be used; otherwise raise an error with the reason.

        `what` is the operation, for the error.
        """
        record = self._record
        if record.error is not None:
            raise creation_error(record.error)
        if record.deleted or current.current.agent is None:
            raise RuntimeError(
                why_unusable()
                or f"{_described(record)} has been deleted. Cannot call {what} on it after deletion."
            )
        if self._info.id in self._table.agent.gone:
            raise self._table.agent.gone_error(self._info.id)
        if isinstance(record, User) and self._table.agent.epochs.get(record.owner, record.life) != record.life:
            raise _left_and_back(self._info, record.number)
        return self._table.agent

    def _get_future(self) -> Any:
        """Return the Future that is done when the owner has created the value; only for RRefs that `remote` returned here."""
        if self._creation is None:
            raise RuntimeError(f"{self!r} was not made by remote() on this worker, so there is no creation to wait for")
        return self._creation

    def _get_profiling_future(self) -> Any:
        """Return the Future that is done when the profiler has the events of the `remote` call; RuntimeError without one."""
        found = None if self._creation is None else extensions.profiling_futures.get(self._creation)
        if found is None:
            raise RuntimeError("Profiling future has not been set!")
        return found

    def _set_profiling_future(self, future: Any) -> None:
        """Set the future that `_get_profiling_future` returns."""
        extensions.profiling_futures[self._get_future()] = future

    def _get_type(self, timeout: float = UNSET_RPC_TIMEOUT, blocking: bool = True) -> Any:
        """Return the type of the value; a Future of it if not `blocking`. `timeout` is in seconds."""
        return ask_type(self, timeout, blocking)

    def _serialize(self) -> Any:
        check_forkable(self._record)
        raise RuntimeError(_ONLY_IN_RPC)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._serialize()

    # -- calls -------------------------------------------------------------------------------------------------------
    def rpc_sync(self, timeout: float = UNSET_RPC_TIMEOUT) -> T:
        """Return a proxy: `rref.rpc_sync().method(*args)` runs the method on the owner and returns its result.

        `timeout` is that of the call, in seconds, 0 for no limit; by default `rpc_timeout` of the options of `init_rpc`.
        The result is annotated with the type of the value, so that type checkers know the methods.

        >>> import mpigrad.distributed.rpc as rpc
        >>> rpc.init_rpc("solo", rank=0, world_size=1)
        >>> numbers = rpc.remote("solo", list, args=((1, 2, 2),))
        >>> numbers.rpc_sync().count(2)
        2
        >>> rpc.shutdown()
        """
        return _proxy(self, "rpc_sync", timeout)

    def rpc_async(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """Return a proxy: `rref.rpc_async().method(*args)` starts the method on the owner and returns a `Future` of its result.

        `timeout` is that of the call, in seconds, 0 for no limit; by default `rpc_timeout` of the options of `init_rpc`.
        """
        return _proxy(self, "rpc_async", timeout)

    def remote(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """Return a proxy: `rref.remote().method(*args)` starts the method on the owner and returns an `RRef` to its result.

        `timeout` is that of the call, in seconds, 0 for no limit; by default `rpc_timeout` of the options of `init_rpc`.
        """
        return _proxy(self, "remote", timeout)

    def backward(self, dist_autograd_ctx_id: int = -1, retain_graph: bool = False) -> None:
        """Run backward from the value, a tensor with one element, on its owner. RuntimeError if the value is no tensor.

        Args:
            dist_autograd_ctx_id: the id of a distributed autograd context, into which the gradients go, on all workers.
                With -1 the backward is a local one, into the leaves' `.grad`; it must be called on the owner (RuntimeError
                elsewhere).
            retain_graph: whether to keep the graph for another backward.
        """
        backward_on_owner(self, dist_autograd_ctx_id, retain_graph)

    def __repr__(self) -> str:
        record = self._record
        if isinstance(record, Owner):
            return f"OwnerRRef({_id(record.number)})"
        return f"UserRRef(RRefId = {_id(record.number)}, ForkId = {_id(record.fork - 1)})"

    @edge
    def __del__(self) -> None:
        before = enter()  # no exception may be raised here: see `leave_later`
        record = getattr(self, "_record", None)
        if isinstance(record, User):
            self._table.object_gone(record)
        leave_later(before)


_ONLY_IN_RPC = (
    "Can not pickle rref in python pickler, rref can only be pickled when using RPC: pass it as an argument or a result of "
    "a call"
)


def _check_hint(value: Any, hint: Any) -> None:
    if not getattr(value, "_is_script_module", False):
        raise RuntimeError("type_hint should only be specified when the RRef being created contains a ScriptModule.")
    if hint is None:
        raise RuntimeError(
            "The RRef being created contains a ScriptModule, must provide its ModuleInterface type hint. "
        )
    value._check_interface(hint)


def _fill(rref: RRef, table: Table, record: Owner | User, info: WorkerInfo, creation: Any = None) -> RRef:
    rref._table, rref._record, rref._info, rref._creation = table, record, info, creation
    return rref


def make(table: Table, record: Owner | User, creation: Any = None) -> RRef:
    """Create the Python object (`RRef`) for a record of the table.

    `creation` is the Future of the call that creates the value.
    """
    agent = table.agent
    rank = agent.rank if isinstance(record, Owner) else record.owner
    info = agent.workers.get(rank) or agent.left.get(rank) or WorkerInfo(f"rank{rank}", rank)
    return _fill(object.__new__(RRef), table, record, info, creation)


def check_forkable(record: Owner | User) -> None:
    """Raise an error if the RRef of a record cannot be sent: its creation failed, or it has been deleted."""
    if isinstance(record, Owner):
        if record.value._state == 2 and isinstance(record.value._value, CreationTimedOutError):
            raise CreationTimedOutError from record.value._value
    elif record.error is not None:
        raise creation_error(record.error)
    elif record.deleted:
        raise RuntimeError(f"{_described(record)} has been deleted. Cannot call fork an UserRRef after deletion.")


def _described(user: User) -> str:
    return f"UserRRef(rref_id={_id(user.number)}, fork_id={_id(user.fork - 1)})"


def _id(number: int) -> GloballyUniqueId:
    return GloballyUniqueId.of(number)


def _nothing() -> None:
    """Stands for the function in a request to fetch a value; never called, since `_serve_fetch` serves the request."""


_proxy: Callable[[RRef, str, float], Any]  # (RRef, function of RPC, timeout); see `install_proxy`


def install_proxy(proxy: Callable[[RRef, str, float], Any]) -> None:
    """Set the class of the proxies that `rref.rpc_sync()` etc. return.

    It calls the public API, and so is in a layer above this one.
    """
    global _proxy
    _proxy = proxy


extensions.worker_lost_hooks.append(lambda agent, rank: table_of(agent).rank_lost(rank))


def _quiet(agent: Agent) -> bool:
    return agent.rrefs.quiet()


extensions.quiet_hooks.append(_quiet)


# -- remote --------------------------------------------------------------
_REMOTE = int(MessageType.PYTHON_REMOTE_CALL)
_NEW = 1  # extra2 of a remote call if the caller is a user, whose fork the owner must count


@overload
def remote(
    to: To, func: Callable[..., futures.Future[T]], args: Args = None, kwargs: Kwargs = None, timeout: float = UNSET_RPC_TIMEOUT
) -> RRef[T]: ...
@overload
def remote(
    to: To, func: Callable[..., T], args: Args = None, kwargs: Kwargs = None, timeout: float = UNSET_RPC_TIMEOUT
) -> RRef[T]: ...
def remote(
    to: Any, func: Callable[..., Any], args: Any = None, kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT
) -> RRef:
    """Start `func(*args, **kwargs)` on the worker `to` and return an `RRef` to its result at once; the result stays there.

    The arguments are those of `rpc_sync`. If the function raises an exception, or has not returned after `timeout` seconds,
    using the RRef raises that error, for example in `to_here`.

    >>> import mpigrad.distributed.rpc as rpc
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> rpc.remote("solo", max, args=(2, 3)).to_here()
    3
    >>> rpc.shutdown()
    """
    agent = get_agent()
    if not callable(func):
        raise TypeError("function should be callable.")
    if type(func) is MethodType:
        check_call(func, args, kwargs)
    info = agent.find(to)
    before = enter()
    try:
        return _remote(agent, info, func, args, kwargs, timeout)
    finally:
        leave(before)


def _remote(agent: Agent, info: WorkerInfo, func: Any, args: Any, kwargs: Any, timeout: float) -> RRef:
    table = table_of(agent)
    number, seconds = table.new_id(), seconds_of(agent, timeout)
    if info.id == agent.rank:
        return _own(agent, number, func, args, kwargs, seconds)
    user = User(number, info.id, table.new_id() + 1, info.id, 0, False, agent.epochs.get(info.id, 0))
    table.add_user(user)  # before the call: another thread may receive the confirmation at once
    try:
        answer = _call(agent, info, func, args, kwargs, seconds, number, _NEW)
    except BaseException as error:
        table.confirm(user, error)
        raise
    answer._add(lambda fut: table.confirm(user, _error_of(fut)))
    return make(table, user, answer)


def _call(agent: Agent, info: Any, func: Any, args: Any, kwargs: Any, seconds: float, number: int, extra2: int) -> Any:
    def send(f: Any, a: Any, k: Any) -> Any:
        return agent.call(info.id, f, a, k, seconds, kind=_REMOTE, extra=number, extra2=extra2)

    profiler = extensions.profiler
    return send(func, args, kwargs) if profiler is None else profiler("rpc_remote", info, func, args, kwargs, send)


def _own(agent: Agent, number: int, func: Any, args: Any, kwargs: Any, seconds: float) -> RRef:
    """Make a `remote` call to this worker itself: create the owner's record, whose value a call to this worker sets."""
    table = table_of(agent)
    owner = table.new_owner(number)
    answer = _call(agent, agent.info, func, args, kwargs, seconds, number, 0)
    rref = make(table, owner, answer)
    answer._add(lambda fut: _fail_if_unfilled(owner, fut))
    return rref


def _fail_if_unfilled(owner: Owner, answer: Any) -> None:
    error = _error_of(answer)
    if error is not None:
        _complete(owner, None, creation_error(error))


def _complete(owner: Owner, value: Any, error: Any = None) -> None:
    """Set the value of an RRef, or the error of creating it, unless the creation has timed out."""
    try:
        if error is None:
            owner.value.set_result(value)  # which also records the streams of GPU tensors
        else:
            owner.value._set(2, error)
    except RuntimeError:
        if not owner.value.done():
            raise


def _error_of(fut: Any) -> BaseException | None:
    try:
        fut.value()
    except BaseException as error:
        return error
    return None


def _serve_remote(agent: Agent, header: extensions.CallHeader, execute: Callable[[], Any]) -> Any:
    """Serve the request of a `remote` call: create the value. An error of the function becomes the RRef's, not the request's."""
    table = table_of(agent)
    owner = table.new_owner(header.extra)
    if header.extra2 == _NEW:
        table.count_child(owner, header.src)
    table.keep(owner)  # until the value is set, even if all forks end before
    try:
        result, later = execute()
    except BaseException as error:
        print_error(agent.info, error)
        _complete(owner, None, _portable(agent, error))
    else:
        if later:
            result._add(lambda fut: _fill_from(agent, owner, fut))
            return result.then(lambda fut: table.unkeep(owner.number))
        _complete(owner, result)
    table.unkeep(owner.number)
    return None


def _portable(agent: Agent, error: BaseException) -> Any:
    """Return a copy of an error to keep in an RRef, with its traceback as text.

    Real frames would keep their objects alive, which may include that RRef.
    """
    return unpack_error(pack_error(agent.info, error))


def _fill_from(agent: Agent, owner: Owner, fut: Any) -> None:
    error = _error_of(fut)
    if error is None:
        _complete(owner, fut.value())
    else:
        _complete(owner, None, _portable(agent, error))


def _serve_fetch(agent: Agent, header: extensions.CallHeader, execute: Callable[[], Any]) -> Any:
    """Serve the request of `to_here`: return the value, or a Future of it if it has not been created yet."""
    table = table_of(agent)
    owner = table.owner(header.extra)
    if owner.value.done():
        value = owner.value.value()
        return owner.value if isinstance(value, Future) else value  # a value that is a future cannot be sent, nor awaited
    table.keep(owner)  # nothing else keeps it if the call that creates the value has not arrived
    owner.value._add(lambda fut: table.unkeep(owner.number))
    return owner.value


extensions.register_call_handler(_REMOTE, _serve_remote)
extensions.register_call_handler(MessageType.PYTHON_RREF_FETCH_CALL, _serve_fetch)


# -- RRefs inside messages ---------------------------------------------------------------------------------------------
# number, owner's rank, fork id, fork id of the sender (0: it is the owner), incarnation of the owner
_FORK = struct.Struct("<QIQQH")


class _Hook:
    """Encodes and decodes RRefs in messages, and counts their forks; see `extensions.RRefHook`."""

    types: tuple[type, ...] = (RRef,)

    def pack(self, agent: Agent, dst: int, rrefs: Sequence[RRef]) -> bytes:
        table, made = table_of(agent), []
        for rref in rrefs:
            record = rref._record
            check_forkable(record)
            table.count_child(record, dst)
            own, life = (0, agent.epoch) if isinstance(record, Owner) else (record.fork, record.life)
            made.append(_FORK.pack(record.number, rref._info.id, table.new_id() + 1, own, life))
        return b"".join(made)

    def undo(self, agent: Agent, dst: int, data: bytes) -> None:
        """Remove the forks of a message that could not be sent."""
        for number, _, _, own, _ in _FORK.iter_unpack(data):
            table_of(agent).child_ended(own, number, dst)

    def unpack(self, agent: Agent, src: int, data: bytes) -> list[RRef]:
        return [_received(agent, src, *fields) for fields in _FORK.iter_unpack(bytes(data))]


def _received(agent: Agent, src: int, number: int, owner: int, fork: int, parent_fork: int, life: int) -> RRef:
    """Return the RRef for a fork that the worker `src` has sent, with these fields."""
    table = table_of(agent)
    if owner == agent.rank:  # sent back to its owner: use the owner's record, and end the fork
        record = table.owner(number)
        if life != agent.epoch:
            _complete(record, None, _left_and_back(agent.info, number))
        made = make(table, record)
        table.enqueue(table.tell_parent, src, parent_fork, number)
        return made
    user = User(number, owner, fork, src, parent_fork, True, life)
    table.add_user(user)
    if src in agent.gone:  # the message waited for a thread while its sender was lost
        table.enqueue(table.move_orphans, src)
    return make(table, user)


def _left_and_back(info: WorkerInfo, number: int) -> WorkerGoneError:
    return WorkerGoneError(f"{info} has left this RPC world and joined it again, so the value of RRef {_id(number)} is gone")


def _handle_accept(agent: Agent, message: Any) -> None:
    table = table_of(agent)
    table.enqueue(table._count_moved, message.body, message.src)


def _handle_delete(agent: Agent, message: Any) -> None:
    table_of(agent).child_ended(message.extra, message.extra2, message.src)


extensions.install_rref_hook(_Hook())
extensions.register_handler(_ACCEPT, _handle_accept)
extensions.register_handler(_DELETE, _handle_delete)
