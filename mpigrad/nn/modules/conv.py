"""Convolutions of sequences, images and volumes, and their transposes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..._tensor import Tensor
from .. import functional as F
from .. import init
from .._sizes import tuple_of
from ..parameter import Parameter
from ._blank import blank
from .module import Module

_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Base class of convolutions of any number of dimensions."""

    function: ClassVar[str]
    dims: ClassVar[int]
    transposed: ClassVar[bool] = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.padding_mode = padding_mode
        self.kernel_size, self.stride = tuple_of(kernel_size, self.dims), tuple_of(stride, self.dims)
        self.padding = padding if isinstance(padding, str) else tuple_of(padding, self.dims)
        self.dilation, self.output_padding = tuple_of(dilation, self.dims), tuple_of(output_padding, self.dims)
        self._check()
        self._around = self._padding_by_dimension()
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = Parameter(blank(first, second // groups, *self.kernel_size, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(blank(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if self.out_channels % self.groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {{'same', 'valid'}}")
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {set(_MODES)}, but got padding_mode='{self.padding_mode}'")

    def _padding_by_dimension(self) -> list[int]:
        """The padding at both ends of each dimension, the last dimension first, for padding modes other than zeros."""
        pairs: list[tuple[Any, Any]] = []
        for d in range(self.dims):
            if self.padding == "same":
                total = self.dilation[d] * (self.kernel_size[d] - 1)
                pairs.append((total // 2, total - total // 2))
            else:
                pairs.append((0, 0) if self.padding == "valid" else (self.padding[d],) * 2)
        return [each for pair in reversed(pairs) for each in pair]

    def reset_parameters(self) -> None:
        """Set all parameters to uniform random numbers between -1 / sqrt(fan_in) and 1 / sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * self.dims:
            shown += f", padding={self.padding}"
        if self.dilation != (1,) * self.dims:
            shown += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self.dims:
            shown += f", output_padding={self.output_padding}"
        if self.groups != 1:
            shown += f", groups={self.groups}"
        if self.bias is None:
            shown += ", bias=False"
        if self.padding_mode != "zeros":
            shown += f", padding_mode={self.padding_mode}"
        return shown


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode, device, dtype
        )

    def forward(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._around, mode=self.padding_mode), (0,) * self.dims
        convolve = getattr(F, self.function)
        return convolve(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Convolution of sequences (batch, in_channels, length), or without batch: `nn.functional.conv1d` with its weight
    as parameter.

    - `kernel_size`, `stride`, `padding`, `dilation`, `groups`: those of `nn.functional.conv1d`.
    - `padding_mode`: what is added at the ends: "zeros" (default), "reflect", "replicate" or "circular".
    - `bias=False`: no bias. `weight` is (out_channels, in_channels / groups, kernel_size).

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> nn.Conv1d(3, 8, 5)(mpigrad.randn(2, 3, 20)).shape
    mpigrad.Size([2, 8, 16])
    """

    function, dims = "conv1d", 1


class Conv2d(_Conv):
    """Convolution of images (batch, in_channels, height, width), or without batch.

    The arguments are those of `Conv1d`; sizes are one number, or two (height, width).

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> nn.Conv2d(3, 8, 3, padding=1)(mpigrad.randn(2, 3, 5, 5)).shape
    mpigrad.Size([2, 8, 5, 5])
    """

    function, dims = "conv2d", 2


class Conv3d(_Conv):
    """Convolution of volumes (batch, in_channels, depth, height, width), or without batch.

    The arguments are those of `Conv1d`; sizes are one number, or three (depth, height, width).
    """

    function, dims = "conv3d", 3


class _ConvTranspose(_ConvNd):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode,
            device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self.output_padding if output_size is None else self._extra_for(input, tuple(output_size))
        convolve = getattr(F, self.function)
        return convolve(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    def _extra_for(self, input: Tensor, wanted: tuple[int, ...]) -> tuple[int, ...]:
        if len(wanted) not in (self.dims, input.ndim):
            raise ValueError(
                f"{type(self).__name__}: for {input.ndim}D input, output_size must have {self.dims} or {input.ndim} "
                f"elements (got {len(wanted)})"
            )
        wanted = wanted[-self.dims :]
        least = [
            (length - 1) * step - 2 * pad + dilation * (kernel - 1) + 1
            for length, step, pad, dilation, kernel in zip(
                input.shape[-self.dims :], self.stride, self.padding, self.dilation, self.kernel_size
            )
        ]
        most = [low + step - 1 for low, step in zip(least, self.stride)]
        if any(not low <= size <= high for low, size, high in zip(least, wanted, most)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} (for an input of "
                f"{input.shape[2:]})"
            )
        return tuple(size - low for size, low in zip(wanted, least))


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of sequences (batch, in_channels, length), which makes them longer.

    It maps inputs as the backward pass of `Conv1d` maps gradients.

    The arguments are those of `nn.functional.conv_transpose1d`, with the numbers of channels first. `forward(input,
    output_size)` chooses `output_padding` so that the result has this length.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> nn.ConvTranspose1d(8, 3, 4, stride=2)(mpigrad.randn(2, 8, 10)).shape
    mpigrad.Size([2, 3, 22])
    """

    function, dims = "conv_transpose1d", 1


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of images (batch, in_channels, height, width), which makes them larger.

    It maps inputs as the backward pass of `Conv2d` maps gradients.

    The arguments are those of `ConvTranspose1d`; sizes are one number, or two (height, width).
    """

    function, dims = "conv_transpose2d", 2


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of volumes (batch, in_channels, depth, height, width), which makes them larger.

    It maps inputs as the backward pass of `Conv3d` maps gradients.

    The arguments are those of `ConvTranspose1d`; sizes are one number, or three (depth, height, width).
    """

    function, dims = "conv_transpose3d", 3


__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]
