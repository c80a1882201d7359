"""The error function and the gamma family, against the C library and known identities."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mpigrad
from mpigrad._kernels import select, special

POINTS = np.concatenate([np.linspace(-6, 6, 4001), [1e-300, 25.0, -25.0, 0.0, 1.0, -1.0]])


@pytest.mark.parametrize(("ours", "theirs"), [(special.erf, math.erf), (special.erfc, math.erfc)])
def test_error_functions(ours: object, theirs: object) -> None:
    expected = np.array([theirs(each) for each in POINTS])  # type: ignore[operator]
    np.testing.assert_allclose(ours(POINTS), expected, 2e-14)  # type: ignore[operator]
    single = ours(POINTS.astype("f4"))  # type: ignore[operator]
    assert single.dtype == np.float32
    rounded = np.array([theirs(float(each)) for each in POINTS.astype("f4")])  # type: ignore[operator]
    np.testing.assert_allclose(single, rounded, 3e-6, 1e-38)


def test_limits() -> None:
    edges = np.array([np.inf, -np.inf, np.nan, -0.0])
    for kind in ("f8", "f4", "f2"):
        np.testing.assert_array_equal(special.erf(edges.astype(kind)), [1, -1, np.nan, 0])
        np.testing.assert_array_equal(special.erfc(edges.astype(kind)), [0, 2, np.nan, 1])
    np.testing.assert_array_equal(special.erfinv(np.array([1.0, -1.0, 2.0, 0.0])), [np.inf, -np.inf, np.nan, 0])
    np.testing.assert_array_equal(
        special.lgamma(np.array([1.0, 2.0, 0.0, -3.0, np.inf])), [0, 0, np.inf, np.inf, np.inf]
    )


def test_inverse_of_the_error_function() -> None:
    y = np.concatenate([np.linspace(-0.999, 0.999, 2001), 1 - 10.0 ** np.arange(-15, -2)])
    np.testing.assert_allclose(special.erf(special.erfinv(y)), y, 1e-14, 1e-16)
    assert np.allclose(special.erfc(special.erfinv(y[-13:])), 1 - y[-13:], 1e-12)


def test_gamma_family() -> None:
    x = np.concatenate([np.linspace(0.01, 30, 3000), -np.linspace(0.013, 9.87, 500)])
    np.testing.assert_allclose(special.lgamma(x), [math.lgamma(each) for each in x], 1e-11, 2e-14)
    np.testing.assert_allclose(special.digamma(x + 1), special.digamma(x) + 1 / x, 1e-9, 1e-11)
    assert special.digamma(np.array([1.0]))[0] == pytest.approx(-0.57721566490153286, abs=1e-15)
    assert special.polygamma(1, np.array([1.0]))[0] == pytest.approx(math.pi**2 / 6, abs=1e-14)
    assert special.polygamma(2, np.array([1.0]))[0] == pytest.approx(-2 * 1.2020569031595942, abs=1e-14)


def test_masks_choose_exactly() -> None:
    values = np.array([np.inf, -np.inf, np.nan, 1.5, -0.0] * 100)
    mask = np.arange(500) % 3 == 0
    for kind in ("f8", "f4", "f2"):
        given = values.astype(kind)
        np.testing.assert_array_equal(select.keep(given, mask), np.where(mask, given, 0))
        np.testing.assert_array_equal(select.choose(mask, given, given[::-1]), np.where(mask, given, given[::-1]))


def test_masked_gradients_stay_zero_beside_infinities() -> None:
    x = mpigrad.tensor([-1.0, 2.0], requires_grad=True)
    (grad,) = mpigrad.autograd.grad(x.relu(), x, mpigrad.tensor([float("inf"), 1.0]))
    assert grad.tolist() == [0.0, 1.0]
