"""Functions of neural networks: layers without state, activations, losses. Their names and arguments are those of `torch.nn.functional`. Made by tools/stubs.py; do not edit."""

from collections.abc import Callable, Sequence
from mpigrad._tensor import Tensor
from typing import Any, Literal, SupportsIndex, overload

def __dir__() -> list[str]: ...
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means of `output_size` windows, of nearly equal length, that cover a sequence (batch, channels, length), or without batch."""
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows that cover an image (batch, channels, height, width), or without batch; the result has the size `output_size`."""
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows that cover a volume (batch, channels, depth, height, width), or without batch; the result has the size `output_size`."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: Literal[False] = False) -> Tensor:
    """Maxima of `output_size` windows, of nearly equal length, that cover a sequence (batch, channels, length), or without batch."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Maxima of `output_size` windows, of nearly equal length, that cover a sequence (batch, channels, length), or without batch."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of `output_size` windows, of nearly equal length, that cover a sequence (batch, channels, length), or without batch."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: Literal[False] = False) -> Tensor:
    """Maxima of windows that cover an image (batch, channels, height, width), or without batch; the result has the size `output_size`."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Maxima of windows that cover an image (batch, channels, height, width), or without batch; the result has the size `output_size`."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of windows that cover an image (batch, channels, height, width), or without batch; the result has the size `output_size`."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: Literal[False] = False) -> Tensor:
    """Maxima of windows that cover a volume (batch, channels, depth, height, width), or without batch; the result has the size `output_size`."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Maxima of windows that cover a volume (batch, channels, depth, height, width), or without batch; the result has the size `output_size`."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of windows that cover a volume (batch, channels, depth, height, width), or without batch; the result has the size `output_size`."""
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Positions for `grid_sample` that transform images by affine maps: (batch, height, width, 2), for volumes (..., 3)."""
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for networks with `selu`: the elements keep mean 0 and variance 1 if they had them."""
def avg_pool1d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window of sequences (batch, channels, length) or (channels, length)."""
def avg_pool2d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window of images (batch, channels, height, width), or without batch."""
def avg_pool3d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window of volumes (batch, channels, depth, height, width), or without batch."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Normalise each channel (dimension 1) to mean 0 and variance 1, then multiply by `weight` and add `bias`, if given."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1^T W_k input2 + b_k for each output feature k."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The binary cross entropy -(target * log(input) + (1 - target) * log(1 - input)), with logarithms limited to at least -100."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """The binary cross entropy between sigmoid(input) and `target`, computed without overflow."""
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, otherwise alpha * (exp(x / alpha) - 1). With `inplace=True` the result overwrites `input`."""
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place: overwrites `input` and returns it. The arguments are those of `celu`."""
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave the channels of `groups` equal groups: of each group the first channel, then of each the second, and so on."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] | list[int] = 1, padding: int | tuple[int, ...] | list[int] | str = 0, dilation: int | tuple[int, ...] | list[int] = 1, groups: int = 1) -> Tensor:
    """Slide filters over sequences: the cross-correlation of `input` with `weight`, plus `bias`."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] | list[int] = 1, padding: int | tuple[int, ...] | list[int] | str = 0, dilation: int | tuple[int, ...] | list[int] = 1, groups: int = 1) -> Tensor:
    """Slide filters over images: the cross-correlation of `input` with `weight`, plus `bias`."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] | list[int] = 1, padding: int | tuple[int, ...] | list[int] | str = 0, dilation: int | tuple[int, ...] | list[int] = 1, groups: int = 1) -> Tensor:
    """Slide filters over volumes: the cross-correlation of `input` with `weight`, plus `bias`."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] | list[int] = 1, padding: int | tuple[int, ...] | list[int] = 0, output_padding: int | tuple[int, ...] | list[int] = 0, groups: int = 1, dilation: int | tuple[int, ...] | list[int] = 1) -> Tensor:
    """The transposed convolution of sequences: the linear map by which gradients flow back through `conv1d`; it upsamples."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] | list[int] = 1, padding: int | tuple[int, ...] | list[int] = 0, output_padding: int | tuple[int, ...] | list[int] = 0, groups: int = 1, dilation: int | tuple[int, ...] | list[int] = 1) -> Tensor:
    """The transposed convolution of images: the linear map by which gradients flow back through `conv2d`; it upsamples."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] | list[int] = 1, padding: int | tuple[int, ...] | list[int] = 0, output_padding: int | tuple[int, ...] | list[int] = 0, groups: int = 1, dilation: int | tuple[int, ...] | list[int] = 1) -> Tensor:
    """The transposed convolution of volumes: the linear map by which gradients flow back through `conv3d`; it upsamples."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """1 - cos(input1, input2) where `target` is 1 (similar vectors), max(0, cos(input1, input2) - margin) where it is -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along `dim`: their inner product divided by the product of their norms, each at least `eps`."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean', label_smoothing: float = 0.0) -> Tensor:
    """The cross entropy between target classes and the softmax of `input`: -log(softmax(input)[target])."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> Tensor:
    """Connectionist temporal classification: the negative log likelihood of label sequences, summed over all alignments with the input."""
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set each element to zero with probability `p` and divide the others by 1 - p; otherwise return `input`."""
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set whole channels to zero with probability `p` and divide the others by 1 - p; otherwise return `input`."""
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set whole channels to zero with probability `p` and divide the others by 1 - p; otherwise return `input`."""
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set whole channels to zero with probability `p` and divide the others by 1 - p; otherwise return `input`."""
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, otherwise alpha * (exp(x) - 1). With `inplace=True` the result overwrites `input`."""
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place: overwrites `input` and returns it. The arguments are those of `elu`."""
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """Look up rows of a table: the rows of `weight` at the indices `input`."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor:
    """Look up rows of a table in groups (bags), and return the sum, mean or maximum of each bag's rows: (bags, features)."""
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels (dimension 1 of `input`). Only with `training=True`, which is not the default."""
def fold(input: Tensor, output_size: int | Sequence[int], kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> Tensor:
    """Add up the columns of `unfold` to images (batch, channels, *output_size): its inverse where windows do not overlap."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """The largest element of each of `output_size` windows at random positions of an image."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, *, return_indices: Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The largest element of each of `output_size` windows at random positions of an image."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:
    """The largest element of each of `output_size` windows at random positions of an image."""
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """The largest element of each of `output_size` windows at random positions of a volume (batch, channels, depth, height, width)."""
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, *, return_indices: Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The largest element of each of `output_size` windows at random positions of a volume (batch, channels, depth, height, width)."""
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:
    """The largest element of each of `output_size` windows at random positions of a volume (batch, channels, depth, height, width)."""
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-06, reduction: str = 'mean') -> Tensor:
    """The negative log likelihood of `target` under normal distributions with means `input` and variances `var`, without the constant."""
def gelu(input: Tensor, approximate: str = 'none') -> Tensor:
    """x times the cumulative distribution function of the standard normal distribution at x, element by element."""
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The gated linear unit: cut `input` in two halves a and b along `dim`, and return a * sigmoid(b)."""
def grid_sample(input: Tensor, grid: Tensor, mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: bool | None = None) -> Tensor:
    """Read images at the positions of `grid`, with interpolation: the result at each point is the image's value there."""
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """Divide the channels (dimension 1) into `num_groups` groups, and normalise each group of each sample."""
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draw random vectors of the Gumbel-softmax distribution: differentiable approximations of one-hot samples."""
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Set elements with |x| <= `lambd` to 0 and keep the others."""
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """A piecewise linear sigmoid: 0 below -3, 1 above 3, x / 6 + 1 / 2 between. With `inplace=True` the result overwrites `input`."""
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x) for each element x: an approximation of `silu` without exponentials. With `inplace=True` the result overwrites `input`."""
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Limit each element to the range from `min_val` to `max_val`. With `inplace=True` the result overwrites `input`."""
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place: overwrites `input` and returns it. The arguments are those of `hardtanh`."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """A loss on distances `input`: `input` where `target` is 1 (should be near), max(0, margin - input) where it is -1 (should be far)."""
def huber_loss(input: Tensor, target: Tensor, reduction: str = 'mean', delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """A loss that is quadratic for small and linear for large differences d: d ** 2 / 2 if |d| < `delta`, otherwise delta * (|d| - delta / 2)."""
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Normalise each channel of each sample over its spatial dimensions, then multiply by `weight` and add `bias`, if given."""
def interpolate(input: Tensor, size: SupportsIndex | Sequence[SupportsIndex] | None = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:
    """Resize sequences, images or volumes: all dimensions of `input` after (batch, channels)."""
def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence of `target` from the distribution whose logarithm is `input`: target * (log(target) - input)."""
def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The absolute difference of `input` and `target`, by default its mean. The two should have one shape; others broadcast, with a warning."""
def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """Normalise each sample to mean 0 and variance 1 over its last dimensions, then multiply by `weight` and add `bias`, if given."""
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is positive, otherwise negative_slope * x. With `inplace=True` the result overwrites `input`."""
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place: overwrites `input` and returns it. The arguments are those of `leaky_relu`."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A linear map of the last dimension: `input @ weight.T + bias`."""
def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide each element by (k + alpha * mean of the squares of `size` neighbouring channels) ** beta."""
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax(input, dim)`, computed without overflow. The arguments are those of `softmax`."""
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(x))."""
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """The `norm_type`-norm of each window of sequences: `sum(x ** norm_type) ** (1 / norm_type)`."""
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """The `norm_type`-norm of each window of images: `sum(x ** norm_type) ** (1 / norm_type)`."""
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """The `norm_type`-norm of each window of volumes: `sum(x ** norm_type) ** (1 / norm_type)`."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The loss that asks `input1` to be larger than `input2` where `target` is 1, and smaller where it is -1."""
@overload
def max_pool1d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window of sequences (batch, channels, length) or (channels, length)."""
@overload
def max_pool1d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element of each window of sequences (batch, channels, length) or (channels, length)."""
@overload
def max_pool1d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The largest element of each window of sequences (batch, channels, length) or (channels, length)."""
@overload
def max_pool2d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window of images (batch, channels, height, width), or without batch."""
@overload
def max_pool2d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element of each window of images (batch, channels, height, width), or without batch."""
@overload
def max_pool2d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The largest element of each window of images (batch, channels, height, width), or without batch."""
@overload
def max_pool3d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window of volumes (batch, channels, depth, height, width), or without batch."""
@overload
def max_pool3d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element of each window of volumes (batch, channels, depth, height, width), or without batch."""
@overload
def max_pool3d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The largest element of each window of volumes (batch, channels, depth, height, width), or without batch."""
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: Any = None) -> Tensor:
    """Reverse `max_pool1d` in part: a tensor of zeros with each value of `input` at its index."""
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: Any = None) -> Tensor:
    """Reverse `max_pool2d` in part: a tensor of zeros with each value of `input` at its index."""
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: Any = None) -> Tensor:
    """Reverse `max_pool3d` in part: a tensor of zeros with each value of `input` at its index."""
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x)) for each element x. With `inplace=True` the result overwrites `input`."""
def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The squared difference of `input` and `target`, by default its mean. The two should have one shape; others broadcast, with a warning."""
def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """The computation of `nn.MultiheadAttention`, with all its tensors as arguments; call the module instead where possible."""
def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The multi-class hinge loss: the sum over all wrong classes i of max(0, margin - input[target] + input[i]) ** p, divided by the number of classes."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The hinge loss for samples with several target classes."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The binary cross entropy of each class, averaged over the classes, for samples that can belong to several classes."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The negative log likelihood of the target classes: -input[target]. `cross_entropy` is `log_softmax` followed by this loss."""
def normalize(input: Tensor, p: float = 2.0, dim: int | tuple[int, ...] = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divide vectors along `dim` by their `p`-norm, or by `eps` if that is larger. `out`: a tensor for the result."""
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """One-hot vectors, along a new last dimension: for each integer, zeros with a one at its index."""
def pad(input: Tensor, pad: Sequence[int], mode: str = 'constant', value: float | None = None) -> Tensor:
    """Add elements at both ends of the last dimensions."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """The `p`-norm of x1 - x2 + eps along the last dimension, row by row. `keepdim`: keep that dimension with length 1."""
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The `p`-norm distances of all pairs of different rows of a matrix, each pair once: a vector, in the order (0, 1), (0, 2), ..."""
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Move channels into space: from (c * r * r, h, w) to (c, h * r, w * r), where r is `upscale_factor`."""
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-08, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The negative log likelihood of counts `target` under Poisson distributions, without the term log(target!)."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Keep positive elements, and multiply the others by a slope, usually a parameter."""
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Replace negative elements by 0: max(x, 0) for each element x. With `inplace=True` the result overwrites `input`."""
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Limit each element to the range from 0 to 6. With `inplace=True` the result overwrites `input`."""
def relu_(input: Tensor) -> Tensor:
    """`relu` in place: overwrites `input` and returns it. The arguments are those of `relu`."""
def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divide by the root mean square over the last dimensions, then multiply by `weight`, if given."""
def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor:
    """Keep positive elements, and multiply the others by a slope."""
def rrelu_(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False) -> Tensor:
    """`rrelu` in place: overwrites `input` and returns it. The arguments are those of `rrelu`."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    """Attention: softmax(query @ key^T * scale + mask) @ value, with the softmax over the positions of the keys."""
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the scale and alpha for which activations keep mean 0 and variance 1. With `inplace=True` the result overwrites `input`."""
def selu_(input: Tensor) -> Tensor:
    """`selu` in place: overwrites `input` and returns it. The arguments are those of `selu`."""
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)) for each element x."""
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x) for each element x (also called swish). With `inplace=True` the result overwrites `input`."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', beta: float = 1.0) -> Tensor:
    """A loss that is quadratic for small and linear for large differences d: d ** 2 / (2 beta) if |d| < `beta`, otherwise |d| - beta / 2."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The logistic loss log(1 + exp(-target * input)), for targets 1 and -1 of the shape of `input`."""
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Turn scores into probabilities: exp(x) divided by its sum along `dim`, so that the results along `dim` add up to 1."""
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax(-input, dim)`: the smallest element gets the largest probability. The arguments are those of `softmax`."""
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * x)) / beta, a smooth ReLU; where beta * x is above `threshold`, x itself."""
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Move each element towards 0 by `lambd`; elements with |x| <= `lambd` become 0. `lambd` must not be negative."""
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|) for each element x: a function from -1 to 1, like tanh."""
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element."""
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x) for each element x."""
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Keep elements larger than `threshold` and replace the others by `value`. With `inplace=True` the result overwrites `input`."""
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place: overwrites `input` and returns it. The arguments are those of `threshold`."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-06, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin), for vectors along the last dimension."""
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0, swap: bool = False, reduction: str = 'mean') -> Tensor:
    """`triplet_margin_loss` with another distance: `distance_function(x, y)` returns one number for each row."""
def unfold(input: Tensor, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> Tensor:
    """The windows of a batch of images, each as a column: from (batch, channels, height, width) to (batch, channels * window size, windows)."""
def upsample(input: Tensor, size: SupportsIndex | Sequence[SupportsIndex] | None = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None) -> Tensor:
    """Deprecated name of `interpolate`; the arguments are the same."""

__all__ = ['adaptive_avg_pool1d', 'adaptive_avg_pool2d', 'adaptive_avg_pool3d', 'adaptive_max_pool1d', 'adaptive_max_pool2d', 'adaptive_max_pool3d', 'affine_grid', 'alpha_dropout', 'avg_pool1d', 'avg_pool2d', 'avg_pool3d', 'batch_norm', 'bilinear', 'binary_cross_entropy', 'binary_cross_entropy_with_logits', 'celu', 'celu_', 'channel_shuffle', 'conv1d', 'conv2d', 'conv3d', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d', 'cosine_embedding_loss', 'cosine_similarity', 'cross_entropy', 'ctc_loss', 'dropout', 'dropout1d', 'dropout2d', 'dropout3d', 'elu', 'elu_', 'embedding', 'embedding_bag', 'feature_alpha_dropout', 'fold', 'fractional_max_pool2d', 'fractional_max_pool3d', 'gaussian_nll_loss', 'gelu', 'glu', 'grid_sample', 'group_norm', 'gumbel_softmax', 'hardshrink', 'hardsigmoid', 'hardswish', 'hardtanh', 'hardtanh_', 'hinge_embedding_loss', 'huber_loss', 'instance_norm', 'interpolate', 'kl_div', 'l1_loss', 'layer_norm', 'leaky_relu', 'leaky_relu_', 'linear', 'local_response_norm', 'log_softmax', 'logsigmoid', 'lp_pool1d', 'lp_pool2d', 'lp_pool3d', 'margin_ranking_loss', 'max_pool1d', 'max_pool2d', 'max_pool3d', 'max_unpool1d', 'max_unpool2d', 'max_unpool3d', 'mish', 'mse_loss', 'multi_head_attention_forward', 'multi_margin_loss', 'multilabel_margin_loss', 'multilabel_soft_margin_loss', 'nll_loss', 'normalize', 'one_hot', 'pad', 'pairwise_distance', 'pdist', 'pixel_shuffle', 'pixel_unshuffle', 'poisson_nll_loss', 'prelu', 'relu', 'relu6', 'relu_', 'rms_norm', 'rrelu', 'rrelu_', 'scaled_dot_product_attention', 'selu', 'selu_', 'sigmoid', 'silu', 'smooth_l1_loss', 'soft_margin_loss', 'softmax', 'softmin', 'softplus', 'softshrink', 'softsign', 'tanh', 'tanhshrink', 'threshold', 'threshold_', 'triplet_margin_loss', 'triplet_margin_with_distance_loss', 'unfold', 'upsample']
