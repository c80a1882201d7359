"""Corners that programs meet beside PyTorch: tensors of no dimension, odd arguments, names of arguments, small types."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
from tests.support.beside import compare

torch = pytest.importorskip("torch")


def inputs(T: Any) -> dict[str, Any]:
    x = T.from_numpy(np.arange(6.0).reshape(2, 3) - 2.5).requires_grad_()
    s = T.tensor(2.0, dtype=T.float64).requires_grad_()
    return {
        "x": x, "s": s, "o": T.tensor(5.0, dtype=T.float64).requires_grad_(), "q": T.from_numpy(np.arange(9.0).reshape(3, 3) ** 0.5).requires_grad_(),
        "b": T.tensor([3, 200], dtype=T.uint8), "h": T.tensor([300.0, 400.0], dtype=T.float16), "zero": T.tensor([0]), "F": T.nn.functional,
        "row": T.from_numpy(np.arange(6.0).reshape(1, 1, 6)).requires_grad_(), "m": T.tensor([True, False]),
        "image": T.from_numpy(np.arange(24.0).reshape(1, 2, 3, 4)).requires_grad_(),
        "c": T.tensor([[1 + 2j, 3 - 1j], [0.5j, 2.0]], dtype=T.complex128),
    }  # fmt: skip


NO_DIMENSIONS = """
s.index_add(0, zero, o) | s.index_add(0, zero, o, alpha=3) | s.index_copy(0, zero, o) | s.index_fill(0, zero, 7.0) | s.index_fill(0, zero, o) | s.scatter_reduce(0, T.tensor(0), o, 'prod') | s.scatter_reduce(0, T.tensor(0), o, 'amax', include_self=False) | s.scatter_reduce(0, T.tensor(0), o, 'prod', include_self=False) | s.index_reduce(0, zero, o, 'prod') | s.index_reduce(0, zero, o, 'mean', include_self=False) | s.detach().unique_consecutive(return_inverse=True, return_counts=True) | s.detach().unique(dim=0) | s.detach().unique_consecutive(dim=0) | s.quantile(0.5, 0, keepdim=True).detach() | s.detach().clone().index_add_(0, zero, o.detach()) | T.linalg.vander(s.detach(), N=3) | s.roll(0, 0)
T.linalg.inv_ex(T.ones(0, 0)) | T.linalg.cholesky_ex(T.ones(2, 0, 0)) | T.linalg.solve_ex(T.ones(0, 0), T.ones(0)) | x.index_fill(1, T.tensor([1, 1, 2]), o) | x.diff(n=0, prepend=x).detach() | x.diff(-1) | x.diff(n=-1)
"""

ARGUMENTS = """
x.flip(dims=(0, 1)) | x.flip(dims=[1]) | x.sum(1).expand(size=(2, 2)) | x.view(size=(3, 2)) | x.detach().view(dtype=T.int64).clone() | x.hsplit(sections=3) | x.tensor_split(indices=(1,), dim=1) | x.vsplit(indices=[1]) | x.tensor_split(sections=2, dim=1) | T.isin(elements=zero, test_element=0) | T.isin(element=1, test_elements=zero) | T.heaviside(x.detach(), values=s.detach()) | T.zeros_like(x, pin_memory=False) | T.normal(0.0, 1.0, (2,), layout=T.strided).shape | T.scalar_tensor(3, layout=T.strided) | x.detach().clone().swapaxes_(axis0=0, axis1=1) | T.zeros(3).resize_(size=(2,)).shape
T.take_along_dim(x, T.tensor([[-1, 0]]), 1) | T.tensordot(x[:1], x, ([0], [0])) | F.cosine_similarity(x.reshape(1, 2, 3), x[:1].reshape(1, 1, 3) + x.reshape(2, 1, 3), dim=-2) | F.pad(row, (-1, 2), 'circular') | F.pad(row, (2, -3), 'circular') | F.conv_transpose1d(row, row[..., :2], stride=2, dilation=3, output_padding=2) | T.linalg.pinv(q, hermitian=True).detach() | T.gradient(x, spacing=None)
T.zeros(2, out=T.ones(3)) | T.add(T.ones(2), 1, out=T.ones(3)) | T.add(T.ones(2), 1, out=T.ones(3, dtype=T.int64)) | T.isin(zero, zero, out=T.ones(1, dtype=T.bool)) | T.logit(T.tensor([0.5]), out=T.ones(0)) | T.polygamma(1, T.ones(2), out=T.ones(2)) | T.ones(2).scatter_add(0, zero, T.ones(1)) | T.scatter_add(T.ones(2), 0, zero, T.ones(1), out=T.zeros(2)) | T.add(T.ones(3), 1, out=T.ones(1).expand(3))
"""

TYPES = """
T.tensor([-1, 5], dtype=T.uint8) | T.tensor([-256], dtype=T.uint8) | T.full_like(b, -9) | T.scalar_tensor(-5, dtype=T.uint8) | b.index_add(0, zero, b[:1], alpha=-1) | b.clone().cumsum_(0) | b.clone().add_(T.tensor([1, 2])) | T.can_cast(T.int64, T.uint8) | T.can_cast(T.float32, T.int64) | T.square(m) | m.clone().square_() | [each.clone() for each in T.unravel_index(b[:1], (2, 3))] | h.norm(4) | h.norm() | F.rms_norm(h, (2,), eps=0.5) | T.dist(h, -h, 3) | T.logdet(c) | T.linalg.lu_factor(c) | T.randint(0, 300, (2,), dtype=T.uint8) | T.Tensor(zero).clone() | T.polygamma(2, T.ones(1)) | T.ones(2).polygamma_(1)
m // m | m % m | m << m | c % 2 | c // 2 | x.detach() // 1j | T.ones(2) << 1 | T.fmod(m, m) | T.div(m, m, rounding_mode='trunc') | x.detach().clamp(min=c[0, 0]) | x.detach().long().clamp(min=1j) | x.detach().long().masked_fill(T.tensor(True), 2.5) | x.detach().long().masked_fill(T.tensor(True), 1j) | x.detach().masked_fill(T.tensor(True), 1j) | m.masked_fill(m, 1j) | x.lerp(x.float(), 0.5) | zero.lerp(zero, 0.5) | T.ones(2) + c[0, 0] | T.ones(2, dtype=T.float64) + c[0, 0].to(T.complex64) | T.result_type(T.ones(2), c[0, 0]) == T.complex64
repr(T.finfo(T.float16)) | repr(T.finfo(T.float64)) | repr(T.iinfo(T.int8)) | T.finfo(T.int8) | T.iinfo(T.float32) | T.iinfo(T.bool) | T.int64.to_complex() | T.promote_types(1, T.int8) | T.set_default_dtype(T.int8) | T.set_default_dtype('a') | T.Size([1.5]) | T.Size([1, 'a']) | T.device('') | T.arange(1j) | T.arange(0, 1, 0.1, dtype=T.int64) | T.from_numpy(np.float32(1)) | T.tensor(np.array(['a'])) | T.manual_seed('a') | T.empty_like(x.t()).stride() | T.zeros_like(x.t()).stride() | T.ones_like(x.t(), memory_format=T.contiguous_format).stride()
"""

NUMPY = """
np.sin(x.detach()) | np.add(x.detach(), 1) | np.sqrt(T.tensor(4.0)) | np.exp(x) | np.float64(2.0) * x | np.float64(2.0) - x | np.float64(1.0) < x | np.concatenate([T.ones(2), T.ones(1)]).tolist() | np.add(T.ones(2), 1, np.zeros(2)).tolist()
"""

NAMES = """
T.fill(x, 3) | T.fill(x, s) | T.fill(x, x) | T.range(1, 4) | T.range(4, 1, -1.5) | T.range(1, 4, -1) | T.frobenius_norm(x, 1).detach() | T.nuclear_norm(q).detach() | T.alias_copy(x).detach() | T.split_with_sizes_copy(x.detach(), (1, 2), 1) | T.as_strided_scatter(x.detach(), T.ones(2, dtype=T.float64), (2,), (2,)) | T.as_strided_(x.detach().clone(), (2,), (3,)) | T.resize_as_(T.ones(2), x).shape | T.addmv_(T.ones(2), T.ones(2, 2), T.ones(2)) | T.i0_(T.ones(2)) | T.index_put_(T.ones(2), (zero,), T.tensor(5.0)) | T.get_device(x) | T.typename([]) | T.newaxis is None
image.contiguous(memory_format=T.channels_last) | image.contiguous(memory_format=T.channels_last).stride() | image.clone(memory_format=T.channels_last).is_contiguous(memory_format=T.channels_last) | image.to(memory_format=T.channels_last).stride() | image.to(T.float32, memory_format=T.channels_last).is_contiguous() | T.zeros_like(image, memory_format=T.channels_last).stride() | x.contiguous(memory_format=T.channels_last) | image.is_contiguous(memory_format=T.channels_last_3d) | (image.contiguous(memory_format=T.channels_last) * 2).stride() | T.empty_like(image.contiguous(memory_format=T.channels_last)).stride()
"""

COMPLAINTS = """
T.cat(T.zeros(2)) | x.expand(3) | x.repeat(-1, 1) | x.prod((0, 1)) | F.max_pool2d(row, 1, stride=0) | F.avg_pool2d(row, 0) | F.max_pool1d(row, 1, stride=0) | F.avg_pool1d(row, 2, padding=2) | F.max_pool2d(row, 2, padding=2) | F.adaptive_avg_pool1d(T.ones(2), 1) | F.adaptive_avg_pool2d(T.ones(2, 2), (2, 2)) | F.adaptive_max_pool3d(T.ones(2, 2, 2), 2) | F.adaptive_avg_pool2d(row, (-1, 1)) | F.adaptive_max_pool2d(row, (-1, 1)) | F.soft_margin_loss(T.ones(5, 4), T.ones(5)) | F.pixel_shuffle(T.ones(1, 0, 1, 1), 1) | F.pixel_unshuffle(T.ones(1, 0, 1, 1), 1) | x.narrow(0, T.tensor([1, 2]), 1) | x.narrow(0, T.tensor(True), 1) | x.narrow(0, T.tensor(1), 1) | T.zeros(3)[5] | T.zeros(3)[T.tensor([0, 7])] | T.zeros(3)[1.5] | T.stack([]) | x.view(5) | x.permute(0, 0) | T.cat([T.zeros(2), T.zeros(2, 2)]) | x.sum((0, 0)) | T.zeros(0).max() | T.zeros(3).gather(0, T.tensor([3])) | T.linalg.inv(T.ones(2, 3)) | F.cross_entropy(T.ones(2, 3), T.tensor([0])) | F.embedding(T.tensor([5]), T.ones(3, 2)) | F.linear(T.ones(2, 3), T.ones(4, 2))
"""


def cases(table: str) -> list[str]:
    return [each.strip() for line in table.strip().split("\n") for each in line.split(" | ")]


@pytest.mark.parametrize("expression", cases(NO_DIMENSIONS + ARGUMENTS.lstrip() + TYPES.lstrip() + NUMPY.lstrip() + NAMES.lstrip() + COMPLAINTS.lstrip()))
def test_corner(expression: str) -> None:
    with np.errstate(all="ignore"):
        compare(torch, mpigrad, expression, inputs)
