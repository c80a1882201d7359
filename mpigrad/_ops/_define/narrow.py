"""bfloat16 in operators: computed in float32 and rounded once, as in PyTorch on the CPU.

Forwards of operators, and derivatives on arrays, get float32 arrays instead of bfloat16 ones; their float32 results are
converted back to bfloat16. Views are not converted, since they share memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mpigrad._array.dtype import bfloat16

F32 = np.dtype("f4")


def any_narrow(arrays: Sequence[Any]) -> bool:
    """Whether the arrays contain bfloat16 and no wider floating-point type, which the result would have."""
    kinds = {each.dtype.kind if each.dtype.kind != "f" else each.dtype.char for each in arrays if each is not None}
    return "V" in kinds and not kinds & {"f", "d"}


def widened(array: Any) -> Any:
    """The array converted to float32 if it is bfloat16; otherwise the array itself."""
    return array.astype(F32) if array is not None and array.dtype.kind == "V" else array


def narrowed(result: Any) -> Any:
    """Convert a float32 array, or those in a tuple, to bfloat16; other objects are returned unchanged."""
    if result.__class__ is tuple:
        return tuple(narrowed(each) for each in result)
    if result is None or getattr(result, "dtype", None) != F32:
        return result
    return result.astype(bfloat16.numpy)


def through_float32(compute: Callable[..., Any], arrays: Sequence[Any], kw: dict[str, Any]) -> Any:
    """`compute(*arrays, **kw)`, with bfloat16 arrays computed in float32 and the result rounded to bfloat16."""
    return narrowed(compute(*map(widened, arrays), **kw))
