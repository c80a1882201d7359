"""The engine, the container and send functions without any RPC."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
from mpigrad._core.autograd import contexts
from mpigrad._core.autograd.contexts import record_send
from mpigrad.distributed.autograd import DistEngine


@pytest.fixture
def context(monkeypatch) -> Iterator[dist_autograd.DistAutogradContext]:
    monkeypatch.setattr(contexts, "_without_rpc", None)
    dist_autograd._init(3)
    made = dist_autograd._new_context()
    yield made
    dist_autograd._release_context(made._context_id())


def test_a_send_function_refuses_gradients_it_should_not_get(context) -> None:
    tensors = [mpigrad.ones(3, 3, requires_grad=True) for _ in range(2)]
    record_send(context, 1, tensors)
    context.known_workers.add(1)
    send = context._send_functions()[1]
    assert context._known_worker_ids() == {1} and context.retrieve_send_function(1) is send
    with pytest.raises(RuntimeError, match="should receive no inputs, instead received 2"):
        send.apply(tensors)
    send.set_grads([tensors[0], None])
    with pytest.raises(RuntimeError, match="didn't receive valid gradients"):
        send.apply([])
    with pytest.raises(RuntimeError, match="Could not find send function"):
        context.retrieve_send_function(99)


def test_gradients_that_are_too_few_are_refused(context) -> None:
    record_send(context, 5, [mpigrad.ones(2, requires_grad=True), mpigrad.ones(3, requires_grad=True)])
    context.parts.catch_up()
    with pytest.raises(RuntimeError, match="received 1 gradients for autograd message 5, which had 2 tensors"):
        context.parts.source_for(5, [mpigrad.ones(2).numpy()])


def test_a_pass_without_rpc_leaves_no_pass_behind(context) -> None:
    engine = DistEngine.get_instance()
    x = mpigrad.randn(2, 2, requires_grad=True)
    y = mpigrad.randn(2, 2, requires_grad=True)
    assert engine.num_backward_passes() == 0
    engine.execute(context._context_id(), [(x * x + y * y).sum()], False)
    assert engine.num_backward_passes() == 0
    found = dist_autograd.get_gradients(context._context_id())
    assert mpigrad.allclose(found[x], 2 * x.detach()) and mpigrad.allclose(found[y], 2 * y.detach()) and x.grad is None


def test_a_send_function_passes_its_gradients_on(context) -> None:
    engine = DistEngine.get_instance()
    t = mpigrad.ones(1, requires_grad=True)
    record_send(context, 0, [t * 4])
    send = context.retrieve_send_function(0)
    send.set_grads([mpigrad.full((1,), 2.0)])
    engine.execute_send_function_async(context, send, False).wait()
    assert engine.num_backward_passes() == 0
    assert dist_autograd.get_gradients(context._context_id())[t].tolist() == [8.0]


def test_a_send_function_that_shares_nodes_with_another_passes_its_gradients_on(context) -> None:
    t = mpigrad.ones(1, requires_grad=True)
    shared = t * 4
    record_send(context, 0, [shared])
    record_send(context, 1, [shared * 2])
    send = context.retrieve_send_function(1)
    send.set_grads([mpigrad.full((1,), 3.0)])
    engine = DistEngine.get_instance()
    engine.execute_send_function_async(context, send, True).wait()
    assert dist_autograd.get_gradients(context._context_id())[t].tolist() == [24.0]
    assert engine.num_backward_passes() == 0


def test_a_send_function_of_another_context_is_refused(context) -> None:
    record_send(context, 0, [mpigrad.ones(1, requires_grad=True)])
    other = dist_autograd.DistAutogradContext(99)
    with pytest.raises(RuntimeError, match="not one of context 99"):
        DistEngine.get_instance().execute_send_function_async(other, context.retrieve_send_function(0), False)


def test_a_context_does_not_hold_the_graphs_of_all_of_its_passes(context) -> None:
    x = mpigrad.ones(2, requires_grad=True)
    first = (x * x).sum()
    dist_autograd.backward(context._context_id(), [first], retain_graph=True)
    node = weakref.ref(first.grad_fn)
    del first
    for _ in range(100):
        dist_autograd.backward(context._context_id(), [(x * x).sum()])
    assert node() is None and len(context.roots) < 100
    assert dist_autograd.get_gradients(context._context_id())[x].tolist() == [202.0, 202.0]


def test_initialised_once(context) -> None:
    dist_autograd._init(3)
    with pytest.raises(RuntimeError, match="worker_id: 3, cannot initialize with different worker_id: 4"):
        dist_autograd._init(4)
    with pytest.raises(RuntimeError, match=r"worker_id needs to be in the range \[0, 16777215\]"):
        dist_autograd._init(1 << 24)
    assert context._context_id() >> 48 == 3
