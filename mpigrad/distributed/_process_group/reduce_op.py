"""`ReduceOp`: the reductions of collectives, and the MPI operations that implement them."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from .. import _mpi


class ReduceOp(enum.Enum):
    """The operation with which `all_reduce`, `reduce` and `reduce_scatter` combine elements.

    SUM, PRODUCT, MIN and MAX; AVG, the mean, for floating-point types; BAND, BOR and BXOR, on the bits of integers.
    PREMUL_SUM exists as in PyTorch, but is not supported.
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


_OF_MPI = {ReduceOp.AVG: "SUM", ReduceOp.PRODUCT: "PROD"}  # an average is divided after the sum
_BITS = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
_UNORDERED = (ReduceOp.MIN, ReduceOp.MAX, *_BITS)
_NAMES = {"?": "Bool", "b": "Char", "B": "Byte", "h": "Short", "i": "Int", "l": "Long", "q": "Long"}


def operation(op: Any, kind: np.dtype) -> Any:
    """Return MPI's operation for `op` on elements of type `kind`; TypeError, ValueError or RuntimeError if there is none."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be a ReduceOp such as ReduceOp.SUM, not {op!r}")
    if op is ReduceOp.PREMUL_SUM:
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with MPI: multiply before the sum")
    if kind.kind == "c" and op in _UNORDERED:
        raise ValueError(f"all_reduce does not support {op} on complex tensors")
    if kind.kind not in "iub":
        if op in _BITS:
            raise RuntimeError(f"Cannot use {op} with non-integral dtype")
    elif op is ReduceOp.AVG:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {_NAMES.get(kind.char, kind.name)}"
        )
    return getattr(_mpi.mpi(), _OF_MPI.get(op, op.name))
