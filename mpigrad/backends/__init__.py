"""What programs ask of PyTorch's libraries: which are there, and switches for them. NumPy and CuPy do the work here."""

from . import cuda, cudnn, mps

__all__ = ["cuda", "cudnn", "mps"]
