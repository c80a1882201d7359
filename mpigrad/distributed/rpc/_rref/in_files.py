"""RRefs in the files of scripted modules: refused, unless `_enable_jit_rref_pickle()` says that the file goes to another worker.

A message counts its forks for the worker that it goes to; a file goes nowhere in particular. So the worker that writes it holds
the RRef as a child of its own, until the first reader claims it: that one is then counted as if it had been sent the RRef. Later
readers may claim as well, as long as the writer still has the RRef.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from typing import Any

from mpigrad._core.rpc.owner_calls import seconds_of
from mpigrad._core.rpc.rref import RRef, make
from mpigrad._core.rpc.table import Owner, Table, User, table_of

from .._agent.current import get_agent

Packed = tuple[int, int, int, int]  # number, owner's rank, writer's rank, the writer's own fork (0: it is the owner)

_held: weakref.WeakKeyDictionary[Table, Counter[tuple[int, int]]] = weakref.WeakKeyDictionary()  # by (fork, number)
_lock = threading.Lock()


class _Allowed(threading.local):
    """Whether this thread may write RRefs into files."""

    now = False


_allowed = _Allowed()


def _enable_jit_rref_pickle() -> None:
    """Let `jit.save` write RRefs, in this thread."""
    _allowed.now = True


def _disable_jit_rref_pickle() -> None:
    """Let `jit.save` refuse RRefs again."""
    _allowed.now = False


def pack(rref: RRef) -> Packed:
    """An RRef for a file."""
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
    """The RRef of a file, counted by the worker that wrote it."""
    agent = get_agent()
    table = table_of(agent)
    if owner not in agent.workers or writer not in agent.workers:
        raise RuntimeError("the RRef in this file belongs to no worker of this job")
    if owner == agent.rank:
        record = table.owners.get(number)
        if record is None:
            raise RuntimeError("the RRef in this file is gone")
        made = make(table, record)
        agent.call(writer, _claim, (number, fork, None), None, seconds_of(agent, -1)).wait()
        return made
    agent.call(writer, _claim, (number, fork, agent.rank), None, seconds_of(agent, -1)).wait()
    user = User(number, owner, table.new_id() + 1, writer, fork, confirmed=True)
    table.add_user(user)
    return make(table, user)


def _claim(number: int, fork: int, reader: int | None) -> None:
    """Runs on the writer: count the reader (None: the owner itself, who needs no fork), and end the hold of the file."""
    table = table_of(get_agent())
    record: Any = table.users.get(fork) if fork else table.owners.get(number)
    if record is None:
        raise RuntimeError("the RRef in this file is gone")
    if reader is not None:
        table.count_child(record, reader)
    with _lock:
        held = _held.get(table, Counter())
        first = held[fork, number] > 0
        if first:
            held[fork, number] -= 1
    if first:
        table.child_ended(fork, number, table.agent.rank)
