"""The `out=` argument: deliver a result into a tensor that the caller made."""

from __future__ import annotations

from .._graph.grad_mode import MODE
from .._tensor import Tensor, counter
from ._inplace import check_result


def deliver(result: Tensor, out: Tensor | None) -> Tensor:
    """Give `result`, or write it into `out` and give that. Results for `out` are never recorded."""
    if out is None:
        return result
    if MODE.enabled and (out._requires or result._requires):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
        )
    if out._array.shape != result._array.shape:
        if out._array.size:
            check_result(result, out)
        out._array = result._array.astype(out._array.dtype)
    else:
        check_result(result, out)
        out._array[...] = result._array
    counter(out)[0] += 1
    return out
