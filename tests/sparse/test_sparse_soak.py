"""Thousands of sparse steps: the memory and the number of objects stay what they were, and so do lists of places."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

from . import functions as fn

ROWS, WIDTH, IDS = 300, 16, 64
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda parameters: mpigrad.optim.SGD(parameters, lr=0.1),
    "momentum": lambda parameters: mpigrad.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adagrad": lambda parameters: mpigrad.optim.Adagrad(parameters, lr=0.1),
    "sparse_adam": lambda parameters: mpigrad.optim.SparseAdam(parameters, lr=0.1),
}


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def objects() -> int:
    gc.collect()
    return len(gc.get_objects())


def soak(step: Callable[[], None], warm: int, count: int) -> None:
    for _ in range(warm):
        step()
    many, before = objects(), resident()
    for _ in range(count):
        step()
    assert objects() < many + count // 2, "an object for each step stays, or nearly"
    assert resident() < before + (8 << 20)


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_steps_of_a_local_embedding(name: str) -> None:
    table = mpigrad.nn.EmbeddingBag(ROWS, WIDTH, mode="sum", sparse=True)
    optimizer = OPTIMIZERS[name](table.parameters())
    draw = np.random.default_rng(0)
    starts = mpigrad.arange(0, IDS, 4)

    def step() -> None:
        ids = mpigrad.tensor(draw.integers(0, ROWS, IDS))
        (table(ids, starts) ** 2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    soak(step, 300, 5000 if name == "sgd" else 1000)
    held = optimizer.state.get(table.weight, {}).get("momentum_buffer")
    assert held is None or held._nnz() <= ROWS


@pytest.mark.mpi(min_size=2)
@pytest.mark.deadline(110)
def test_steps_of_an_embedding_on_a_server(rpc_world) -> None:
    to = rpc_world.next_name
    rref = rpc.remote(to, mpigrad.nn.Embedding, args=(ROWS, WIDTH), kwargs={"sparse": True})
    ids = mpigrad.randint(0, ROWS, (IDS,))

    def step() -> None:
        with dist_autograd.context() as context_id:
            found = rpc.rpc_sync(to, fn.look_up, args=(rref, ids))
            dist_autograd.backward(context_id, [(found * found).sum()])
            rpc.rpc_sync(to, fn.step_rows, args=(context_id, rref, 0.01))

    soak(step, 200, 1000)  # pool threads, some 25 objects each, may come and go meanwhile
    rpc_world.barrier()
