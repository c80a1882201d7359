"""The lazy layers: linear, convolutions and their transposes, batch and instance normalisation."""

from __future__ import annotations

from typing import Any

from mpigrad._array.dtype import int64

from ..._tensor import Tensor
from ..parameter import UninitializedBuffer, UninitializedParameter
from ._blank import zeros
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .lazy import LazyModuleMixin
from .linear import Linear


def _without_shapes(module: Any, bias: bool, device: Any, dtype: Any) -> None:
    """Set the parameters to uninitialised ones, whose shapes are determined by the first input."""
    module.register_parameter("weight", UninitializedParameter(device=device, dtype=dtype))
    module.register_parameter("bias", UninitializedParameter(device=device, dtype=dtype) if bias else None)


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear(in_features, out_features)` without `in_features`: that is read from the first input, and the module
    then becomes a `Linear`.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> layer = nn.LazyLinear(3)
    >>> layer(mpigrad.ones(2, 5)).shape, layer
    (mpigrad.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.out_features = out_features
        _without_shapes(self, bias, device, dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))  # type: ignore[attr-defined]
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()


class _LazyConvMixin(LazyModuleMixin):
    """Base class of lazy convolutions: the number of channels comes from the first input."""

    def _wait_for_input(self: Any, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.out_channels = out_channels
        _without_shapes(self, bias, device, dtype)

    def reset_parameters(self: Any) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        if input.ndim not in (self.dims + 1, self.dims + 2):
            raise RuntimeError(
                f"Expected {self.dims + 1}D (unbatched) or {self.dims + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {list(input.shape)}"
            )
        self.in_channels = input.shape[-self.dims - 1]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        first, second = self.out_channels, self.in_channels
        first, second = (second, first) if self.transposed else (first, second)
        self.weight.materialize((first, second // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvMixin):
    def __init__(
        self,
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
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._wait_for_input(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """`Conv1d` without its first argument: `in_channels` is read from the first input, and the module then becomes a
    `Conv1d`.

    The other arguments are those of `Conv1d`.
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """`Conv2d` without its first argument: `in_channels` is read from the first input, and the module then becomes a
    `Conv2d`.

    The other arguments are those of `Conv2d`.
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """`Conv3d` without its first argument: `in_channels` is read from the first input, and the module then becomes a
    `Conv3d`.

    The other arguments are those of `Conv3d`.
    """

    cls_to_become = Conv3d


class _LazyConvTranspose(_LazyConvMixin):
    def __init__(
        self,
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
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._wait_for_input(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """`ConvTranspose1d` without its first argument: `in_channels` is read from the first input; it then becomes a
    `ConvTranspose1d`.

    The other arguments are those of `ConvTranspose1d`.
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """`ConvTranspose2d` without its first argument: `in_channels` is read from the first input; it then becomes a
    `ConvTranspose2d`.

    The other arguments are those of `ConvTranspose2d`.
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """`ConvTranspose3d` without its first argument: `in_channels` is read from the first input; it then becomes a
    `ConvTranspose3d`.

    The other arguments are those of `ConvTranspose3d`.
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin):
    """Base class of lazy normalisations: the number of features comes from the first input."""

    def __init__(
        self: Any,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            _without_shapes(self, bias, device, dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = zeros(device=device, dtype=int64)

    def reset_parameters(self: Any) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[self._channels(input)]
        for each in (self.weight, self.bias, self.running_mean, self.running_var):
            if each is not None:
                each.materialize((self.num_features,))
        self.reset_parameters()

    def _channels(self: Any, input: Tensor) -> int:
        self._check_input_dim(input)
        return 1


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """`BatchNorm1d` without its first argument: `num_features` is read from the first input; it then becomes a
    `BatchNorm1d`.

    The other arguments are those of `BatchNorm1d`.
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """`BatchNorm2d` without its first argument: `num_features` is read from the first input; it then becomes a
    `BatchNorm2d`.

    The other arguments are those of `BatchNorm2d`.
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """`BatchNorm3d` without its first argument: `num_features` is read from the first input; it then becomes a
    `BatchNorm3d`.

    The other arguments are those of `BatchNorm3d`.
    """

    cls_to_become = BatchNorm3d


class _LazyInstanceNorm(_LazyNorm):
    def _channels(self: Any, input: Tensor) -> int:
        return input.ndim - self.single


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """`InstanceNorm1d` without its first argument: `num_features` is read from the first input; it then becomes an
    `InstanceNorm1d`.

    The other arguments are those of `InstanceNorm1d`.
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """`InstanceNorm2d` without its first argument: `num_features` is read from the first input; it then becomes an
    `InstanceNorm2d`.

    The other arguments are those of `InstanceNorm2d`.
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """`InstanceNorm3d` without its first argument: `num_features` is read from the first input; it then becomes an
    `InstanceNorm3d`.

    The other arguments are those of `InstanceNorm3d`.
    """

    cls_to_become = InstanceNorm3d


__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]
