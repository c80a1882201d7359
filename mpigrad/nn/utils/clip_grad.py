"""Limiting gradients: by their norm, or element by element."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._device import array_module
from ..._dtype import get_default_dtype
from ..._tensor import Tensor, wrap


def _with_gradients(parameters: Any) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [each for each in given if each._grad is not None]


def _values(tensor: Tensor) -> Any:
    """The elements that count: those of a sparse tensor are its values."""
    array = tensor._array
    return array.coalesce().values if getattr(array, "is_sparse_array", False) else array


def _norm(values: Any, norm_type: float) -> float:
    flat = values.reshape(-1)
    if norm_type == 2:
        return float(flat @ flat) ** 0.5 if values.dtype != np.float16 else float(np.linalg.norm(flat.astype("f4")))
    if norm_type == float("inf"):
        return float(abs(flat).max()) if flat.size else 0.0
    if norm_type == 0:
        return float((flat != 0).sum())
    return float((abs(flat) ** norm_type).sum()) ** (1.0 / norm_type)


def get_total_norm(
    tensors: Iterable[Tensor] | Tensor,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of several tensors together."""
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not given:
        return wrap(np.asarray(0.0, get_default_dtype().numpy))
    norms = np.asarray([_norm(_values(each), norm_type) for each in given])
    total = _norm(norms, norm_type)
    if error_if_nonfinite and not np.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    first = given[0]._array
    return wrap(array_module(first).asarray(total, dtype=first.dtype))


def clip_grads_with_norm_(
    parameters: Iterable[Tensor] | Tensor, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients down, in place, so that a total norm known already does not exceed `max_norm`."""
    grads = [each._grad for each in _with_gradients(parameters)]
    factor = float(max_norm) / (float(total_norm._array) + 1e-6)
    if factor >= 1.0:  # not a number goes on, and spoils the gradients as it should
        return
    for grad in grads:
        array = grad._array  # type: ignore[union-attr]
        if getattr(array, "is_sparse_array", False):
            array = array.values
        array *= array.dtype.type(factor)


def clip_grad_norm_(
    parameters: Iterable[Tensor] | Tensor,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients down, in place, so that their norm together does not exceed `max_norm`; give the norm.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> w = mpigrad.zeros(2, requires_grad=True)
    >>> w.grad = mpigrad.tensor([3.0, 4.0])
    >>> nn.utils.clip_grad_norm_([w], 1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    held = _with_gradients(parameters)
    total = get_total_norm([each._grad for each in held], norm_type, error_if_nonfinite)  # type: ignore[misc]
    clip_grads_with_norm_(held, max_norm, total)
    return total


def clip_grad_value_(parameters: Iterable[Tensor] | Tensor, clip_value: float, foreach: bool | None = None) -> None:
    """Limit every element of all gradients, in place, to `[-clip_value, clip_value]`."""
    limit = float(clip_value)
    for each in _with_gradients(parameters):
        array = each._grad._array  # type: ignore[union-attr]
        if getattr(array, "is_sparse_array", False):
            array = array.values
        np.clip(array, -limit, limit, out=array)


__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]
