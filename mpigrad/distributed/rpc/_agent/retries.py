"""Calls that are made again: when a message could not be sent, a call timed out, or its callee was lost.

An error of the function itself is never a reason. There are two promises:

- By default the function is *idempotent*: the caller declares, by asking for retries, that it may run several times. Each attempt
  is a call of its own, to the worker that has the name then: a worker that took the place of a lost one counts, too.
- `at_most_once`: all attempts carry the same number, which the callee remembers. A repeated request gets the answer of the first
  one, and waits for it if the function still runs. If the callee is lost, the call fails: a replacement cannot know whether
  the function ran.

A call between two attempts is pending: the graceful shutdown of a static world waits for it, and an agent that stops fails it.

A callee remembers an answer until a later request of the same caller says that it is settled: requests carry the lowest number
whose call is still pending, the *floor*. Requests below the floor are refused, so a late copy never runs.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from mpigrad._core.future import Future, carried
from mpigrad._core.rpc.agent import Agent, _execute
from mpigrad._core.rpc.calls import RETRY_SECONDS

from .._protocol import extensions
from .._protocol.errors import RemoteTraceback, RpcTimeoutError, SendFailedError, WorkerGoneError
from ..functions import async_execution
from .current import get_agent

_LONGEST = 2.0  # seconds between two attempts
_CALLER = os.urandom(8)  # identifies this process: a later one of the same name or rank has another number
_numbers = itertools.count(1)
_pending: dict[int, None] = {}  # numbers of calls that are not settled, in order
_numbering = threading.Lock()
_ANSWERS = "answers to calls that run at most once"
_REPEATING = "calls whose first attempt failed"


def repeated(
    agent: Agent, to: Any, func: Callable[..., Any], args: Any, kwargs: Any, timeout: float, retries: int, at_most_once: bool
) -> Any:
    """Call a function on the worker `to`, with up to `retries` further attempts; returns the future of its result.

    `timeout`, in seconds, is that of one attempt. `at_most_once`: see the second promise above. ValueError for negative
    `retries`.
    """
    if not isinstance(retries, int) or retries < 0:
        raise ValueError(f"retries is the number of further attempts, an int that is not negative; got {retries!r}")
    made = _Repeated(agent, agent.find(to).name, timeout, retries, at_most_once)
    return made.start(func, args, kwargs)


class _Repeated:
    """One call with retries: makes the attempts one after the other and completes the future `result`.

    `name` is the callee's name, which is looked up for each attempt; `retries` and `timeout` as in `repeated`.
    """

    def __init__(self, agent: Agent, name: str, timeout: float, retries: int, at_most_once: bool) -> None:
        self.result = agent.new_value()
        self._agent, self._name, self._timeout, self._left, self._once = agent, name, timeout, retries, at_most_once
        self._failures, self._number, self._settled = 0, 0, False

    def start(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Future:
        if self._once:
            with _numbering:
                self._number = next(_numbers)
                _pending[self._number] = None
        self._func, self._args, self._kwargs = func, args, kwargs
        self._attempt_in_context: Callable[[Any], Any] = carried(self._attempt)  # later attempts run on other threads
        try:
            self._call()
        except BaseException:
            self._forget()
            raise
        return self.result

    def _call(self) -> None:
        call = self._func, self._args, self._kwargs
        if self._once:
            with _numbering:
                floor = next(iter(_pending))
            call = run_once, (_CALLER, self._number, floor, *call), None
        self._agent.call(self._agent.find(self._name).id, *call, self._timeout)._add(self._ended)

    def _attempt(self, _: Any) -> None:
        try:
            self._call()
        except Exception as error:  # the worker is not there, or user code failed to encode the arguments
            self._failed(WorkerGoneError(str(error)) if self._name not in self._agent.by_name else error)

    def _ended(self, fut: Future) -> None:
        if fut._state == 2:
            self._failed(fut._value)
        else:
            self._settle(1, fut._value)

    def _failed(self, error: Any) -> None:
        if not self._left or not self._is_worth_it(error):
            self._settle(2, error)
            return
        self._left -= 1
        self._failures += 1
        _repeating(self._agent)[self] = None
        self._agent.after(min(RETRY_SECONDS * 1.5 ** (self._failures - 1), _LONGEST), self._hand_over)

    def _hand_over(self) -> None:
        """Let the pool make the next attempt. A timer must not run user code, and encoding the arguments may."""
        self._agent.progress.pool.submit(partial(self._attempt_in_context, None))

    def _is_worth_it(self, error: Any) -> bool:
        """Return whether the call may be repeated after this error: it was not sent, it timed out, or the worker left."""
        if isinstance(error.__cause__, RemoteTraceback):  # raised by the function, whose own calls may have timed out
            return False
        if isinstance(error, WorkerGoneError):
            return not self._once and not self._agent.progress.pool.stopping and not self._agent.static
        return isinstance(error, (SendFailedError, RpcTimeoutError))

    def _forget(self) -> None:
        with _numbering:
            _pending.pop(self._number, None)

    def _settle(self, state: int, value: Any) -> None:
        with _numbering:
            if self._settled:  # failed by the end of its agent, which an attempt may notice as well
                return
            self._settled = True
        _repeating(self._agent).pop(self, None)
        self._forget()
        self._func = self._args = self._kwargs = None  # type: ignore[assignment]  # tensors among them may be freed
        self.result._set(state, value)


def _repeating(agent: Agent) -> dict[_Repeated, None]:
    """Return the calls of an agent whose first attempt failed and that have no result yet; a dict used as an ordered set."""
    found: dict[_Repeated, None] = agent.slots.setdefault(_REPEATING, {})
    return found


def _fail_all(agent: Agent) -> None:
    """Fail the calls that would still be repeated. The agent has stopped, so its timers, which start attempts, run no more."""
    for each in list(_repeating(agent)):
        each._settle(2, WorkerGoneError(f"{agent.info} has shut down"))


extensions.quiet_hooks.append(lambda agent: not _repeating(agent))
extensions.shutdown_hooks.append(_fail_all)


class _Answers:
    """The answers to calls with `at_most_once` that this worker remembers: by caller and number of the call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[bytes, dict[int, Future]] = {}
        self._floors: dict[bytes, int] = {}

    def claim(self, caller: bytes, number: int, floor: int) -> tuple[Future, bool]:
        """Return the future of the answer to a call, and whether this is the first request of it, which must run the function.

        RuntimeError if `number` is below the caller's `floor`: that call is settled, and its answer forgotten.
        """
        with self._lock:
            floor = self._floors[caller] = max(floor, self._floors.get(caller, 0))
            if number < floor:
                raise RuntimeError(f"call {number} had ended before this repetition of it arrived, so the function is not run")
            known = self._known.setdefault(caller, {})
            for old in [each for each in known if each < floor]:
                del known[old]
            first = number not in known
            return known.setdefault(number, Future()), first


@async_execution
def run_once(caller: bytes, number: int, floor: int, func: Callable[..., Any], args: Any, kwargs: Any) -> Future:
    """Run a function unless an earlier request of the same call has; returns the future of its result. Runs on the callee.

    Args:
        caller: random bytes that identify the calling process.
        number: the number of the call, the same in all attempts.
        floor: the lowest number of that caller whose call is still pending; answers below it are forgotten.
    """
    answers: _Answers = get_agent().slots.setdefault(_ANSWERS, _Answers())
    fut, first = answers.claim(caller, number, floor)
    if first:
        try:
            result, later = _execute(func, args or (), kwargs or {})
        except BaseException as error:
            fut._set(2, error)
        else:
            result._add(lambda ended: fut._set(ended._state, ended._value)) if later else fut._set(1, result)
    return fut
