"""Fourier transforms of complex and real numbers, along one dimension or several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._ops._define.arguments import need_tensors, title
from .._ops._define.dims import wrap_dim
from .._ops._define.out import deliver
from .._ops._define.unary import as_float
from .._ops.elementwise.arithmetic import conj
from .._ops.elementwise.complex_numbers import TO_COMPLEX
from .._ops.linalg.fourier import fft_complex, fft_from_real, fft_to_real
from .._ops.shape.padding import constant_pad
from .._tensor import Tensor

Ints = Sequence[int] | None
Out = Tensor | None


def _factor(norm: str | None, forward: bool, count: int) -> float:
    """The normalisation factor of a forward or inverse transform of `count` elements, for the argument `norm`."""
    if norm not in (None, "backward", "forward", "ortho"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1.0 if (norm == "forward") is not forward else 1.0 / count


def _checked(name: str, input: Tensor, real: bool = False) -> Tensor:
    need_tensors(f"fft_{name}", input=input)
    kind = input._array.dtype
    if real and kind.kind == "c":
        raise RuntimeError(f"{name} expects a real input tensor, but got {title(input._array)}")
    if kind.kind == "f" and kind.itemsize == 2:
        raise RuntimeError(f"Unsupported dtype {title(input._array)}")
    return as_float(input)


def _one_dim(input: Tensor, dim: int) -> tuple[int]:
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return (wrap_dim(dim, input.ndim),)


def _dims(input: Tensor, s: Ints, dim: Ints) -> tuple[tuple[int, ...], list[int]]:
    """The dimensions to transform, from the arguments `s` and `dim`, and the length of each (-1: unchanged)."""
    if dim is not None:
        dims = tuple(wrap_dim(each, input.ndim) for each in ([dim] if isinstance(dim, int) else dim))
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > input.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {input.ndim} dimensions.")
        dims = tuple(range(input.ndim - len(s), input.ndim))
    else:
        dims = tuple(range(input.ndim))
    return dims, [-1] * len(dims) if s is None else list(s)


def _resized(input: Tensor, dims: Sequence[int], lengths: Sequence[int]) -> Tensor:
    """The input, cut or padded with zeros to the wanted lengths."""
    sides = [(0, 0)] * input.ndim
    for dim, length in zip(dims, lengths):
        size = input.shape[dim] if length == -1 else length
        if size < 1:
            raise RuntimeError(f"Invalid number of data points ({size}) specified")
        sides[dim] = (0, size - input.shape[dim])
    return constant_pad(input, sides=tuple(sides), value=0) if any(after for _, after in sides) else input


def _both_ways(
    name: str, input: Tensor, dims: tuple[int, ...], lengths: list[int], norm: Any, forward: bool, out: Out
) -> Tensor:
    x = _resized(_checked(name, input), dims, lengths)
    factor = _factor(norm, forward, math.prod(x.shape[each] for each in dims))
    if not dims:
        return deliver(x if x.is_complex() else TO_COMPLEX(x), out)
    if x.is_complex():
        return deliver(fft_complex(x, dim=dims, factor=factor, forward=forward), out)
    made = fft_from_real(x, dim=dims, factor=factor, half=False)
    return deliver(made if forward else conj(made), out)


def _half(
    name: str, input: Tensor, dims: tuple[int, ...], lengths: list[int], norm: Any, forward: bool, out: Out
) -> Tensor:
    """The transform from real numbers to half of the spectrum. If not `forward`, the inverse transform: it conjugates."""
    x = _resized(_checked(name, input, real=True), dims, lengths)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    factor = _factor(norm, forward, math.prod(x.shape[each] for each in dims))
    if forward:
        return deliver(fft_from_real(x, dim=dims, factor=factor, half=True), out)
    made = conj(fft_from_real(x, dim=dims[-1:], factor=factor, half=True))
    if len(dims) > 1:
        made = fft_complex(made, dim=dims[:-1], factor=1.0, forward=False)
    return deliver(made, out)


def _real(
    name: str, input: Tensor, dims: tuple[int, ...], lengths: list[int], norm: Any, forward: bool, out: Out
) -> Tensor:
    """The transform from half of a spectrum to real numbers; the forward direction conjugates its input."""
    x = _checked(name, input)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    x = x if x.is_complex() else TO_COMPLEX(x)
    length = lengths[-1] if lengths[-1] != -1 else 2 * (x.shape[dims[-1]] - 1)
    if length < 1:
        raise RuntimeError(f"Invalid number of data points ({length}) specified")
    x = _resized(x, dims, [*lengths[:-1], length // 2 + 1])
    factor = _factor(norm, forward, math.prod([x.shape[each] for each in dims[:-1]]) * length)
    if len(dims) > 1:
        x = fft_complex(x, dim=dims[:-1], factor=1.0, forward=forward)
    x = conj(x) if forward else x
    return deliver(fft_to_real(x, dim=dims[-1:], factor=factor, length=length), out)


_KINDS = {
    "fft": (_both_ways, True, "The Fourier transform of complex or real numbers"),
    "ifft": (_both_ways, False, "The inverse Fourier transform"),
    "rfft": (_half, True, "The Fourier transform of real numbers, of which it returns the half with non-negative frequencies"),
    "irfft": (_real, False, "The inverse of `rfft#`, from half of a spectrum to real numbers"),
    "hfft": (_real, True, "The Fourier transform, which is real, of a Hermitian-symmetric signal, of which half is given"),
    "ihfft": (_half, False, "The inverse of `hfft#`"),
}


_NORM = """`norm`: which transforms are divided by the number of elements: "backward" (default), the inverse ones; "forward",
    the forward ones; "ortho", both, by its square root. `out`: a tensor for the result."""
_SEVERAL = f"`dim`: the dimensions. `s`: the length of each; -1 keeps it.\n    {_NORM}"


def _along_one(name: str, example: str) -> Any:
    run, forward, what = _KINDS[name]

    def transform(
        input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Out = None
    ) -> Tensor:
        need_tensors(f"fft_{name}", input=input)
        lengths = [-1 if n is None else n]
        if n is not None and n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        return run(name, input, _one_dim(input, dim), lengths, norm, forward, out)

    length = "the length of the result" if run is _real else "the input is cut or padded with zeros to this length"
    given = f"`dim`: the dimension. `n`: {length}.\n    {_NORM}"
    return _named(transform, name, f"{what.replace('#', '')}, along one dimension.\n\n    {given}\n\n{example}")


def _along_two(name: str) -> Any:
    run, forward, what = _KINDS[name[:-1]]

    def transform(
        input: Tensor, s: Ints = None, dim: Ints = (-2, -1), norm: str | None = None, *, out: Out = None
    ) -> Tensor:
        need_tensors(f"fft_{name}", input=input)
        return run(name, input, *_dims(input, s, dim), norm, forward, out)

    return _named(transform, name, f"{what.replace('#', '2')}, along two dimensions.\n\n    {_SEVERAL}\n    ")


def _along_several(name: str) -> Any:
    run, forward, what = _KINDS[name[:-1]]

    def transform(
        input: Tensor, s: Ints = None, dim: Ints = None, norm: str | None = None, *, out: Out = None
    ) -> Tensor:
        need_tensors(f"fft_{name}", input=input)
        return run(name, input, *_dims(input, s, dim), norm, forward, out)

    return _named(transform, name, f"{what.replace('#', 'n')}, along all dimensions or those given.\n\n    {_SEVERAL}\n    ")


def _named(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = "mpigrad.fft", doc
    return function


def _example(call: str, result: str) -> str:
    return f"    >>> import mpigrad\n    >>> mpigrad.fft.{call}\n    {result}\n"


fft = _along_one("fft", _example("fft(mpigrad.tensor([1.0, 0.0])).real", "tensor([1., 1.])"))
ifft = _along_one("ifft", _example("ifft(mpigrad.tensor([2.0, 0.0])).real", "tensor([1., 1.])"))
rfft = _along_one("rfft", _example("rfft(mpigrad.tensor([1.0, 1.0, 1.0, 1.0])).real", "tensor([4., 0., 0.])"))
irfft = _along_one("irfft", _example("irfft(mpigrad.tensor([4.0, 0.0, 0.0]))", "tensor([1., 1., 1., 1.])"))
hfft = _along_one("hfft", _example("hfft(mpigrad.tensor([1.0, 0.0]))", "tensor([1., 1.])"))
ihfft = _along_one("ihfft", _example("ihfft(mpigrad.tensor([2.0, 2.0])).real", "tensor([2., 0.])"))
fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = (_along_two(name + "2") for name in _KINDS)
fftn, ifftn, rfftn, irfftn, hfftn, ihfftn = (_along_several(name + "n") for name in _KINDS)
