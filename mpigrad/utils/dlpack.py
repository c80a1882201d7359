"""Exchange of tensors with other libraries without a copy, by DLPack."""

from __future__ import annotations

from typing import Any

from .._ops.tensor.query import from_dlpack
from .._tensor import Tensor


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the memory of a tensor, which `from_dlpack` of any library turns into its array. It can be
    used once.

    >>> import mpigrad
    >>> from mpigrad.utils.dlpack import from_dlpack
    >>> import numpy
    >>> from_dlpack(numpy.arange(2))
    tensor([0, 1])
    """
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
