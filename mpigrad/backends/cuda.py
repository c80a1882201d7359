"""Switches of products on GPUs, which always are as exact as their type allows."""

from __future__ import annotations

from .._array.device import NoCudaError, cupy


class _Products:
    """`mpigrad.backends.cuda.matmul`: remembered, without effect."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True


matmul = _Products()


def is_built() -> bool:
    """Whether CuPy is installed, with or without a GPU.

    >>> import mpigrad
    >>> mpigrad.backends.cuda.is_built() or not mpigrad.cuda.is_available()
    True
    """
    try:
        cupy()
    except NoCudaError:
        return False
    except RuntimeError:
        pass
    return True


__all__ = ["is_built"]
