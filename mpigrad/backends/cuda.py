"""Switches of the precision of GPU matrix products, without effect: mpigrad always uses the full precision of the type."""

from __future__ import annotations

from .._array.device import NoCudaError, cupy


class _Products:
    """`mpigrad.backends.cuda.matmul`: settings that are stored and have no effect."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True


matmul = _Products()


def is_built() -> bool:
    """Whether CuPy, through which mpigrad uses GPUs, is installed; there may be no GPU.

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
