"""Dynamic worlds: ranks join and leave at any time, with no collective operation.

A rank that joins tells all ranks of the communicator its name and *epoch* (the number of this incarnation). Members
answer with theirs; a rank that is not a member yet finds the message when it joins. A rank that leaves tells all
ranks as well, members or not. Messages from one rank to another arrive in order, so a stale "join" is always followed
by its "leave". `close` comes before the "leave" message, so no rank is welcomed after it.

There is no private duplicate of the communicator, because making one is collective. The world uses the communicator
it is given, or COMM_WORLD, with tags from the upper half of the allowed range. A program that receives with ANY_TAG
on COMM_WORLD must give `init_rpc` a separate communicator. Each frame carries the epoch of the incarnation it is
meant for; frames for another one are dropped.

A joining rank can learn which ranks are members, but not which are not. `init_rpc` therefore returns when every member that
this rank has heard of has answered or left, and at the latest after GRACE seconds without news of them. If no rank
answers at all, it gives up after LOOKS polls, 2 ms apart, and PAUSES times the longest of these polls: if the machine
is so busy that this rank had to wait for a core, members may be waiting for one now. After LONGEST seconds without an
answer it gives up in any case. A call to an unknown name or rank waits GRACE seconds for it to join before it fails.

Members remember which incarnations of a rank have left, even of ranks that they did not know as members: a member that adopts
RRefs (`_rref/adoption.py`) asks the others for it, and a graceful shutdown waits for the answers.
"""

from __future__ import annotations

import itertools
import logging
import struct
import threading
import time
from typing import TYPE_CHECKING, Any

from mpigrad._core import guard
from mpigrad._core.future import Future, block
from mpigrad._process.survival import incarnation, lost_before, replaced
from mpigrad.distributed._mpi import mpi

from .._agent import current
from .._agent.device_maps import Profile
from .._protocol import extensions
from .._protocol.lost import BY_SUCCESSOR
from .._protocol.message import MessageType
from .._protocol.worker_info import WorkerInfo
from .._transport.choose import open_transport
from .device_profiles import agent_class, begin, decode_introduction, encode_introduction, member_joined, own_profile
from .drain import note_bye, used_group
from .lost import lose
from .new_agent import new_agent

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent
    from mpigrad._core.rpc.transport import Transport

LOOKS = 100  # polls, if no rank answers
PAUSES = 20  # times the longest poll
LONGEST = 5.0  # seconds, if no rank answers
GRACE = 2.0  # seconds without news of a known member
logger = logging.getLogger(__name__)
_RANK = struct.Struct("<I")
_lives = itertools.count(1)
_left: dict[int, dict[int, int]] = {}  # handle of a communicator -> rank -> its latest incarnation that has left


def join_dynamic(name: str, comm: Any, options: Any) -> Agent:
    """Join the dynamic world of a communicator and return the agent; RuntimeError if another member has this name."""
    upper = comm.Get_attr(mpi().TAG_UB) or 32767
    used_group(comm, upper // 2)
    left = _left.setdefault(mpi()._handleof(comm), {})
    transport = open_transport(comm, first_tag=upper // 2)
    if comm == mpi().COMM_WORLD:  # or messages of lost processes, sent to this spare when it waited, would be taken for new ones
        transport.dead |= lost_before()
    return join(name, transport, options, left)


def join(name: str, transport: Transport, options: Any, left: dict[int, int] | None = None) -> Agent:
    """Join the dynamic world of a transport's communicator and return the agent; RuntimeError if another member has this name.

    `left` is what this rank remembers from its earlier incarnations: rank -> latest incarnation that has left.
    """
    profiles = own_profile(name, options)
    agent = new_agent(name, transport, options, agent_class(name, profiles))
    begin(agent, profiles, options, static=False)
    agent.static = False
    agent.epoch = (incarnation() + next(_lives) - 1) % 65535 + 1  # 16 bits in the header; 0 means static
    agent.membership = Membership(agent, {} if left is None else left)
    agent.unknown_worker = agent.membership.await_worker
    current.set_agent(agent)
    agent.membership.announce()
    agent.progress.pool.start()
    try:
        agent.membership.join()
    except BaseException:
        current.set_agent(None)
        agent.membership.close()
        agent.progress.pool.stop()
        transport.close(clean=False)
        raise
    return agent


class Membership:
    """One member of a dynamic world: how it joins and leaves, and which other members it knows.

    Messages are handled on any thread that polls. `left` is rank -> its latest incarnation that has left.
    """

    def __init__(self, agent: Agent, left: dict[int, int]) -> None:
        self._agent, self._left = agent, left
        for rank, epoch in {**left, agent.rank: agent.epoch - 1}.items():
            agent.rrefs.note_lost(rank, epoch)
        self._expected: set[int] = set()
        self._welcomed: set[int] = set()
        self._refused: str | None = None
        self._joining = True
        self._news = time.monotonic()
        self._open = True
        self._admission = threading.Lock()  # held while a member is welcomed, and while `close` runs

    def announce(self) -> None:
        """Send a JOIN to all ranks.

        Before anything is received: the JOIN is for any incarnation of a rank, so no epoch of a rank may be known yet.
        """
        agent, place = self._agent, replaced()
        lost = 0 if place is None else place + 1
        for rank in self._others():
            agent.notify(rank, MessageType.JOIN, encode_introduction(agent), extra=agent.epoch, extra2=lost)

    def join(self) -> None:
        """Wait for the answers of all members; RuntimeError if one of them has the same name."""
        self._news, looks, longest = time.monotonic(), 0, 0.0
        while self._others() and self._refused is None and not self._settled(time.monotonic() - self._news, looks, longest):
            began = time.monotonic()
            block(Future(), began + 0.002)  # a pause in which threads of the pool receive the answers
            guard.deliver()
            looks, longest = looks + 1, max(longest, time.monotonic() - began)
        self._joining = False
        if self._refused is not None:
            raise RuntimeError(self._refused)

    def close(self) -> None:
        """Accept no more members, and tell every rank that this incarnation is over."""
        with self._admission:
            self._open = False
        agent = self._agent
        agent.epochs.clear()  # frames without an epoch are for any incarnation of a rank
        for rank in self._others():
            agent.notify(rank, MessageType.LEAVE, extra=agent.epoch)

    def _others(self) -> list[int]:
        return [rank for rank in range(self._agent.transport.size) if rank != self._agent.rank]

    def _settled(self, silence: float, looks: int, longest: float) -> bool:
        """Return whether to stop waiting for answers.

        There was no news for `silence` seconds, in `looks` polls, of which the longest took `longest` seconds.
        """
        if not self._expected:
            return looks >= LOOKS and silence >= PAUSES * longest or silence > LONGEST
        return self._expected <= self._welcomed | self._agent.gone.keys() | self._dead() or silence > GRACE

    def _dead(self) -> set[int]:
        """Return the ranks that the transport knows to be lost."""
        return getattr(self._agent.transport, "dead", set())

    def on_join(self, message: extensions.RawMessage) -> None:
        """Handle the JOIN of another rank: add it and answer with a WELCOME, or refuse it if its name is taken."""
        with self._admission:
            if self._open:
                self._answer_join(message)

    def _answer_join(self, message: extensions.RawMessage) -> None:
        agent = self._agent
        name, profile = decode_introduction(message.body)
        if message.extra2:  # the sender has taken the place of a lost process, of which this worker may not know yet
            lost = message.extra2 - 1
            lose(agent, lost, agent.epochs.get(lost, 0), BY_SUCCESSOR, message.src)
        taken = agent.by_name.get(name)
        if taken is not None and taken.id != message.src:
            text = f"RPC worker name {name} is not unique: rank {taken.id} uses it, so rank {message.src} cannot"
            # if two ranks join with the same name at the same time, the lower rank keeps it
            if taken.id == agent.rank and self._joining and message.src < agent.rank:
                self._refused = f"RPC worker name {name} is not unique: rank {message.src} uses it, so rank {taken.id} cannot"
            else:
                agent.epochs[message.src] = message.extra  # else the answer would go to an earlier incarnation
                agent.notify(message.src, MessageType.WELCOME, b"\0" + text.encode(), extra=message.extra)
            return
        self._add(message.src, name, profile, message.extra)
        members = b"".join(_RANK.pack(rank) for rank in list(agent.workers))
        mine = encode_introduction(agent)
        body = b"\1" + _RANK.pack(len(mine)) + mine + members
        agent.notify(message.src, MessageType.WELCOME, body, extra=agent.epoch)

    def on_welcome(self, message: extensions.RawMessage) -> None:
        """Handle the answer to this worker's JOIN: add the member and note which others it knows; or note the refusal."""
        body = message.body
        self._news = time.monotonic()
        if body[:1] == b"\0":
            if message.extra == self._agent.epoch:
                self._refused = body[1:].decode()
                if not self._joining:
                    logger.error("%s joined, but should not have: %s", self._agent.info, self._refused)
            return
        end = 5 + _RANK.unpack_from(body, 1)[0]
        self._add(message.src, *decode_introduction(body[5:end]), message.extra)
        known = {rank for (rank,) in _RANK.iter_unpack(body[end:])}
        self._welcomed.add(message.src)
        self._expected |= known - {self._agent.rank}

    def _add(self, rank: int, name: str, profile: Profile, epoch: int) -> None:
        agent = self._agent
        known = agent.workers.get(rank)
        if rank in self._dead():  # the process has ended since it sent this
            return
        if known is not None and agent.epochs.get(rank) == epoch:  # both JOIN and WELCOME introduce a member
            return
        if known is not None:
            agent.lose(rank, f"{known} has left this RPC world, so calls to it cannot be answered")
        self.note_left(rank, epoch - 1)  # its messages arrive in order: those of earlier incarnations have all arrived
        agent.gone.pop(rank, None)
        agent.epochs[rank] = epoch
        agent.workers[rank] = agent.by_name[name] = WorkerInfo(name, rank)
        member_joined(agent, name, profile)

    def note_left(self, rank: int, epoch: int) -> None:
        """Remember that an incarnation of a rank has left, whether this worker knew it or not.

        If it was known, `lose` must be called first.
        """
        self._agent.rrefs.enqueue(self._note, rank, epoch)

    def _note(self, rank: int, epoch: int) -> None:
        self._agent.rrefs.note_lost(rank, epoch)
        self._left[rank] = self._agent.rrefs.lost[rank]

    def await_worker(self, to: Any) -> WorkerInfo | None:
        """Wait up to GRACE seconds for the worker with this name or rank; returns its `WorkerInfo`, None if it does not join."""
        agent = self._agent
        limit = time.monotonic() + GRACE
        while to not in agent.gone and time.monotonic() < limit:
            found = agent.by_name.get(to) if isinstance(to, str) else agent.workers.get(to)
            if found is not None:
                return found
            if isinstance(to, str) and any(f"name={to})" in why for why in agent.gone.values()):
                return None
            block(Future(), time.monotonic() + 0.002)
            guard.deliver()
        return None

    def leave(self, deadline: float | None) -> None:
        """Wait for this worker's own calls, then until the others have no calls to it; TimeoutError after the deadline."""
        agent = self._agent
        self._until(agent.quiet, deadline)
        told = [
            agent.request(rank, MessageType.DEPART, timeout=0) for rank in list(agent.workers) if rank != agent.rank
        ]
        self._until(lambda: all(fut.done() for fut in told), deadline)
        self._until(agent.quiet, deadline)  # calls of others may have started new work here

    def _until(self, condition: Any, deadline: float | None) -> None:
        while not condition():
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"{self._agent.info} still had unanswered calls")
            block(Future(), time.monotonic() + 0.002)
            guard.deliver()

    def on_depart(self, message: extensions.RawMessage) -> Future:
        """A member wants to leave: start no calls to it any more, and answer when those that are pending have ended."""
        agent = self._agent
        info = agent.workers.pop(message.src, None)
        if info is not None:
            agent.by_name.pop(info.name, None)
            agent.gone[message.src] = f"{info} has left this RPC world, so calls to it cannot be answered"
        ready = Future()
        self._answer_departing(message.src, ready)
        return ready

    def _answer_departing(self, rank: int, ready: Future) -> None:
        calls = [
            fut for fut in list(self._agent.calls.pending.values()) if fut.dst == rank and fut.func != "DEPART"
        ]
        if calls:
            self._agent.after(0.005, lambda: self._answer_departing(rank, ready))
        else:
            ready.set_result(None)


def _on_join(agent: Agent, message: extensions.RawMessage) -> None:
    if agent.membership is not None:  # None in static worlds
        agent.membership.on_join(message)


def _on_welcome(agent: Agent, message: extensions.RawMessage) -> None:
    if agent.membership is not None:
        agent.membership.on_welcome(message)


def _on_bye(agent: Agent, message: extensions.RawMessage) -> None:
    note_bye(message.src)


def _on_depart(agent: Agent, message: extensions.RawMessage) -> Future:
    if agent.membership is None:
        raise RuntimeError(f"{agent.info} is not in a dynamic world, so no worker can leave it")
    return agent.membership.on_depart(message)


extensions.register_handler(MessageType.JOIN, _on_join)
extensions.register_handler(MessageType.WELCOME, _on_welcome)
extensions.register_handler(MessageType.BYE, _on_bye)
extensions.register_handler(MessageType.DEPART, _on_depart)
