"""Pooling as modules: the largest element, mean or norm of windows. `nn.functional` explains the arguments."""

from __future__ import annotations

from typing import Any, ClassVar

from ..._tensor import Tensor
from .. import functional as F
from .._sizes import tuple_of
from .module import Module


class _MaxPool(Module):
    function: ClassVar[str]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self.function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of each window of sequences (batch, channels, length), or without batch.

    The arguments are those of `nn.functional.max_pool1d`: `kernel_size`, `stride` (default: `kernel_size`), and
    others.
    """

    function = "max_pool1d"


class MaxPool2d(_MaxPool):
    """The largest element of each window of images (batch, channels, height, width), or without batch.

    The arguments are those of `nn.functional.max_pool2d`: `kernel_size`, `stride` (default: `kernel_size`), and
    others.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> nn.MaxPool2d(2)(mpigrad.ones(1, 1, 4, 4)).shape
    mpigrad.Size([1, 1, 2, 2])
    """

    function = "max_pool2d"


class MaxPool3d(_MaxPool):
    """The largest element of each window of volumes (batch, channels, depth, height, width), or without batch.

    The arguments are those of `nn.functional.max_pool3d`: `kernel_size`, `stride` (default: `kernel_size`), and
    others.
    """

    function = "max_pool3d"


class AvgPool1d(Module):
    """The mean of each window of sequences (batch, channels, length), or without batch.

    The arguments are those of `nn.functional.avg_pool1d`: `kernel_size`, `stride` (default: `kernel_size`), and
    others.
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size, self.padding = tuple_of(kernel_size, 1), tuple_of(padding, 1)
        self.stride = tuple_of(kernel_size if stride is None else stride, 1)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(Module):
    """The mean of each window of images (batch, channels, height, width), or without batch.

    The arguments are those of `nn.functional.avg_pool2d`: `kernel_size`, `stride` (default: `kernel_size`), and
    others.
    """

    function: ClassVar[str] = "avg_pool2d"

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self.function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool3d(AvgPool2d):
    """The mean of each window of volumes (batch, channels, depth, height, width), or without batch.

    The arguments are those of `nn.functional.avg_pool3d`: `kernel_size`, `stride` (default: `kernel_size`), and
    others.
    """

    function = "avg_pool3d"


class _LPPool(Module):
    function: ClassVar[str]

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self.function)(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        window = f"kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"
        return f"norm_type={self.norm_type}, {window}"


class LPPool1d(_LPPool):
    """The norm `sum(x ** norm_type) ** (1 / norm_type)` of each window of sequences.

    The arguments are those of `nn.functional.lp_pool1d`.
    """

    function = "lp_pool1d"


class LPPool2d(_LPPool):
    """The norm `sum(x ** norm_type) ** (1 / norm_type)` of each window of images.

    The arguments are those of `nn.functional.lp_pool2d`.
    """

    function = "lp_pool2d"


class LPPool3d(_LPPool):
    """The norm `sum(x ** norm_type) ** (1 / norm_type)` of each window of volumes.

    The arguments are those of `nn.functional.lp_pool3d`.
    """

    function = "lp_pool3d"


class _MaxUnpool(Module):
    function: ClassVar[str]
    dims: ClassVar[int]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.padding = tuple_of(kernel_size, self.dims), tuple_of(padding, self.dims)
        self.stride = tuple_of(kernel_size if stride is None else stride, self.dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return getattr(F, self.function)(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Put the results of `MaxPool1d(..., return_indices=True)` back to where they were found; other elements are
    zero.

    `forward(input, indices, output_size=None)`; see `nn.functional.max_unpool1d`. The arguments are those that the
    `MaxPool` module had.
    """

    function, dims = "max_unpool1d", 1


class MaxUnpool2d(_MaxUnpool):
    """Put the results of `MaxPool2d(..., return_indices=True)` back to where they were found; other elements are
    zero.

    `forward(input, indices, output_size=None)`; see `nn.functional.max_unpool2d`. The arguments are those that the
    `MaxPool` module had.
    """

    function, dims = "max_unpool2d", 2


class MaxUnpool3d(_MaxUnpool):
    """Put the results of `MaxPool3d(..., return_indices=True)` back to where they were found; other elements are
    zero.

    `forward(input, indices, output_size=None)`; see `nn.functional.max_unpool3d`. The arguments are those that the
    `MaxPool` module had.
    """

    function, dims = "max_unpool3d", 3


class _FractionalMaxPool(Module):
    function: ClassVar[str]
    dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.return_indices = tuple_of(kernel_size, self.dims), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else tuple_of(output_size, self.dims)
        self.output_ratio = None if output_ratio is None else tuple_of(output_ratio, self.dims)
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < each < 1 for each in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self.function)(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest elements of windows at random positions in images; the arguments are those of
    `nn.functional.fractional_max_pool2d`.
    """

    function, dims = "fractional_max_pool2d", 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest elements of windows at random positions in volumes; the arguments are those of
    `nn.functional.fractional_max_pool3d`.
    """

    function, dims = "fractional_max_pool3d", 3


class _Adaptive(Module):
    function: ClassVar[str]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self.function)(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """The means of windows that cover a sequence, chosen so that the result has the length `output_size`."""

    function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_Adaptive):
    """The means of windows that cover an image, chosen so that the result has the size `output_size` (one number, or
    two; None keeps one).
    """

    function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_Adaptive):
    """The means of windows that cover a volume, chosen so that the result has the size `output_size` (one number, or
    three; None keeps one).
    """

    function = "adaptive_avg_pool3d"


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self.function)(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMax):
    """The largest elements of windows that cover a sequence, chosen so that the result has the length `output_size`.

    `return_indices`: return (maxima, indices).
    """

    function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMax):
    """The largest elements of windows that cover an image, chosen so that the result has the size `output_size` (one
    number, or two; None keeps one).

    `return_indices`: return (maxima, indices).
    """

    function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMax):
    """The largest elements of windows that cover a volume, chosen so that the result has the size `output_size` (one
    number, or three; None keeps one).

    `return_indices`: return (maxima, indices).
    """

    function = "adaptive_max_pool3d"


__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]
