"""Indexing and assigning."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpigrad
import mpigrad.nn.functional as F
from tests.ops.table.case import Case, clone_then, of, real


def indexing() -> Iterator[Case]:
    """Reading and writing by indices and masks."""
    m, i = mpigrad, mpigrad.tensor
    table: dict[str, Callable[[Any, Any], Any]] = {
        "gather": lambda x, y: m.gather(x, 1, i([[0, 0], [2, 1]])), "take_along_dim": lambda x, y: m.take_along_dim(x, i([[0], [2]]), 1),
        "index_select": lambda x, y: m.index_select(x, 1, i([2, 0, 2])), "scatter": lambda x, y: m.scatter(x, 1, i([[0, 1], [2, 0]]), y),
        "scatter value": lambda x, y: m.scatter(x, 1, i([[0, 1], [2, 0]]), 3.0),
        "scatter_add": lambda x, y: m.scatter_add(x, 1, i([[0, 0], [2, 0]]), y),
        "index_add": lambda x, y: m.index_add(x, 1, i([2, 2]), y, alpha=2), "index_copy": lambda x, y: m.index_copy(x, 1, i([2, 0]), y),
        "index_fill": lambda x, y: m.index_fill(x, 1, i([2, 0]), 5.0), "index_fill tensor": lambda x, y: m.index_fill(x, 1, i([2]), y[0, 0]),
        "index_put": lambda x, y: m.index_put(x, (i([0, 1]), i([2, 0])), y[0]),
        "index_put accumulate": lambda x, y: m.index_put(x, (i([0, 0]), i([2, 2])), y[0], accumulate=True),
        "put": lambda x, y: m.put(x, i([0, 5]), y[0]), "masked_fill": lambda x, y: m.masked_fill(x, i([True, False, True]), 3.0),
        "masked_fill tensor": lambda x, y: m.masked_fill(x, i([True, False, True]), y[0, 0]),
        "masked_scatter": lambda x, y: m.masked_scatter(x, i([[True, False, True], [False, False, True]]), y),
        "select_scatter": lambda x, y: m.select_scatter(x, y[0], 1, 1), "slice_scatter": lambda x, y: m.slice_scatter(x, y, 1, 0, 2),
        "diagonal_scatter": lambda x, y: m.diagonal_scatter(x, y[0]), "setitem slice": lambda x, y: _assigned(x, (slice(None), slice(1, 3)), y),
        "setitem "
        "number": lambda x, y: _assigned(x, 1, 2.0), "setitem row": lambda x, y: _assigned(x, (0, slice(0, 2)), y[1]),
        "setitem "
        "list": lambda x, y: _assigned(x, ([0, 1], [1, 2]), y[0]), "setitem mask": lambda x, y: _assigned(x, i([[True, False, True]] * 2), y[0, 0]),
        "in-place "
        "chain": lambda x, y: _in_place(x, y), "fill_ number": lambda x, y: clone_then(x, lambda z: z[0].fill_(2.0)), "fill_": lambda x, y: clone_then(x, lambda z: z[0].fill_(y[0, 0])),
        "copy_": lambda x, y: clone_then(x, lambda z: z[:, :2].copy_(y)), "zero_": lambda x, y: clone_then(x, lambda z: z[:1].zero_()),
        "t_": lambda x, y: clone_then(x, lambda z: z.t_()), "unsqueeze_": lambda x, y: clone_then(x, lambda z: z.unsqueeze_(0)),
        "view in "
        "place": lambda x, y: clone_then(x, lambda z: z.t().reshape(-1)), "transpose_": lambda x, y: clone_then(x, lambda z: z.transpose_(0, 1)),
    }  # fmt: skip
    for name, function in table.items():
        yield Case(f"index: {name}", function, (real(2, 3), real(2, 2)))
    for how in ("sum", "prod", "mean", "amax", "amin"):
        yield Case(
            f"scatter_reduce {how}",
            lambda x, y, how=how: m.scatter_reduce(x, 1, i([[0, 0], [2, 0]]), y, how),
            (of("apart", 2, 3), of("unit", 2, 2)),
        )
    zero = lambda: i([0])
    alone: dict[str, Callable[[Any, Any], Any]] = {
        "index_add": lambda x, y: m.index_add(x, 0, zero(), y, alpha=3), "index_copy": lambda x, y: m.index_copy(x, 0, zero(), y),
        "index_fill": lambda x, y: m.index_fill(x, 0, zero(), y), "index_reduce": lambda x, y: m.index_reduce(x, 0, zero(), y, "prod"),
        "scatter_reduce prod": lambda x, y: m.scatter_reduce(x, 0, i(0), y, "prod"),
        "scatter_reduce amax": lambda x, y: m.scatter_reduce(x, 0, i(0), y, "amax", include_self=False),
    }  # fmt: skip
    for name, function in alone.items():
        yield Case(f"no dimensions: {name}", function, (real(), real()))
    yield Case("index_fill twice", lambda x, y: m.index_fill(x, 1, i([2, 2, 0]), y), (real(2, 3), real()))
    none = lambda: mpigrad.zeros(0, dtype=mpigrad.int64)
    empty: dict[str, Callable[[Any], Any]] = {
        "index_select": lambda x: m.index_select(x, 1, none()), "gather": lambda x: m.gather(x, 1, none().reshape(2, 0)),
        "scatter_add": lambda x: m.scatter_add(x, 1, none().reshape(2, 0), x[:, :0]), "masked_select": lambda x: m.masked_select(x, x > 99),
        "index_add": lambda x: m.index_add(x, 1, none(), x[:, :0]), "index": lambda x: x[:, none()], "stack": lambda x: m.stack([x[:0], x[:0]]),
        "cat": lambda x: m.cat([x[:0], x]), "split": lambda x: x[:0].split(2), "repeat": lambda x: x[:0].repeat(2, 1), "flip": lambda x: x[:0].flip(0),
        "roll": lambda x: x[:0].roll(1, 1), "tril": lambda x: m.tril(x[:0]), "topk": lambda x: m.topk(x, 0, 1)[0], "sort": lambda x: m.sort(x[:0], 1)[0],
    }  # fmt: skip
    for name, function in empty.items():
        yield Case(f"nothing: {name}", function, (real(2, 3),))
    yield Case("fill", lambda x, y: m.fill(x, y), (real(2, 3), real()))
    yield Case("fill with a number", lambda x: m.fill(x, 2.0), (real(2, 3),))
    yield Case("take_along_dim from the end", lambda x: m.take_along_dim(x, i([[-1], [-3]]), 1), (real(2, 3),))
    yield Case("embedding", lambda w: F.embedding(i([[0, 2], [1, 2]]), w), (real(3, 2),))
    yield Case("embedding with padding", lambda w: F.embedding(i([0, 1]), w, padding_idx=2), (real(3, 2),))
    yield Case(
        "embedding_bag", lambda w: F.embedding_bag(i([0, 2, 1]), w, i([0, 1]), mode="sum"), (real(3, 2),)
    )
    yield Case(
        "embedding_bag weighted",
        lambda w, by: F.embedding_bag(i([0, 2, 1]), w, i([0, 1]), mode="sum", per_sample_weights=by),
        (real(3, 2), real(3)),
    )
    yield Case(
        "embedding_bag max", lambda w: F.embedding_bag(i([0, 2, 1]), w, i([0, 1]), mode="max"), (real(3, 2),)
    )


def _assigned(x: Any, key: Any, value: Any) -> Any:
    made = x * 1
    made[key] = value
    return made * made


def _in_place(x: Any, y: Any) -> Any:
    made = x.clone()
    made[:, 1:].mul_(y).add_(1)
    made.t()[0] *= 3
    made.sigmoid_()
    return made
