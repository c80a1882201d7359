"""Graphs that are one path run without the engine: with what result, and which graphs are none."""

from __future__ import annotations

import numpy as np
import pytest

import mpigrad
from mpigrad._graph.namespace import RAW
from mpigrad.distributed.autograd._functions import RecvRpcBackward
from mpigrad.distributed.autograd._path import path_below


def received(count: int) -> list[mpigrad.Tensor]:
    """Tensors as if they had come in one message."""
    tensors = [mpigrad.arange(4.0).reshape(2, 2) + place for place in range(count)]
    RecvRpcBackward(1, 7, tensors)
    return tensors


def test_a_loss_of_one_received_tensor_is_a_path() -> None:
    (a,) = received(1)
    loss = (a * 3).exp().sum()
    path = path_below(loss.grad_fn)
    assert path is not None and path.end is a.grad_fn
    given = path.run(RAW, True, np.ones((), np.float32))
    assert np.allclose(given, 3 * np.exp(3 * a.detach().numpy()))


def test_the_last_node_may_reach_several_outputs_of_the_end() -> None:
    a, b, c = received(3)
    path = path_below((c * a).sum().grad_fn)
    assert path is not None
    grads = path.run(RAW, True, np.ones((), np.float32))
    assert grads[1] is None
    assert np.allclose(grads[0], c.detach().numpy()) and np.allclose(grads[2], a.detach().numpy())
    assert b.grad_fn is path.end


def test_a_leaf_is_an_end_too() -> None:
    leaf = mpigrad.ones(3, requires_grad=True)
    path = path_below((leaf * 2).sum().grad_fn)
    assert path is not None and path.end.variable is leaf


def test_edges_without_a_gradient_are_passed_by() -> None:
    (a,) = received(1)
    weight = mpigrad.full((2, 2), 5.0)
    path = path_below((weight * a).sum().grad_fn)
    assert path is not None
    assert np.allclose(path.run(RAW, True, np.ones((), np.float32)), 5)


def forked() -> mpigrad.Tensor:
    (a,) = received(1)
    b = a.exp()
    return (b * b.sin()).sum()


def joined_at_the_end() -> mpigrad.Tensor:
    (a,) = received(1)
    return (a * a).sum()


def two_ends() -> mpigrad.Tensor:
    (a,) = received(1)
    return (a * mpigrad.ones(2, 2, requires_grad=True)).sum()



@pytest.mark.parametrize("make", [forked, joined_at_the_end, two_ends])
def test_other_graphs_are_left_to_the_engine(make) -> None:
    assert path_below(make().grad_fn) is None


def test_a_path_is_freed_like_any_graph() -> None:
    (a,) = received(1)
    path = path_below((a * a.detach()).sum().grad_fn)
    assert path is not None
    path.run(RAW, False, np.ones((), np.float32))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        path.run(RAW, False, np.ones((), np.float32))
