"""Queries and switches of the libraries that PyTorch uses, for ported programs. mpigrad uses NumPy and CuPy instead."""

from . import cuda, cudnn, mps

__all__ = ["cuda", "cudnn", "mps"]
