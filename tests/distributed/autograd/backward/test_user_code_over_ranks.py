"""Users' functions, hooks and callbacks in passes over the ranks: errors and recovery, releases, contexts of threads, memory."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._core import objects
from mpigrad._core.autograd import contexts
from mpigrad.distributed.rpc._testing import FaultyMPIRpcBackendOptions
from tests.support.device import with_maps
from tests.support.eventually import eventually

from .. import functions as fn

pytestmark = pytest.mark.mpi(min_size=2)

COMPILED = not objects.__file__.endswith(".py")  # plain Python does not know who holds an array, and copies
BROKEN = threading.Event()


class FailsWhileBroken(mpigrad.autograd.Function):
    """The identity, whose backward raises while this worker is broken."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        if BROKEN.is_set():
            raise ArithmeticError("broken today")
        return grad


def breakable(a: Any, b: Any) -> Any:
    total = a + b
    return mpigrad.linalg.multi_dot([a, b, total, FailsWhileBroken.apply(total)])


def test_passes_that_fail_and_then_do_not(rpc_world) -> None:
    BROKEN.set()
    rpc_world.barrier()  # so are all other ranks
    a, b = (mpigrad.rand(3, 3, dtype=mpigrad.float64, requires_grad=True) for _ in range(2))
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(rpc_world.next_name, breakable, args=(a, b)).sum()
        for _ in range(20):
            with pytest.raises(ArithmeticError, match="broken today"):
                dist_autograd.backward(context_id, [loss], retain_graph=True)
        rpc_world.barrier()
        BROKEN.clear()
        rpc_world.barrier()
        before = dist_autograd.get_gradients(context_id)
        for _ in range(20):
            dist_autograd.backward(context_id, [loss], retain_graph=True)
        after = dist_autograd.get_gradients(context_id)
        wanted = mpigrad.autograd.grad(breakable(a, b).sum(), [a, b])
        for leaf, grad in zip((a, b), wanted):
            assert mpigrad.allclose(after[leaf] - before.get(leaf, 0), 20 * grad)
    rpc_world.barrier()  # the passes of other ranks go through this one
    assert dist_autograd._get_debug_info()["num_current_backward_passes"] == 0


def test_an_error_of_the_callers_own_below_calls_to_several_ranks(rpc_world) -> None:
    a, b = fn.ones(3, 3), fn.ones(3, 3)
    with dist_autograd.context() as context_id:
        value = fn.Fails.apply((a + b) * (a + b))
        for distance, function in enumerate((mpigrad.add, mpigrad.mul, mpigrad.matmul, mpigrad.div)):
            value = rpc.rpc_sync(rpc_world.worker(rpc_world.rank + 1 + distance), function, args=(value, b))
        with pytest.raises(KeyError, match="no gradient today"):
            dist_autograd.backward(context_id, [value.sum()])


SEEN: list[int] = []


class Counts(mpigrad.autograd.Function):
    """The identity, whose backward notes how many passes this worker takes part in."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        SEEN.append(dist_autograd._get_debug_info()["num_current_backward_passes"])
        return grad


def counted(x: Any) -> Any:
    return Counts.apply(x)


def test_debug_info_counts_passes_and_contexts(rpc_world) -> None:
    SEEN.clear()
    rpc_world.barrier()
    with dist_autograd.context() as context_id:
        value = fn.ones(3)
        for distance in range(2 * rpc_world.world_size):
            value = rpc.rpc_sync(rpc_world.worker(rpc_world.rank + distance), counted, args=(value,))
        dist_autograd.backward(context_id, [Counts.apply(value).sum()])
        info = dist_autograd._get_debug_info()
        assert info.keys() == {"num_current_backward_passes", "num_autograd_contexts"}
        assert 1 <= info["num_autograd_contexts"] <= rpc_world.world_size
    rpc_world.barrier()
    assert len(SEEN) >= 1 and min(SEEN) >= 1
    eventually(dist_autograd._get_debug_info, equals=fn.AT_REST)


class Releases(mpigrad.autograd.Function):
    """The identity, whose backward ends the context of its pass."""

    context_id = -1

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        dist_autograd._release_context(Releases.context_id)
        return grad


def test_all_ranks_end_their_contexts_in_mid_pass(rpc_world) -> None:
    context = dist_autograd._new_context()
    Releases.context_id = context._context_id()
    value = fn.ones(3)
    for distance in range(100):
        value = rpc.rpc_sync(rpc_world.worker(rpc_world.rank + 1 + distance % 3), mpigrad.add, args=(value, value))
    assert len(context._send_functions()) >= 75
    loss = Releases.apply(value).sum()
    rpc_world.barrier()
    with pytest.raises(RuntimeError, match="Could not find autograd context with id"):
        dist_autograd.backward(Releases.context_id, [loss])
    contexts.CURRENT.context = None  # it ended on the thread of the pass
    rpc_world.barrier()
    eventually(dist_autograd._get_debug_info, equals=fn.AT_REST)
    a = fn.ones(3)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [rpc.rpc_sync(rpc_world.next_name, mpigrad.mul, args=(a, a)).sum()])
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [2.0] * 3


def test_hooks_after_accumulation(rpc_world) -> None:
    t, calls = mpigrad.rand(4, 4, requires_grad=True), []
    double = t + t
    (first, _), (second, _) = double.grad_fn.next_functions
    assert first is second
    for weight in (1, 2, 2):
        first.register_hook(lambda outs, ins, weight=weight: calls.append((weight, ins[0].tolist())))
    with dist_autograd.context() as context_id:
        far = rpc.rpc_sync(rpc_world.next_name, mpigrad.mul, args=(double, double))
        dist_autograd.backward(context_id, [(far + double).sum()])
        (grad,) = dist_autograd.get_gradients(context_id).values()
        assert [weight for weight, _ in calls] == [1, 2, 2]
        assert all(seen == grad.tolist() for _, seen in calls)


def slow_sum(a: Any, b: Any) -> mpigrad.Tensor:
    time.sleep(0.2)
    return (a + b).requires_grad_()


def test_a_value_made_outside_of_any_context_is_fetched_within_one(rpc_world) -> None:
    """The function ends after the fetch has come: it is answered by a thread that is in no context."""
    rref = rpc.remote(rpc_world.next_name, slow_sum, args=(mpigrad.rand(3, 3), mpigrad.rand(3, 3)))
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [rref.to_here().sum()])
        there = rpc.rpc_sync(rpc_world.next_name, fn.gradient_of_rref, args=(context_id, rref))
        assert there.tolist() == [[1.0] * 3] * 3


def context_here() -> int | None:
    return dist_autograd._current_context()._context_id() if dist_autograd._has_valid_context() else None


@rpc.functions.async_execution
def relayed(x: Any, to: str, beyond: str) -> Any:
    """Calls on when an answer comes, in a callback: both calls are in the caller's context."""
    done: Any = mpigrad.futures.Future()
    began = context_here()

    def go_on(fut: Any) -> None:
        second = rpc.rpc_async(beyond, mpigrad.mul, args=(fut.wait(), x))
        second.then(lambda last: done.set_result((began, context_here(), last.wait())))

    rpc.rpc_async(to, slowly_squared, args=(x,)).then(go_on)
    return done


def slowly_squared(x: Any) -> Any:
    time.sleep(0.05)
    return x * x


def test_callbacks_and_asynchronous_functions_stay_in_their_context(rpc_world) -> None:
    to, beyond = rpc_world.worker(rpc_world.rank + 2), rpc_world.worker(rpc_world.rank + 3)
    outside = rpc.rpc_async(rpc_world.next_name, slowly_squared, args=(mpigrad.ones(1),)).then(lambda _: context_here())
    x = mpigrad.tensor([2.0, -3.0], dtype=mpigrad.float64, requires_grad=True)
    with dist_autograd.context() as context_id:
        inside = rpc.rpc_async(rpc_world.next_name, slowly_squared, args=(x,)).then(lambda _: context_here())
        began, ended, cube = rpc.rpc_sync(rpc_world.next_name, relayed, args=(x, to, beyond))
        assert began == ended == context_id
        dist_autograd.backward(context_id, [cube.sum()])
        assert dist_autograd.get_gradients(context_id)[x].tolist() == [12.0, 27.0]
        assert inside.wait() == context_id and outside.wait() is None
        assert context_here() == context_id
    rpc_world.barrier()
    eventually(dist_autograd._get_debug_info, equals=fn.AT_REST)


def test_a_profiler_sees_both_ends_of_the_callers_graph(rpc_world) -> None:
    a, b = fn.ones(3, 3), fn.ones(3, 3)
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(a, b)).sum()
        rpc_world.barrier()
        with mpigrad.autograd.profiler.profile() as profile:
            dist_autograd.backward(context_id, [loss])
        prefix = "torch::distributed::autograd::"
        whole, send, recv = (
            next(event for event in profile.function_events if event.name == prefix + name)
            for name in ("backward", "SendRpcBackward", "RecvRpcBackward")
        )
        assert whole.cpu_time_total > send.cpu_time_total and whole.cpu_time_total > recv.cpu_time_total
        rpc_world.barrier()


class Notes(mpigrad.autograd.Function):
    """A sum, whose backward notes where its gradient is."""

    at = 0

    @staticmethod
    def forward(ctx: Any, *given: Any) -> Any:
        return given[0].clone() if len(given) == 1 else given[0] + given[1]

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        Notes.at = grad.data_ptr()
        return grad if len(ctx.needs_input_grad) == 1 else (grad, grad)


class Expanded(mpigrad.autograd.Function):
    """A constant, whose gradient is a view of one number."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.shape = x.shape
        return mpigrad.tensor([1.0])

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return mpigrad.ones(1).expand(ctx.shape)


def addresses(root: mpigrad.Tensor, *leaves: mpigrad.Tensor) -> list[int]:
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [root])
        found = dist_autograd.get_gradients(context_id)
        return [found[leaf].data_ptr() for leaf in leaves]


def test_gradients_that_others_hold_are_copied_and_no_others(rpc_world) -> None:
    a, b = mpigrad.randn(5, 6, requires_grad=True), mpigrad.randn(5, 6, requires_grad=True)
    at_a, at_b = addresses(Expanded.apply(Notes.apply(a, b)), a, b)
    assert at_a != at_b and Notes.at not in (at_a, at_b)
    (at_a,) = addresses(Notes.apply(a)[1][0], a)
    assert (at_a == Notes.at) is COMPILED
    at_a, at_b = addresses(Notes.apply(a, b)[1][0], a, b)
    assert at_a != at_b


@pytest.mark.mpi(min_size=2)
def test_contexts_end_although_control_messages_fail_at_first(world) -> None:
    options = FaultyMPIRpcBackendOptions(
        messages_to_fail=["RREF_FORK_REQUEST", "RREF_CHILD_ACCEPT", "RREF_USER_DELETE", "CLEANUP_AUTOGRAD_CONTEXT_REQ"],
        num_fail_sends=3,
    )
    backend = rpc.backend_registry.BackendType.FAULTY_TENSORPIPE
    rpc.init_rpc(
        world.name, backend=backend, rank=world.rank, world_size=world.world_size,
        rpc_backend_options=with_maps(options, world),
    )  # fmt: skip
    with dist_autograd.context():
        for rank in range(world.world_size):
            rpc.rpc_sync(world.worker(rank), mpigrad.add, args=(fn.ones(3), fn.ones(3)))
    assert dist_autograd._num_unacknowledged_releases() == world.world_size - 1
    world.barrier()
    eventually(dist_autograd._get_debug_info, equals=fn.AT_REST)
    eventually(dist_autograd._num_unacknowledged_releases, equals=0)
    rpc.shutdown()
