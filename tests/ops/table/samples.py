"""Fourier transforms, special functions and statistics of samples."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpigrad
from tests.ops.table.case import BINARY_SHAPES, UNARY_SHAPES, Case, Input, const, of, real

fft, special = mpigrad.fft, mpigrad.special
ELEMENTWISE: dict[str, tuple[Callable[..., Any], str]] = {
    "i0": (mpigrad.i0, "real"), "i0e": (special.i0e, "real"), "i1": (special.i1, "real"), "i1e": (special.i1e, "real"),
    "entr": (special.entr, "positive"), "erfcx": (special.erfcx, "real"), "log_ndtr": (special.log_ndtr, "real"),
    "ndtri": (special.ndtri, "probability"), "ndtr": (special.ndtr, "real"), "mvlgamma": (lambda x: mpigrad.mvlgamma(x + 1, 2), "above one"),
    "frexp": (lambda x: mpigrad.frexp(x).mantissa, "apart"),
}  # fmt: skip


def samples() -> Iterator[Case]:
    for name, (function, kind) in ELEMENTWISE.items():
        for shape in UNARY_SHAPES:
            yield Case(f"{name} {shape}", function, (of(kind, *shape),))
    for p, q in BINARY_SHAPES:
        yield Case(f"igamma {p} {q}", mpigrad.igamma, (const(*p, kind="positive"), of("positive", *q)))
        yield Case(f"igammac {p} {q}", mpigrad.igammac, (const(*p, kind="positive"), of("positive", *q)))
        yield Case(f"zeta {p} {q}", special.zeta, (const(*p, kind="above one"), of("positive", *q)))
        yield Case(f"xlog1py {p} {q}", special.xlog1py, (real(*p), of("positive", *q)))
    yield from _transforms()
    yield from _statistics()


def _transforms() -> Iterator[Case]:
    for n in (None, 3, 6):
        yield Case(f"fft {n}", lambda x, n=n: fft.fft(x, n), (of("complex", 2, 4),))
        yield Case(f"fft of reals {n}", lambda x, n=n: fft.fft(x, n), (real(2, 4),))
        yield Case(f"rfft {n}", lambda x, n=n: fft.rfft(x, n), (real(2, 4),))
        yield Case(f"irfft {n}", lambda x, n=n: fft.irfft(x, n), (of("complex", 2, 4),))
        yield Case(f"hfft {n}", lambda x, n=n: fft.hfft(x, n, norm="ortho"), (of("complex", 4),))
        yield Case(f"ihfft {n}", lambda x, n=n: fft.ihfft(x, n), (real(4),))
    yield Case("ifftn", lambda x: fft.ifftn(x, norm="forward"), (of("complex", 2, 3, 2),))
    yield Case("rfft2", fft.rfft2, (real(2, 3, 4),))
    yield Case("irfftn", lambda x: fft.irfftn(x, (2, 3)), (of("complex", 2, 2),))
    yield Case("fftshift", fft.fftshift, (real(2, 3),))


def _statistics() -> Iterator[Case]:
    yield Case("cov", mpigrad.cov, (real(3, 4),))
    yield Case("corrcoef", mpigrad.corrcoef, (real(2, 4),))
    yield Case("trapezoid", mpigrad.trapezoid, (real(2, 3), of("positive", 3)))
    yield Case("cumulative_trapezoid", mpigrad.cumulative_trapezoid, (real(2, 3),))
    yield Case("gradient", lambda x: mpigrad.gradient(x), (real(3, 4),))
    yield Case("nanquantile", lambda x: mpigrad.nanquantile(x, 0.4, 0), (of("apart", 4, 2),))
    yield Case("renorm", lambda x: mpigrad.renorm(x, 2, 0, 0.5), (real(2, 3),))
    yield Case("vander", mpigrad.vander, (real(3),))
    for way in ("prod", "mean", "amax", "amin"):
        yield Case(f"index_reduce {way}", lambda x, y, way=way: x.index_reduce(0, mpigrad.tensor([0, 2, 0]), y, way), (of("apart", 3, 2), Input((3, 2), "positive")), second=way in ("mean", "prod"))
