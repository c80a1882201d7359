"""RRefs inside messages: forks are counted as they leave and come to be as they arrive."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.message import MessageType

from .rref import RRef, check_forkable, make
from .table import Owner, User, table_of

if TYPE_CHECKING:
    from .agent import Agent

_FORK = struct.Struct("<QIQQ")  # number, owner's rank, the fork, the sender's own fork (0: it is the owner)


class _Hook:
    """See `extensions.RRefHook`."""

    types: tuple[type, ...] = (RRef,)

    def pack(self, agent: Agent, dst: int, rrefs: Sequence[RRef]) -> bytes:
        table, made = table_of(agent), []
        for rref in rrefs:
            record = rref._record
            check_forkable(record)
            table.count_child(record, dst)
            own = 0 if isinstance(record, Owner) else record.fork
            made.append(_FORK.pack(record.number, rref._info.id, table.new_id() + 1, own))
        return b"".join(made)

    def undo(self, agent: Agent, dst: int, data: bytes) -> None:
        """Take forks back that could not be sent."""
        for number, _, _, own in _FORK.iter_unpack(data):
            table_of(agent).child_ended(own, number, dst)

    def unpack(self, agent: Agent, src: int, data: bytes) -> list[RRef]:
        return [_received(agent, src, *fields) for fields in _FORK.iter_unpack(bytes(data))]


def _received(agent: Agent, src: int, number: int, owner: int, fork: int, parent_fork: int) -> RRef:
    table = table_of(agent)
    if owner == agent.rank:  # it came home: the owner's own record serves, and the fork ends here
        made = make(table, table.owner(number))
        table.enqueue(table.tell_parent, src, parent_fork, number)
        return made
    user = User(number, owner, fork, src, parent_fork, confirmed=True)
    table.add_user(user)
    return make(table, user)


def _handle_delete(agent: Agent, message: Any) -> None:
    table_of(agent).child_ended(message.extra, message.extra2, message.src)


extensions.install_rref_hook(_Hook())
extensions.register_handler(MessageType.RREF_USER_DELETE, _handle_delete)
