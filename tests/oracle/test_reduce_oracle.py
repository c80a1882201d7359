"""Reductions beside PyTorch: values, indices, types, node names, gradients (also of equal elements), errors."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
from tests.support.beside import compare

torch = pytest.importorskip("torch")


def inputs(T: Any) -> dict[str, Any]:
    def leaf(*shape: int) -> Any:
        count = np.arange(np.prod(shape, dtype=int), dtype="f8")
        return T.from_numpy(np.sin(count * 1.7 + len(shape)).reshape(shape)).requires_grad_()

    return {
        "x": leaf(2, 3), "a": leaf(2, 3, 2), "s": leaf(), "n": leaf(0, 3), "v": leaf(1),
        "t": T.tensor([[1.0, 2.0, 2.0], [2.0, 0.0, 1.0]], dtype=T.float64, requires_grad=True),
        "o": T.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 1.0]], dtype=T.float64, requires_grad=True),
        "w": T.tensor([1.0, float("nan"), 3.0, float("nan")], dtype=T.float64, requires_grad=True),
        "f": leaf(2, 3).detach().float().requires_grad_(), "h": T.tensor([0.5, -2.0, 7.0], dtype=T.float16),
        "i": T.tensor([[3, 1, 3], [1, 5, 0]]), "u": T.tensor([1, 0, 2], dtype=T.uint8), "b": T.tensor([True, False]),
        "z": T.complex(leaf(3).detach(), leaf(3).detach() + 1).requires_grad_(), "inf": float("inf"),
    }  # fmt: skip


TABLE = """
x.sum() | x.sum(0) | x.sum(-1, True) | x.sum((0, 1)) | x.sum(()) | x.sum([]) | x.sum(5) | x.sum((0, 0)) | x.sum(dtype=T.float32) | x.sum(0, dtype=T.float32) | s.sum() | s.sum(0) | s.sum(1) | n.sum() | n.sum(0) | n.sum(1) | i.sum() | b.sum() | u.sum() | i.sum(dtype=T.float64) | z.sum() | a.sum((0, 2), keepdim=True) | T.sum(x, dim=1) | T.sum(2) | f.sum() | h.sum() | x.sum(dim=None, keepdim=True)
x.mean() | x.mean(0) | x.mean((0, 1), True) | i.mean() | i.mean(dtype=T.float32) | f.mean(dtype=T.float64) | x.mean(dtype=T.int64) | n.mean() | n.mean(0) | s.mean() | h.mean() | z.mean() | a.mean((0, -1)) | x.nanmean() | w.nanmean() | w.nansum() | w.nansum(0, True) | i.nansum() | x.nansum(1)
x.prod() | x.prod(0) | x.prod(1, True) | o.prod() | o.prod(0) | o.prod(1) | s.prod() | n.prod() | n.prod(0) | i.prod() | i.prod(1) | b.prod() | z.prod() | z.prod(0) | x.prod(dtype=T.float32) | x.prod(3)
x.var() | x.var(0) | x.var((0, 1), keepdim=True) | x.var(correction=0) | x.var(1, correction=2) | x.var(False) | x.var(0, False) | x.var(0, True, True) | v.var() | n.var() | s.var() | i.var() | z.var() | f.var(1) | h.var() | x.std() | x.std(1) | x.std(unbiased=False) | (x * 0).std() | x.std(0, correction=0, keepdim=True) | T.var_mean(x) | T.var_mean(x, 1) | T.std_mean(x, 0, keepdim=True) | T.std_mean(x, unbiased=False) | i.std() | z.std() | x.var(4)
x.max() | t.max() | i.max() | n.max() | s.max() | x.max(0) | t.max(1) | t.max(0, keepdim=True) | t.max(1, True) | n.max(0) | n.max(1) | s.max(0) | i.max(1) | b.max() | b.max(0) | w.max() | w.max(0) | x.max(x * 2) | T.max(x, dim=1) | T.max(x, 1, True).indices | x.max(7) | z.max() | x.min() | t.min() | t.min(0) | w.min() | x.min(x * 2) | T.min(x, dim=-1)[0] | u.max() | h.max()
x.amax() | t.amax() | t.amax(0) | t.amax((0, 1)) | t.amax(1, True) | t.amin(1) | n.amax() | n.amax(0) | n.amax(1) | s.amax() | i.amax(0) | w.amin() | t.aminmax() | t.aminmax(dim=1) | t.aminmax(dim=0, keepdim=True) | x.amax((0, 0)) | z.amax()
x.argmax() | t.argmax() | t.argmax(0) | t.argmin(1, keepdim=True) | t.argmax(keepdim=True) | n.argmax() | n.argmax(0) | s.argmax() | s.argmax(0) | w.argmax() | w.argmin() | i.argmin() | x.argmax(9) | x.median() | t.median() | t.median(1) | t.median(0, True) | w.median() | w.nanmedian() | w.median(0) | w.nanmedian(0) | i.median() | i.median(1) | s.median() | i.mode() | i.mode(0) | i.mode(1, True) | x.mode(0).values
x.logsumexp(0) | x.logsumexp((0, 1)) | x.logsumexp(1, True) | i.logsumexp(0) | (x * 1000).logsumexp(1) | s.logsumexp(0) | (x - inf).logsumexp(0) | n.logsumexp(0) | n.logsumexp(1) | x.logsumexp(4)
x.norm() | x.norm(1) | x.norm(2, 0) | x.norm(3) | x.norm(0) | x.norm(inf) | x.norm(-inf) | t.norm(inf) | o.norm(2, 1) | (o * 0).norm() | o.norm(1) | x.norm(p=2, dim=(0, 1), keepdim=True) | x.norm('fro') | x.norm('x') | i.norm() | z.norm() | z.norm(1) | s.norm() | x.norm(1.5) | o.norm(3, 0) | x.norm(0.5) | n.norm() | n.norm(inf) | x.norm(dtype=T.float32) | x.dist(t) | x.norm(2, -1) | T.norm(x, dim=1)
x.cumsum(0) | x.cumsum(-1) | s.cumsum(0) | n.cumsum(0) | i.cumsum(1) | b.cumsum(0) | x.cumsum(4) | x.cumsum(0, dtype=T.float32) | x.cumprod(0) | x.cumprod(1) | o.cumprod(0) | o.cumprod(1) | s.cumprod(0) | i.cumprod(0) | x.logcumsumexp(0) | x.logcumsumexp(1) | (x * 500).logcumsumexp(1) | z.cumsum(0) | z.cumprod(0) | n.cumprod(1)
x.diff() | x.diff(2, 0) | i.diff() | b.diff() | x.diff(dim=1, prepend=x[:, :1]) | x.diff(7) | s.diff() | x.quantile(0.3) * 1 | x.quantile(0.3, 0) * 1 | x.quantile(T.tensor([0.2, 0.7], dtype=T.float64), 1) * 1 | x.quantile(T.tensor([0.2, 0.7], dtype=T.float64), 1, True) * 1 | x.quantile(0.5, 1, True, interpolation='lower') * 1 | x.quantile(0.45, 1, interpolation='higher') * 1 | x.quantile(0.45, interpolation='nearest') * 1 | x.quantile(0.45, 0, interpolation='midpoint') * 1 | w.detach().quantile(0.5) * 1 | x.quantile(2.0) | i.quantile(0.5) | x.quantile(0.5, keepdim=True) * 1 | x.sum_to_size(1, 3) | x.sum_to_size(3) * 1
x.any() | x.all() | x.any(0) | x.all(1, keepdim=True) | x.any((0, 1)) | u.any() | u.all() | b.any() | b.all(0) | n.any() | n.all() | n.all(0) | s.any() | s.all(0) | i.all(1) | x.any(3) | x.count_nonzero() | o.count_nonzero(0) | o.count_nonzero((0, 1)) | i.count_nonzero(-1) | s.count_nonzero() | z.any()
"""


@pytest.mark.parametrize(
    "expression", [each.strip() for line in TABLE.strip().split("\n") for each in line.split(" | ")]
)
def test_reductions(expression: str) -> None:
    compare(torch, mpigrad, expression, inputs)
