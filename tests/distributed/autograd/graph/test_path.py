"""Graphs that are a single path run without the engine: their results, and which graphs are not a path."""

from __future__ import annotations

import numpy as np
import pytest

import mpigrad
from mpigrad._core.autograd.graph import RecvRpcBackward, SendRpcBackward, path_below
from mpigrad._core.node import edge_of
from mpigrad._graph.namespace import RAW

# With GPUs the engine runs every graph.
pytestmark = pytest.mark.host


def received(count: int) -> list[mpigrad.Tensor]:
    """Tensors as if they had come in one message."""
    tensors = [mpigrad.arange(4.0).reshape(2, 2) + place for place in range(count)]
    RecvRpcBackward(1, 7, tensors)
    return tensors


def given(path, keep: bool = True, grads=None) -> dict:
    """What comes out of a path, by end, when ones (or `grads`) go in."""
    found: dict = {}

    def sink(end, grad, owned) -> None:
        found[end] = grad

    path.run(RAW, keep, [np.ones((), np.float32)] if grads is None else grads, sink)
    return found


def test_a_loss_of_one_received_tensor_is_a_path() -> None:
    (a,) = received(1)
    found = given(path_below((a * 3).exp().sum().grad_fn))
    assert list(found) == [a.grad_fn]
    assert np.allclose(found[a.grad_fn], 3 * np.exp(3 * a.detach().numpy()))


def test_the_last_node_may_reach_several_outputs_of_the_end() -> None:
    a, b, c = received(3)
    found = given(path_below((c * a).sum().grad_fn))
    grads = found.pop(b.grad_fn)
    assert not found and grads[1] is None
    assert np.allclose(grads[0], c.detach().numpy()) and np.allclose(grads[2], a.detach().numpy())


def test_a_leaf_is_an_end_too() -> None:
    leaf = mpigrad.ones(3, requires_grad=True)
    ((end, grad),) = given(path_below((leaf * 2).sum().grad_fn)).items()
    assert end.variable is leaf and np.allclose(grad, 2)


def test_the_last_node_may_reach_several_ends() -> None:
    (a,) = received(1)
    leaf = mpigrad.full((2, 2), 5.0, requires_grad=True)
    found = given(path_below((a * leaf).exp().sum().grad_fn))
    both = np.exp(5 * a.detach().numpy())
    assert np.allclose(found.pop(a.grad_fn), 5 * both)
    ((end, grad),) = found.items()
    assert end.variable is leaf and np.allclose(grad, a.detach().numpy() * both)


def test_what_was_sent_as_it_is_goes_to_its_ends() -> None:
    (a,) = received(1)
    leaf = mpigrad.ones(2, 2, requires_grad=True)
    grads = [np.full((2, 2), 1.0), np.full((2, 2), 2.0)]
    path = path_below(SendRpcBackward([leaf, a]))
    assert path.nodes() == [edge[0] for edge in map(edge_of, (leaf, a))]
    found = given(path, grads=grads)
    assert grads == [None, None]  # only the ends refer to them
    assert np.allclose(found.pop(a.grad_fn), 2)
    assert [np.allclose(grad, 1) for grad in found.values()] == [True]


def test_below_a_send_function_a_path_runs() -> None:
    (a,) = received(1)
    path = path_below(SendRpcBackward([a * 3]))
    assert np.allclose(given(path, grads=[np.full((2, 2), 2.0)])[a.grad_fn], 6)


class Dropping(mpigrad.autograd.Function):
    """Gives no gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return None


def test_ends_hear_of_gradients_that_were_dropped() -> None:
    a, b = received(2)
    assert given(path_below((Dropping.apply(a * b)).sum().grad_fn)) == {a.grad_fn: [None, None]}


def test_edges_without_a_gradient_are_passed_by() -> None:
    (a,) = received(1)
    weight = mpigrad.full((2, 2), 5.0)
    assert np.allclose(given(path_below((weight * a).sum().grad_fn))[a.grad_fn], 5)


def forked() -> mpigrad.Tensor:
    (a,) = received(1)
    b = a.exp()
    return (b * b.sin()).sum()


def joined_at_the_end() -> mpigrad.Tensor:
    (a,) = received(1)
    return (a * a).sum()


def a_leaf_twice() -> mpigrad.Tensor:
    leaf = mpigrad.ones(2, 2, requires_grad=True)
    return (leaf * leaf).sum()


def an_end_before_the_last() -> mpigrad.Tensor:
    (a,) = received(1)
    return (a.exp() * mpigrad.ones(2, 2, requires_grad=True)).sum()


@pytest.mark.parametrize("make", [forked, joined_at_the_end, a_leaf_twice, an_end_before_the_last])
def test_other_graphs_are_left_to_the_engine(make) -> None:
    assert path_below(make().grad_fn) is None


def test_a_path_is_freed_like_any_graph() -> None:
    (a,) = received(1)
    path = path_below((a * a.detach()).sum().grad_fn)
    assert path is not None
    given(path, keep=False)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        given(path, keep=False)
