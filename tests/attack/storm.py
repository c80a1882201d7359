"""Everything at once: threads of all ranks make nested, recorded, failing, large and timed-out calls, and pass RRefs around.

    mpiexec -n 3 python -m tests.attack.storm --seconds 600            # static worlds, again and again
    mpiexec -n 3 python -m tests.attack.storm --seconds 600 --dynamic  # ranks join and leave on their own
    python -m tests.attack.storm --seconds 600 --memory                # 4 workers in one process: messages delayed and reordered

Each action knows its right result, or the only error that it may end with. At the end of a world nothing may be left over.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.futures import Future, collect_all
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from . import interrupts

Others = Sequence[str]
HELD: dict[str, Any] = {}


# -- functions that run on other workers -------------------------------------------------------------------------------
def descend(path: list[str], value: int) -> int:
    """Call the next worker of the path, which calls the next one."""
    return value if not path else rpc.rpc_sync(path[0], descend, args=(path[1:], value + 1)) + 1


@rpc.functions.async_execution
def chained(to: str, value: int) -> Future[int]:
    return rpc.rpc_async(to, max, args=(value, 3)).then(lambda fut: fut.value() + 1)


def nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def fail(text: str) -> None:
    raise LookupError(text)


class Unpicklable:
    def __reduce__(self) -> Any:
        raise ArithmeticError("not to be pickled")


class Poison:
    """An object that can be sent, but raises an error when it is received."""

    def __reduce__(self) -> Any:
        return fail, ("poison",)


def give_unpicklable() -> Unpicklable:
    return Unpicklable()


def forward(rref: Any, path: list[str], key: str) -> int:
    """Keep an RRef for a while, pass it on along the path, and use it at the end."""
    HELD[key + str(len(path))] = rref
    found = rpc.rpc_sync(path[0], forward, args=(rref, path[1:], key)) if path else sum(rref.to_here())
    HELD.pop(key + str(len(path)), None)
    return found


def layer(w: Any, x: Any, path: list[str]) -> Any:
    """A part of a recorded chain of calls, which uses the same parameter on every worker."""
    y = (x * w).tanh()
    return rpc.rpc_sync(path[0], layer, args=(w, y, path[1:])) if path else y


def bad_hook(x: Any) -> Any:
    y = x * 2
    y.register_hook(_raise)
    return y


def _raise(grad: Any) -> None:
    raise ZeroDivisionError("hook")


# -- actions -----------------------------------------------------------------------------------------------------------
def nested(others: Others, chance: random.Random) -> None:
    path = [chance.choice(others) for _ in range(chance.choice((1, 3, 12, 30)))]
    assert rpc.rpc_sync(path[0], descend, args=(path[1:], 5)) == 5 + 2 * len(path[1:])


def many(others: Others, chance: random.Random) -> None:
    count = chance.choice((20, 200, 1000))
    futures = [rpc.rpc_async(chance.choice(others), max, args=(n, 7)) for n in range(count)]
    total = collect_all(futures).then(lambda fut: sum(each.value() for each in fut.value()))
    assert total.wait() == sum(max(n, 7) for n in range(count))


def asynchronous(others: Others, chance: random.Random) -> None:
    assert rpc.rpc_sync(chance.choice(others), chained, args=(chance.choice(others), 9)) == 10


def journey(others: Others, chance: random.Random) -> None:
    """Send an RRef around in rings while its owner and its holders are busy."""
    rref = rpc.remote(chance.choice(others), list, args=([1, 2, 3],))
    path = [chance.choice(others) for _ in range(chance.choice((1, 3, 6)))]
    key = str(chance.random())
    asked = [rpc.rpc_async(path[0], forward, args=(rref, path[1:], f"{key}.{n}.")) for n in range(2)]
    del rref
    assert [fut.wait() for fut in asked] == [6, 6]


def recorded(others: Others, chance: random.Random) -> None:
    """Check that the gradients of a chain of calls over workers equal those of the same chain in this process."""
    path = [chance.choice(others) for _ in range(chance.choice((1, 2, 5)))]
    w, x = (mpigrad.tensor([0.3, -0.7], requires_grad=True) for _ in range(2))
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(path[0], layer, args=(w, x, path[1:])).sum()
        dist_autograd.backward(context_id, [loss])
        found = dist_autograd.get_gradients(context_id)
    y = x
    for _ in path:
        y = (y * w).tanh()
    wanted = mpigrad.autograd.grad(y.sum(), [w, x])
    for mine, other in zip((found[w], found[x]), wanted):
        assert np.allclose(mine.tolist(), other.tolist(), rtol=1e-5), (mine, other)


def failing_hook(others: Others, chance: random.Random) -> None:
    x = mpigrad.ones(2, requires_grad=True)
    with dist_autograd.context() as context_id:
        y = rpc.rpc_sync(chance.choice(others), bad_hook, args=(x,))
        expect(RuntimeError, "hook", lambda: dist_autograd.backward(context_id, [y.sum()]))


def odd_values(others: Others, chance: random.Random) -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    to = chance.choice(others)
    assert rpc.rpc_sync(to, interrupts.echo, args=(ring,))[1][1][0] == 1
    assert math.isnan(rpc.rpc_sync(to, interrupts.echo, args=(float("nan"),)))
    for value in (None, (), [], {}, "", b"", 1 << 400, -1, 1e308, "\ud800", {1: {2: {3: ()}}}, range(3), Ellipsis, max):
        assert rpc.rpc_sync(to, interrupts.echo, args=(value,)) == value
    for array in (np.zeros(0), np.float32(3), np.ones((3, 0, 2)), np.arange(24).reshape(2, 3, 4).T[::2], np.array("x")):
        back = rpc.rpc_sync(to, interrupts.echo, args=(array,))
        assert np.array_equal(back, array) and back.dtype == array.dtype and back.shape == array.shape
    for tensor in (mpigrad.tensor(2.0), mpigrad.ones(2, 0), mpigrad.arange(6).view(2, 3).t(), mpigrad.eye(3).to_sparse()):
        back = rpc.rpc_sync(to, interrupts.echo, args=(tensor,))
        assert back.shape == tensor.shape and back.dtype == tensor.dtype and back.layout == tensor.layout


def large(others: Others, chance: random.Random) -> None:
    data = np.arange(chance.choice((5_000, 70_000, 300_000)), dtype=np.float64)
    futures = [rpc.rpc_async(chance.choice(others), interrupts.echo, args=(data + n,)) for n in range(3)]
    assert all(np.array_equal(fut.wait(), data + n) for n, fut in enumerate(futures))


def failures(others: Others, chance: random.Random) -> None:
    to = chance.choice(others)
    expect(LookupError, "gone", lambda: rpc.rpc_sync(to, fail, args=("gone",)))
    expect(Exception, "not to be pickled", lambda: rpc.rpc_sync(to, give_unpicklable))
    expect(Exception, "not to be pickled", lambda: rpc.rpc_sync(to, interrupts.echo, args=(Unpicklable(),)))
    expect(LookupError, "poison", lambda: rpc.rpc_sync(to, interrupts.echo, args=(Poison(),)))
    expect(LookupError, "gone", lambda: rpc.remote(to, fail, args=("gone",)).to_here())
    expect(TypeError, "argument", lambda: rpc.rpc_sync(to, descend, args=(1, 2, 3, 4)))


def timeouts(others: Others, chance: random.Random) -> None:
    futures = [rpc.rpc_async(chance.choice(others), nap, args=(0.03,), timeout=0.001) for _ in range(3)]
    for fut in futures:
        try:
            assert fut.wait() == 0.03  # on a slow machine the answer may come before the time is checked
        except RuntimeError as error:
            assert "timeout" in str(error), error


def children(others: Others, chance: random.Random) -> None:
    """Start programs in the middle of calls."""
    fut = rpc.rpc_async(chance.choice(others), nap, args=(0.005,))
    assert subprocess.run(["true"], check=False).returncode == 0
    assert fut.wait() == 0.005


def forks(others: Others, chance: random.Random) -> None:
    """Fork children: each gets an error if it uses RPC, and its end changes nothing here."""
    fut = rpc.rpc_async(chance.choice(others), nap, args=(0.005,))
    child = os.fork()
    if not child:
        code = 1
        try:
            rpc.rpc_sync(others[0], max, args=(1, 2))
        except RuntimeError as error:
            code = 0 if "fork" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0 and fut.wait() == 0.005


def collections(others: Others, chance: random.Random) -> None:
    gc.collect()


ACTIONS = (nested, many, asynchronous, journey, journey, recorded, recorded, failing_hook, odd_values, large, failures, timeouts)
ACTIONS += (collections,)
PROCESSES = (children, forks)


def expect(kind: type[BaseException], text: str, action: Callable[[], Any]) -> None:
    """Run an action that must fail with this type of error and this text."""
    try:
        action()
    except kind as error:
        assert text in str(error), f"{type(error).__name__}: {error}"
    else:
        raise AssertionError(f"no {kind.__name__} with {text!r}")


class Storm:
    """Threads that perform random actions for a time, and the errors that they found."""

    def __init__(
        self, agent: Any, others: Others, actions: Sequence[Any], seed: int, seconds: float, tolerated: tuple[str, ...] = ()
    ) -> None:
        self.count: Counter[str] = Counter()
        self.errors: list[str] = []
        self._others, self._actions, self._tolerated = others, actions, tolerated
        self._end = time.monotonic() + seconds
        self.threads = [threading.Thread(target=self._run, args=(agent, random.Random(seed + n))) for n in range(3)]
        for thread in self.threads:
            thread.start()

    def _run(self, agent: Any, chance: random.Random) -> None:
        with nullcontext() if agent is None else acting_as(agent):
            while time.monotonic() < self._end and not self.errors:
                action = chance.choice(self._actions)
                try:
                    action(self._others, chance)
                    self.count[action.__name__] += 1
                except BaseException as error:
                    if not any(text in str(error) for text in self._tolerated):
                        self.errors.append(f"{action.__name__}: {type(error).__name__}: {error}")

    def finish(self) -> Counter[str]:
        for thread in self.threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in self.threads), "an action did not end within 120 s"
        assert not self.errors, self.errors
        return self.count


def nothing_left(agents: Sequence[Any]) -> None:
    HELD.clear()
    gc.collect()
    for agent in agents:
        eventually(lambda: not agent.calls.pending and agent.quiet() and agent.autograd.idle)
        eventually(lambda: not agent.autograd.container.contexts)
        eventually(lambda: not agent.rrefs.kept and not agent.rrefs.users)


def in_memory(seed: int, seconds: float, size: int = 4) -> Counter[str]:
    """One world in this process, over a network that delays and reorders messages of different pairs of workers."""
    chance = random.Random(seed)
    slow = chance.choice((0.0, 0.001, 0.01))

    def fate(src: int, dst: int, frame: bytes) -> float:
        return chance.random() * slow * (chance.random() < 0.2)

    names = [f"worker{rank}" for rank in range(size)]
    with world_in_memory(size, fate=fate, seed=seed) as agents:
        storms = [Storm(agent, names, ACTIONS, seed * 100 + 10 * agent.rank, seconds) for agent in agents]
        count = sum((storm.finish() for storm in storms), Counter())
        nothing_left(agents)
    return count


def static(rank: int, size: int, meet: Callable[[], Any], seed: int, seconds: float) -> Counter[str]:
    """Run one static world. The ranks stop their actions one after the other, and shut down while the others still act."""
    names = [f"worker{each}" for each in range(size)]
    rpc.init_rpc(names[rank], rank=rank, world_size=size)
    chance = random.Random(seed + rank)
    agent = rpc.api._get_current_rpc_agent()
    count = Storm(None, names, ACTIONS + PROCESSES, seed * 100 + 10 * rank, seconds * chance.uniform(0.5, 1)).finish()
    meet()
    HELD.clear()
    gc.collect()
    meet()
    nothing_left([agent])
    meet()
    # calls that nobody waits for, and shutdown by two threads
    for to in names:
        rpc.rpc_async(to, nap, args=(0.01,))
    other = threading.Thread(target=_shut_down)
    other.start()
    _shut_down()
    other.join()
    return count


def _shut_down() -> None:
    try:
        rpc.shutdown(timeout=100)
    except RuntimeError as error:
        assert "RPC has not been initialized" in str(error), error


def dynamic(rank: int, size: int, meet: Callable[[], Any], seed: int, seconds: float) -> Counter[str]:
    """Let ranks join and leave a dynamic world at random for a time.

    Calls to workers that leave fail with an error that says so.
    """
    count: Counter[str] = Counter()
    chance = random.Random(seed + rank)
    end = time.monotonic() + seconds
    lives = 0
    tolerated = (
        "has left", "could not find", "has shut down", "gone", "not been initialized", "Need to initialize", "timeout",
        "autograd context", "has been deleted",
    )  # fmt: skip
    while time.monotonic() < end:
        rpc.init_rpc(f"worker{rank}", rank=rank)
        names = [f"worker{each}" for each in range(size)]
        actions = (nested, asynchronous, journey, recorded, odd_values, large, collections)
        storm = Storm(None, names, actions, chance.randrange(1 << 30), chance.uniform(0.05, 1.0), tolerated)
        if chance.random() < 0.5:
            count += storm.finish()
        rpc.shutdown(timeout=100)
        count += storm.finish()
        HELD.clear()
        lives += 1
        time.sleep(chance.random() * 0.05)
    meet()
    return count + Counter({"lives": lives})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--dynamic", action="store_true")
    given = parser.parse_args()
    began, seed, worlds = time.monotonic(), given.seed, 0
    total: Counter[str] = Counter()
    if given.memory:
        while time.monotonic() - began < given.seconds:
            total += in_memory(seed, 5)
            seed, worlds = seed + 1, worlds + 1
    else:
        from mpi4py.MPI import COMM_WORLD as world

        while world.bcast(time.monotonic() - began < given.seconds):
            total += (dynamic if given.dynamic else static)(world.rank, world.size, world.Barrier, seed, 5)
            seed, worlds = seed + 1, worlds + 1
        if world.rank:
            return
    form = "compiled" if mpigrad._compiled.running()[0] else "plain Python"
    print(f"{sum(total.values())} actions in {worlds} worlds, {form}, {time.monotonic() - began:.0f} s: {dict(total)}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
