"""Names that programs written for PyTorch use at their top: `accelerator`, `compile`, `dlpack`, NumPy's argument names."""

from __future__ import annotations

import numpy as np
import pytest

import mpigrad
from mpigrad.utils.dlpack import from_dlpack, to_dlpack


@pytest.mark.host
def test_no_accelerator() -> None:
    if mpigrad.cuda.is_available():
        pytest.skip("there is one here")
    accelerator = mpigrad.accelerator
    assert (accelerator.current_accelerator(), accelerator.is_available(), accelerator.device_count()) == (None, False, 0)
    for name in ("current_device_index", "synchronize", "empty_cache", "current_stream", "memory_allocated"):
        with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available."):
            getattr(accelerator, name)()
    with accelerator.device_index(None):
        pass


def test_compile_keeps_the_function() -> None:
    def double(x: mpigrad.Tensor) -> mpigrad.Tensor:
        return x * 2

    assert mpigrad.compile(double) is double
    assert mpigrad.compile(mode="max-autotune", fullgraph=True)(double) is double
    module = mpigrad.nn.Linear(1, 1)
    assert mpigrad.compile(module, dynamic=True) is module
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        mpigrad.compile(double, mode="default", options={})
    with pytest.raises(TypeError, match="a function or a module, not int"):
        mpigrad.compile(3)  # type: ignore[arg-type]


@pytest.mark.host
def test_dlpack_shares_memory() -> None:
    array = np.zeros(2)
    tensor = from_dlpack(array)
    tensor += 1
    assert array.tolist() == [1, 1]
    assert type(to_dlpack(tensor)).__name__ == "PyCapsule"


def test_names_of_numpy() -> None:
    x = mpigrad.arange(6.0).reshape(2, 3)
    assert x.sum(axis=0).tolist() == [3, 5, 7]
    assert mpigrad.mean(x, axis=1, keepdims=True).tolist() == [[1], [4]]
    assert mpigrad.sum(x, axis=(0, 1), keepdims=True).tolist() == [[15]]
    with pytest.raises(TypeError, match=r"sum\(\) got an unexpected keyword argument 'axis'"):
        x.sum(dim=0, axis=0)
