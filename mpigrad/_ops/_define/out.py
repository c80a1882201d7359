"""The `out=` argument: writes a result into the caller's tensor."""

from __future__ import annotations

import warnings

from mpigrad._graph.grad_mode import MODE
from mpigrad._tensor import Tensor, counter

from .inplace import check_result, check_type, check_writable


def deliver(result: Tensor, out: Tensor | None) -> Tensor:
    """Return `result`, or write it into `out` and return that. Results for `out` are never recorded."""
    if out is None:
        return result
    if MODE.enabled and (out._requires or result._requires):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
        )
    if out._array.shape != result._array.shape:
        _resize(result, out)
    else:
        check_result(result, out)
        check_writable(out._array)
        out._array[...] = result._array
    # nodes that saved `out` must detect the change
    counter(out)[0] += 1
    return out


def _resize(result: Tensor, out: Tensor) -> None:
    """Resize `out` to the shape of the result, as PyTorch does, with a warning unless it was empty."""
    check_type(result, out)
    if out._array.size:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not match "
            f"the required output shape {list(result.shape)}. This behavior is deprecated, and in a future PyTorch "
            "release outputs will not be resized unless they have zero elements. You can explicitly reuse an out tensor "
            "t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning,
            stacklevel=4,
        )
    # a new array: from now on `out` shares no memory with its earlier views
    out._array = result._array.astype(out._array.dtype)
