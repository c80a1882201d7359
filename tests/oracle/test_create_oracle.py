"""New tensors, conversions, queries and printing beside PyTorch."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
from tests.support.beside import compare, evaluate, spelled

torch = pytest.importorskip("torch")


def inputs(T: Any) -> dict[str, Any]:
    x = T.from_numpy(np.arange(6, dtype="f4").reshape(2, 3)).requires_grad_()
    return {
        "x": x, "y": x * 1, "d": T.from_numpy(np.arange(3.0)), "i": T.from_numpy(np.arange(3)), "b": T.tensor([True, False]),
        "s": T.tensor(2.5), "n": T.tensor(7), "e": T.zeros(0, 3), "z": T.tensor([1 + 2j]), "v": np.arange(3, dtype="i2"),
        "h": T.tensor([1.5], dtype=T.float16), "nan": float("nan"), "inf": float("inf"),
    }  # fmt: skip


CREATION = """
T.zeros(2, 3) | T.zeros((2, 3)) | T.zeros([2]) | T.zeros(size=(1, 2)) | T.zeros(()) | T.zeros(0) | T.zeros(2, dtype=T.int64) | T.zeros(2, dtype=int) | T.zeros('a') | T.zeros(2.0) | T.zeros() | T.zeros(2, dtype=T.int64, requires_grad=True) | T.zeros(2, requires_grad=True) | T.ones(2, 2, dtype=T.bool) | T.ones(T.Size([2])) | T.empty(2, 3).shape | T.empty(0) | T.ones(n - 5)
T.full((2,), 3) | T.full((2,), 3.0) | T.full((2,), True) | T.full((2,), 1j) | T.full(2, 3) | T.full((2,), 3, dtype=T.float64) | T.full((), 3) | T.zeros_like(x) | T.ones_like(i) | T.full_like(x, 5) | T.full_like(i, 2.7) | T.empty_like(x).shape | T.zeros_like(x, dtype=T.int32) | T.zeros_like([1]) | T.ones_like(x, requires_grad=True) | T.eye(2) | T.eye(2, 3) | T.eye(3, dtype=T.int64) | T.eye(-1) | T.eye(2, -1) | T.scalar_tensor(2)
T.tensor(1) | T.tensor(1.5) | T.tensor(True) | T.tensor(1j) | T.tensor([1, 2.5]) | T.tensor([True, 2]) | T.tensor([]) | T.tensor([[], []]) | T.tensor([[1, 2], [3]]) | T.tensor('a') | T.tensor(['a']) | T.tensor(None) | T.tensor([None]) | T.tensor(2 ** 63) | T.tensor(range(3)) | T.tensor({1: 2}) | T.tensor([1.5], dtype=T.int64) | T.tensor([1, 0], dtype=T.bool) | T.tensor([1], requires_grad=True) | T.tensor((1, (2,))) | T.tensor(((1,), (2,))) | T.tensor(v) | T.tensor(v, dtype=T.float32) | T.tensor([v, v]) | T.tensor(np.float32(2)) | T.tensor([np.float64(1), 2]) | T.tensor(300, dtype=T.uint8) | T.tensor(nan) | T.tensor([s, 1]) | T.tensor([d, d]) | T.tensor(v[::-1]) | T.tensor([1e40]) | T.tensor(x) | T.tensor([[1], [2]], dtype=T.float64)
T.as_tensor([1, 2]) | T.as_tensor(v) | T.as_tensor(d) | T.as_tensor(d, dtype=T.float32) | T.as_tensor(1.5) | T.from_numpy(v) | T.from_numpy([1]) | T.from_numpy(v[::-1]) | T.asarray([1, 2]) | T.asarray(v) | T.asarray(d, dtype=T.float32) | T.asarray([1.0], requires_grad=True) | T.asarray(v, copy=True)
T.arange(3) | T.arange(1, 2.5, 0.5) | T.arange(3, 0) | T.arange(0, 3, 0) | T.arange(5, 0, -2) | T.arange(5.0) | T.arange(0) | T.arange(3, dtype=T.float64) | T.arange(1, 10, 3) | T.arange(0, 1, 0.1) | T.arange(n) | T.arange(-3, 3) | T.arange(2.7, dtype=T.int64) | T.linspace(0, 1, 5) | T.linspace(0, 1, 1) | T.linspace(0, 1, 0) | T.linspace(0, 1, -1) | T.linspace(0, 10, 5, dtype=T.int64) | T.linspace(-1, 1, 4, dtype=T.float64) | T.logspace(0, 2, 3) | T.logspace(0, 4, 3, base=2) | T.linspace(5, 1, 3)
d.new_zeros(2) | d.new_ones((2, 2)) | i.new_full((2,), 3) | d.new_tensor([1, 2]) | d.new_empty(3).shape | d.new_zeros(2, dtype=T.int32) | T.FloatTensor([1, 2]) | T.LongTensor([1.5]) | T.FloatTensor(2, 3).shape | T.Tensor([1, 2]) | T.Tensor() | T.Tensor(2).shape | T.Tensor(2.5) | T.Tensor([[1], [2, 3]]) | T.BoolTensor([0, 1]) | T.DoubleTensor([1]) | isinstance(d, T.DoubleTensor) | isinstance(d, T.FloatTensor) | T.is_tensor(d) | T.is_tensor(1) | T.numel(x) | T.is_floating_point(i) | T.is_complex(z) | T.result_type(i, 1.5) == T.float32 | T.rand(2, 3).shape | T.randn(()).shape | T.rand(2, dtype=T.float64).dtype == T.float64 | T.randint(3, (2, 2)).dtype == T.int64 | T.randint(3, 3, (2,)) | T.randint(5, 2, (2,)) | T.randint(2, 3, (4,)) | T.randperm(-1) | T.randperm(0) | T.randperm(1) | T.rand_like(x).shape | T.randn_like(i) | T.normal(0.0, -1.0, (2,)) | T.normal(d, 1.0).dtype == T.float64 | T.multinomial(T.ones(3), 4) | T.multinomial(T.zeros(3), 1) | T.multinomial(-T.ones(3), 1) | T.multinomial(T.ones(3, 2, 2), 1) | T.multinomial(i, 1) | T.multinomial(d, 0) | T.bernoulli(T.ones(2)) | T.bernoulli(i) | T.ones(2).uniform_(3, 1) | T.ones(2).normal_(0, -1) | i.normal_() | i.uniform_() | T.zeros(3).uniform_(2, 2) | T.zeros(2).random_(5, 6) | T.zeros(2).random_(1) | T.zeros(2).random_(5, 2) | T.zeros(2).bernoulli_(1) | T.zeros(2).bernoulli_(2) | T.zeros(2).exponential_(-1) | T.zeros(2).geometric_(2)
"""

CONVERSION = """
x.double() | x.half() | x.long() | x.int() | x.bool() | x.float() is x | y.double() | i.float() | x.to(T.float64) | x.to('cpu') is x | x.to(d) | x.to('cpu', T.float64) | x.to(device='cpu', dtype=T.float16) | x.to(T.float32, copy=True) | y.to(T.int64) | x.to('foo:0:1') | x.to(dtype=T.float64).sum() | x.type(T.float64) | x.type('x') | x.type_as(i) | x.cpu() is x | d.cfloat() | z.real.double() | x.char() | x.byte() | x.short()
x.clone() | y.clone() | x.detach() | y.detach() | x.contiguous() is x | x.t().contiguous() | x.t().is_contiguous() | x.data | x.item() | s.item() | n.item() | e.item() | i.tolist() | s.tolist() | x.detach().tolist() | x.numpy() | bool(i) | bool(e) | bool(s) | bool(T.zeros(1)) | float(s) | float(i) | int(s) | int(T.tensor(nan)) | complex(s) | range(9)[n] | range(3)[s] | range(3)[T.tensor([1])] | len(x) | len(s) | i.__index__() | 2 in i | 9 in i | 'a' in i
x.size() == (2, 3) | x.size(1) | x.size(-1) | x.size(2) | s.size(0) | x.stride() | x.stride(0) | x.t().stride() | x.stride(2) | x.dim() | x.ndimension() | x.numel() | x.nelement() | x.element_size() | d.element_size() | x.nbytes | x.itemsize | x[1].storage_offset() | x.storage_offset() | x.is_floating_point() | i.is_complex() | x.is_signed() | T.is_nonzero(s) | x.is_same_size(d) | e.stride() | e.is_contiguous() | x.get_device()
d.fill_(2) | d.fill_(s) | d.fill_('a') | d.fill_(d) | i.fill_(2.7) | y.fill_(2) | x.fill_(2) | d.zero_() | y.zero_() | d.copy_(i) | d.copy_(T.ones(4)) | d.copy_(T.ones(2, 3)) | d.copy_(1) | i.copy_(d) | y.copy_(T.ones(3)) | T.zeros(2, 3).copy_(x) | x.copy_(y) | b.copy_(T.tensor([0.0, 2.0])) | T.zeros(2, 3, dtype=T.float64).copy_(y) | y.fill_(s.clone().requires_grad_())
T.relu_(y) | T.exp_(y) | y.negative_() | T.zero_(i) | d.greater_(1) | T.clamp_(d, 1, 2) | d.add_(1) | d.add_(d, alpha=2) | i.add_(1.5) | d.add_(T.ones(2, 3)) | i.mul_(2) | i.div_(2) | d.div_(2, rounding_mode='floor') | y.add_(1) | y.mul_(2) | y.exp_() | y.sigmoid_() | y.relu_() | y.sqrt_() | y.pow_(2) | y.clamp_(1, 2) | y.neg_() | x.add_(1) | d.sub_(1) | y.tanh_() | d.floor_() | d.lerp_(d + 1, 0.5) | d.addcmul_(d, d) | d.addcdiv_(d, d + 1, value=2) | i.eq_(1) | d.gt_(1) | b.logical_not_() | i.bitwise_and_(1) | d.cumsum_(0) | d.remainder_(2) | d.fmod_(2) | d.round_() | d.trunc_() | d.abs_() | d.sin_() | d.erfinv_() | d.nan_to_num_() | y.detach_() | d.clip_(0, 1) | d.atan2_(d) | y.div_(3) | y.sub_(y * 2)
"""

PRINTED = """
T.tensor(1.0) | T.tensor(1) | T.tensor(True) | T.tensor(1.5) | T.tensor(1e10) | T.tensor(1e-10) | T.tensor([1.0, 10000.0]) | T.tensor([1.0, 1000.0]) | T.tensor([0.5, 1000.0]) | T.tensor([1e-5, 1.0]) | T.tensor([nan, 1.0]) | T.tensor([inf, 1.5, -inf]) | T.tensor([nan]) | T.tensor([0.0, -0.0]) | T.tensor([1e8]) | T.tensor([1.1e8]) | T.tensor([123456789]) | T.tensor([-1, 10]) | T.tensor([[1.0, -2.5], [3.0, 4.0]]) | T.zeros(2, 2, 2) | T.tensor([True, False]) | z | T.tensor([1 + 2.5j, -3 - 1j]) | T.tensor(1 - 2j) | T.tensor([1e10 + 1j])
x | y | y.sum() | d | i.int() | h | T.zeros(0) | T.zeros(0, dtype=T.int64) | e | T.zeros(2, 0, 3) | T.arange(1001) | T.arange(1000) | T.arange(2000.0).reshape(40, 50) | T.arange(100000.0).reshape(10, 100, 100) | T.ones(30) | T.ones(100).double() | T.arange(24).reshape(2, 3, 4) | T.arange(60.0) / 7 | T.ones(7, dtype=T.float64).requires_grad_() | T.zeros(20, 20) | T.full((3, 3), nan) | T.arange(1001).bool() | T.arange(1500).reshape(3, 500).to(T.complex64) | T.ones(1, 1, 1, 1) | T.arange(8) * 10 ** 10 | T.ones(11).double().requires_grad_() | (T.ones(12).double().requires_grad_() * 2) | T.Size([2, 3]) | T.Size([]) | T.float32 | T.tensor([1, 2]).max(0) | T.ones(2, 3).max(1) | T.tensor([0.1, 0.25]).half() | T.tensor([65504.0]).half() | T.tensor([3.4e38]) | T.tensor([1e-45]) | T.tensor([255], dtype=T.uint8) | T.device('cpu') | T.device('cuda', 1)
"""


def cases(table: str) -> list[str]:
    return [each.strip() for line in table.strip().split("\n") for each in line.split(" | ")]


@pytest.mark.parametrize("expression", cases(CREATION))
def test_creation(expression: str) -> None:
    compare(torch, mpigrad, expression, inputs)


@pytest.mark.parametrize("expression", cases(CONVERSION))
def test_conversion(expression: str) -> None:
    compare(torch, mpigrad, expression, inputs)


@pytest.mark.parametrize("expression", cases(PRINTED))
def test_printed(expression: str) -> None:
    expected, found = (repr(evaluate(library, expression, inputs)[1]) for library in (torch, mpigrad))
    assert found == expected.replace("torch.", "mpigrad."), expression


@pytest.mark.parametrize("spec", ["", ".2f", "6.3f", "5", "e"])
def test_formatted(spec: str) -> None:
    for value in (2.5, 3):
        assert format(mpigrad.tensor(value), spec) == _formatted(torch.tensor(value), spec)


def _formatted(value: Any, spec: str) -> str:
    return spelled(format(value, spec))
