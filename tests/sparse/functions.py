"""Sparse tensors for tests, and functions that the tests call on other workers."""

from __future__ import annotations

from typing import Any

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
import mpigrad.nn
import mpigrad.optim
from mpigrad import Tensor
from tests.distributed.autograd.functions import add, add_to_rref, gradient_of_rref

PLACES, NUMBERS = [[2, 0, 2, 1], [0, 1, 0, 2]], [1.5, -2.0, 0.25, 4.0]  # (2, 0) twice


def sparse(
    requires_grad: bool = True, coalesced: bool = False, dtype: Any = mpigrad.float32, scale: float = 1.0
) -> Tensor:
    """A small matrix with a place that occurs twice; the same on every rank."""
    made = mpigrad.sparse_coo_tensor(PLACES, [scale * each for each in NUMBERS], (3, 3), dtype=dtype)
    made = made.coalesce() if coalesced else made
    return made.requires_grad_(requires_grad)


def add_to_rref_at(owner: str, rref: Any, b: Any) -> Any:
    return rpc.rpc_sync(owner, add_to_rref, args=(rref, b))


def tangled(a: Any, b: Any, to: str | None) -> Any:
    """A function of two tensors, part of which is computed by another worker (here, if `to` is None)."""
    product = a * b
    total = add(a, b) if to is None else rpc.rpc_sync(to, add, args=(a, b))
    return a * b * product * total * (product + total)


def multiply_if_first_needs(a: Any, b: Any) -> Any:
    """The product, unless the flags did not arrive as they were sent."""
    if not a.requires_grad or b.requires_grad:
        raise AssertionError(f"wanted True and False, got {a.requires_grad} and {b.requires_grad}")
    return a * b


def add_and_run_backward(a: Any, b: Any, to: str) -> Any:
    """Add on another worker, and run a pass of this context from here before the caller runs its own."""
    found = rpc.rpc_sync(to, add, args=(a, b))
    dist_autograd.backward(
        dist_autograd._current_context()._context_id(), [mpigrad.sparse.sum(found)], retain_graph=True
    )
    return found


def train(rref: Any, b: Any, server: str) -> tuple[Any, Any]:
    """A trainer's step; gives the gradient that the server holds in this trainer's context, and the trainer's own."""
    with dist_autograd.context() as context_id:
        loss = mpigrad.sparse.sum(rpc.rpc_sync(server, add_to_rref, args=(rref, b)))
        dist_autograd.backward(context_id, [loss])
        mine = dist_autograd.get_gradients(context_id)[b]
        return rpc.rpc_sync(server, gradient_of_rref, args=(context_id, rref)), mine


def look_up(rref: Any, *arguments: Any) -> Any:
    return rref.local_value()(*arguments)


def weight_of(rref: Any) -> Any:
    return rref.local_value().weight.detach()


def gradient_of_weight(context_id: int, rref: Any) -> Any:
    return dist_autograd.get_gradients(context_id)[rref.local_value().weight]


def step_rows(context_id: int, rref: Any, lr: float) -> None:
    """One step of SGD on a module's weight with this context's gradient."""
    weight = rref.local_value().weight
    weight.grad = dist_autograd.get_gradients(context_id)[weight]
    mpigrad.optim.SGD([weight], lr=lr).step()
    weight.grad = None
