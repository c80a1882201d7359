"""Discrete Fourier transforms, all differentiable.

Names: `i` inverse, `r` of real numbers, `h` of signals with a real spectrum, `2` along two dimensions, `n` along
several. `norm` is "backward" (default: only inverse transforms are divided by the number of elements), "forward"
(only forward transforms) or "ortho" (both by its root).
"""

from __future__ import annotations

from ._frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from ._transforms import (
    fft,
    fft2,
    fftn,
    hfft,
    hfft2,
    hfftn,
    ifft,
    ifft2,
    ifftn,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
