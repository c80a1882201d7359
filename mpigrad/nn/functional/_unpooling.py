"""`max_unpool`: puts values back to the positions at which `max_pool` found them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from mpigrad._array.device import array_module
from mpigrad._ops._define.arguments import need_tensors

from ..._core.tensor import wrap
from ..._tensor import Tensor
from .._sizes import tuple_of

Ints = int | Sequence[int]


def _unpool(
    n: int, input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None, padding: Ints, output_size: Any
) -> Tensor:
    need_tensors(f"max_unpool{n}d", input=input, indices=indices)
    if tuple(input.shape) != tuple(indices.shape):
        found, given = ([*each.shape, 1] if n == 1 else list(each.shape) for each in (input, indices))
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({found}) but got indices tensor with shape: "
            f"{given}"
        )
    kernel, around = tuple_of(kernel_size, n), tuple_of(padding, n)
    step = kernel if stride is None else tuple_of(stride, n)
    usual = tuple((a - 1) * s + k - 2 * p for a, s, k, p in zip(input.shape[-n:], step, kernel, around))
    size = usual if output_size is None else tuple(output_size)[-n:]
    for wanted, normal, s in zip(size, usual, step):
        if not normal - s < wanted < normal + s:
            raise ValueError(
                f"invalid output_size {list(size)} (dim sizes must be less than one stride from {list(usual)})"
            )
    front = input.shape[: input.dim() - n]
    length = prod(size)
    # if windows overlap, one of the values is kept
    made = wrap(array_module(input._array).zeros((*front, length), input._array.dtype))
    return made.scatter(-1, indices.reshape(*front, -1), input.reshape(*front, -1)).reshape(*front, *size)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:
    """Reverse `max_pool1d` in part: a tensor of zeros with each value of `input` at its index.

    - `input`, `indices`: the two results of `max_pool1d(..., return_indices=True)`; `kernel_size`, `stride` and
      `padding` are those given to it.
    - `output_size`: the size of the result, where several are possible: the shape of the tensor that was pooled, or
      its last dimension.

    >>> import mpigrad
    >>> F, x = mpigrad.nn.functional, mpigrad.tensor([[[1.0, 3.0, 2.0, 0.0]]])
    >>> F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2)
    tensor([[[0., 3., 2., 0.]]])
    """
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:
    """Reverse `max_pool2d` in part: a tensor of zeros with each value of `input` at its index.

    The arguments are those of `max_unpool1d`, for results of `max_pool2d(..., return_indices=True)`.

    >>> import mpigrad
    >>> F = mpigrad.nn.functional
    >>> F.max_unpool2d(*F.max_pool2d(mpigrad.ones(1, 1, 4, 4), 2, return_indices=True), 2).sum()
    tensor(4.)
    """
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:
    """Reverse `max_pool3d` in part: a tensor of zeros with each value of `input` at its index.

    The arguments are those of `max_unpool1d`, for results of `max_pool3d(..., return_indices=True)`.

    >>> import mpigrad
    >>> F = mpigrad.nn.functional
    >>> F.max_unpool3d(*F.max_pool3d(mpigrad.ones(1, 1, 2, 2, 2), 2, return_indices=True), 2).sum()
    tensor(1.)
    """
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)


__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]
