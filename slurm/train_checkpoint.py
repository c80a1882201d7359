"""Training that can be interrupted: on USR1 it saves its state and exits with 75, and started again it goes on.

Worker 0 holds the parameters; every worker computes the gradient of its part of the data, by RPC. Parts are added in
the order of workers and all randomness comes from the step's number, so an interrupted run ends with the same loss.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from types import FrameType

import numpy as np
from mpi4py import MPI

import mpigrad
import mpigrad.distributed.rpc as rpc

INTERRUPTED = 75
FEATURES, ROWS = 16, 64
interrupted = False


def on_signal(number: int, frame: FrameType | None) -> None:
    """Only set a flag; the training loop reads it between two steps."""
    global interrupted
    interrupted = True


def part_of_gradient(weight: mpigrad.Tensor, part: int, step: int) -> tuple[float, mpigrad.Tensor]:
    """Loss and gradient of one worker's rows in one step."""
    random = np.random.default_rng([part, step])
    x = random.standard_normal((ROWS, FEATURES))
    y = mpigrad.from_numpy(np.sin(x.sum(axis=1)))
    weight = weight.detach().requires_grad_()
    error = mpigrad.from_numpy(x) @ weight - y
    loss = (error * error).mean()
    loss.backward()
    return loss.item(), weight.grad


def train_step(weight: mpigrad.Tensor, step: int, workers: int, rate: float) -> tuple[float, mpigrad.Tensor]:
    """One step of gradient descent over the rows of all workers."""
    futures = [rpc.rpc_async(f"worker{w}", part_of_gradient, args=(weight, w, step)) for w in range(workers)]
    parts = [future.wait() for future in futures]
    gradient = sum((part[1] for part in parts[1:]), parts[0][1]) / workers
    return sum(part[0] for part in parts) / workers, weight - rate * gradient


def load(path: str) -> tuple[int, mpigrad.Tensor]:
    """The step at which to resume, and the parameters."""
    if not os.path.exists(path):
        return 0, mpigrad.from_numpy(np.zeros(FEATURES))
    with np.load(path) as state:
        return int(state["step"]), mpigrad.from_numpy(state["weight"])


def save(path: str, step: int, weight: mpigrad.Tensor) -> None:
    """Replace the checkpoint atomically: a job that is killed while it writes must not lose the last one."""
    temporary = path + ".tmp.npz"
    np.savez(temporary, step=step, weight=weight.numpy())
    os.replace(temporary, path)


def lead(args: argparse.Namespace, path: str, workers: int) -> int:
    """The training loop, on worker 0."""
    step, weight = load(path)
    print(f"{'resume' if step else 'begin'} at step {step} with {workers} workers", flush=True)
    loss = float("nan")
    while step < args.steps:
        loss, weight = train_step(weight, step, workers, args.rate)
        step += 1
        time.sleep(args.pause)
        if step % args.every == 0 or interrupted:
            save(path, step, weight)
            print(f"saved step {step}", flush=True)
        if interrupted:
            return INTERRUPTED
    print(f"final loss {loss!r} after {step} steps", flush=True)
    return 0


def main() -> int:
    """Run worker 0 or one of the others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--every", type=int, default=100, help="steps between two checkpoints")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds after each step, to try the interruption")
    parser.add_argument("--checkpoint", default="checkpoint", help="file name without its ending")
    args = parser.parse_args()
    signal.signal(signal.SIGUSR1, on_signal)
    rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    code = lead(args, args.checkpoint + ".npz", size) if rank == 0 else 0
    rpc.shutdown()
    return code


if __name__ == "__main__":
    sys.exit(main())
