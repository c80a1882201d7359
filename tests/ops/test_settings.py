"""Switches that programs set when they start, and questions they ask."""

from __future__ import annotations

import pytest

import mpigrad
import mpigrad.backends.cudnn as cudnn


def test_deterministic() -> None:
    assert mpigrad.get_deterministic_debug_mode() == 0
    mpigrad.set_deterministic_debug_mode("warn")
    assert mpigrad.are_deterministic_algorithms_enabled() and mpigrad.get_deterministic_debug_mode() == 1
    assert mpigrad.is_deterministic_algorithms_warn_only_enabled()
    mpigrad.use_deterministic_algorithms(False)
    assert not mpigrad.are_deterministic_algorithms_enabled()
    with pytest.raises(TypeError, match="must be bool, not str"):
        mpigrad.use_deterministic_algorithms("yes")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="expected 0, 1, or 2, but got 5"):
        mpigrad.set_deterministic_debug_mode(5)
    with pytest.raises(RuntimeError, match="expected one of `default`, `warn`, `error`, but got loud"):
        mpigrad.set_deterministic_debug_mode("loud")


def test_libraries() -> None:
    cudnn.benchmark = True
    with cudnn.flags(deterministic=True):
        assert mpigrad.backends.cudnn.deterministic and not cudnn.benchmark
    assert cudnn.benchmark and not cudnn.deterministic
    cudnn.benchmark = False
    assert not cudnn.is_available() and cudnn.version() is None and not mpigrad.backends.mps.is_available()
    mpigrad.backends.cuda.matmul.allow_tf32 = False
    assert mpigrad.version.__version__ == mpigrad.__version__


def test_small_ones() -> None:
    mpigrad.set_float32_matmul_precision("high")
    assert mpigrad.get_float32_matmul_precision() == "high"
    mpigrad.set_float32_matmul_precision("highest")
    assert mpigrad.set_flush_denormal(False) and not mpigrad.is_warn_always_enabled()
    with pytest.raises(RuntimeError, match="expects a positive integer"):
        mpigrad.set_num_interop_threads(0)
    assert mpigrad.get_num_interop_threads() >= 1
    assert mpigrad.typename([]) == "list" and mpigrad.ones(2)[mpigrad.newaxis].shape == (1, 2)
    assert not mpigrad.is_anomaly_enabled() and mpigrad.is_anomaly_check_nan_enabled()
    mpigrad.set_anomaly_enabled(True, check_nan=False)
    assert mpigrad.is_anomaly_enabled() and not mpigrad.is_anomaly_check_nan_enabled()
    mpigrad.set_anomaly_enabled(False)


def test_default_tensor_type() -> None:
    mpigrad.set_default_tensor_type(mpigrad.DoubleTensor)
    try:
        assert mpigrad.ones(1).dtype is mpigrad.float64
    finally:
        mpigrad.set_default_tensor_type("mpigrad.FloatTensor")
    with pytest.raises(TypeError, match="only floating-point types are supported"):
        mpigrad.set_default_tensor_type(mpigrad.LongTensor)
    with pytest.raises(TypeError, match="invalid type object"):
        mpigrad.set_default_tensor_type("mpigrad.Foo")
