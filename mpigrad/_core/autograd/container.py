"""This worker's distributed autograd: its contexts by id, the context of the current thread, and what is under way.

Ids of contexts and messages have 64 bits, the worker's id in the top 16, so that every worker can number on its own. A
context exists on a worker from the first message that names it until the release.

A message that comes late must not bring a context back to life. Workers number their contexts in order, and with each
release goes the *floor* of the worker that made the context: all of its ids below are of released contexts. So a worker
remembers one number for each other, and the few ids above it that were released out of order.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

from mpigrad._core.mutex import Mutex
from mpigrad.distributed.rpc._agent import current
from mpigrad.distributed.rpc._protocol import extensions

from .context import DistAutogradContext

if TYPE_CHECKING:
    from ..rpc.agent import Agent
    from .initiator import RootBranch

LOCAL_BITS = 48
_REMEMBERED = 1 << 12  # released ids above the floor that are remembered for each worker; a message is never this late


class _Current(threading.local):
    """The context of this thread."""

    context: DistAutogradContext | None = None


CURRENT = _Current()


class Container:
    """All contexts of one worker."""

    def __init__(self, worker_id: int) -> None:
        if not 0 <= worker_id < 1 << 16:
            raise RuntimeError(f"worker_id needs to be in the range [0, {(1 << 16) - 1}], got {worker_id}")
        self.worker_id = worker_id
        self.contexts: dict[int, DistAutogradContext] = {}
        self._lock = Mutex()
        start = worker_id << LOCAL_BITS
        self._next = start
        self._floors = {worker_id: start}  # by the worker that made them: its contexts below were all released
        self._released: dict[int, dict[int, None]] = {}  # the same worker's, above its floor
        self._message_ids = itertools.count(start)
        self.max_id = start | ((1 << LOCAL_BITS) - 1)
        self.new_message_id = self._message_ids.__next__

    def new_context(self) -> DistAutogradContext:
        """Make a context and make it this thread's."""
        if CURRENT.context is not None:
            raise RuntimeError(f"Already have an autograd context id for this thread: {CURRENT.context.context_id}")
        self._lock.acquire()
        try:
            context_id = self._next
            if context_id > self.max_id:
                raise RuntimeError("We have run out of autograd context ids!!!")
            self._next = context_id + 1
            made = self.contexts[context_id] = DistAutogradContext(context_id)
        finally:
            self._lock.release()
        CURRENT.context = made
        return made

    def get_or_create(self, context_id: int) -> DistAutogradContext | None:
        """The context that a message names, made if it is the first to do so; None if it was released already."""
        found = self.contexts.get(context_id)
        if found is not None:
            return found
        self._lock.acquire()
        try:
            if self._was_released(context_id):
                return None
            return self.contexts.setdefault(context_id, DistAutogradContext(context_id))
        finally:
            self._lock.release()

    def retrieve(self, context_id: int) -> DistAutogradContext:
        """The context with this id, or PyTorch's complaint."""
        found = self.contexts.get(context_id)
        if found is None:
            if not hasattr(context_id, "__index__"):
                raise TypeError(
                    f"incompatible function arguments: a context's id is an int, not {type(context_id).__name__}"
                )
            raise RuntimeError(f"Could not find autograd context with id: {context_id}")
        return found

    def drop(self, context_id: int, floor: int = 0) -> DistAutogradContext | None:
        """Forget a context for good, and note the `floor` of the worker that made it; gives it back if it was there."""
        self._lock.acquire()
        try:
            found = self.contexts.pop(context_id, None)
            maker = context_id >> LOCAL_BITS
            if maker == self.worker_id:
                self._raise_own_floor()
            else:
                self._note(maker, context_id, floor)
        finally:
            self._lock.release()
        if found is not None:
            found.released = True
            if CURRENT.context is found:
                CURRENT.context = None
        return found

    def made_by(self, worker_id: int) -> list[int]:
        """The ids of another worker's contexts that are here."""
        return [context_id for context_id in list(self.contexts) if context_id >> LOCAL_BITS == worker_id]

    def forget_maker(self, worker_id: int) -> None:
        """A worker is gone: if it comes back, it numbers its contexts from the start again."""
        with self._lock:
            self._floors.pop(worker_id, None)
            self._released.pop(worker_id, None)

    def floor_of(self, context_id: int) -> int:
        """The floor of the worker that made a context, as far as it is known here."""
        return self._floors.get(context_id >> LOCAL_BITS, 0)

    def _was_released(self, context_id: int) -> bool:
        maker = context_id >> LOCAL_BITS
        if maker == self.worker_id:  # it is not here, so it was released or never made
            return True
        return context_id < self._floors.get(maker, 0) or context_id in self._released.get(maker, ())

    def _raise_own_floor(self) -> None:
        floor = self._floors[self.worker_id]
        while floor < self._next and floor not in self.contexts:
            floor += 1
        self._floors[self.worker_id] = floor

    def _note(self, maker: int, context_id: int, floor: int) -> None:
        """Remember a release of another worker's context, and forget what its floor covers."""
        known = self._floors.get(maker, 0)
        if floor > known:
            self._floors[maker] = known = floor
        above = self._released.setdefault(maker, {})
        if context_id >= known:
            above[context_id] = None
        while above and (len(above) > _REMEMBERED or next(iter(above)) < known):
            del above[next(iter(above))]


class Worker:
    """One worker's state. Changes of sets and dictionaries are atomic, so counting what is under way needs no lock."""

    def __init__(self, worker_id: int, agent: Agent | None = None) -> None:
        self.worker_id = worker_id
        self.container = Container(worker_id)
        self.agent: Agent = agent  # type: ignore[assignment]  # None without rpc
        self.live: set[Any] = set()  # branches of passes that are running here
        self.initiated: dict[int, RootBranch] = {}  # passes that this worker began, by pass id
        self.releasing: set[tuple[int, int]] = set()  # (rank, context id) of releases not yet acknowledged

    def serves(self) -> bool:
        """Whether it belongs to the current agent, or to no agent at all."""
        return self.agent is None or current.current.agent is self.agent

    @property
    def idle(self) -> bool:
        """Whether no pass and no release is under way."""
        return not self.live and not self.releasing


_without_rpc: Worker | None = None  # made by `init`


def init(worker_id: int) -> Worker:
    """Set up distributed autograd on this worker without rpc, once."""
    global _without_rpc
    made = Worker(worker_id)
    if _without_rpc is None:
        _without_rpc = made
    elif _without_rpc.worker_id != worker_id:
        raise RuntimeError(
            f"Container is already initialized with worker_id: {_without_rpc.worker_id}, cannot initialize with different "
            f"worker_id: {worker_id}"
        )
    return _without_rpc


def this_worker() -> Worker:
    """The worker of the current agent, or the one without rpc; RuntimeError if there is neither."""
    agent = current.current.agent
    if agent is not None:
        return agent.autograd
    if _without_rpc is None:
        raise RuntimeError(
            "Need to initialize distributed autograd first: call mpigrad.distributed.rpc.init_rpc"
        )
    return _without_rpc


def _agent_starts(agent: Agent) -> None:
    agent.autograd = Worker(agent.rank, agent)


def _agent_stopped(agent: Agent) -> None:
    """With the agent go all contexts of its world."""
    CURRENT.context = None


def _is_idle(agent: Agent) -> bool:
    """Whether graceful shutdown may go on."""
    return agent.autograd.idle


extensions.start_hooks.append(_agent_starts)
extensions.shutdown_hooks.append(_agent_stopped)
extensions.quiet_hooks.append(_is_idle)
