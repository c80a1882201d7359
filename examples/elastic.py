"""Workers join and leave a running parameter server, or are killed; their work goes to the others, and the result stays the same.

    mpigrad run --survive -n 4 examples/elastic.py

The server (rank 0) has the weights and, for each step, a queue of pieces of the data. Each worker asks for a piece, computes
its gradient, and sends it to the server. worker1 is killed, worker2 leaves, worker3 joins late. If a worker is lost, its piece
returns to the queue. The gradients of a step are added in the order of the pieces, so the weights do not depend on which
worker computed which.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

from mpi4py.MPI import COMM_WORLD as world

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad.futures import Future

STEPS, PIECES, WIDTH = 12, 6, 50
SECONDS = 60  # limit for each wait of the server


def gradient(weights: mpigrad.Tensor, step: int, piece: int) -> mpigrad.Tensor:
    """The gradient of the loss of one piece of data."""
    mpigrad.manual_seed(step * PIECES + piece)
    x = mpigrad.randn(20, WIDTH)
    w = weights.clone().requires_grad_()
    ((x @ w).tanh() - x.sum(1)).square().mean().backward()
    return w.grad


class Server:
    """The weights, and who works on which piece of the current step."""

    def __init__(self) -> None:
        self.weights, self.step = mpigrad.zeros(WIDTH), 0
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._waiting: list[tuple[str, Future]] = []
        self._work: dict[int, str] = {}  # piece -> its worker
        self._found: dict[int, mpigrad.Tensor] = {}
        self._left = list(range(PIECES))
        self.done_by: dict[str, int] = {}

    def ask(self, worker: str) -> Future:
        fut: Future = Future()
        with self._lock:
            self._waiting.append((worker, fut))
        self._share_out()
        return fut

    def _share_out(self) -> None:
        """Hand pieces to waiting workers; None ends their work."""
        given: list[tuple[Future, Any]] = []
        with self._lock:
            while self._waiting and (self._left or self.over.is_set()):
                worker, fut = self._waiting.pop(0)
                if self.over.is_set() or (worker == "worker2" and self.step >= STEPS // 2):
                    given.append((fut, None))
                    continue
                piece = self._left.pop(0)
                self._work[piece] = worker
                given.append((fut, (self.weights.clone(), self.step, piece)))
        for fut, work in given:
            fut.set_result(work)

    def answer(self, worker: str, step: int, piece: int, found: mpigrad.Tensor) -> None:
        with self._lock:
            if step == self.step and self._work.get(piece) == worker:
                del self._work[piece]
                self._found[piece] = found
                self.done_by[worker] = self.done_by.get(worker, 0) + 1
                if len(self._found) == PIECES:
                    self._update()
        self._share_out()

    def _update(self) -> None:
        for piece in range(PIECES):
            self.weights -= 0.01 * self._found[piece]
        self._found, self._left, self.step = {}, list(range(PIECES)), self.step + 1
        if self.step == STEPS:
            self.over.set()

    def lost(self, worker: Any, incarnation: int, why: str) -> None:
        """A worker was lost: its pieces go to others."""
        print(f"{worker.name} was lost in step {self.step}: {why}", flush=True)
        with self._lock:
            self._waiting = [each for each in self._waiting if each[0] != worker.name]
            back = [piece for piece, owner in self._work.items() if owner == worker.name]
            for piece in back:
                del self._work[piece]
            self._left = sorted([*self._left, *back])
        self._share_out()


server = Server()


@rpc.functions.async_execution
def ask(worker: str) -> Future:
    return server.ask(worker)


def answer(worker: str, step: int, piece: int, found: mpigrad.Tensor) -> None:
    server.answer(worker, step, piece, found)


def work(name: str) -> None:
    while (task := rpc.rpc_sync("server", ask, args=(name,), timeout=0)) is not None:
        weights, step, piece = task
        if name == "worker1" and step >= 2:
            os.kill(os.getpid(), signal.SIGKILL)
        rpc.rpc_sync("server", answer, args=(name, step, piece, gradient(weights, step, piece)))


def main() -> None:
    name = f"worker{world.rank}" if world.rank else "server"
    if name == "worker3":
        time.sleep(1)
    rpc.init_rpc(name, rank=world.rank, dynamic=True)
    if name != "server":
        rpc.get_worker_info("server")  # waits a moment for it to join
        work(name)
        rpc.shutdown()
        return
    rpc.on_worker_lost(server.lost)
    assert server.over.wait(SECONDS), "the workers have not finished"
    deadline = time.monotonic() + SECONDS
    while len(rpc.get_worker_infos()) > 1:  # until all workers have been told, and have left
        assert time.monotonic() < deadline, "some workers have not left"
        time.sleep(0.01)
    rpc.shutdown()
    expected = mpigrad.zeros(WIDTH)
    for step in range(STEPS):
        found = [gradient(expected, step, piece) for piece in range(PIECES)]
        for each in found:
            expected -= 0.01 * each
    assert (server.weights == expected).all(), "the weights are those of one process"
    assert sum(server.done_by.values()) == STEPS * PIECES
    print("pieces of each worker:", dict(sorted(server.done_by.items())))


if __name__ == "__main__":
    main()
