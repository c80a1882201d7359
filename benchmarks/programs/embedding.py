"""A sparse embedding on a server: look up 4,096 ids, send gradients back, update only these rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.library import library, part
from benchmarks.timing import Sample, repeat

rpc = part("distributed.rpc")
dist_autograd = part("distributed.autograd")
nn = part("nn")
optim = part("optim")

WIDTH = 64
IDS = 4096
BAG = 8

tables: dict[tuple[str, int], tuple[Any, Any]] = {}


def build(kind: str, rows: int) -> None:
    """Runs on the server: create the table and its optimizer, once."""
    if (kind, rows) not in tables:
        table = getattr(nn, kind)(rows, WIDTH, sparse=True, **({"mode": "sum"} if kind == "EmbeddingBag" else {}))
        tables[kind, rows] = table, optim.SGD(table.parameters(), lr=0.05)


def look_up(kind: str, rows: int, *arguments: Any) -> Any:
    """Runs on the server: the rows (or sums of rows) of a batch of ids."""
    return tables[kind, rows][0](*arguments)


def update(context_id: int, kind: str, rows: int) -> None:
    """Runs on the server: step with the gradients of this context."""
    table, optimizer = tables[kind, rows]
    table.weight.grad = dist_autograd.get_gradients(context_id)[table.weight]
    optimizer.step()
    optimizer.zero_grad()


def training(kind: str, rows: int) -> Callable[[float], Sample]:
    """Complete training steps with a table of this many rows."""

    def measure(seconds: float) -> Sample:
        rpc.rpc_sync("worker1", build, args=(kind, rows))
        library.manual_seed(0)
        ids = library.randint(0, rows, (IDS,))
        arguments = (ids, library.arange(0, IDS, BAG)) if kind == "EmbeddingBag" else (ids,)
        outputs = IDS // BAG if kind == "EmbeddingBag" else IDS
        target = library.ones(outputs, WIDTH)

        def step() -> None:
            with dist_autograd.context() as context_id:
                found = rpc.rpc_sync("worker1", look_up, args=(kind, rows, *arguments))
                loss = ((found - target) * (found - target)).mean()
                dist_autograd.backward(context_id, [loss])
                rpc.rpc_sync("worker1", update, args=(context_id, kind, rows))

        return repeat(step, seconds)

    return measure


MEASURES = {
    "rows_100k": training("Embedding", 100_000),
    "rows_1m": training("Embedding", 1_000_000),
    "bag_1m": training("EmbeddingBag", 1_000_000),
}
