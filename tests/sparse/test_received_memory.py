"""Gradients that came from other workers stay in the memory that they were received into: no copy, sparse or dense.

Plain Python cannot tell who else holds them, and copies.
"""

from __future__ import annotations

from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad._core import objects
from mpigrad.distributed.rpc._transport.receive_pool import Block

from . import functions as fn

pytestmark = pytest.mark.mpi(min_size=2)
COUNTED = not objects.__file__.endswith(".py")  # holders are counted in C
ROWS, WIDTH, IDS = 50, 64, 1024  # a gradient of 256 KiB


def is_received(tensor: mpigrad.Tensor) -> bool:
    """Whether a tensor's memory is a block that RPC received into."""
    base: Any = tensor._array
    while getattr(base, "base", None) is not None:
        base = base.base
    return type(base) is Block


def kept_values(context_id: int, rref: Any) -> tuple[bool, bool, int]:
    grad = fn.gradient_of_weight(context_id, rref)
    return grad.is_sparse, is_received(grad._values()), grad._nnz()


def twice(x: mpigrad.Tensor, y: mpigrad.Tensor) -> mpigrad.Tensor:
    return (x * y).sum()


@pytest.mark.host
def test_values_of_a_sparse_gradient_are_the_rows_that_came(rpc_world) -> None:
    to = rpc_world.next_name
    rref = rpc.remote(to, mpigrad.nn.Embedding, args=(ROWS, WIDTH), kwargs={"sparse": True})
    ids = mpigrad.randint(0, ROWS, (IDS,))
    with dist_autograd.context() as context_id:
        found = rpc.rpc_sync(to, fn.look_up, args=(rref, ids))
        dist_autograd.backward(context_id, [(found * found).sum()])
        sparse, received, count = rpc.rpc_sync(to, kept_values, args=(context_id, rref))
        assert sparse and received == COUNTED and count == IDS
    rpc_world.barrier()


@pytest.mark.host
def test_a_dense_gradient_that_comes_in_an_answer(rpc_world) -> None:
    x, y = mpigrad.rand(256, 64, requires_grad=True), mpigrad.rand(256, 64, requires_grad=True)
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(rpc_world.next_name, twice, args=(x, y))
        dist_autograd.backward(context_id, [loss])
        found = dist_autograd.get_gradients(context_id)
        assert is_received(found[x]) == is_received(found[y]) == COUNTED
        assert mpigrad.equal(found[x], y) and mpigrad.equal(found[y], x)
    rpc_world.barrier()


def test_gradients_that_share_memory_are_copied(rpc_world) -> None:
    """Two leaves get the same array: what one does with its gradient must not be seen in the other's."""
    x, y = mpigrad.rand(256, 64, requires_grad=True), mpigrad.rand(256, 64, requires_grad=True)
    with dist_autograd.context() as context_id:
        found = rpc.rpc_sync(rpc_world.next_name, mpigrad.mul, args=(x + y, 2.0))
        dist_autograd.backward(context_id, [(found * found).sum()])
        grads = dist_autograd.get_gradients(context_id)
        wanted = grads[y].clone()
        grads[x].zero_()
        assert mpigrad.equal(grads[y], wanted) and bool((wanted != 0).all())
    rpc_world.barrier()
