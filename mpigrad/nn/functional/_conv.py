"""Convolutions and transposed convolutions of one, two and three dimensions."""

from __future__ import annotations

from typing import Any

from mpigrad._ops._define.arguments import need_tensors, title
from mpigrad._ops.nn.convolution import conv, conv_input, output_size

from ..._tensor import Tensor

Ints = int | tuple[int, ...] | list[int]


def spread(name: str, value: Any, n: int) -> tuple[int, ...]:
    """A tuple with one number for each dimension, from one number or a sequence."""
    found = (value,) * n if isinstance(value, int) else tuple(int(each) for each in value)
    if len(found) == 1:
        found *= n
    if len(found) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the convolution "
            f"dimensions, but got {name}={list(found)}"
        )
    return found


def _x(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _check_kinds(name: str, n: int, x: Any, w: Any, bias: Tensor | None) -> None:
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: "
            f"{list(x.shape)}"
        )
    if w.ndim != n + 2:
        raise RuntimeError(
            f"expected stride to be a single integer value or a list of {w.ndim - 2} values to match the convolution "
            f"dimensions, but got stride={[1] * n}"
        )
    if x.dtype != w.dtype:
        raise RuntimeError(
            f"Input type (mpigrad.{title(x)}Tensor) and weight type (mpigrad.{title(w)}Tensor) should be the same or "
            "input should be a MKLDNN tensor and weight is a dense tensor"
        )
    if bias is not None and bias._array.dtype != x.dtype:
        raise RuntimeError(
            f"Input type (mpigrad.{title(x)}Tensor) and bias type (mpigrad.{title(bias._array)}Tensor) should be the "
            "same"
        )


def _check_numbers(stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...], groups: int) -> None:
    if any(each <= 0 for each in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(each < 0 for each in padding):
        raise RuntimeError("negative padding is not supported")
    if any(each <= 0 for each in dilation):
        raise RuntimeError("non-positive dilation is not supported")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _check_channels(x: Any, w: Any, bias: Tensor | None, groups: int, transposed: bool) -> None:
    wanted = w.shape[0] if transposed else w.shape[1] * groups
    if w.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{list(w.shape)}] instead"
        )
    if x.shape[1] != wanted:
        given = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {given}, weight of size {list(w.shape)}, expected input{list(x.shape)} to have {wanted} channels, "
            f"but got {x.shape[1]} channels instead"
        )
    made = w.shape[1] * groups if transposed else w.shape[0]
    if bias is not None and tuple(bias.shape) != (made,):
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {list(w.shape)}, expected bias to be "
            f"1-dimensional with {made} elements, but got bias of size {list(bias.shape)} instead"
        )


def _same_padding(
    input: Tensor, weight: Tensor, stride: tuple[int, ...], dilation: tuple[int, ...]
) -> tuple[Tensor, Any]:
    from ._pad import pad

    if any(each != 1 for each in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
    if any(total % 2 for total in totals):  # with an odd total, one element more is added behind than in front
        behind = [side for total in reversed(totals) for side in (0, total % 2)]
        input = pad(input, behind)
    return input, tuple(total // 2 for total in totals)


def _convolve(
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Ints,
    padding: Ints | str,
    dilation: Ints,
    groups: int,
) -> Tensor:
    name = f"conv{n}d"
    need_tensors(name, input=input, weight=weight, bias=bias)
    _check_kinds(name, n, input._array, weight._array, bias)
    if input._array.ndim == n + 1:
        return _convolve(n, input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    step, spacing = spread("stride", stride, n), spread("dilation", dilation, n)
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        input, around = _same_padding(input, weight, step, spacing) if padding == "same" else (input, (0,) * n)
    else:
        around = spread("padding", padding, n)
    _check_numbers(step, around, spacing, groups)
    x, w = input._array, weight._array
    _check_channels(x, w, bias, groups, transposed=False)
    if min(output_size(x.shape[2:], w.shape[2:], step, around, spacing), default=1) < 1:
        size = tuple(a + 2 * p for a, p in zip(x.shape[2:], around))
        reach = tuple(d * (k - 1) + 1 for d, k in zip(spacing, w.shape[2:]))
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_x(size)}). Kernel size: ({_x(reach)}). Kernel size can't be "
            "greater than actual input size"
        )
    given = (input, weight) if bias is None else (input, weight, bias)
    return conv(*given, stride=step, padding=around, dilation=spacing, groups=groups)


def _transposed(
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    groups: int,
    dilation: Ints,
) -> Tensor:
    name = f"conv_transpose{n}d"
    need_tensors(name, input=input, weight=weight, bias=bias)
    _check_kinds(name, n, input._array, weight._array, bias)
    if input._array.ndim == n + 1:
        return _transposed(
            n, input.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation
        ).squeeze(0)
    step, spacing = spread("stride", stride, n), spread("dilation", dilation, n)
    around, more = spread("padding", padding, n), spread("output_padding", output_padding, n)
    _check_numbers(step, around, spacing, groups)
    x, w = input._array, weight._array
    _check_channels(x, w, bias, groups, transposed=True)
    if any(m >= s and m >= d for m, s, d in zip(more, step, spacing)):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got "
            + " ".join(
                f"{what}_{side}: {value}"
                for what, values in (("output_padding", more), ("stride", step), ("dilation", spacing))
                for side, value in zip(("depth", "height", "width")[-n:], values)
            )
        )
    size = tuple(
        (a - 1) * s - 2 * p + d * (k - 1) + m + 1
        for a, s, p, d, k, m in zip(x.shape[2:], step, around, spacing, w.shape[2:], more)
    )
    if min(size) < 1:
        raise RuntimeError(
            f"Given input size per channel: ({_x(x.shape[2:])}). Calculated output size per channel: ({_x(size)}). "
            "Output size is too small"
        )
    given = (input, weight) if bias is None else (input, weight, bias)
    return conv_input(*given, size=size, stride=step, padding=around, dilation=spacing, groups=groups)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Slide filters over sequences: the cross-correlation of `input` with `weight`, plus `bias`.

    - `input`: (batch, in, length) or (in, length); `weight`: (out, in / groups, kernel); `bias`: (out,) or None.
    - `stride`: the step of the filter. `dilation`: the distance of the elements that it reads.
    - `padding`: zeros at each end; "same" keeps the length (stride 1 only), "valid" is 0.
    - `groups`: divide the channels into groups, each with filters of its own.

    Returns (batch, out, (length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1).

    >>> import mpigrad
    >>> mpigrad.nn.functional.conv1d(mpigrad.ones(1, 1, 4), mpigrad.ones(1, 1, 2))
    tensor([[[2., 2., 2.]]])
    """
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Slide filters over images: the cross-correlation of `input` with `weight`, plus `bias`.

    - `input`: (batch, in, height, width) or (in, height, width); `weight`: (out, in / groups, kernel height, kernel
      width); `bias`: (out,) or None.
    - `stride`, `padding`, `dilation`, `groups` and the resulting size are those of `conv1d`; each is one number, or
      one for each dimension. `padding` may be "same" or "valid".

    >>> import mpigrad
    >>> mpigrad.nn.functional.conv2d(mpigrad.ones(1, 1, 4, 4), mpigrad.ones(1, 1, 3, 3), padding="same").shape
    mpigrad.Size([1, 1, 4, 4])
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Slide filters over volumes: the cross-correlation of `input` with `weight`, plus `bias`.

    - `input`: (batch, in, depth, height, width), or without batch; `weight`: (out, in / groups, and the three sizes
      of the kernel); `bias`: (out,) or None.
    - `stride`, `padding`, `dilation`, `groups` and the resulting size are those of `conv1d`; each is one number, or
      one for each dimension. `padding` may be "same" or "valid".

    >>> import mpigrad
    >>> mpigrad.nn.functional.conv3d(mpigrad.ones(1, 1, 4, 4, 4), mpigrad.ones(2, 1, 3, 3, 3)).shape
    mpigrad.Size([1, 2, 2, 2, 2])
    """
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """The transposed convolution of sequences: the linear map by which gradients flow back through `conv1d`; it
    upsamples.

    - `input`: (batch, in, length) or (in, length); `weight`: (in, out / groups, kernel); `bias`: (out,) or None.
    - `stride`, `padding`, `dilation`, `groups`: those of the `conv1d` of which this is the transpose.
    - `output_padding`: elements added at one end of the result; less than `stride` or `dilation`.

    Returns (batch, out, (length - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1).

    >>> import mpigrad
    >>> mpigrad.nn.functional.conv_transpose1d(mpigrad.ones(1, 1, 3), mpigrad.ones(1, 1, 2))
    tensor([[[1., 2., 2., 1.]]])
    """
    return _transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """The transposed convolution of images: the linear map by which gradients flow back through `conv2d`; it
    upsamples.

    - `input`: (batch, in, height, width), or without batch; `weight`: (in, out / groups, kernel height, kernel
      width); `bias`: (out,) or None.
    - The other arguments, and the resulting size of each dimension, are those of `conv_transpose1d`; each is one
      number, or one for each dimension.

    >>> import mpigrad
    >>> mpigrad.nn.functional.conv_transpose2d(mpigrad.ones(1, 1, 3, 3), mpigrad.ones(1, 1, 2, 2), stride=2).shape
    mpigrad.Size([1, 1, 6, 6])
    """
    return _transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """The transposed convolution of volumes: the linear map by which gradients flow back through `conv3d`; it
    upsamples.

    - `input`: (batch, in, depth, height, width), or without batch; `weight`: (in, out / groups, and the three sizes
      of the kernel); `bias`: (out,) or None.
    - The other arguments, and the resulting size of each dimension, are those of `conv_transpose1d`; each is one
      number, or one for each dimension.

    >>> import mpigrad
    >>> mpigrad.nn.functional.conv_transpose3d(mpigrad.ones(1, 1, 2, 2, 2), mpigrad.ones(1, 1, 2, 2, 2)).shape
    mpigrad.Size([1, 1, 3, 3, 3])
    """
    return _transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]
