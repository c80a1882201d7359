"""Calls of convolutions, pooling and padding: invalid ones with the error that they must raise, valid ones with their node."""

from __future__ import annotations

from typing import Any

from .inputs import t

BAD: list[tuple[Any, type[Exception], str]] = [
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 2, 3, 3)),
        RuntimeError,
        "Given groups=1, weight of size [4, 2, 3, 3], expected input[2, 3, 8, 8] to have 2 channels, but got 3 "
        "channels instead",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 2, 2), t(m, 4, 3, 3, 3)),
        RuntimeError,
        "Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel size can't be greater than "
        "actual input size",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8), t(m, 4, 3, 3)),
        RuntimeError,
        "expected stride to be a single integer value or a list of 1 values to match the convolution dimensions, but "
        "got stride=[1, 1]",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 8), t(m, 4, 3, 3, 3)),
        RuntimeError,
        "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [2, 8]",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), t(m, 3)),
        RuntimeError,
        "Given weight of size [4, 3, 3, 3], expected bias to be 1-dimensional with 4 elements, but got bias of size "
        "[3] instead",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), stride=0),
        RuntimeError,
        "non-positive stride is not supported",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), padding=-1),
        RuntimeError,
        "negative padding is not supported",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), groups=2),
        RuntimeError,
        "Given groups=2, weight of size [4, 3, 3, 3], expected input[2, 3, 8, 8] to have 6 channels, but got 3 "
        "channels instead",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), groups=3),
        RuntimeError,
        "Given groups=3, expected weight to be divisible by 3 at dimension 0, but got weight of size [[4, 3, 3, 3]] "
        "instead",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 4, 8, 8), t(m, 5, 2, 3, 3), groups=2),
        RuntimeError,
        "Given groups=2, expected weight to be divisible by 2 at dimension 0, but got weight of size [[5, 2, 3, 3]] "
        "instead",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), padding="same", stride=2),
        RuntimeError,
        "padding='same' is not supported for strided convolutions",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), padding="foo"),
        RuntimeError,
        "Invalid padding string: 'foo'",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3).double()),
        RuntimeError,
        "Input type (mpigrad.FloatTensor) and weight type (mpigrad.DoubleTensor) should be the same or input should "
        "be a MKLDNN tensor and weight is a dense tensor",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), dilation=0),
        RuntimeError,
        "non-positive dilation is not supported",
    ),
    (
        lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), stride=(1, 2, 3)),
        RuntimeError,
        "expected stride to be a single integer value or a list of 2 values to match the convolution dimensions, but "
        "got stride=[1, 2, 3]",
    ),
    (
        lambda m: m.nn.functional.conv_transpose2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3)),
        RuntimeError,
        "Given transposed=1, weight of size [4, 3, 3, 3], expected input[2, 3, 8, 8] to have 4 channels, but got 3 "
        "channels instead",
    ),
    (
        lambda m: m.nn.functional.conv_transpose2d(t(m, 2, 3, 8, 8), t(m, 3, 4, 3, 3), output_padding=1),
        RuntimeError,
        "output padding must be smaller than either stride or dilation, but got output_padding_height: 1 "
        "output_padding_width: 1 stride_height: 1 stride_width: 1 dilation_height: 1 dilation_width: 1",
    ),
    (
        lambda m: m.nn.functional.max_pool2d(t(m, 2, 3, 8, 8), 3, padding=2),
        RuntimeError,
        "pad should be at most half of effective kernel size, but got pad=2, kernel_size=3 and dilation=1",
    ),
    (
        lambda m: m.nn.functional.max_pool2d(t(m, 8, 8), 3),
        RuntimeError,
        "non-empty 3D or 4D (batch mode) tensor expected for input",
    ),
    (
        lambda m: m.nn.functional.max_pool2d(t(m, 2, 3, 2, 2), 3),
        RuntimeError,
        "Given input size: (3x2x2). Calculated output size: (3x0x0). Output size is too small",
    ),
    (
        lambda m: m.nn.functional.avg_pool2d(t(m, 2, 3, 8, 8), 2, divisor_override=0),
        RuntimeError,
        "divisor must be not zero",
    ),
    (lambda m: m.nn.functional.pad(t(m, 3, 2), (1,)), RuntimeError, "Padding length must be divisible by 2"),
    (
        lambda m: m.nn.functional.pad(t(m, 3, 2), (1, 1, 1, 1, 1, 1)),
        RuntimeError,
        "Padding length should be less than or equal to two times the input dimension but got padding length 6 and "
        "input of dimension 2",
    ),
    (
        lambda m: m.nn.functional.pad(t(m, 1, 3, 4), (5, 5), mode="reflect"),
        RuntimeError,
        "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding (5, 5) at "
        "dimension 2 of input [1, 3, 4]",
    ),
    (
        lambda m: m.nn.functional.pad(t(m, 1, 3, 4), (5, 5), mode="circular"),
        RuntimeError,
        "Padding value causes wrapping around more than once.",
    ),
    (lambda m: m.nn.functional.pad(t(m, 3), (1, 1), mode="foo"), NotImplementedError, "Unrecognised padding mode foo"),
    (lambda m: m.nn.functional.interpolate(t(m, 1, 2, 4)), ValueError, "either size or scale_factor should be defined"),
    (
        lambda m: m.nn.functional.interpolate(t(m, 1, 2, 4), size=3, scale_factor=2),
        ValueError,
        "only one of size or scale_factor should be defined",
    ),
    (
        lambda m: m.nn.functional.interpolate(t(m, 1, 2, 4), size=3, mode="bilinear"),
        NotImplementedError,
        "Got 3D input, but bilinear mode needs 4D input",
    ),
    (
        lambda m: m.nn.functional.fold(t(m, 1, 8, 8), (4, 4), 2),
        RuntimeError,
        "Given output_size=(4, 4), kernel_size=(2, 2), dilation=(1, 1), padding=(0, 0), stride=(1, 1), expected size "
        "of input's dimension 2 to match the calculated number of sliding blocks 3 * 3 = 9, but got input.size(2)=8.",
    ),
    (
        lambda m: m.nn.functional.pixel_shuffle(t(m, 1, 3, 2, 2), 2),
        RuntimeError,
        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
        "input.size(-3)=3 is not divisible by 4",
    ),
]

NAMED: list[tuple[Any, str]] = [
    (lambda m: m.nn.functional.conv1d(t(m, 2, 3, 8), t(m, 4, 3, 3), t(m, 4)), "ConvolutionBackward0"),
    (lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), t(m, 4)), "ConvolutionBackward0"),
    (lambda m: m.nn.functional.conv2d(t(m, 3, 8, 8), t(m, 4, 3, 3, 3), t(m, 4)), "SqueezeBackward1"),
    (lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 3, 3), padding="same"), "ConvolutionBackward0"),
    (lambda m: m.nn.functional.conv2d(t(m, 2, 3, 8, 8), t(m, 4, 3, 2, 2), padding="same"), "ConvolutionBackward0"),
    (
        lambda m: m.nn.functional.conv_transpose2d(
            t(m, 2, 3, 8, 8), t(m, 3, 4, 3, 3), t(m, 4), stride=2, output_padding=1
        ),
        "ConvolutionBackward0",
    ),
    (lambda m: m.nn.functional.max_pool1d(t(m, 2, 3, 8), 2), "SqueezeBackward1"),
    (lambda m: m.nn.functional.max_pool2d(t(m, 2, 3, 8, 8), 2), "MaxPool2DWithIndicesBackward0"),
    (
        lambda m: m.nn.functional.max_pool2d(t(m, 2, 3, 8, 8), 2, return_indices=True)[0],
        "MaxPool2DWithIndicesBackward0",
    ),
    (lambda m: m.nn.functional.max_pool3d(t(m, 2, 3, 4, 4, 4), 2), "MaxPool3DWithIndicesBackward0"),
    (lambda m: m.nn.functional.avg_pool1d(t(m, 2, 3, 8), 2), "SqueezeBackward1"),
    (lambda m: m.nn.functional.avg_pool2d(t(m, 2, 3, 8, 8), 2), "AvgPool2DBackward0"),
    (lambda m: m.nn.functional.adaptive_avg_pool1d(t(m, 2, 3, 8), 3), "SqueezeBackward1"),
    (lambda m: m.nn.functional.adaptive_avg_pool2d(t(m, 2, 3, 8, 8), 3), "AdaptiveAvgPool2DBackward0"),
    (lambda m: m.nn.functional.adaptive_avg_pool2d(t(m, 2, 3, 8, 8), 1), "MeanBackward1"),
    (lambda m: m.nn.functional.adaptive_max_pool1d(t(m, 2, 3, 8), 3), "SqueezeBackward1"),
    (lambda m: m.nn.functional.adaptive_max_pool2d(t(m, 2, 3, 8, 8), (3, None)), "AdaptiveMaxPool2DBackward0"),
    (lambda m: m.nn.functional.lp_pool2d(t(m, 2, 3, 8, 8), 2, 2), "PowBackward0"),
    (lambda m: m.nn.functional.pad(t(m, 3, 2), (1, 1)), "ConstantPadNdBackward0"),
    (lambda m: m.nn.functional.pad(t(m, 1, 3, 4), (1, 1), mode="reflect"), "ReflectionPad1DBackward0"),
    (lambda m: m.nn.functional.pad(t(m, 1, 3, 4), (1, 1), mode="replicate"), "ReplicationPad1DBackward0"),
    (lambda m: m.nn.functional.pad(t(m, 1, 3, 4), (1, 1), mode="circular"), "torch::autograd::CopySlices"),
    (lambda m: m.nn.functional.interpolate(t(m, 1, 2, 4, 4), scale_factor=2), "UpsampleNearest2DBackward0"),
    (
        lambda m: m.nn.functional.interpolate(t(m, 1, 2, 4, 4), size=(3, 3), mode="bilinear"),
        "UpsampleBilinear2DBackward0",
    ),
    (lambda m: m.nn.functional.interpolate(t(m, 1, 2, 4), size=3, mode="linear"), "UpsampleLinear1DBackward0"),
    (lambda m: m.nn.functional.unfold(t(m, 1, 2, 4, 4), 2), "Im2ColBackward0"),
    (lambda m: m.nn.functional.fold(t(m, 1, 8, 9), (4, 4), 2), "Col2ImBackward0"),
    (lambda m: m.nn.functional.pixel_shuffle(t(m, 1, 4, 2, 2), 2), "PixelShuffleBackward0"),
    (lambda m: m.nn.functional.pixel_unshuffle(t(m, 1, 1, 4, 4), 2), "PixelUnshuffleBackward0"),
    (lambda m: m.nn.functional.channel_shuffle(t(m, 1, 4, 2, 2), 2), "ChannelShuffleBackward0"),
]
