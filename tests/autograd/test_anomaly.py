"""Anomaly detection: the lines of the forward pass behind an error or a NaN of the backward pass."""

from __future__ import annotations

import warnings

import pytest

import mpigrad
from mpigrad._graph.grad_mode import TRACING
from mpigrad.autograd import detect_anomaly, set_detect_anomaly
from mpigrad.autograd.anomaly_mode import is_anomaly_enabled


class Broken(mpigrad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("this backward is broken")


def the_culprit(x: mpigrad.Tensor) -> mpigrad.Tensor:
    return x.sqrt()


def test_nan_is_found_with_its_line() -> None:
    x = mpigrad.tensor([-1.0], requires_grad=True)
    with set_detect_anomaly(True):
        y = the_culprit(x)
        with pytest.warns(UserWarning) as shown, pytest.raises(RuntimeError) as error:
            y.backward()
    assert str(error.value) == "Function 'SqrtBackward0' returned nan values in its 0th output."
    text = str(shown[0].message)
    assert text.startswith("Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n")
    assert "in the_culprit\n    return x.sqrt()\n" in text and "_ops" not in text
    assert not is_anomaly_enabled() and not TRACING.on


def test_errors_are_shown_once() -> None:
    x = mpigrad.tensor([1.0], requires_grad=True)
    with set_detect_anomaly(True, check_nan=False):
        y = Broken.apply(x * 1)
        with pytest.warns(UserWarning, match="Error detected in BrokenBackward") as shown, pytest.raises(ValueError):
            y.backward()
    assert len(shown) == 1 and "Broken.apply(x * 1)" in str(shown[0].message)


def test_without_a_forward_pass_inside() -> None:
    x = mpigrad.tensor([-1.0], requires_grad=True)
    y = the_culprit(x)
    with (
        set_detect_anomaly(True),
        pytest.raises(RuntimeError),
        pytest.warns(UserWarning, match="No forward pass information available"),
    ):
        y.backward()


def test_second_order_shows_both_passes() -> None:
    x = mpigrad.tensor([0.0], dtype=mpigrad.float64, requires_grad=True)
    with set_detect_anomaly(True, check_nan=False):
        y = Broken.apply(x)
        seed = mpigrad.ones(1, dtype=mpigrad.float64, requires_grad=True)

        class Above(mpigrad.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return Broken.apply(grad)

        (g,) = mpigrad.autograd.grad(Above.apply(x), x, seed, create_graph=True)
        with pytest.warns(UserWarning) as shown, pytest.raises(ValueError):
            g.backward()
    assert y.requires_grad
    assert "Error detected in BrokenBackward" in str(shown[0].message)
    assert "Previous calculation was induced by AboveBackward" in str(shown[1].message)


def test_nan_may_be_let_through() -> None:
    x = mpigrad.tensor([-1.0], requires_grad=True)
    with set_detect_anomaly(True, check_nan=False):
        the_culprit(x).backward()
    assert x.grad.item() != x.grad.item()


def test_switches_nest() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with detect_anomaly():
            with set_detect_anomaly(False):
                assert not is_anomaly_enabled()
            assert is_anomaly_enabled()
    assert not is_anomaly_enabled()
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        detect_anomaly()
