"""Queries and switches of PyTorch's libraries, for ported programs. NumPy and CuPy do the work here."""

from . import cuda, cudnn, mps

__all__ = ["cuda", "cudnn", "mps"]
