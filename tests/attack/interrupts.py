"""Ctrl-C at any time: interrupts every 1 to 8 ms over calls, large arrays, RRefs, backward passes, `init_rpc` and `shutdown`.

    mpiexec -n 2 python -m tests.attack.interrupts --interrupts 20000 --seconds 600

Rank 0 works, the others serve it; with `--all` the others are interrupted in `init_rpc` and `shutdown`, too. An
interrupted operation may fail with KeyboardInterrupt and nothing else. Later operations must work, and nothing may be left over.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

os.environ.setdefault("MPIGRAD_HOST_TRANSFERS", "both_ends")  # also with more ranks than cores

import numpy as np

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from tests.support.eventually import eventually

LARGE = np.arange(150_000, dtype=np.float64)  # 1.2 MB


class Attack:
    """Sends interrupts to this process while an action runs, and counts how the actions ended."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.interrupts = 0
        self.by_action: Counter[str] = Counter()
        self._on = False
        signal.signal(signal.SIGALRM, self._arrived)

    def _arrived(self, number: int, frame: Any) -> None:
        if self._on:
            self.interrupts += 1
            raise KeyboardInterrupt

    def _end(self) -> None:
        """Wait until no signal is pending: one that arrived in a finaliser is sent again, and would reach another handler."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        while any(isinstance(each, threading.Timer) for each in threading.enumerate()):
            time.sleep(0.001)
        time.sleep(0.001)

    def on(self, name: str, action: Callable[[], Any]) -> None:
        """Run an action under interrupts; it may be interrupted, or succeed, but not fail."""
        before = self.interrupts
        pause = self.random.uniform(0.001, 0.008)
        try:
            self._on = True
            signal.setitimer(signal.ITIMER_REAL, self.random.uniform(0, pause) + 1e-5, pause)
            action()
        except KeyboardInterrupt:
            self._on = False  # Python runs no handler between here and the `except`, however slow the machine is
        finally:
            self._on = False
            self._end()
        self.by_action[name] += self.interrupts - before


class Calls(threading.Thread):
    """Another thread of the same worker, which is never interrupted: all its calls must succeed."""

    def __init__(self, to: str) -> None:
        super().__init__(daemon=True)
        self.to, self.count, self.error, self.stopped = to, 0, "", False
        self.start()

    def run(self) -> None:
        try:
            while not self.stopped:
                assert rpc.rpc_sync(self.to, max, args=(self.count, 3), timeout=30) == max(self.count, 3)
                self.count += 1
                time.sleep(0.001)
        except BaseException as error:
            self.error = f"after {self.count} calls: {type(error).__name__}: {error}"

    def stop(self) -> None:
        self.stopped = True
        self.join(40)
        assert not self.is_alive(), f"a call of another thread did not return, after {self.count} calls"
        assert not self.error, self.error


class Nested:
    """An object whose unpickling makes a call."""

    def __reduce__(self) -> Any:
        return _nested, ()


def _nested() -> int:
    return rpc.rpc_sync("worker0", max, args=(4, 5))


def give_nested() -> Nested:
    return Nested()


def echo(value: Any) -> Any:
    return value


def slow(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def small(to: str) -> None:
    assert rpc.rpc_sync(to, max, args=(1, 2)) == 2


def pickled(to: str) -> None:
    assert rpc.rpc_sync(to, echo, args=({"a": [1, 2]},)) == {"a": [1, 2]}


def large(to: str) -> None:
    assert np.array_equal(rpc.rpc_sync(to, echo, args=(LARGE,)), LARGE)


def long_wait(to: str) -> None:
    rpc.rpc_sync(to, slow, args=(0.02,))


def unpickles(to: str) -> None:
    assert rpc.rpc_sync(to, give_nested) == 5


def many(to: str) -> None:
    futures = [rpc.rpc_async(to, echo, args=(np.full(8, n),)) for n in range(20)]
    doubled = [fut.then(lambda fut: 2 * fut.value()) for fut in futures]
    assert [fut.wait()[0] for fut in doubled] == [2 * n for n in range(20)]


def reference(to: str) -> None:
    rref = rpc.remote(to, echo, args=([1, 2, 3],))
    assert rref.to_here() == [1, 2, 3]
    assert rref.rpc_sync().count(2) == 1


def backward(to: str) -> None:
    x, y = (mpigrad.ones(3, requires_grad=True) for _ in range(2))
    with dist_autograd.context() as context_id:
        z = rpc.rpc_sync(to, mpigrad.mul, args=(x, y)) + rpc.rpc_sync(to, mpigrad.mul, args=(x, 2))
        dist_autograd.backward(context_id, [z.sum()])
        gradients = dist_autograd.get_gradients(context_id)
        assert gradients[x].tolist() == [3, 3, 3] and gradients[y].tolist() == [1, 1, 1]


def backward_large(to: str) -> None:
    x = mpigrad.ones(100_000, requires_grad=True)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [rpc.rpc_sync(to, mpigrad.mul, args=(x, 3)).sum()])
        assert dist_autograd.get_gradients(context_id)[x].sum().item() == 300_000


def handler_calls(to: str) -> None:
    """Handle another signal by a call, in the middle of the call that it interrupts."""
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(rpc.rpc_sync(to, max, args=(7, 8))))
    try:
        fut = rpc.rpc_async(to, slow, args=(0.005,))
        os.kill(os.getpid(), signal.SIGUSR1)
        fut.wait()
        assert heard == [8]
    finally:
        signal.signal(signal.SIGUSR1, before)


ACTIONS = (small, small, pickled, large, large, long_wait, unpickles, handler_calls, many, reference)
ACTIONS += (backward, backward, backward_large)


def nothing_left() -> None:
    """Check that everything that the interrupted actions began has ended."""
    agent = rpc.api._get_current_rpc_agent()
    transport = agent.transport
    eventually(lambda: not agent.calls.pending)
    eventually(lambda: not transport.unsent() and not getattr(transport, "_coming", None))
    if hasattr(transport, "_offers"):
        eventually(lambda: not transport._offers.out)
    eventually(lambda: agent.quiet() and agent.autograd.idle)
    assert not agent.autograd.container.contexts, agent.autograd.container.contexts
    assert not agent.autograd.initiated


def work(attack: Attack, others: list[str], actions: int) -> None:
    """Rank 0: interrupted actions, each followed by the same uninterrupted one, while another thread makes calls."""
    calls = Calls(others[0])
    for _ in range(actions):
        to = attack.random.choice(others)
        action = attack.random.choice(ACTIONS)
        attack.on(action.__name__, lambda: [action(to) for _ in range(attack.random.choice((1, 5, 20)))])
        attack.random.choice(ACTIONS)(to)
    calls.stop()
    for action in set(ACTIONS):
        for to in others:
            action(to)
    nothing_left()


def one_life(attack: Attack, rank: int, size: int, everybody: bool, actions: int, meet: Any = None) -> None:
    """Run from `init_rpc` to `shutdown`, with interrupts in both.

    The world is dynamic if there is a function to `meet` the other ranks.
    """
    def begin() -> None:
        if not rpc._is_current_rpc_agent_set():
            rpc.init_rpc(f"worker{rank}", rank=rank, world_size=None if meet else size)

    def end() -> None:
        if rpc._is_current_rpc_agent_set():
            rpc.shutdown(timeout=60)

    attacked = rank == 0 or everybody
    while not rpc._is_current_rpc_agent_set():
        attack.on("init_rpc", begin) if attacked else begin()
    if rank == 0:
        work(attack, [f"worker{other}" for other in range(1, size)] or ["worker0"], actions)
    if meet is not None:
        meet()
    while rpc._is_current_rpc_agent_set():
        attack.on("shutdown", end) if attacked else end()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--interrupts", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--actions", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--dynamic", action="store_true", help="a dynamic group")
    given = parser.parse_args()
    from mpi4py.MPI import COMM_WORLD as world

    attack = Attack(given.seed + world.rank)
    began, lives = time.monotonic(), 0
    while True:
        on = world.bcast(attack.interrupts < given.interrupts and time.monotonic() - began < given.seconds)
        if not on:
            break
        one_life(attack, world.rank, world.size, given.all, given.actions, world.Barrier if given.dynamic else None)
        lives += 1
    if world.rank == 0:
        form = "compiled" if mpigrad._compiled.running()[0] else "plain Python"
        seconds = time.monotonic() - began
        print(f"{attack.interrupts} interrupts in {lives} lives, {form}, {seconds:.0f} s: {dict(attack.by_action)}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
