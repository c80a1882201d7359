"""Normalisation over batches, layers, groups and instances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mpigrad._ops._define.arguments import need_tensors
from mpigrad._ops._define.guarded import guarded
from mpigrad._ops.nn import normalization

from ..._tensor import Tensor, counter


def _blend(running: Tensor | None, fresh: Any, momentum: float) -> None:
    """Update a running statistic in place, without recording: (1 - momentum) * running + momentum * fresh. None: do
    nothing.
    """
    if running is None:
        return
    held = running._array
    held *= held.dtype.type(1 - momentum)
    held += (fresh.reshape(held.shape) * momentum).astype(held.dtype)
    counter(running)[0] += 1


@guarded
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel (dimension 1) to mean 0 and variance 1, then multiply by `weight` and add `bias`, if
    given.

    - `training`: normalise with mean and variance of this batch, and blend them with weight `momentum` into
      `running_mean` and `running_var`, in place. Otherwise normalise with the running statistics.
    - `running_mean`, `running_var`, `weight`, `bias`: one number for each channel, or None. `eps` is added to the
      variance.

    Raises a ValueError in training if there is only one value for each channel.

    >>> import mpigrad
    >>> x = mpigrad.tensor([[1.0], [3.0]])
    >>> mpigrad.nn.functional.batch_norm(x, None, None, training=True, eps=0.0)
    tensor([[-1.],
            [ 1.]])
    """
    need_tensors(
        "batch_norm", input=input, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var
    )
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"batch_norm: expected an input of at least 2 dimensions, got {list(shape)}")
    channels, features = shape[1], (1, shape[1], *(1,) * (len(shape) - 2))
    given = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, each in given.items():
        if each is not None and each._array.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {each._array.size}")
    if not training:
        for name in ("running_mean", "running_var"):
            if given[name] is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        return normalization.fixed(input, weight, bias, running_mean, running_var, features=features, eps=eps)
    count = math.prod(shape) // max(channels, 1)
    if count <= 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    made, mean, var = normalization.batch(input, weight, bias, stats=features, features=features, eps=eps)
    _blend(running_mean, mean._array, momentum)
    _blend(running_var, var._array * (count / (count - 1)), momentum)
    return made


@guarded
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each sample over its spatial dimensions, then multiply by `weight` and add `bias`, if
    given.

    - `input`: (batch, channels, length, ...).
    - `use_input_stats`: normalise with the statistics of the input itself; otherwise with `running_mean` and
      `running_var`.
    - `running_mean`, `running_var`, `weight`, `bias`: one number for each channel, or None; with `use_input_stats`
      the running ones are updated in place, with weight `momentum`. `eps` is added to the variance.

    >>> import mpigrad
    >>> mpigrad.nn.functional.instance_norm(mpigrad.tensor([[[1.0, 3.0]]]), eps=0.0)
    tensor([[[-1.,  1.]]])
    """
    need_tensors("instance_norm", input=input, weight=weight, bias=bias)
    shape = input._array.shape
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    count = math.prod(shape[2:])
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    features = (1, shape[1], *(1,) * (len(shape) - 2))
    stats = (*shape[:2], *(1,) * (len(shape) - 2))
    made, mean, var = normalization.instance(input, weight, bias, stats=stats, features=features, eps=eps)
    _blend(running_mean, mean._array.mean(axis=0), momentum)
    _blend(running_var, (var._array * (count / max(count - 1, 1))).mean(axis=0), momentum)
    return made


def _check_features(
    name: str, input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, bias: Tensor | None
) -> None:
    wanted = list(normalized_shape)
    if not wanted:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for what, each in (("weight", weight), ("bias", bias)):
        if each is not None and tuple(each.shape) != normalized_shape:
            raise RuntimeError(
                f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape {list(each.shape)} "
                f"and normalized_shape = {wanted}"
            )
    shape = input._array.shape
    if shape[max(len(shape) - len(wanted), 0) :] != normalized_shape:
        stars = ", ".join(["*", *map(str, wanted)])
        raise RuntimeError(
            f"Given normalized_shape={wanted}, expected input with shape [{stars}], but got input of size{list(shape)}"
        )


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each sample to mean 0 and variance 1 over its last dimensions, then multiply by `weight` and add
    `bias`, if given.

    - `normalized_shape`: the lengths of those dimensions; a RuntimeError is raised if `input.shape` does not end with
      them.
    - `weight`, `bias`: tensors of shape `normalized_shape`, or None. `eps` is added to the variance.

    >>> import mpigrad
    >>> mpigrad.nn.functional.layer_norm(mpigrad.tensor([1.0, 3.0]), (2,), eps=0.0)
    tensor([-1.,  1.])
    """
    need_tensors("layer_norm", input=input, weight=weight, bias=bias)
    features = tuple(normalized_shape)
    _check_features("layer_norm", input, features, weight, bias)
    shape = input._array.shape
    front = shape[: len(shape) - len(features)]
    stats = (*front, *(1,) * len(features))
    return normalization.layer(input, weight, bias, stats=stats, features=features, eps=eps)[0]


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide by the root mean square over the last dimensions, then multiply by `weight`, if given.

    - `normalized_shape`: the lengths of those dimensions, and the shape of `weight`.
    - `eps`: added to the mean square; by default the machine epsilon of the type.

    >>> import mpigrad
    >>> mpigrad.nn.functional.rms_norm(mpigrad.tensor([2.0, -2.0]), (2,), eps=0.0)
    tensor([ 1., -1.])
    """
    from mpigrad._array.dtype import finfo

    need_tensors("rms_norm", input=input, weight=weight)
    features = tuple(normalized_shape)
    _check_features("rms_norm", input, features, weight, None)
    small = finfo(input.dtype).eps if eps is None else eps
    last = tuple(range(-len(features), 0))
    if input._array.dtype == np.float16:  # squares of half-precision numbers overflow early
        wide = None if weight is None else weight.float()
        return rms_norm(input.float(), normalized_shape, wide, small).half()
    made = input * ((input * input).mean(last, keepdim=True) + small).rsqrt()
    return made if weight is None else made * weight


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Divide the channels (dimension 1) into `num_groups` groups, and normalise each group of each sample.

    `weight` and `bias` have one number for each channel, or are None. `eps` is added to the variance. Raises a
    RuntimeError if the number of channels is not divisible by `num_groups`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.group_norm(mpigrad.tensor([[1.0, 3.0]]), 1, eps=0.0)
    tensor([[-1.,  1.]])
    """
    need_tensors("group_norm", input=input, weight=weight, bias=bias)
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(shape)} and num_groups={num_groups}"
        )
    for what, each in (("weight", weight), ("bias", bias)):
        if each is not None and tuple(each.shape) != (shape[1],):
            raise RuntimeError(
                f"Expected {what} to be a vector of size equal to the number of channels in input, but got {what} of "
                f"shape {list(each.shape)} and input of shape {list(shape)}"
            )
    rows = shape[0] * num_groups
    features = (1, shape[1], *(1,) * (len(shape) - 2))
    view = (rows, math.prod(shape) // max(rows, 1))
    return normalization.group(input, weight, bias, stats=(rows, 1), features=features, eps=eps, view=view)[0]


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide each element by (k + alpha * mean of the squares of `size` neighbouring channels) ** beta.

    `input` is (batch, channels, ...); channels beyond the first and the last count as zeros.

    >>> import mpigrad
    >>> mpigrad.nn.functional.local_response_norm(mpigrad.ones(1, 2, 3), 2).shape
    mpigrad.Size([1, 2, 3])
    """
    from ._pad import pad
    from ._pooling import avg_pool2d

    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    shape = input._array.shape
    square = (input * input).reshape(shape[0], 1, shape[1], -1)
    mean = avg_pool2d(pad(square, (0, 0, size // 2, (size - 1) // 2)), (size, 1), stride=1)
    return input / (mean.reshape(shape) * alpha + k).pow(beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: int | tuple[int, ...] = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Divide vectors along `dim` by their `p`-norm, or by `eps` if that is larger. `out`: a tensor for the result.

    >>> import mpigrad
    >>> mpigrad.nn.functional.normalize(mpigrad.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    from mpigrad._ops._define.out import deliver

    return deliver(input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input), out)


__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]
