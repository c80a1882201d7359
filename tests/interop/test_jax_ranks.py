"""Stages of JAX on ranks: a pipeline over all of them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.interop.jax import gradients, parameters, stage

pytestmark = [pytest.mark.mpi(min_size=2), pytest.mark.deadline(120)]


def layer(params: Any, x: Any) -> Any:
    return jnp.tanh(x @ params["w"] + params["b"])


def weights(rank: int) -> Any:
    return {"w": jnp.eye(3) * (1 + rank), "b": jnp.full(3, 0.1 * rank)}


class Layer:
    """The layer of one rank."""

    def __init__(self, rank: int) -> None:
        self.params, self.forward = parameters(weights(rank)), stage(layer)

    def run(self, x: Any) -> Any:
        return self.forward(self.params, x)

    def gradients(self, context_id: int) -> Any:
        return gradients(self.params, context_id)


def test_a_pipeline_over_all_ranks_has_the_gradients_of_one_process(rpc_world) -> None:
    if rpc_world.rank:
        return
    x = jnp.linspace(0, 1, 6).reshape(2, 3)
    ranks = range(1, rpc_world.world_size)
    layers = [rpc.remote(rpc_world.worker(rank), Layer, args=(rank,)) for rank in ranks]
    with dist_autograd.context() as context_id:
        y: Any = x
        for each in layers:
            y = each.rpc_sync().run(y)
        loss = stage(lambda y: jnp.sum(y**2))(y)
        dist_autograd.backward(context_id, [loss])
        found = [each.rpc_sync().gradients(context_id) for each in layers]

    def alone(trees: Any) -> Any:
        y = x
        for each in trees:
            y = layer(each, y)
        return jnp.sum(y**2)

    wanted = jax.grad(alone)([weights(rank) for rank in ranks])
    assert all(jax.tree.leaves(jax.tree.map(lambda a, b: bool(jnp.allclose(a, b, atol=1e-5)), found, wanted)))
