"""One call to many workers, through a tree.

The caller divides the members into *parts* and calls the first member of each, the *head* of the part, which calls the rest of
its part in the same way and answers when all of them have answered.

A part with one member is an ordinary call of the user's function. A longer part is a call of `relay` on its head, which calls the
members of the part (itself by a call to itself, so that its function gets arguments of its own). So all that holds for calls
holds for each hop: distributed autograd records it, timeouts end it, RRefs in arguments and results are counted.

Gradients of an argument return through the same tree: a head adds the gradients of its part up before it sends one sum to its
own caller.

Invariants
- An answer of `relay` is a tuple: of one value for each member of the part, in order, or of the one value that `reduce` made. If
  members failed, it is a `Partial` with the values of the others.
- Every part is answered once, at the latest by the timeout of its call; the last answer completes the collection.
- The calls that a head makes time out `margin` seconds before the call to the head. So the head still has the time to say which
  members did not answer.
- `reduce` and the methods of users' exceptions never run on a thread that polls or waits.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from mpigrad._core.future import Future, carried
from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.rref import remote

from .._agent.current import get_agent
from .._protocol import extensions
from .._protocol.errors import RemoteTraceback, pack_error, safe_str, unpack_error
from .._protocol.tree import compact, divide
from ..functions import async_execution

_RISE = 0.02  # weight of a measured overhead of a call that is higher than the estimate


class Task(NamedTuple):
    """The arguments of a call to a group that travel to every member; `fan_out` and `margin` (seconds) describe the tree."""

    func: Callable[..., Any]
    args: Any
    kwargs: Any
    reduce: Callable[[Any, Any], Any] | None
    references: bool  # the results are RRefs to the members' values (`remote`)
    fan_out: int
    margin: float


class Partial:
    """The answer of `relay` for a part in which members failed.

    `values` has one entry for each member, in order, None for those that failed; `failed` has the packed errors by place
    in the part.
    """

    def __init__(self, values: list[Any], failed: dict[int, bytes]) -> None:
        self.values, self.failed = values, failed


class Collection:
    """Calls some members of a group, directly or through heads, and collects their answers.

    `ranks` are the ranks of the members; a member is known by its *place*, its index in `ranks`.
    """

    def __init__(self, agent: Agent, ranks: Sequence[int], task: Task, finish: Callable[[Collection], None]) -> None:
        """`finish` is called with the collection when all have answered, on a thread where user code may run."""
        self.agent, self.ranks, self.task = agent, ranks, task
        self.values: dict[int, Any] = {}  # by place; with `reduce`, one value for a part, at its first place
        self.failed: dict[int, BaseException | bytes] = {}
        self.on_value: Callable[[int, Any], None] | None = None  # called with place and value of a member, on any thread
        self.on_error: Callable[[int, BaseException | bytes], None] | None = None
        self._lock, self._left = threading.Lock(), 1  # parts without an answer; the 1 is for `start`, which is not done yet
        self._finish: Callable[[Any], Any] = carried(lambda _: finish(self))  # in the context of the thread that made it

    def start(self, timeout: float, first: int = 0) -> None:
        """Make the calls; `timeout` is theirs, in seconds, 0 for none.

        `first` is 1 on the head of a part: the head is the member at place 0, and calls itself.
        """
        parts = divide(self._live(first), self.task.fan_out)
        if first:
            parts.append(range(1))  # last: the others are farther away
        self._left += len(parts)
        began = time.perf_counter()
        for places in parts:
            self._call(places, timeout)
        if parts:
            _note_overhead(self.agent, (time.perf_counter() - began) / len(parts))
        self._one_less()

    def _live(self, first: int) -> Sequence[int]:
        """Return the places from `first` on of members that have not left.

        The others fail at once; they could not be heads of a part.
        """
        gone, places = self.agent.gone, range(first, len(self.ranks))
        if not gone or gone.keys().isdisjoint(self.ranks):
            return places
        for place in places:
            if self.ranks[place] in gone:
                self._fail(place, self.agent.gone_error(self.ranks[place]))
        return [place for place in places if self.ranks[place] not in gone]

    def _call(self, places: Sequence[int], timeout: float) -> None:
        """Call the only member of the part with these places, or the head of the part."""
        task, head = self.task, self.ranks[places[0]]
        try:
            if len(places) > 1:
                left = max(timeout - task.margin, timeout / 2) if timeout else 0.0  # 0: no timeout
                part = compact([self.ranks[place] for place in places])
                fut: Future = self.agent.call(self.agent.find(head).id, relay, (part, left, *task), None, timeout)
            elif task.references:
                self._answer_part(places, (remote(head, task.func, task.args, task.kwargs, timeout),))
                return
            else:
                fut = call_member(self.agent, head, task, timeout)
        except Exception as error:  # the worker is unknown, or the arguments cannot be encoded
            self._fail_part(places, error)
            return
        fut._add(functools.partial(self._answered, places))

    def _answered(self, places: Sequence[int], fut: Future) -> None:
        """Take the answer of the part with these places."""
        try:
            value = fut.value()
        except BaseException as error:
            self._fail_part(places, error)
            return
        if len(places) == 1:
            self._answer_part(places, (value,))
        elif type(value) is Partial:
            for i, packed in value.failed.items():
                self._fail(places[i], packed)
            self._answer_part(places, value.values)
        else:
            self._answer_part(places, value)

    def _answer_part(self, places: Sequence[int], values: Sequence[Any]) -> None:
        for place, value in zip(places, values):
            if place not in self.failed:
                self.values[place] = value
                if self.on_value is not None:
                    self.on_value(place, value)
        self._one_less()

    def _fail_part(self, places: Sequence[int], error: BaseException) -> None:
        self._fail(places[0], error)
        head = _name(self.agent, self.ranks[places[0]])
        for place in places[1:]:
            unknown = RuntimeError(
                f"it is not known whether {_name(self.agent, self.ranks[place])} ran the function: its call went through {head}, "
                f"which failed with {type(error).__name__}: {safe_str(error)}"
            )
            unknown.__cause__ = error
            self._fail(place, unknown)
        self._one_less()

    def _fail(self, place: int, error: BaseException | bytes) -> None:
        self.failed[place] = error
        if self.on_error is not None:
            self.on_error(place, error)

    def _one_less(self) -> None:
        """Count an answered part; after the last one call `finish`, on a thread where user code may run."""
        with self._lock:
            self._left -= 1
            if self._left:
                return
        run = functools.partial(self._finish, None)
        user_code = self.failed or self.task.reduce is not None
        if not (user_code and self.agent.defer(run)):
            run()

    def in_order(self) -> list[Any]:
        """Return the values that have arrived, in the order of members."""
        return [value for _, value in sorted(self.values.items(), key=itemgetter(0))]

    def reduced(self) -> Any:
        """Return the one value that the user's `reduce` makes of all values."""
        assert self.task.reduce is not None
        return functools.reduce(self.task.reduce, self.in_order())


def call_all(agent: Agent, ranks: Sequence[int], task: Task, timeout: float) -> Collection:
    """Call all members directly and wait for their answers; returns the collection.

    As fast as a loop of calls: this thread waits for each of them, and no other one has to be woken for the results.
    """
    collection = Collection(agent, ranks, task, lambda _: None)
    futures: dict[int, Future] = {}
    began = time.perf_counter()
    for place, rank in enumerate(ranks):
        try:
            futures[place] = call_member(agent, rank, task, timeout)
        except Exception as error:  # as in `Collection._call`
            collection.failed[place] = error
    _note_overhead(agent, (time.perf_counter() - began) / len(ranks))
    for place, fut in futures.items():
        try:
            collection.values[place] = fut.wait()
        except Exception as error:
            collection.failed[place] = error
    return collection


def call_member(agent: Agent, rank: int, task: Task, timeout: float) -> Future:
    """Call the user's function on one member."""
    info = agent.find(rank)
    profiler = extensions.profiler
    if profiler is None:
        return agent.call(info.id, task.func, task.args, task.kwargs, timeout)
    return profiler("rpc_async", info, task.func, task.args, task.kwargs, lambda f, a, k: agent.call(info.id, f, a, k, timeout))


def _name(agent: Agent, rank: int) -> str:
    info = agent.workers.get(rank) or agent.left.get(rank)
    return info.name if info is not None else f"rank {rank}"


@async_execution
def relay(ranks: Sequence[int], timeout: float, *task: Any) -> Future:
    """Call all members of a part; runs on the head of the part.

    Args:
        ranks: the members; the first one is this worker.
        timeout: of the calls that the head makes, in seconds, 0 for none.
        task: the fields of a `Task`.

    Returns a Future of the answer, which the invariants of this module describe.
    """
    agent = get_agent()
    answer = agent.new_value()
    Collection(agent, ranks, Task(*task), functools.partial(_answer, answer)).start(timeout, first=1)
    return answer


def _answer(answer: Future, collection: Collection) -> None:
    """Set the future that `relay` returned, from its collection: all members have answered."""
    agent, failed = collection.agent, collection.failed
    if not failed and collection.task.reduce is not None:
        try:
            answer.set_result((collection.reduced(),))
            return
        except Exception as error:  # of the user's `reduce`: reported as the error of this head
            failed = {0: error}
    if not failed:
        answer.set_result(tuple(collection.in_order()))
        return
    values = [collection.values.get(place) for place in range(len(collection.ranks))]
    answer.set_result(Partial(values, {place: _packed(agent, error) for place, error in failed.items()}))


def _packed(agent: Agent, error: BaseException | bytes) -> bytes:
    if isinstance(error, bytes):
        return error
    if isinstance(error.__cause__, RemoteTraceback):  # from another worker: its traceback is in the cause
        error.__traceback__ = None
    try:
        return pack_error(agent.info, error)
    except BaseException as failure:  # methods of the user's exception failed
        text = f"{type(error).__name__}, which cannot be described: {type(failure).__name__} in its methods"
        return pack_error(agent.info, RuntimeError(text))


def unpacked(error: BaseException | bytes) -> BaseException:
    """Return the exception of a failed member, which may still be encoded. Decoding it may run user code."""
    return unpack_error(error) if isinstance(error, bytes) else error


def _note_overhead(agent: Agent, seconds: float) -> None:
    """Update the time in seconds that this worker needs to make one of several calls, which determines the fan-out.

    It follows low measurements at once and high ones slowly: these contain the time slices of other threads and processes.
    """
    before = agent.slots.get("group_overhead", seconds)
    agent.slots["group_overhead"] = min(seconds, before + _RISE * (seconds - before))
