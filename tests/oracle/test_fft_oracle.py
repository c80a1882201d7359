"""Fourier transforms beside PyTorch's: values, gradients, second gradients, node names, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # its threads would wait for each other on a busy machine

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
NORMS = [None, "backward", "forward", "ortho"]


def _input(name: str, shape: tuple[int, ...], real: bool) -> np.ndarray:
    random = np.random.default_rng([len(name), *shape])
    made = random.normal(size=shape)
    return made if real or name.startswith(("rfft", "ihfft")) else made + 1j * random.normal(size=shape)


def _program(lib: Any, name: str, array: np.ndarray, args: dict[str, Any]) -> list[Any]:
    x = lib.tensor(array, requires_grad=True)
    y = getattr(lib.fft, name)(x, **args)
    real = lib.view_as_real(y.resolve_conj()) if y.is_complex() else y
    weights = lib.arange(1.0, real.numel() + 1, dtype=lib.float64).reshape(real.shape)
    (first,) = lib.autograd.grad((real * real * weights).sum(), x, create_graph=True)
    flat = lib.view_as_real(first.resolve_conj()) if first.is_complex() else first
    (second,) = lib.autograd.grad((flat * flat).sum(), x)
    return [y, first, second]


def _compare(name: str, array: np.ndarray, args: dict[str, Any]) -> None:
    ours, theirs = _program(mpigrad, name, array, args), _program(torch, name, array, args)
    assert ours[0].grad_fn.name() == theirs[0].grad_fn.name()
    for a, b in zip(ours, theirs):
        assert str(a.dtype).split(".")[1] == str(b.dtype).split(".")[1]
        np.testing.assert_allclose(a.detach().numpy(), b.detach().resolve_conj().numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("real", [True, False], ids=["real", "complex"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_one_dimension(name: str, norm: str | None, real: bool) -> None:
    for n in (None, 1, 3, 4, 7):
        _compare(name, _input(name, (2, 5), real), {"n": n, "norm": norm})
    _compare(name, _input(name, (4, 2), real), {"dim": 0, "norm": norm})


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_several_dimensions(name: str, norm: str | None) -> None:
    _compare(name + "2", _input(name, (2, 3, 4), False), {"norm": norm})
    _compare(name + "2", _input(name, (3, 4), False), {"norm": norm, "s": (5, 3)})
    _compare(name + "n", _input(name, (2, 3, 4), False), {"norm": norm})
    _compare(name + "n", _input(name, (2, 3, 4), False), {"norm": norm, "dim": (2, 0), "s": (3, 4)})
    _compare(name + "n", _input(name, (3, 4), False), {"norm": norm, "s": (-1, 3)})


def test_single_precision_stays_single() -> None:
    for name in ONE:
        x = mpigrad.ones(4)
        assert getattr(mpigrad.fft, name)(x).dtype in (mpigrad.complex64, mpigrad.float32)


@pytest.mark.parametrize("count", [1, 4, 5])
def test_frequencies(count: int) -> None:
    for name in ("fftfreq", "rfftfreq"):
        ours, theirs = getattr(mpigrad.fft, name)(count, d=0.5), getattr(torch.fft, name)(count, d=0.5)
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    grid = np.arange(float(count * 3)).reshape(count, 3)
    for name in ("fftshift", "ifftshift"):
        for dim in (None, 0, (1,)):
            ours = getattr(mpigrad.fft, name)(mpigrad.tensor(grid), dim)
            np.testing.assert_array_equal(ours.numpy(), getattr(torch.fft, name)(torch.tensor(grid), dim).numpy())


ERRORS: list[Any] = [
    lambda lib: lib.fft.rfft(lib.ones(3, dtype=lib.complex64)),
    lambda lib: lib.fft.ihfft(lib.ones(3, dtype=lib.complex64)),
    lambda lib: lib.fft.fft(lib.ones(3), n=0),
    lambda lib: lib.fft.fft(lib.ones(3), norm="nothing"),
    lambda lib: lib.fft.fftn(lib.ones(3, 4), dim=(0, 0)),
    lambda lib: lib.fft.fftn(lib.ones(3), s=(2, 2)),
    lambda lib: lib.fft.fftn(lib.ones(3, 3), s=(2,), dim=(0, 1)),
    lambda lib: lib.fft.fft(lib.ones(3), dim=5),
    lambda lib: lib.fft.fft(lib.ones(3, dtype=lib.float16)),
    lambda lib: lib.fft.fft(lib.tensor(1.0)),
    lambda lib: lib.fft.rfftn(lib.tensor(1.0)),
    lambda lib: lib.fft.irfft(lib.zeros(2, 0)),
    lambda lib: lib.fft.fft([1.0]),
]


@pytest.mark.parametrize("call", ERRORS)
def test_errors(call: Any) -> None:
    with pytest.raises(Exception) as theirs:
        call(torch)
    with pytest.raises(type(theirs.value)) as ours:
        call(mpigrad)
    assert str(ours.value) == str(theirs.value)
