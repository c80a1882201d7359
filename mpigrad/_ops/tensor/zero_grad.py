"""Clearing the gradient of a leaf, as `zero_grad` of modules and optimizers does for each parameter."""

from __future__ import annotations

from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor


def clear_grad(parameter: Tensor, set_to_none: bool) -> None:
    """Set the gradient to None, or to zero: in place, unless the gradient has a graph."""
    held = parameter._grad
    if held is None or set_to_none:
        parameter._grad = None
    elif held._grad_fn is not None or held._requires or held.is_sparse:
        parameter._grad = wrap(held._array * 0)
    else:
        held._array[...] = 0
        if held._counter is not None:
            held._counter[0] += 1
