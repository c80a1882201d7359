"""Importing this file defines all kernels."""

from __future__ import annotations

from . import accumulate, dropout, gelu, layer_norm, nll, norms, philox, runs, softmax, steps
from .kernel import KERNELS, Kernel

FILES = (accumulate, dropout, gelu, layer_norm, nll, norms, philox, runs, softmax, steps)


def all_functions() -> list[tuple[Kernel, str]]:
    """All kernels, each with every combination of its element types."""
    return [(kernel, letters) for kernel in KERNELS.values() for letters in kernel.variants()]
