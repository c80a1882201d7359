"""Dropout: in training, single elements or whole channels are set to zero at random."""

from __future__ import annotations

import math
import warnings

from mpigrad._ops._define.arguments import need_tensors
from mpigrad._ops._define.guarded import guarded
from mpigrad._ops._define.inplace import change
from mpigrad._ops.create.random import rand
from mpigrad._ops.nn.dropout import draws_again, native_dropout

from ..._core.tensor import wrap
from ..._generator import default_for
from ..._kernels.dropout import words_for
from ..._tensor import Tensor


def _check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@guarded
def _keep(input: Tensor, p: float, shape: tuple[int, ...], scale: float) -> Tensor:
    """A random mask of shape `shape` that broadcasts to `input`: `scale` with probability 1 - p, otherwise 0."""
    kind = input._array.dtype
    drawn = rand(*shape, dtype=input.dtype if input.dtype.is_floating_point else None, device=input.device)._array
    made = (drawn >= p).astype(kind)
    made *= kind.type(scale)
    return wrap(made)


def _drop(input: Tensor, p: float, training: bool, inplace: bool, shape: tuple[int, ...]) -> Tensor:
    _check(p)
    if not training or p == 0.0:
        return input
    array, scale = input._array, 0.0 if p == 1.0 else 1.0 / (1.0 - p)
    if draws_again(array) and shape == array.shape and not inplace:
        key, start = default_for(input.device).reserve(words_for(array.size, array.dtype))
        return native_dropout(input, key=key, start=start, p=p, scale=scale)
    mask = _keep(input, p, shape, scale)
    return change(input, lambda old: old * mask) if inplace else input * mask


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set each element to zero with probability `p` and divide the others by 1 - p; otherwise return
    `input`.

    With `inplace=True` the result overwrites `input`. Raises a ValueError unless 0 <= `p` <= 1.

    >>> import mpigrad
    >>> mpigrad.nn.functional.dropout(mpigrad.ones(3), training=False)
    tensor([1., 1., 1.])
    """
    need_tensors("dropout", input=input)
    return _drop(input, p, training, inplace, input._array.shape)


def _feature_shape(name: str, input: Tensor, batched: int) -> tuple[int, ...]:
    shape, n = input._array.shape, input._array.ndim
    if n not in (batched - 1, batched):
        warnings.warn(
            f"{name}: Received a {n}-D input to {name}, which is deprecated and will result in an error in a future "
            "release.",
            stacklevel=3,
        )
    channel_first = n == batched - 1 and batched != 4
    return (shape[0], *(1,) * (n - 1)) if channel_first else (*shape[:2], *(1,) * (n - 2))


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set whole channels to zero with probability `p` and divide the others by 1 - p; otherwise return
    `input`.

    `input` is (batch, channels, length) or (channels, length). With `inplace=True` the result overwrites `input`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.dropout1d(mpigrad.ones(1, 2, 3), p=1.0).sum()
    tensor(0.)
    """
    _check(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _drop(input, p, training, inplace, _feature_shape("dropout1d", input, 3))


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set whole channels to zero with probability `p` and divide the others by 1 - p; otherwise return
    `input`.

    `input` is (batch, channels, height, width). With `inplace=True` the result overwrites `input`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.dropout2d(mpigrad.ones(1, 2, 3, 3), p=1.0).sum()
    tensor(0.)
    """
    return _drop(input, p, training, inplace, _feature_shape("dropout2d", input, 4))


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set whole channels to zero with probability `p` and divide the others by 1 - p; otherwise return
    `input`.

    `input` is (batch, channels, depth, height, width) or the same without batch. With `inplace=True` the result
    overwrites `input`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.dropout3d(mpigrad.ones(1, 2, 3, 3, 3), p=1.0).sum()
    tensor(0.)
    """
    return _drop(input, p, training, inplace, _feature_shape("dropout3d", input, 5))


def _alpha(input: Tensor, p: float, training: bool, inplace: bool, shape: tuple[int, ...]) -> Tensor:
    _check(p)
    if not training or p == 0.0:
        return input
    if p == 1.0:
        return change(input, lambda old: old * 0.0) if inplace else input * 0.0
    low = -1.7580993408473766  # the limit of SELU at minus infinity
    scale = 1.0 / math.sqrt((low**2 * p + 1) * (1 - p))
    kept = _keep(input, p, shape, scale)
    shift = (kept - scale) * -low - low * p * scale
    return change(input, lambda old: old * kept + shift) if inplace else input * kept + shift


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for networks with `selu`: the elements keep mean 0 and variance 1 if they had them.

    With `training=True` (not the default) each element is replaced, with probability `p`, by SELU's negative
    saturation value, and all are scaled and shifted. With `inplace=True` the result overwrites `input`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.alpha_dropout(mpigrad.ones(3))
    tensor([1., 1., 1.])
    """
    return _alpha(input, p, training, inplace, input._array.shape)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels (dimension 1 of `input`). Only with `training=True`, which is not the
    default.

    >>> import mpigrad
    >>> mpigrad.nn.functional.feature_alpha_dropout(mpigrad.ones(1, 2, 3))
    tensor([[[1., 1., 1.],
             [1., 1., 1.]]])
    """
    return _alpha(input, p, training, inplace, (*input._array.shape[:2], *(1,) * (input.dim() - 2)))


__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]
