"""A parameter server of 10 MB and three trainers, which send gradients and all get the updated parameters."""

from __future__ import annotations

import threading
from typing import Any

from benchmarks import team
from benchmarks.library import library, part
from benchmarks.rank import rank_and_size
from benchmarks.timing import Sample

rpc = part("distributed.rpc")
futures = part("futures")
optim = part("optim")

RANK, WORLD = rank_and_size()
TRAINERS = WORLD - 1
SHAPES = ((784, 1024), (1024,), (1024, 1024), (1024,), (1024, 624), (624,))  # 2.5 million float32: 10 MB
STEPS = 4


class Server:
    """Holds the parameters. The last gradient of a round triggers the update with all gradients, and the answers to all trainers.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.parameters = [library.zeros(*shape, requires_grad=True) for shape in SHAPES]
        self.optimizer = optim.SGD(self.parameters, lr=0.01)
        self.waiting: Any = futures.Future()
        self.arrived = 0

    def update(self, gradients: list[Any]) -> Any:
        """Add one trainer's gradients; returns a future of the updated parameters."""
        with self.lock:
            for parameter, gradient in zip(self.parameters, gradients):
                parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
            self.arrived += 1
            waiting = self.waiting
            if self.arrived == TRAINERS:
                self.optimizer.step()
                self.optimizer.zero_grad()
                self.arrived, self.waiting = 0, futures.Future()
                waiting.set_result([parameter.detach() for parameter in self.parameters])
            return waiting


server = Server() if RANK == 0 else None


@rpc.functions.async_execution
def update_and_fetch(gradients: list[Any]) -> Any:
    """Runs on the server."""
    assert server is not None
    return server.update(gradients)


def train(count: int) -> None:
    """Send gradients and get parameters. The loss is half of the sum of squares, so that parameters are their own gradients."""
    gradients = [library.ones(*shape) for shape in SHAPES]
    for _ in range(count):
        gradients = rpc.rpc_sync("worker0", update_and_fetch, args=(gradients,))


def step(seconds: float) -> Sample:
    """Seconds per step of the slowest of three trainers; rank 0 only serves."""
    return team.repeat_together("train", None, WORLD, seconds, STEPS)


def follow() -> None:
    """Run the main threads of the trainers."""
    team.follow({"train": train})


def dismiss() -> None:
    """Let the trainers end."""
    team.dismiss(WORLD)


MEASURES = {"step": step}
