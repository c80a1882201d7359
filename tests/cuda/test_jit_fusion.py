"""Scripted chains on a GPU: one generated kernel, with the results that the operators give one by one."""

from __future__ import annotations

import numpy as np
import pytest

import mpigrad
from mpigrad._array.device import host
from mpigrad.jit._codegen import gpu_fusion


def chain(x, y):
    return mpigrad.sigmoid(x * 2 + y) * mpigrad.tanh(y - x) / (x * x + 1.0) + 2 - mpigrad.relu(y)


def others(x, y):
    return mpigrad.exp(-x) * mpigrad.sin(y) + mpigrad.cos(x) * mpigrad.rsqrt(mpigrad.square(y) + 1) - mpigrad.abs(
        mpigrad.sqrt(x * x)
    ) + mpigrad.reciprocal(y * y + 3)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the fused kernels that ran."""
    seen: list[str] = []
    run = gpu_fusion.GpuKernel.__call__

    def noting(self: gpu_fusion.GpuKernel, values: list[object]) -> object:
        seen.append(self.name)
        return run(self, values)

    monkeypatch.setattr(gpu_fusion.GpuKernel, "__call__", noting)
    return seen


@pytest.mark.parametrize("function", [chain, others])
@pytest.mark.parametrize("dtype", [mpigrad.float32, mpigrad.float64])
def test_a_chain_is_one_kernel_with_the_same_results(function, dtype, launched) -> None:
    scripted = mpigrad.jit.script(function)
    x, y = (mpigrad.randn(5, 7, dtype=dtype).to("cuda") for _ in range(2))
    found, wanted = scripted(x, y), function(x, y)
    assert len(launched) == 1 and found.device == wanted.device and found.dtype is dtype
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if dtype is mpigrad.float32 else {"rtol": 1e-13, "atol": 1e-14}
    np.testing.assert_allclose(host(found._array), host(wanted._array), **tolerance)
    np.testing.assert_allclose(host(scripted(x.t(), y.t())._array), host(wanted._array).T, **tolerance)


def test_a_chain_runs_on_the_device_of_its_operands(launched) -> None:
    scripted = mpigrad.jit.script(chain)
    x, y = mpigrad.ones(3).to("cuda:1"), mpigrad.ones(3).to("cuda:1")
    assert scripted(x, y).device == mpigrad.device("cuda:1") and len(launched) == 1


def test_what_cannot_be_fused_runs_as_written(launched) -> None:
    scripted = mpigrad.jit.script(chain)
    x, y = mpigrad.randn(4, 4).to("cuda"), mpigrad.randn(4, 4).to("cuda")
    for a, b in ((x, y[0]), (x, y.double()), (x.detach().requires_grad_(), y)):
        found, wanted = scripted(a, b), chain(a, b)
        assert found.requires_grad == wanted.requires_grad
        np.testing.assert_array_equal(host(found.detach()._array), host(wanted.detach()._array))
    assert launched == []
    with pytest.raises(RuntimeError, match="same device"):
        scripted(x, y.to("cuda:1"))
