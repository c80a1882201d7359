"""Numerical gradients, of both orders, of everything that moves elements: shapes, joining, indexing, order."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad.autograd import gradcheck, gradgradcheck

# a: (2, 3, 4), b: (4,), c: (3, 3), d: a number, f: (1, 3, 1), n: (0, 3), s: (2, 4) for sources
EXPRESSIONS = """
a.reshape(6, 4) | a.transpose(0, 2).reshape(-1) | a.view(4, 6) | d.reshape(1) | n.reshape(3, 0) | a.flatten(1)
f.squeeze() | f.squeeze(0) | a.unsqueeze(1) | a.transpose(0, 2) | c.t() | a.permute(2, 0, 1) | a.movedim(0, 2) | c.T
a.mT | f.expand(2, 3, 4) | b.expand(2, 4) | d.expand(3) | T.broadcast_tensors(f, a)[0] | n.expand(2, 0, 3)
a.narrow(2, 1, 2) | a.select(1, 2) | a.unbind(1) | a.split(3, 2) | a.split([1, 3], 2) | a.chunk(2)[0]
a.tensor_split(2, 1) | c.diagonal() | a.diagonal(1, 0, 2) | a.unfold(2, 2, 1) | a.unfold(1, 2, 2)
d.unfold(0, 1, 1) | a.as_strided((2, 2), (1, 1), 3) | a[1].as_strided((2, 2), (1, 4)) | a[0] | a[..., ::2]
a[None, 1, :, None, 1:] | d[None] | a[[1, 0, 1]] | a[:, [0, 0], [1, 2]] | a[[0, 1], :, [2, 2]] | a[a > 0.1]
a[:, T.tensor([[0, 1], [2, 2]])] | a[True] | a[1, [0, 0]] | n[[]] | a[..., [-1, 0]] | T.cat([a, a * 2], 1)
T.cat([b, d.reshape(1)]) | T.stack([b, b * b], 1) | T.stack([d, d]) | T.hstack([b, b]) | T.vstack([b, b])
T.block_diag(c, b) | T.meshgrid(b, b[:2], indexing="ij") | T.cartesian_prod(b, b) | a.tile(2) | b.repeat(2, 3)
c.repeat(1, 0) | b.repeat_interleave(2) | a.repeat_interleave(T.tensor([1, 2]), 0) | a.flip(0, 2) | a.roll(1)
a.roll((1, 2), (0, 1)) | a.rot90(1, (1, 2)) | c.gather(0, i) | c.gather(1, i[:, :1]) | c.scatter(0, i, s3)
c.scatter(1, i, 2.0) | c.scatter_add(0, j, s3) | c.take_along_dim(i, 0) | c.scatter_reduce(0, j, s3, "sum")
c.scatter_reduce(0, j, s3, "mean") | c.scatter_reduce(0, j, s3, "prod") | c.scatter_reduce(0, j, s3, "amax")
c.scatter_reduce(0, j, s3, "amin", include_self=False) | c.scatter_reduce(0, j, s3, "prod", include_self=False)
a.index_select(2, k) | a.index_add(2, k, s) | a.index_copy(2, k, s) | a.index_fill(1, k, 3.0)
a.index_fill(1, k, d) | c.index_put((k, k), b[:2]) | c.index_put((k,), b[:3], accumulate=True)
a.masked_fill(a > 0, 1.5) | a.masked_fill(a > 0, d) | a.masked_select(a > 0) | b.masked_select(a > 0)
b.masked_fill(a > 0, 0) | c.masked_scatter(c > 0, a) | c.take(k) | c.put(k, b[:2])
c.put(k, b[:2], accumulate=True) | a.sort(1)[0] | a.topk(2)[0] | a.kthvalue(2)[0] | a.kthvalue(2, 1, True)[0]
a.cummax(1)[0] | a.cummin(2)[0] | a.msort() | d.sort()[0] | a.tril() | a.triu(1) | b.diag() | c.diag(1)
a.diag_embed() | a.diag_embed(-1, 0, 2) | c.trace() | a[0].trace() | c.diagonal_scatter(b[:3])
c.select_scatter(b[:3], 1, 0) | c.slice_scatter(c[:2] * 2, 0, 1) | changed(c, 0, b[:3]) | changed(c, (k, k), b[:2])
changed(c, c > 0, d) | changed(a, (slice(None), 1), b) | changed(a, (slice(None), [0, 2]), b) | changed(c, None, d)
in_place(a) | views(c) | turned(c)
"""
CASES = [each.strip() for each in re.split(r" \| |\n", EXPRESSIONS.strip())]


def changed(tensor: Any, key: Any, value: Any) -> Any:
    made = tensor * 2
    made[key] = value
    return made * made


def in_place(a: Any) -> Any:
    made = a * 1
    made[0].mul_(made[1] + a[1])
    made.transpose(0, 2)[1:].mul_(a[0, 1, 1])
    made.view(-1)[::5].sub_(a[0, 0, 0])
    return made * made


def views(c: Any) -> Any:
    made = c * 1
    row, column, turned = made[0], made[:, 0], made.t()
    row.mul_(2)
    turned[1].add_(column)
    return row * column * turned.diagonal()


def turned(c: Any) -> Any:
    made = c * 1
    row = made[0]
    made.t_()
    made[0].mul_(3)
    row.unsqueeze_(0)
    row.mul_(2)
    return made * row


def leaf(*shape: int) -> Any:
    values = np.sin(np.arange(np.prod(shape, dtype=int)) * 1.7 + len(shape)) + 0.1
    return mpigrad.tensor(values.reshape(shape), requires_grad=True)


@pytest.mark.parametrize("expression", CASES)
def test_gradients(expression: str) -> None:
    leaves = {"a": leaf(2, 3, 4), "b": leaf(4), "c": leaf(3, 3), "d": leaf(), "f": leaf(1, 3, 1), "n": leaf(0, 3)}
    leaves |= {"s": leaf(2, 3, 2), "s3": leaf(2, 3) * 0.7}
    leaves["s3"] = leaves["s3"].detach().requires_grad_()
    names = [name for name in leaves if re.search(rf"\b{name}\b", expression)]
    rest = {"T": mpigrad, "i": mpigrad.tensor([[0, 1, 2], [2, 0, 1]]), "k": mpigrad.tensor([0, 2])}
    rest["j"] = mpigrad.tensor([[0, 1, 2], [0, 1, 0]])
    rest |= {"changed": changed, "in_place": in_place, "views": views, "turned": turned}

    def function(*values: Any) -> Any:
        return eval(expression, {**rest, **dict(zip(names, values))})

    inputs = [leaves[name] for name in names]
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


def test_second_derivatives_of_a_view_changed_by_an_operation_that_saves_its_result() -> None:
    """The operation's node and the change of the base are both in the second pass's graph; either may be freed first."""
    x = mpigrad.tensor([0.3, 0.8], dtype=mpigrad.float64, requires_grad=True)

    def changed(x: mpigrad.Tensor) -> mpigrad.Tensor:
        base = x.sin()
        part = base[1]
        part.sigmoid_()
        return base * part

    assert mpigrad.autograd.gradgradcheck(changed, (x,))
