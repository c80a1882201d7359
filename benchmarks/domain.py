"""A shallow-water step, forward and with its gradient, against mpi4jax on the same grid and ranks.

    mpiexec -n 2 python -m benchmarks.domain mpigrad --size 256      # as many cells a rank: 256 x 256
    mpiexec -n 2 python -m benchmarks.domain mpi4jax --size 256      # in an environment with jax and mpi4jax
    mpiexec -n 1 python -m benchmarks.domain jax --size 256          # one rank, without mpi4jax

All have float64, one core per rank, and one exchange of a halo of two cells per step. The scheme is that of
`examples/shallow_water.py`, written once more for jax; the norms of the gradients must agree. Times are per step of a loop of
STEPS, the median of rounds. `--json FILE` adds the result to a file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEPS = 10
GRAVITY, DEPTH, ROTATION, FRICTION, DX = 9.81, 1.0, 0.5, 0.05, 0.1
DT = 0.3 * DX / (GRAVITY * DEPTH) ** 0.5


def with_mpigrad(size: int) -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]:
    """Functions that run the loop forwards, run it with the gradient, and give a number to compare."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    import shallow_water

    import mpigrad
    import mpigrad.distributed as dist
    from mpigrad.distributed import domain

    if not dist.is_initialized():
        dist.init_process_group("mpi")
    grid = domain.ProcessGrid((0, 1), periodic=(False, True))
    channel = shallow_water.Channel(size, grid)
    channel.layout = grid.layout((size * grid.size(), size))
    rows = mpigrad.arange(grid.rank() * size - 1, (grid.rank() + 1) * size + 1).reshape(-1, 1)
    channel.open = ((rows >= 0) & (rows < size * grid.size() - 1)).double()
    channel.dx, channel.dt = DX, DT
    state = channel.at_rest(mpigrad.tensor(first(size, grid.rank())))

    def forward() -> Any:
        with mpigrad.no_grad():
            return channel.run(state, STEPS)

    def gradient() -> Any:
        start = state.clone().requires_grad_()
        (channel.run(start, STEPS) ** 2).sum().backward()
        return start.grad

    return forward, gradient, lambda: domain.norm(gradient(), group=grid).item()


def with_jax(size: int, alone: bool) -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    rank, ranks = 0, 1
    if not alone:
        import mpi4jax
        from mpi4py import MPI

        rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size

    def from_neighbours(q: Any) -> tuple[Any, Any]:
        """The two rows below and above the block: of other ranks, or the border's again."""
        below, above = jnp.repeat(q[:, :1], 2, axis=1), jnp.repeat(q[:, -1:], 2, axis=1)
        for peer, of, mine in ((rank + 1, "above", q[:, -2:]), (rank - 1, "below", q[:, :2])):
            if 0 <= peer < ranks:
                tag = min(rank, peer)
                got = mpi4jax.sendrecv(mine, mine, peer, peer, sendtag=tag, recvtag=tag)
                below, above = (got, above) if of == "below" else (below, got)
        return below, above

    rows = jnp.arange(rank * size - 1, (rank + 1) * size + 1).reshape(-1, 1)
    is_open = ((rows >= 0) & (rows < size * ranks - 1)).astype(float)

    def step(q: Any) -> Any:
        below, above = from_neighbours(q)
        q = jnp.concatenate([below, q, above], axis=1)
        h, u, v = jnp.concatenate([q[:, :, -2:], q, q[:, :, :2]], axis=2)
        u0, v0 = u[1:-1, 1:-1], v[1:-1, 1:-1]
        v_at_u = 0.25 * (v0 + v[1:-1, 2:] + v[:-2, 1:-1] + v[:-2, 2:])
        u_at_v = 0.25 * (u0 + u[2:, 1:-1] + u[1:-1, :-2] + u[2:, :-2])
        du = (
            ROTATION * v_at_u - (GRAVITY / DX) * (h[1:-1, 2:] - h[1:-1, 1:-1])
            - (0.5 / DX) * (u0 * (u[1:-1, 2:] - u[1:-1, :-2]) + v_at_u * (u[2:, 1:-1] - u[:-2, 1:-1])) - FRICTION * u0
        )  # fmt: skip
        dv = (
            -ROTATION * u_at_v - (GRAVITY / DX) * (h[2:, 1:-1] - h[1:-1, 1:-1])
            - (0.5 / DX) * (u_at_v * (v[1:-1, 2:] - v[1:-1, :-2]) + v0 * (v[2:, 1:-1] - v[:-2, 1:-1])) - FRICTION * v0
        )  # fmt: skip
        u1, v1 = u0 + DT * du, (v0 + DT * dv) * is_open
        h0 = h[1:-1, 1:-1]
        east = u1[1:-1, :-1] * (DEPTH + 0.5 * (h0[1:-1, :-1] + h0[1:-1, 1:]))
        north = v1[:-1, 1:-1] * (DEPTH + 0.5 * (h0[:-1, 1:-1] + h0[1:, 1:-1]))
        h1 = h0[1:-1, 1:-1] - (DT / DX) * (east[:, 1:] - east[:, :-1] + north[1:] - north[:-1])
        return jnp.stack([h1, u1[1:-1, 1:-1], v1[1:-1, 1:-1]])

    def run(q: Any) -> Any:
        for _ in range(STEPS):
            q = step(q)
        return q

    h = jnp.asarray(first(size, rank))
    state = jnp.stack([h, jnp.zeros_like(h), jnp.zeros_like(h)])
    forward, gradient = jax.jit(run), jax.jit(jax.grad(lambda q: (run(q) ** 2).sum()))

    def norm() -> float:
        total = float((gradient(state) ** 2).sum())
        return (total if alone else MPI.COMM_WORLD.allreduce(total)) ** 0.5

    return lambda: forward(state).block_until_ready(), lambda: gradient(state).block_until_ready(), norm


def first(size: int, rank: int) -> Any:
    """The elevation at the start, on a rank's block."""
    import numpy as np

    y, x = np.meshgrid(np.arange(rank * size, (rank + 1) * size) + 0.5, np.arange(size) + 0.5, indexing="ij")
    return 0.2 * np.exp(-(((x - 0.4 * size) / (0.1 * size)) ** 2) - ((y - 0.9 * size) / (0.1 * size)) ** 2)


def milliseconds(work: Callable[[], Any], rounds: int) -> float:
    """The median time of a step."""
    work()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) / STEPS * 1e3)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("contestant", choices=["mpigrad", "mpi4jax", "jax"])
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    chosen = parser.parse_args()
    from mpi4py.MPI import COMM_WORLD as world

    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[world.rank % len(os.sched_getaffinity(0))]})
    made = with_mpigrad(chosen.size) if chosen.contestant == "mpigrad" else with_jax(chosen.size, chosen.contestant == "jax")
    forward, gradient, check = made
    found = {
        "forward_ms": milliseconds(forward, chosen.rounds), "gradient_ms": milliseconds(gradient, chosen.rounds),
        "gradient_norm": check(),
    }  # fmt: skip
    if world.rank == 0:
        key = f"{chosen.contestant} {world.size} ranks {chosen.size}"
        print(key, json.dumps(found))
        if chosen.json:
            path = Path(chosen.json)
            all_found = json.loads(path.read_text()) if path.exists() else {}
            path.write_text(json.dumps({**all_found, key: found}, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
