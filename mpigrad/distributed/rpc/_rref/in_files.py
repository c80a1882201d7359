"""RRefs in the files of scripted modules: refused, unless `_enable_jit_rref_pickle()` allows them in this thread.

A message counts a fork for its receiver, but a file has no known reader. So the worker that writes the file counts itself as a
child of the RRef until the first reader claims it; from then on that reader is counted, as if the RRef had been sent to it.
Later readers may claim as well, as long as the writer still has the RRef.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from typing import Any

from mpigrad._core.rpc.rref import Owner, RRef, Table, User, make, seconds_of, table_of

from .._agent.current import get_agent

Packed = tuple[int, int, int, int]  # number, owner's rank, writer's rank, the writer's fork id (0: it is the owner)

_held: weakref.WeakKeyDictionary[Table, Counter[tuple[int, int]]] = weakref.WeakKeyDictionary()  # by (fork, number)
_lock = threading.Lock()


class _Allowed(threading.local):
    """Whether this thread may write RRefs into files."""

    now = False


_allowed = _Allowed()


def _enable_jit_rref_pickle() -> None:
    """Allow `jit.save` to write RRefs into files in this thread; without this it raises a RuntimeError."""
    _allowed.now = True


def _disable_jit_rref_pickle() -> None:
    """Make `jit.save` refuse RRefs in this thread again."""
    _allowed.now = False


def pack(rref: RRef) -> Packed:
    """Encode an RRef for a file, and count the file as a child of it; RuntimeError unless this thread may (see above)."""
    if not _allowed.now:
        raise RuntimeError("RRef jit pickling is only allowed inside RPC calls.")
    table, record = rref._table, rref._record
    if isinstance(record, User):
        rref._usable("_jit_pickle")
    fork = 0 if isinstance(record, Owner) else record.fork
    with _lock:
        _held.setdefault(table, Counter())[fork, record.number] += 1
    table.count_child(record, table.agent.rank)
    return record.number, rref._info.id, table.agent.rank, fork


def unpack(number: int, owner: int, writer: int, fork: int) -> RRef:
    """Return the RRef for what `pack` has written into a file; the worker that wrote the file then counts it.

    RuntimeError if its workers are not in this job, or the value has been freed.
    """
    agent = get_agent()
    table = table_of(agent)
    if owner not in agent.workers or writer not in agent.workers:
        raise RuntimeError("the RRef in this file belongs to no worker of this job")
    if owner == agent.rank:
        record = table.owners.get(number)
        if record is None:
            raise RuntimeError("the value of the RRef in this file has been freed")
        made = make(table, record)  # first: once the claim is served, the file does not keep the value any more
        agent.call(writer, _claim, (number, fork, None), None, seconds_of(agent, -1)).wait()
        return made
    agent.call(writer, _claim, (number, fork, agent.rank), None, seconds_of(agent, -1)).wait()
    user = User(number, owner, table.new_id() + 1, writer, fork, True, table.agent.epochs.get(owner, 0))
    table.add_user(user)
    return make(table, user)


def _claim(number: int, fork: int, reader: int | None) -> None:
    """Count the worker `reader` as a child of an RRef in a file, and stop counting the file. Runs on the writer of the file.

    `reader` is None if it is the owner, which needs no fork; `number` and `fork` are those of `pack`.
    """
    table = table_of(get_agent())
    record: Any = table.users.get(fork) if fork else table.owners.get(number)
    if record is None:
        raise RuntimeError("the value of the RRef in this file has been freed")
    if reader is not None:
        table.count_child(record, reader)
    with _lock:
        held = _held.get(table, Counter())
        first = held[fork, number] > 0
        if first:
            held[fork, number] -= 1
    if first:
        table.child_ended(fork, number, table.agent.rank)
