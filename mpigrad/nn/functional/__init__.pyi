"""Functions of neural networks: layers without state, activations, losses. The `__all__` of each file lists its public functions. Made by tools/stubs.py; do not edit."""

from collections.abc import Callable, Sequence
from mpigrad._tensor import Tensor
from typing import Any, Literal, SupportsIndex, overload

def __dir__() -> list[str]: ...
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means of `output_size` windows that cover the input."""
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means of `output_size` windows that cover the input."""
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means of `output_size` windows that cover the input."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: Literal[False] = False) -> Tensor:
    """Maxima of `output_size` windows that cover the input."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Maxima of `output_size` windows that cover the input."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of `output_size` windows that cover the input."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: Literal[False] = False) -> Tensor:
    """Maxima of `output_size` windows that cover the input."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Maxima of `output_size` windows that cover the input."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of `output_size` windows that cover the input."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: Literal[False] = False) -> Tensor:
    """Maxima of `output_size` windows that cover the input."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Maxima of `output_size` windows that cover the input."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of `output_size` windows that cover the input."""
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """A grid of positions for `grid_sample`: the images of all pixel positions under the affine maps `theta`."""
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps the mean and variance of SELU's outputs."""
def avg_pool1d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window."""
def avg_pool2d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window."""
def avg_pool3d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Normalise each channel (dimension 1): with the statistics of the batch in training, otherwise with the running statistics."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1^T W_k x2 + b_k for each output feature k."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The binary cross entropy between probabilities and targets, both between 0 and 1."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """The binary cross entropy between sigmoid(input) and targets, computed without overflow."""
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha (exp(x / alpha) - 1)."""
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place."""
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave the channels of different groups."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] | list[int] = 1, padding: int | tuple[int, ...] | list[int] | str = 0, dilation: int | tuple[int, ...] | list[int] = 1, groups: int = 1) -> Tensor:
    """Convolution of `input` (batch, in, length) with `weight` (out, in / groups, length)."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] | list[int] = 1, padding: int | tuple[int, ...] | list[int] | str = 0, dilation: int | tuple[int, ...] | list[int] = 1, groups: int = 1) -> Tensor:
    """Convolution of `input` (batch, in, height, width) with `weight` (out, in / groups, height, width)."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] | list[int] = 1, padding: int | tuple[int, ...] | list[int] | str = 0, dilation: int | tuple[int, ...] | list[int] = 1, groups: int = 1) -> Tensor:
    """Convolution of `input` (batch, in, depth, height, width) with `weight` (out, in / groups, depth, height, width)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] | list[int] = 1, padding: int | tuple[int, ...] | list[int] = 0, output_padding: int | tuple[int, ...] | list[int] = 0, groups: int = 1, dilation: int | tuple[int, ...] | list[int] = 1) -> Tensor:
    """The transpose of `conv1d`; `weight` is (in, out / groups, length)."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] | list[int] = 1, padding: int | tuple[int, ...] | list[int] = 0, output_padding: int | tuple[int, ...] | list[int] = 0, groups: int = 1, dilation: int | tuple[int, ...] | list[int] = 1) -> Tensor:
    """The transpose of `conv2d`; `weight` is (in, out / groups, height, width)."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] | list[int] = 1, padding: int | tuple[int, ...] | list[int] = 0, output_padding: int | tuple[int, ...] | list[int] = 0, groups: int = 1, dilation: int | tuple[int, ...] | list[int] = 1) -> Tensor:
    """The transpose of `conv3d`; `weight` is (in, out / groups, depth, height, width)."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """1 - cos(input1, input2) where `target` is 1, max(0, cos(input1, input2) - margin) where it is -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along `dim`."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean', label_smoothing: float = 0.0) -> Tensor:
    """The cross entropy between unnormalised scores and target classes, which are given as indices or as probabilities."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> Tensor:
    """The negative log likelihood of `targets` over all alignments with the input, given log probabilities of shape (steps, batch, classes)."""
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set each element to zero with probability `p`, and divide the others by 1 - p."""
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set whole channels of (batch, channel, length) to zero with probability `p`."""
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set whole channels of (batch, channel, height, width) to zero with probability `p`."""
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, set whole channels of (batch, channel, depth, height, width) to zero with probability `p`."""
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha (exp(x) - 1)."""
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place."""
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of `weight` at the indices `input`."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor:
    """The sum, mean or maximum of the rows of each bag. A bag is a row of indices in `input` or, if that is a vector, the indices from one of `offsets` to the next."""
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels."""
def fold(input: Tensor, output_size: int | Sequence[int], kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> Tensor:
    """The inverse of `unfold`, in which overlapping elements are added up."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """Maxima of windows at random positions in an image."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, *, return_indices: Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Maxima of windows at random positions in an image."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:
    """Maxima of windows at random positions in an image."""
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """Maxima of windows at random positions in a volume."""
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, *, return_indices: Literal[True], _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Maxima of windows at random positions in a volume."""
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> Any:
    """Maxima of windows at random positions in a volume."""
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-06, reduction: str = 'mean') -> Tensor:
    """The negative log likelihood of normal variables of mean `input` and variance `var`."""
def gelu(input: Tensor, approximate: str = 'none') -> Tensor:
    """x times the cumulative normal distribution of x, exactly or, with `approximate="tanh"`, by a formula with tanh."""
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of `input` along `dim`, times the sigmoid of the second half."""
def grid_sample(input: Tensor, grid: Tensor, mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: bool | None = None) -> Tensor:
    """The values of images at the positions `grid`, interpolated; coordinates go from -1 to 1 in each direction."""
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """Normalise each of `num_groups` groups of channels of each element of the batch."""
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A random sample from the Gumbel-softmax distribution with temperature `tau`; with `hard`, a one-hot vector that has the gradient of the soft sample."""
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x if |x| > `lambd`, otherwise 0."""
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """0 below -3, 1 above 3, `x / 6 + 1 / 2` between."""
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * hardsigmoid(x)`."""
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x, limited to the range from `min_val` to `max_val`."""
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """`input` where `target` is 1, max(0, margin - input) where it is -1."""
def huber_loss(input: Tensor, target: Tensor, reduction: str = 'mean', delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """Half of the squared difference if it is below `delta`, otherwise delta * (absolute difference - delta / 2)."""
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Normalise each channel of each element of the batch."""
def interpolate(input: Tensor, size: SupportsIndex | Sequence[SupportsIndex] | None = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:
    """Resize the last dimensions to `size`, or by `scale_factor`."""
def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence of `target` from the distribution whose logarithm is `input`."""
def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The mean absolute difference."""
def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """Normalise over the last dimensions, whose lengths are `normalized_shape`."""
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is positive, else negative_slope x."""
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Apply `input @ weight.T + bias` to the last dimension."""
def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide each element by a function of the squares of the neighbouring `size` channels."""
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of softmax."""
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(x))."""
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """`sum(x ** norm_type) ** (1 / norm_type)` of each window."""
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """`sum(x ** norm_type) ** (1 / norm_type)` of each window."""
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """`sum(x ** norm_type) ** (1 / norm_type)` of each window."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """max(0, -target * (input1 - input2) + margin); `target` is 1 or -1."""
@overload
def max_pool1d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window; with `return_indices`, also its index in the input."""
@overload
def max_pool1d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element of each window; with `return_indices`, also its index in the input."""
@overload
def max_pool1d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The largest element of each window; with `return_indices`, also its index in the input."""
@overload
def max_pool2d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window; with `return_indices`, also its index in the flattened image."""
@overload
def max_pool2d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element of each window; with `return_indices`, also its index in the flattened image."""
@overload
def max_pool2d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The largest element of each window; with `return_indices`, also its index in the flattened image."""
@overload
def max_pool3d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window; with `return_indices`, also its index in the flattened volume."""
@overload
def max_pool3d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element of each window; with `return_indices`, also its index in the flattened volume."""
@overload
def max_pool3d(input: Tensor, kernel_size: int | tuple[int, ...] | list[int], stride: int | tuple[int, ...] | list[int] | None = None, padding: int | tuple[int, ...] | list[int] = 0, dilation: int | tuple[int, ...] | list[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The largest element of each window; with `return_indices`, also its index in the flattened volume."""
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: Any = None) -> Tensor:
    """Zeros, with each value at the index at which `max_pool1d` found it."""
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: Any = None) -> Tensor:
    """Zeros, with each value at the index at which `max_pool2d` found it."""
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: Any = None) -> Tensor:
    """Zeros, with each value at the index at which `max_pool3d` found it."""
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x))."""
def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The mean squared difference."""
def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention over tensors of shape (length, batch, size); returns the output and the attention weights."""
def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The sum over all wrong classes i of max(0, margin - input[target] + input[i]) ** p, divided by the number of classes."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The sum over all target classes j and all other classes i of max(0, 1 - (input[j] - input[i])), divided by the number of classes. The row of target classes ends at its first -1."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The binary cross entropy of each class, averaged over the classes."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The negative log likelihood of the target classes; `input` has log probabilities."""
def normalize(input: Tensor, p: float = 2.0, dim: int | tuple[int, ...] = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divide by the `p`-norm over `dim`, or by `eps` if that is larger."""
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """One-hot vectors: for each integer, zeros with a one at its index."""
def pad(input: Tensor, pad: Sequence[int], mode: str = 'constant', value: float | None = None) -> Tensor:
    """Add elements at both ends of the last dimensions. `pad` has two numbers, before and after, for the last dimension, then for the one before it, and so on."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """The p-norm of the difference of rows."""
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances of all pairs of different rows, each pair once."""
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Move channels into space: from (c * r * r, h, w) to (c, h * r, w * r), where r is `upscale_factor`."""
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-08, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The negative log likelihood of counts from a Poisson distribution whose (log) rate is `input`."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x if it is positive, otherwise x times the `weight` of its channel."""
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x, limited to the range from 0 to 6."""
def relu_(input: Tensor) -> Tensor:
    """`relu` in place."""
def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divide by the root mean square over the last dimensions, whose lengths are `normalized_shape`."""
def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor:
    """x if it is positive, otherwise x times a slope: random in [lower, upper] in training, their mean otherwise."""
def rrelu_(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False) -> Tensor:
    """`rrelu` in place."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    """softmax(query key^T * scale + mask) value."""
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu with the scale and alpha for which activations keep mean 0 and variance 1."""
def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', beta: float = 1.0) -> Tensor:
    """The squared difference (divided by 2 beta) if it is below `beta`, otherwise the absolute difference minus beta / 2."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1."""
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(x) divided by its sum over `dim`."""
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax of -x."""
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold."""
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by `lambd`; 0 if |x| < `lambd`."""
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x if it is larger than `threshold`, otherwise `value`."""
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-06, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin)."""
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0, swap: bool = False, reduction: str = 'mean') -> Tensor:
    """`triplet_margin_loss` with a user-defined distance function."""
def unfold(input: Tensor, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> Tensor:
    """The windows of a batch of images, each as a column."""
def upsample(input: Tensor, size: SupportsIndex | Sequence[SupportsIndex] | None = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = None) -> Tensor:
    """Deprecated name of `interpolate`."""

__all__ = ['adaptive_avg_pool1d', 'adaptive_avg_pool2d', 'adaptive_avg_pool3d', 'adaptive_max_pool1d', 'adaptive_max_pool2d', 'adaptive_max_pool3d', 'affine_grid', 'alpha_dropout', 'avg_pool1d', 'avg_pool2d', 'avg_pool3d', 'batch_norm', 'bilinear', 'binary_cross_entropy', 'binary_cross_entropy_with_logits', 'celu', 'celu_', 'channel_shuffle', 'conv1d', 'conv2d', 'conv3d', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d', 'cosine_embedding_loss', 'cosine_similarity', 'cross_entropy', 'ctc_loss', 'dropout', 'dropout1d', 'dropout2d', 'dropout3d', 'elu', 'elu_', 'embedding', 'embedding_bag', 'feature_alpha_dropout', 'fold', 'fractional_max_pool2d', 'fractional_max_pool3d', 'gaussian_nll_loss', 'gelu', 'glu', 'grid_sample', 'group_norm', 'gumbel_softmax', 'hardshrink', 'hardsigmoid', 'hardswish', 'hardtanh', 'hardtanh_', 'hinge_embedding_loss', 'huber_loss', 'instance_norm', 'interpolate', 'kl_div', 'l1_loss', 'layer_norm', 'leaky_relu', 'leaky_relu_', 'linear', 'local_response_norm', 'log_softmax', 'logsigmoid', 'lp_pool1d', 'lp_pool2d', 'lp_pool3d', 'margin_ranking_loss', 'max_pool1d', 'max_pool2d', 'max_pool3d', 'max_unpool1d', 'max_unpool2d', 'max_unpool3d', 'mish', 'mse_loss', 'multi_head_attention_forward', 'multi_margin_loss', 'multilabel_margin_loss', 'multilabel_soft_margin_loss', 'nll_loss', 'normalize', 'one_hot', 'pad', 'pairwise_distance', 'pdist', 'pixel_shuffle', 'pixel_unshuffle', 'poisson_nll_loss', 'prelu', 'relu', 'relu6', 'relu_', 'rms_norm', 'rrelu', 'rrelu_', 'scaled_dot_product_attention', 'selu', 'selu_', 'sigmoid', 'silu', 'smooth_l1_loss', 'soft_margin_loss', 'softmax', 'softmin', 'softplus', 'softshrink', 'softsign', 'tanh', 'tanhshrink', 'threshold', 'threshold_', 'triplet_margin_loss', 'triplet_margin_with_distance_loss', 'unfold', 'upsample']
