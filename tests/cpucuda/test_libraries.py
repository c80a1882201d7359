"""The stand-ins of cuBLAS, cuSOLVER, cuFFT and Thrust return what NumPy returns."""

from __future__ import annotations

import cupy
import numpy as np
import pytest

TYPES = "fdFD"


def draw(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    generator = np.random.default_rng(len(shape))
    values = generator.standard_normal(shape) + 1j * generator.standard_normal(shape)
    return values.astype(dtype) if dtype in "FD" else values.real.astype(dtype)


def close(result: cupy.ndarray, expected: np.ndarray, dtype: str) -> None:
    tolerance = {"e": 2e-2, "f": 2e-4, "F": 2e-4, "d": 1e-10, "D": 1e-10}[dtype]
    assert result.dtype.char == expected.dtype.char
    np.testing.assert_allclose(result.get(), expected, rtol=tolerance, atol=tolerance)


PRODUCTS = [((5, 7), (7, 3)), ((4, 5, 7), (4, 7, 3)), ((4, 5, 7), (7, 3)), ((5, 7), (7,)), ((7,), (7,)), ((2, 0), (0, 3))]


@pytest.mark.parametrize("dtype", "e" + TYPES)
@pytest.mark.parametrize("shapes", PRODUCTS, ids=str)
def test_matmul(shapes, dtype):
    a, b = (draw(shape, dtype) for shape in shapes)
    close(cupy.asarray(a) @ cupy.asarray(b), a @ b, dtype)


@pytest.mark.parametrize("dtype", "e" + TYPES)
def test_matmul_of_transposes(dtype):
    a, b = draw((7, 5), dtype), draw((3, 7), dtype)
    close(cupy.asarray(a).T @ cupy.asarray(b).T, a.T @ b.T, dtype)


def test_products_wait_for_their_stream():
    stream = cupy.cuda.Stream(non_blocking=True)
    a = cupy.zeros((2, 2))
    cupy.cuda.Device().synchronize()
    with stream:
        product = a @ a
        a += 1
        assert (a @ a).get(stream=stream).tolist() == [[2, 2], [2, 2]]
    assert product.get(stream=stream).tolist() == [[0, 0], [0, 0]]


LINALG = {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": lambda a, module=np: module.linalg.slogdet(a)[1],
    "cholesky": np.linalg.cholesky,
    "singular values": lambda a, module=np: module.linalg.svd(a, compute_uv=False),
    "eigenvalues": lambda a, module=np: module.linalg.eigvalsh(a),
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "batch"])
@pytest.mark.parametrize("name", LINALG)
def test_linalg(name, batch, dtype):
    root = draw((*batch, 4, 4), dtype)
    matrix = root @ root.conj().swapaxes(-1, -2) + np.eye(4, dtype=dtype)
    function = LINALG[name]
    ours = getattr(cupy.linalg, name, None) if name in ("inv", "det", "cholesky") else None
    result = ours(cupy.asarray(matrix)) if ours else function(cupy.asarray(matrix), cupy)
    close(result, function(matrix), dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "batch"])
def test_factors_multiply_to_the_matrix(batch, dtype):
    matrix = draw((*batch, 4, 4), dtype)
    there = cupy.asarray(matrix)
    q, r = cupy.linalg.qr(there)
    close(q @ r, matrix, dtype)
    u, s, v = cupy.linalg.svd(there)
    close((u * s[..., None, :]) @ v, matrix, dtype)
    values, vectors = cupy.linalg.eig(there)
    close(there @ vectors - vectors * values[..., None, :], np.zeros_like(matrix, dtype.upper()), dtype.upper())


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "batch"])
def test_solve(batch, dtype):
    matrix, right = draw((*batch, 4, 4), dtype), draw((*batch, 4, 2), dtype)
    close(cupy.linalg.solve(cupy.asarray(matrix), cupy.asarray(right)), np.linalg.solve(matrix, right), dtype)


@pytest.mark.parametrize("dtype", "?bBhHiIlLqQefdFD")
def test_sorting(dtype):
    values = (np.random.default_rng(3).standard_normal((3, 40)) * 3).astype(dtype)
    if dtype in "efdFD":
        values[0, 5] = np.nan
    there = cupy.asarray(values)
    np.testing.assert_array_equal(cupy.sort(there).get(), np.sort(values))
    np.testing.assert_array_equal(cupy.sort(there, axis=0).get(), np.sort(values, axis=0))
    np.testing.assert_array_equal(cupy.argsort(there).get(), np.argsort(values, kind="stable"))
    np.testing.assert_array_equal(cupy.lexsort(there[1:]).get(), np.lexsort(values[1:]))


def test_what_sorting_is_for():
    values = np.random.default_rng(4).integers(0, 9, 50)
    there = cupy.asarray(values)
    for ours, theirs in zip(
        cupy.unique(there, return_index=True, return_inverse=True, return_counts=True),
        np.unique(values, return_index=True, return_inverse=True, return_counts=True),
    ):
        np.testing.assert_array_equal(ours.get(), theirs)
    np.testing.assert_array_equal(cupy.searchsorted(cupy.arange(9), there).get(), values)
    np.testing.assert_array_equal(there[there > 4].get(), values[values > 4])
    np.testing.assert_array_equal(cupy.nonzero(there)[0].get(), values.nonzero()[0])
    np.testing.assert_array_equal(cupy.sort(cupy.partition(there, 9)[:9]).get(), np.sort(values)[:9])
    np.testing.assert_array_equal(cupy.bincount(there).get(), np.bincount(values))


FOURIER = ["fft", "ifft", "fftn", "ifftn", "irfft", "irfftn", "hfft", "rfft", "rfftn", "ihfft"]
FROM_REAL = ("rfft", "rfftn", "ihfft")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(2,), (7,), (360,), (97,), (3, 4), (5, 6, 7), (2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("name", FOURIER)
def test_fourier_transforms(name, shape, dtype):
    values = draw(shape, dtype.lower() if name in FROM_REAL else dtype)
    given = cupy.asarray(values)
    made = getattr(cupy.fft, name)(given).get()
    np.testing.assert_allclose(made, getattr(np.fft, name)(values), rtol=0, atol=1e-4 if dtype in "fF" else 1e-11)
    np.testing.assert_array_equal(given.get(), values)


def test_fourier_transforms_wait_for_their_stream():
    stream = cupy.cuda.Stream(non_blocking=True)
    a = cupy.zeros(4)
    cupy.cuda.Device().synchronize()
    with stream:
        before = cupy.fft.rfft(a)
        a += 1
        np.testing.assert_allclose(cupy.fft.rfft(a).get(stream=stream), [4, 0, 0], atol=1e-15)
    assert before.get(stream=stream).tolist() == [0, 0, 0]


def test_plans_belong_to_a_device():
    plan = cupy.cuda.cufft.Plan1d(4, cupy.cuda.cufft.CUFFT_Z2Z, 1)
    with cupy.cuda.Device(1):
        elsewhere = cupy.ones(4, dtype=complex)
        with pytest.raises(cupy.cuda.cufft.CuFFTError, match="CUFFT_INVALID_DEVICE"):
            plan.fft(elsewhere, cupy.empty_like(elsewhere), cupy.cuda.cufft.CUFFT_FORWARD)
