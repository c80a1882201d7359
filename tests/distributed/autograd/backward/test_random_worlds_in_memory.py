"""Random programs, many at once: contexts of all workers, passes begun inside remote functions, RRefs, errors, releases.

The transport delays and reorders; every gradient equals that of one process, and nothing is left over at the end.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._core.autograd import contexts
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.distributed.rpc._testing.faults import Faults
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .programs import Program, execute, inputs, local_gradients, loss_of, parameter, random_program

WORKERS, PROGRAMS = 3, 8


class Broken(mpigrad.autograd.Function):
    """The identity; its backward raises."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise ArithmeticError("broken on purpose")


def broken(x: mpigrad.Tensor) -> mpigrad.Tensor:
    return Broken.apply(x)


def world(seed: int) -> Any:
    rng = random.Random(seed)
    return world_in_memory(
        WORKERS, fate=lambda *_: rng.random() * 0.002 * (rng.random() < 0.2), seed=seed, rpc_timeout=20
    )


class Overtaking(Faults):
    """Sends messages of passes, releases and answers late at random: they overtake each other, between the same workers too."""

    KINDS = frozenset({*range(int(MessageType.BACKWARD_AUTOGRAD_REQ), 33), int(MessageType.REPLY)})

    def __init__(self, seed: int) -> None:
        super().__init__([], {}, 0)
        self._random = random.Random(seed)

    def stops(self, agent: Any, message: Any) -> bool:
        if getattr(self._late, "sending", False) or message.kind not in self.KINDS or self._random.random() > 0.3:
            return False
        agent.after(self._random.random() * 0.004, lambda: self._send_late(agent, message))
        return True


def check_clean(agents: list[Any]) -> None:
    def left() -> list[Any]:
        workers = [agent.autograd for agent in agents]
        return [(w.live, w.initiated, w.releasing, w.container.contexts) for w in workers if left_on(w)]

    def left_on(worker: Any) -> bool:
        return bool(worker.live or worker.initiated or worker.releasing or worker.container.contexts)

    eventually(left, equals=[])


def on_every_worker(agents: list[Any], run: Callable[[int], None], threads: int = 1) -> None:
    """Call `run(rank)` on threads that act for each worker, all at once; raises what they raise."""
    errors: list[BaseException] = []

    def one(agent: Any) -> None:
        try:
            with acting_as(agent):
                run(agent.rank)
        except BaseException as error:
            errors.append(error)

    made = [threading.Thread(target=one, args=(agent,), daemon=True) for agent in agents for _ in range(threads)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join(40)
        assert not thread.is_alive(), "a program hangs"
    if errors:
        raise errors[0]


def gradient_here(context_id: int, run: int, rank: int) -> list[float] | None:
    found = dist_autograd.get_gradients(context_id).get(parameter(run, rank))
    return None if found is None else found.tolist()


def backward_here(program: Program, here: int, run: int, given: tuple[Any, ...]) -> None:
    """A program and its backward pass, begun on this worker in the caller's context."""
    context_id = dist_autograd._current_context()._context_id()
    loss = loss_of(execute(program, here, run, given, distributed=True))
    if loss.requires_grad:
        dist_autograd.backward(context_id, [loss])


def loss_here(program: Program, here: int, run: int, given: tuple[Any, ...]) -> mpigrad.Tensor:
    return loss_of(execute(program, here, run, given, distributed=True))


def check(context_id: int, leaves: Any, run: int, wanted: tuple[list[Any], list[Any]], times: int, what: Any) -> None:
    """Compare what the context holds on every worker with `times` times the wanted gradients."""
    found = dist_autograd.get_gradients(context_id)
    given = [None if found.get(leaf) is None else found[leaf].tolist() for leaf in leaves]
    for rank in range(WORKERS):
        rpc.rpc_sync(f"worker{rank}", int)  # inside the context, which so exists there
        given.append(rpc.rpc_sync(f"worker{rank}", gradient_here, args=(context_id, run, rank)))
    for one, other in zip(given, [*wanted[0], *wanted[1]], strict=True):
        assert (one or [0.0, 0.0]) == pytest.approx([times * each for each in other or [0.0, 0.0]]), what


_runs = iter(range(10**6, 10**9))
_lock = threading.Lock()


def new_run() -> int:
    with _lock:
        return next(_runs)


def run_one(rng: random.Random, rank: int) -> None:
    """One program of a worker: its pass begun here, or on another worker, or at an RRef there; once or twice."""
    run, program, style = new_run(), random_program(rng, WORKERS, 2), rng.choice(("here", "there", "rref"))
    there = rng.randrange(WORKERS)
    at = rank if style == "here" else there
    wanted = local_gradients(program, at, run, 2, WORKERS)
    leaves, times = inputs(2), 1
    with dist_autograd.context() as context_id:
        if style == "there":
            rpc.rpc_sync(f"worker{there}", backward_here, args=(program, there, run, leaves))
        elif wanted == ([None] * 2, [None] * WORKERS):
            return
        elif style == "rref":
            rref = rpc.remote(f"worker{there}", loss_here, args=(program, there, run, leaves))
            rref.backward(context_id)
        else:
            times = rng.choice((1, 2))
            loss = loss_of(execute(program, rank, run, leaves, distributed=True))
            for _ in range(times):
                dist_autograd.backward(context_id, [loss], retain_graph=True)
        check(context_id, leaves, run, wanted, times, f"{style} on {at}, run {run}: {program}")


@pytest.mark.parametrize("seed", range(4))
def test_all_workers_at_once_with_passes_begun_anywhere(seed: int) -> None:
    with world(seed) as agents:

        def run(rank: int) -> None:
            rng = random.Random(f"{seed} {rank} {new_run()}")
            for _ in range(PROGRAMS):
                run_one(rng, rank)

        on_every_worker(agents, run, threads=2)
        check_clean(agents)


def run_failing(rng: random.Random, rank: int) -> None:
    """A program with a function that fails in backward put somewhere in it: the caller hears of it, or it is unused."""
    run, program = new_run(), random_program(rng, WORKERS, 2)
    leaves = inputs(2)
    with dist_autograd.context() as context_id:
        given = list(leaves)
        spoilt = rng.randrange(2)
        given[spoilt] = rpc.rpc_sync(f"worker{rng.randrange(WORKERS)}", broken, args=(given[spoilt],))
        loss = loss_of(execute(program, rank, run, tuple(given), distributed=True)) + sum(each.sum() for each in given)
        with pytest.raises(ArithmeticError, match="broken on purpose"):
            dist_autograd.backward(context_id, [loss])


@pytest.mark.parametrize("seed", range(3))
def test_errors_at_random_places_leave_everything_clean(seed: int) -> None:
    with world(seed) as agents:

        def run(rank: int) -> None:
            rng = random.Random(f"{seed} {rank}")
            for number in range(2 * PROGRAMS):
                (run_failing if number % 2 else run_one)(rng, rank)

        on_every_worker(agents, run)
        check_clean(agents)


def run_released(rng: random.Random, rank: int) -> None:
    """A context that ends on another thread while its pass runs: the pass ends, rightly or with the error that says so."""
    run, program, leaves = new_run(), random_program(rng, WORKERS, 2), inputs(2)
    context = dist_autograd._new_context()
    loss = loss_of(execute(program, rank, run, leaves, distributed=True)) + leaves[0].sum()
    agent = contexts.this_worker().agent

    def release() -> None:
        time.sleep(rng.random() * 0.003)
        with acting_as(agent):
            dist_autograd._release_context(context.context_id)

    other = threading.Thread(target=release, daemon=True)
    other.start()
    try:
        dist_autograd.backward(context.context_id, [loss])
    except RuntimeError as error:
        assert "Could not find autograd context with id" in str(error) or "has ended" in str(error), error
    other.join(10)
    assert not other.is_alive(), "the release hangs"
    contexts.CURRENT.context = None


@pytest.mark.parametrize("seed", range(3))
def test_releases_while_passes_run_leave_everything_clean(seed: int) -> None:
    with world(seed) as agents:

        def run(rank: int) -> None:
            rng = random.Random(f"{seed} {rank}")
            for number in range(2 * PROGRAMS):
                (run_released if number % 2 else run_one)(rng, rank)

        on_every_worker(agents, run)
        check_clean(agents)


@pytest.mark.parametrize("seed", range(3))
def test_messages_that_overtake_each_other(seed: int) -> None:
    with world_in_memory(WORKERS, seed=seed, rpc_timeout=20) as agents:
        for agent in agents:
            agent.sender.faults = Overtaking(seed * WORKERS + agent.rank)

        def run(rank: int) -> None:
            rng = random.Random(f"{seed} {rank} {new_run()}")
            for number in range(PROGRAMS):
                (run_one, run_failing, run_one, run_released)[number % 4](rng, rank)

        on_every_worker(agents, run, threads=2)
        check_clean(agents)
        for agent in agents:
            agent.sender.faults = None


def passes_here(program: Program, here: int, run: int, given: tuple[Any, ...], passes: int) -> None:
    """Several passes over one graph, in the context of the caller."""
    context_id = dist_autograd._current_context()._context_id()
    loss = loss_of(execute(program, here, run, given, distributed=True))
    for _ in range(passes if loss.requires_grad else 0):
        dist_autograd.backward(context_id, [loss], retain_graph=True)


@pytest.mark.parametrize("seed", range(5))
def test_passes_of_all_workers_at_once_in_one_context(seed: int) -> None:
    """Every worker and the caller's own threads begin passes from the same tensors, in the same context, at the same time."""
    rng = random.Random(seed)
    with world(seed) as agents, acting_as(agents[0]):
        for _ in range(4):
            leaves, threads, errors = inputs(2), [], []
            wanted: list[Any] = [[0.0, 0.0] for _ in leaves]
            context = dist_autograd._new_context()
            shared = tuple(rpc.rpc_sync("worker1", mpigrad.mul, args=(leaf * 2, leaf)) for leaf in leaves)
            programs = [(new_run(), random_program(rng, WORKERS, 2), rank) for rank in (0, 1, 2, 0, 1)]
            for run, program, rank in programs:
                wanted = _added(wanted, program, run, rank)

            def begin(run: int, program: Program, rank: int, context: Any = context, given: Any = shared) -> None:
                try:
                    with acting_as(agents[0]), contexts.Running(context):
                        if rank == 0:
                            passes_here(program, 0, run, given, 3)
                        else:
                            rpc.rpc_sync(f"worker{rank}", passes_here, args=(program, rank, run, given, 3))
                except BaseException as error:
                    errors.append(error)

            for each in programs:
                threads.append(threading.Thread(target=begin, args=each, daemon=True))
                threads[-1].start()
            for thread in threads:
                thread.join(40)
                assert not thread.is_alive(), "a pass hangs"
            assert not errors, (errors, programs)
            found = dist_autograd.get_gradients(context.context_id)
            for leaf, each in zip(leaves, wanted):
                held = found.get(leaf)
                assert ([0.0, 0.0] if held is None else held.tolist()) == pytest.approx(each), programs
            dist_autograd._release_context(context.context_id)
        check_clean(agents)


def _added(before: list[Any], program: Program, run: int, rank: int) -> list[Any]:
    """Three times the gradients of one program over the squares of the inputs, added to those before."""
    leaves = inputs(2)
    loss = loss_of(execute(program, rank, run, tuple(leaf * 2 * leaf for leaf in leaves), distributed=False))
    if not loss.requires_grad:
        return before
    grads = mpigrad.autograd.grad(loss, leaves, allow_unused=True)
    return [
        each if grad is None else [a + 3 * b for a, b in zip(each, grad.tolist())] for each, grad in zip(before, grads)
    ]
