"""All kernels there are: importing this file defines every one of them."""

from __future__ import annotations

from . import accumulate, dropout, gelu, layer_norm, nll, norms, philox, runs, softmax, steps
from .kernel import KERNELS, Kernel

FILES = (accumulate, dropout, gelu, layer_norm, nll, norms, philox, runs, softmax, steps)


def all_functions() -> list[tuple[Kernel, str]]:
    """Every kernel for every element type that it is made for."""
    return [(kernel, letters) for kernel in KERNELS.values() for letters in kernel.variants()]
