"""Pooling: maxima and means of windows, of fixed size or adapted to an output size."""

from __future__ import annotations

from typing import Any

from mpigrad._ops._define.arguments import need_tensors
from mpigrad._ops.nn import pooling
from mpigrad._ops.nn.resampling import adaptive_avg, means

from ..._tensor import Tensor

Ints = int | tuple[int, ...] | list[int]


def _each(name: str, what: str, value: Any, n: int) -> tuple[int, ...]:
    found = (value,) if isinstance(value, int) else tuple(value)
    if len(found) not in (1, n):
        raise RuntimeError(f"{name}: {what} must either be a single int, or a tuple of {n} ints, got {value}")
    return found * n if len(found) == 1 else found


def _sizes(shape: tuple[int, ...]) -> str:
    return "(" + "x".join(map(str, shape)) + ")"


def _check(name: str, n: int, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, out: Any) -> None:
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
    for what, values in (("kernel size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(values) <= 0:
            raise RuntimeError(f"{name}: {what} should be greater than zero, but got {list(values)}")
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    if min(out) < 1:
        front = x.shape[x.ndim - n - 1 :]
        raise RuntimeError(
            f"Given input size: {_sizes(front)}. Calculated output size: {_sizes((front[0], *out))}. Output size is "
            "too small"
        )


def _step(name: str, stride: Any, kernel: tuple[int, ...]) -> tuple[int, ...]:
    """The distance of neighbouring windows: by default the size of a window."""
    given = stride is not None and stride not in ((), [])
    step = _each(name, "stride", stride, len(kernel)) if given else kernel
    if 0 in step:
        what = "max_pool1d() stride must be greater than zero, but got 0" if name == "max_pool1d" else "stride should not be zero"
        raise RuntimeError(what)
    return step


def _windows(
    name: str, n: int, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[tuple[int, ...], ...]:
    """The checked arguments of a pooling: kernel, stride, padding, dilation, and the number of windows."""
    kernel = _each(name, "kernel_size", kernel_size, n)
    step = _step(name, stride, kernel)
    around, spacing = _each(name, "padding", padding, n), _each(name, "dilation", dilation, n)
    size = x.shape[x.ndim - n :] if x.ndim >= n else x.shape
    out = pooling.output_size(size, kernel, step, around, spacing, ceil_mode)
    _check(name, n, x, kernel, step, around, spacing, out)
    return kernel, step, around, spacing, out


def _max(
    n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: bool
) -> Any:
    name = f"max_pool{n}d"
    need_tensors(name, input=input)
    kernel, step, around, spacing, out = _windows(
        name, n, input._array, kernel_size, stride, padding, dilation, ceil_mode
    )
    found, where = pooling.max_pool[n](input, kernel=kernel, stride=step, padding=around, dilation=spacing, out=out)
    return (found, where) if indices else found


def _avg(
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    name = f"avg_pool{n}d"
    need_tensors(name, input=input)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    kernel, step, around, _, out = _windows(name, n, input._array, kernel_size, stride, padding, 1, ceil_mode)
    size = input._array.shape[-n:]
    by = pooling.counts(size, kernel, step, around, out, count_include_pad, divisor)
    return pooling.avg_pool[n](input, kernel=kernel, stride=step, padding=around, out=out, size=size, by=by)


def _wanted(name: str, n: int, input: Tensor, output_size: Any) -> tuple[int, ...]:
    need_tensors(name, input=input)
    if n > 1 and input.dim() <= n and isinstance(output_size, (tuple, list)):
        raise ValueError(f"Input dimension should be at least {n + 1}")
    if n == 1 and input.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
        )
    if input.dim() not in (n + 1, n + 2):
        colon = ":" if name == "adaptive_max_pool3d" else ""
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {list(input.shape)}")
    given = (output_size,) * n if output_size is None or isinstance(output_size, int) else tuple(output_size)
    if len(given) == 1:
        given *= n
    if len(given) != n:
        raise RuntimeError(f"{name}: output_size must be {n} numbers, got {output_size}")
    out = tuple(old if new is None else new for old, new in zip(input.shape[-n:], given))
    if min(out) < 0:
        if "avg" in name:
            wrong = ", ".join(map(str, out))
            raise RuntimeError(
                f"{name}: elements of output_size must be greater than or equal to 0 but received {{{wrong}}}"
            )
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(out)}: {[*input.shape[: input.dim() - n], *out]}"
        )
    return out


def _adaptive_avg(n: int, input: Tensor, output_size: Any) -> Tensor:
    out = _wanted(f"adaptive_avg_pool{n}d", n, input, output_size)
    if n > 1 and set(out) == {1}:
        return input.mean(tuple(range(-n, 0)), keepdim=True)
    return adaptive_avg[n](input, matrices=tuple(means(old, new) for old, new in zip(input.shape[-n:], out)))


def _adaptive_max(n: int, input: Tensor, output_size: Any, indices: bool) -> Any:
    out = _wanted(f"adaptive_max_pool{n}d", n, input, output_size)
    found, where = pooling.adaptive_max_pool[n](input, out=out, ndim=n)
    return (found, where) if indices else found


def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of sequences (batch, channels, length) or (channels, length).

    - `kernel_size`: the length of a window. `stride`: the distance of neighbouring windows, by default `kernel_size`.
    - `padding`: elements of minus infinity at each end, at most half a window. `dilation`: the distance of a window's
      elements.
    - `ceil_mode`: round the number of windows up; the last ones may reach over the end.
    - `return_indices`: return (maxima, indices), with the index of each maximum in its sequence.

    >>> import mpigrad
    >>> mpigrad.nn.functional.max_pool1d(mpigrad.tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2)
    tensor([[[3., 2.]]])
    """
    return _max(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of images (batch, channels, height, width), or without batch.

    The arguments are those of `max_pool1d`, each one number or two. The indices of `return_indices` count in the
    flattened image.

    >>> import mpigrad
    >>> mpigrad.nn.functional.max_pool2d(mpigrad.ones(1, 1, 4, 4), 2).shape
    mpigrad.Size([1, 1, 2, 2])
    """
    return _max(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of volumes (batch, channels, depth, height, width), or without batch.

    The arguments are those of `max_pool1d`, each one number or three. The indices of `return_indices` count in the
    flattened volume.

    >>> import mpigrad
    >>> mpigrad.nn.functional.max_pool3d(mpigrad.ones(1, 1, 4, 4, 4), 2).shape
    mpigrad.Size([1, 1, 2, 2, 2])
    """
    return _max(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of sequences (batch, channels, length) or (channels, length).

    - `kernel_size`: the length of a window. `stride`: the distance of neighbouring windows, by default `kernel_size`.
    - `padding`: zeros at each end, at most half a window. `count_include_pad`: whether means divide by the number of
      all elements of a window, or of those that are no padding.
    - `ceil_mode`: round the number of windows up; the last ones may reach over the end.

    >>> import mpigrad
    >>> mpigrad.nn.functional.avg_pool1d(mpigrad.tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2)
    tensor([[[2., 1.]]])
    """
    return _avg(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of images (batch, channels, height, width), or without batch.

    The arguments are those of `avg_pool1d`, each one number or two. `divisor_override`: divide the sums by this
    number instead.

    >>> import mpigrad
    >>> mpigrad.nn.functional.avg_pool2d(mpigrad.ones(1, 1, 4, 4), 2).shape
    mpigrad.Size([1, 1, 2, 2])
    """
    return _avg(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of volumes (batch, channels, depth, height, width), or without batch.

    The arguments are those of `avg_pool1d`, each one number or three. `divisor_override`: divide the sums by this
    number instead.

    >>> import mpigrad
    >>> mpigrad.nn.functional.avg_pool3d(mpigrad.ones(1, 1, 4, 4, 4), 2).shape
    mpigrad.Size([1, 1, 2, 2, 2])
    """
    return _avg(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means of `output_size` windows, of nearly equal length, that cover a sequence (batch, channels, length), or
    without batch.

    >>> import mpigrad
    >>> mpigrad.nn.functional.adaptive_avg_pool1d(mpigrad.tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2)
    tensor([[[2., 1.]]])
    """
    return _adaptive_avg(1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows that cover an image (batch, channels, height, width), or without batch; the result has the
    size `output_size`.

    `output_size` is one number, or two; None keeps the size of that dimension.

    >>> import mpigrad
    >>> mpigrad.nn.functional.adaptive_avg_pool2d(mpigrad.ones(1, 1, 4, 6), (2, None)).shape
    mpigrad.Size([1, 1, 2, 6])
    """
    return _adaptive_avg(2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows that cover a volume (batch, channels, depth, height, width), or without batch; the result has
    the size `output_size`.

    `output_size` is one number, or three; None keeps the size of that dimension.

    >>> import mpigrad
    >>> mpigrad.nn.functional.adaptive_avg_pool3d(mpigrad.ones(1, 1, 4, 6, 5), 2).shape
    mpigrad.Size([1, 1, 2, 2, 2])
    """
    return _adaptive_avg(3, input, output_size)


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of `output_size` windows, of nearly equal length, that cover a sequence (batch, channels, length), or
    without batch.

    With `return_indices`, (maxima, indices): the index of each maximum in its sequence.

    >>> import mpigrad
    >>> mpigrad.nn.functional.adaptive_max_pool1d(mpigrad.tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2)
    tensor([[[3., 2.]]])
    """
    return _adaptive_max(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of windows that cover an image (batch, channels, height, width), or without batch; the result has the
    size `output_size`.

    `output_size` is one number, or two; None keeps the size of that dimension. With `return_indices`, (maxima,
    indices): the index of each maximum in the flattened image.

    >>> import mpigrad
    >>> mpigrad.nn.functional.adaptive_max_pool2d(mpigrad.ones(1, 1, 4, 6), (2, None)).shape
    mpigrad.Size([1, 1, 2, 6])
    """
    return _adaptive_max(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of windows that cover a volume (batch, channels, depth, height, width), or without batch; the result has
    the size `output_size`.

    `output_size` is one number, or three; None keeps the size of that dimension. With `return_indices`, (maxima,
    indices): the index of each maximum in the flattened volume.

    >>> import mpigrad
    >>> mpigrad.nn.functional.adaptive_max_pool3d(mpigrad.ones(1, 1, 4, 6, 5), 2).shape
    mpigrad.Size([1, 1, 2, 2, 2])
    """
    return _adaptive_max(3, input, output_size, return_indices)


def _lp(n: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    kernel = _each(f"lp_pool{n}d", "kernel_size", kernel_size, n)
    count = 1
    for each in kernel:
        count *= each
    mean = _avg(n, input.pow(norm_type), kernel, stride, 0, ceil_mode, True, None)
    return (mean.sign() * mean.abs().relu() * count).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The `norm_type`-norm of each window of sequences: `sum(x ** norm_type) ** (1 / norm_type)`.

    No absolute values are taken: this is the p-norm if `norm_type` is even or no element is negative. `kernel_size`,
    `stride` and `ceil_mode` are those of `avg_pool1d`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.lp_pool1d(mpigrad.tensor([[[3.0, 4.0]]]), 2, 2)
    tensor([[[5.]]])
    """
    return _lp(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The `norm_type`-norm of each window of images: `sum(x ** norm_type) ** (1 / norm_type)`.

    No absolute values are taken: this is the p-norm if `norm_type` is even or no element is negative. `kernel_size`,
    `stride` and `ceil_mode` are those of `avg_pool2d`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.lp_pool2d(mpigrad.ones(1, 1, 2, 2), 2, 2)
    tensor([[[[2.]]]])
    """
    return _lp(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The `norm_type`-norm of each window of volumes: `sum(x ** norm_type) ** (1 / norm_type)`.

    No absolute values are taken: this is the p-norm if `norm_type` is even or no element is negative. `kernel_size`,
    `stride` and `ceil_mode` are those of `avg_pool3d`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.lp_pool3d(mpigrad.ones(1, 1, 1, 2, 2), 2, (1, 2, 2))
    tensor([[[[[2.]]]]])
    """
    return _lp(3, input, norm_type, kernel_size, stride, ceil_mode)


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]
