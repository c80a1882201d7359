"""Clipping of gradients: by their norm, or element by element."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mpigrad._array.device import CPU, device_of, move, on_device
from mpigrad._array.dtype import get_default_dtype

from ..._core.tensor import wrap
from ..._kernels.norms import norm_of_many, scale_many
from ..._tensor import Tensor


def _with_gradients(parameters: Any) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [each for each in given if each._grad is not None]


def _values(tensor: Tensor) -> Any:
    """The stored elements: of a sparse tensor, its values."""
    array = tensor._array
    if array.__class__ is np.ndarray or not getattr(array, "is_sparse_array", False):
        return array
    return array.coalesce().values


def _by_device(arrays: list[Any]) -> dict[Any, list[Any]]:
    if set(map(type, arrays)) == {np.ndarray}:
        return {CPU: arrays}
    found: dict[Any, list[Any]] = {}
    for each in arrays:
        found.setdefault(device_of(each), []).append(each)
    return found


def _total(arrays: list[Any], norm_type: float) -> Any:
    """The joint norm of all arrays, as a zero-dimensional array on the device of the first one; takes one kernel launch per GPU.
    """
    norms = []
    for place, some in _by_device(arrays).items():
        with on_device(place):
            norms.append(norm_of_many(some, norm_type))
    if len(norms) == 1:
        return norms[0]
    first = device_of(arrays[0])
    with on_device(first):
        return norm_of_many([move(each, first) for each in norms], norm_type)


def get_total_norm(
    tensors: Iterable[Tensor] | Tensor,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The `norm_type`-norm of all elements of several tensors together, as a tensor with one element.

    `error_if_nonfinite`: raise a RuntimeError if it is infinite or NaN. `foreach` has no effect.
    """
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not given:
        return wrap(np.asarray(0.0, get_default_dtype().numpy))
    total = _total([_values(each) for each in given], norm_type)
    if error_if_nonfinite and not np.isfinite(float(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return wrap(total)


def clip_grads_with_norm_(
    parameters: Iterable[Tensor] | Tensor, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply all gradients in place by min(1, max_norm / total_norm), where `total_norm` is a result of
    `get_total_norm`.
    """
    arrays = [each._grad._array for each in _with_gradients(parameters)]  # type: ignore[union-attr]
    arrays = [each if each.__class__ is np.ndarray else getattr(each, "values", each) for each in arrays]
    for place, some in _by_device(arrays).items():
        with on_device(place):
            scale_many(some, move(total_norm._array, place), float(max_norm))


def clip_grad_norm_(
    parameters: Iterable[Tensor] | Tensor,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients down in place so that their joint `norm_type`-norm is at most `max_norm`; returns the norm
    before.

    `parameters`: tensors whose `.grad` is scaled. `error_if_nonfinite`: raise a RuntimeError if the norm is infinite
    or NaN. `foreach` has no effect.

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
    """Limit every element of the gradients of `parameters`, in place, to `[-clip_value, clip_value]`. `foreach` has
    no effect.
    """
    limit = float(clip_value)
    for each in _with_gradients(parameters):
        array = each._grad._array  # type: ignore[union-attr]
        if getattr(array, "is_sparse_array", False):
            array = array.values
        np.clip(array, -limit, limit, out=array)


__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]
