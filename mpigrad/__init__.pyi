"""mpigrad: distributed autograd for HPC clusters, with PyTorch's API, on MPI and NumPy/CuPy. Made by tools/stubs.py; do not edit."""

from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from collections.abc import Callable, Iterable, Iterator, Sequence
from mpigrad import (
    accelerator as accelerator,
    autograd as autograd,
    backends as backends,
    classes as classes,
    cuda as cuda,
    distributed as distributed,
    distributions as distributions,
    fft as fft,
    func as func,
    futures as futures,
    jit as jit,
    linalg as linalg,
    multiprocessing as multiprocessing,
    nn as nn,
    ops as ops,
    optim as optim,
    profiler as profiler,
    random as random,
    return_types as return_types,
    serialization as serialization,
    sparse as sparse,
    special as special,
    testing as testing,
    utils as utils,
    version as version,
)
from mpigrad._array.device import device as device
from mpigrad._array.device_pool import OutOfMemoryError as OutOfMemoryError
from mpigrad._array.dtype import dtype as dtype, finfo as finfo, iinfo as iinfo
from mpigrad._array.layout import layout as layout, memory_format as memory_format
from mpigrad._generator import Generator as Generator
from mpigrad._graph.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from mpigrad._ops.tensor.storage import UntypedStorage as UntypedStorage
from mpigrad._tensor import Size as Size, Tensor as Tensor
from mpigrad.return_types import (
    aminmax as _aminmax,
    cummax as _cummax,
    cummin as _cummin,
    frexp as _frexp,
    histogram as _histogram,
    kthvalue as _kthvalue,
    linalg_slogdet,
    lu_unpack as _lu_unpack,
    max as _max,
    median as _median,
    min as _min,
    mode as _mode,
    nanmedian as _nanmedian,
    qr as _qr,
    sort as _sort,
    svd as _svd,
    topk as _topk,
)
from numpy import generic, ndarray
from typing import Any, Literal, SupportsIndex, TypeAlias, overload

_Operand: TypeAlias = Tensor | ndarray[Any, Any] | generic | _complex
BFloat16Tensor: type[Tensor]
BoolTensor: type[Tensor]
ByteTensor: type[Tensor]
CharTensor: type[Tensor]
ComplexDoubleTensor: type[Tensor]
ComplexFloatTensor: type[Tensor]
DoubleTensor: type[Tensor]
FloatTensor: type[Tensor]
HalfTensor: type[Tensor]
IntTensor: type[Tensor]
LongTensor: type[Tensor]
ShortTensor: type[Tensor]
def __dir__() -> list[str]: ...
__version__: str
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of each element."""
def abs_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `abs`."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of each element."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose cosine each element is."""
def acos_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `acos`."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the hyperbolic cosine."""
def acosh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `acosh`."""
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means of `output_size` windows that cover the input."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: Literal[False] = False) -> Tensor:
    """Maxima of `output_size` windows that cover the input."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Maxima of `output_size` windows that cover the input."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: _bool = False) -> Any:
    """Maxima of `output_size` windows that cover the input."""
def add(input: Tensor, other: _Operand, *, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`input + alpha * other`."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (sum of the matrix products batch1[i] @ batch2[i])`."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 / tensor2`, of float tensors."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 * tensor2`."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """In-place version of `addmv`."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
def adjoint(input: Tensor) -> Tensor:
    """The conjugate of the tensor with its last two dimensions swapped."""
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of the tensor."""
def all(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether all elements (or all along dimensions) are nonzero."""
def allclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
    """Whether all elements of two tensors are close, in the sense of `isclose`."""
def alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """Dropout that keeps the mean and variance of SELU's outputs."""
def amax(input: Tensor, dim: _int | Sequence[_int] = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The largest element over one or several dimensions; elements that are equal to it share the gradient."""
def amin(input: Tensor, dim: _int | Sequence[_int] = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The smallest element over one or several dimensions; elements that are equal to it share the gradient."""
def aminmax(input: Tensor, *, dim: _int | None = None, keepdim: _bool = False) -> _aminmax:
    """The smallest and the largest element."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of each element in the complex plane: 0 or pi for real ones."""
def any(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether at least one element (of all, or along dimensions) is nonzero."""
def arange(start: Any = ..., end: Any = None, step: Any = 1, *, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The numbers from `start` up to, not including, `end`."""
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose cosine each element is."""
def arccos_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `acos`."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the hyperbolic cosine."""
def arccosh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `acosh`."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose sine each element is."""
def arcsin_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `asin`."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the hyperbolic sine."""
def arcsinh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `asinh`."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose tangent each element is."""
def arctan2(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input): arctan(input / other) in the right quadrant."""
def arctan_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `atan`."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the hyperbolic tangent."""
def arctanh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `atanh`."""
def are_deterministic_algorithms_enabled() -> _bool:
    """Whether deterministic algorithms were requested (`use_deterministic_algorithms`)."""
def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index of the largest element: in the flattened tensor, or along a dimension."""
def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index of the smallest element: in the flattened tensor, or along a dimension."""
def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
    """The indices that sort a dimension."""
def argwhere(input: Tensor) -> Tensor:
    """The indices of nonzero elements, a row for each."""
def as_strided(input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """A view with any shape, strides and offset into the tensor's memory."""
def as_strided_(self: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """Give this tensor another shape, strides and offset into its memory."""
def as_strided_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """`as_strided` as a copy instead of a view."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """A copy of the tensor, with `src` written to the elements that `as_strided` with these arguments would return."""
def as_tensor(data: Any, dtype: dtype | None = None, device: device | str | _int | None = None) -> Tensor:
    """A tensor of `data` that shares its memory if possible; a matching tensor is returned unchanged."""
def asarray(obj: Any, *, dtype: dtype | None = None, device: device | str | _int | None = None, copy: _bool | None = None, requires_grad: _bool = False) -> Tensor:
    """A tensor of `obj`; `copy` True always copies, False never, None only if necessary."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose sine each element is."""
def asin_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `asin`."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the hyperbolic sine."""
def asinh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `asinh`."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle whose tangent each element is."""
def atan2(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (other, input): arctan(input / other) in the right quadrant."""
def atan_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `atan`."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the hyperbolic tangent."""
def atanh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `atanh`."""
@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_1d(*tensors: Any) -> Any: ...
@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_2d(*tensors: Any) -> Any: ...
@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_3d(*tensors: Any) -> Any: ...
def avg_pool1d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> Tensor:
    """The mean of each window."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2)`."""
def bartlett_window(window_length: _int, periodic: _bool = True, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A triangular window."""
def bernoulli(input: Tensor, p: _float | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Random zeros and ones: each element of `input` is the probability of a one; with `p`, all probabilities are `p`."""
bfloat16: dtype
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1^T W_k x2 + b_k for each output feature k."""
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """The number of occurrences of each non-negative integer, or the sum of its `weights`."""
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Random counts of binomial distributions: how many of `count` trials succeed, each with probability `prob`. Not differentiable."""
def bitwise_and(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits that both elements have."""
def bitwise_left_shift(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits of `input` moved up by `other`."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit turned over."""
def bitwise_or(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits that at least one of the elements has."""
def bitwise_right_shift(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits of `input` moved down by `other`."""
def bitwise_xor(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits that exactly one of the elements has."""
def blackman_window(window_length: _int, periodic: _bool = True, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A sum of three cosine terms, with little spectral leakage."""
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere; vectors count as matrices of one row."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix products of two batches of matrices, pair by pair."""
bool: dtype
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which all given shapes can be broadcast."""
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Broadcast tensors to their common shape, as views."""
def broadcast_to(input: Tensor, size: Sequence[_int]) -> Tensor:
    """Broadcast a tensor to a shape, as a view."""
def bucketize(input: Any, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False, out: Tensor | None = None) -> Tensor:
    """For each element of `input`, the index of the bucket between sorted `boundaries` into which it falls."""
def can_cast(from_: dtype, to: dtype) -> _bool:
    """Whether PyTorch's rules allow writing `from_` values into a `to` tensor (no step down in category)."""
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """The Cartesian product of vectors: each row has one element of each vector."""
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along an existing dimension."""
def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The p-norm distance of every row of `x1` from every row of `x2`."""
cdouble: dtype
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer that is not below each element."""
def ceil_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `ceil`."""
def celu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """x where it is positive, else alpha (exp(x / alpha) - 1)."""
def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """`celu` in place."""
cfloat: dtype
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the cheapest order."""
def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Interleave the channels of different groups."""
channels_last: memory_format
channels_last_3d: memory_format
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Deprecated name of `linalg.cholesky`."""
def cholesky_inverse(L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A, given its Cholesky factor."""
def cholesky_solve(B: Tensor, L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The solution X of A X = B, given the Cholesky factor of A."""
def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts of equal size (the last may be smaller); views."""
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Each element, limited to the range from `min` to `max` (numbers or tensors; None: no limit)."""
def clamp_(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `clamp`."""
def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Each element, or `max` if that is smaller."""
def clamp_max_(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `clamp_max`."""
def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Each element, or `min` if that is larger."""
def clamp_min_(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `clamp_min`."""
def clip(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Each element, limited to the range from `min` to `max` (numbers or tensors; None: no limit)."""
def clip_(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `clamp`."""
def clone(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """A copy; gradients flow through it to the original."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 1; vectors become columns."""
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """All combinations of `r` elements of a vector, one per row."""
def compile(model: Callable[..., Any] | None = None, *, fullgraph: _bool = False, dynamic: _bool | None = None, backend: Any = None, mode: str | None = None, options: dict[str, Any] | None = None, disable: _bool = False, **others: Any) -> Any:
    """Return the function or module unchanged: mpigrad has no such compiler. (`mpigrad.jit.script` compiles functions.)"""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their real and imaginary parts."""
complex128: dtype
complex64: dtype
def concat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along an existing dimension."""
def concatenate(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along an existing dimension."""
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is returned unchanged."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate, computed at once."""
def conj_physical_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `conj_physical`."""
contiguous_format: memory_format
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | tuple[_int, ...] | list[_int] = 1, padding: _int | tuple[_int, ...] | list[_int] | str = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, groups: _int = 1) -> Tensor:
    """Convolution of `input` (batch, in, length) with `weight` (out, in / groups, length)."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | tuple[_int, ...] | list[_int] = 1, padding: _int | tuple[_int, ...] | list[_int] | str = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, groups: _int = 1) -> Tensor:
    """Convolution of `input` (batch, in, height, width) with `weight` (out, in / groups, height, width)."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | tuple[_int, ...] | list[_int] = 1, padding: _int | tuple[_int, ...] | list[_int] | str = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, groups: _int = 1) -> Tensor:
    """Convolution of `input` (batch, in, depth, height, width) with `weight` (out, in / groups, depth, height, width)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | tuple[_int, ...] | list[_int] = 1, padding: _int | tuple[_int, ...] | list[_int] = 0, output_padding: _int | tuple[_int, ...] | list[_int] = 0, groups: _int = 1, dilation: _int | tuple[_int, ...] | list[_int] = 1) -> Tensor:
    """The transpose of `conv1d`; `weight` is (in, out / groups, length)."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | tuple[_int, ...] | list[_int] = 1, padding: _int | tuple[_int, ...] | list[_int] = 0, output_padding: _int | tuple[_int, ...] | list[_int] = 0, groups: _int = 1, dilation: _int | tuple[_int, ...] | list[_int] = 1) -> Tensor:
    """The transpose of `conv2d`; `weight` is (in, out / groups, height, width)."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | tuple[_int, ...] | list[_int] = 1, padding: _int | tuple[_int, ...] | list[_int] = 0, output_padding: _int | tuple[_int, ...] | list[_int] = 0, groups: _int = 1, dilation: _int | tuple[_int, ...] | list[_int] = 1) -> Tensor:
    """The transpose of `conv3d`; `weight` is (in, out / groups, depth, height, width)."""
def copysign(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The absolute values of `input` with the signs of `other`."""
def corrcoef(input: Tensor) -> Tensor:
    """The matrix of correlation coefficients of variables; each row is a variable, each column an observation."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine of each element."""
def cos_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `cos`."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine."""
def cosh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `cosh`."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along `dim`."""
def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """How many elements are not zero."""
def cov(input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance matrix of variables; each row is a variable, each column an observation."""
def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The vector product along a dimension of length 3; without `dim`, along the first such dimension."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int = 0, reduction: str = 'mean', zero_infinity: _bool = False) -> Tensor:
    """The negative log likelihood of `targets` over all alignments with the input, given log probabilities of shape (steps, batch, classes)."""
def cummax(input: Tensor, dim: _int, *, out: Any = None) -> _cummax:
    """The largest element up to each position of a dimension, and its index."""
def cummin(input: Tensor, dim: _int, *, out: Any = None) -> _cummin:
    """The smallest element up to each position of a dimension, and its index."""
def cumprod(input: Tensor, dim: _int, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Running products along a dimension."""
def cumsum(input: Tensor, dim: _int, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Running sums along a dimension."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: _int = -1) -> Tensor:
    """The integral of samples from the first one up to each of the others, by the trapezoidal rule."""
default_generator: Generator
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angles in degrees as radians."""
def deg2rad_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `deg2rad`."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices."""
def detach(input: Tensor) -> Tensor:
    """An alias that is not connected to the graph. In-place changes are visible in both, and detected."""
def detach_(input: Tensor) -> Tensor:
    """Disconnect this tensor from the graph, in place: it becomes a leaf."""
def detach_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """`detach` as a copy instead of a view."""
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """A matrix with a vector on its diagonal, or the diagonal of a matrix as a vector."""
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Matrices with the last dimension of `input` on the diagonal and zeros elsewhere."""
def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """A matrix with all elements of a tensor on its diagonal."""
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last dimension of a view."""
def diagonal_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """`diagonal` as a copy instead of a view."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A copy of the tensor with `src` written to a diagonal."""
def diff(input: Tensor, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """The differences of neighbouring elements along a dimension, taken `n` times."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""
def dist(input: Tensor, other: Tensor, p: _float = 2) -> Tensor:
    """The `p`-norm of `input - other`."""
def div(input: Tensor, other: _Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """`input / other`; with `rounding_mode` "trunc" or "floor", rounded towards zero or down."""
def divide(input: Tensor, other: _Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """`input / other`; with `rounding_mode` "trunc" or "floor", rounded towards zero or down."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors."""
double: dtype
def dropout(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """In training, set each element to zero with probability `p`, and divide the others by 1 - p."""
def dsplit(input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
    """Split along dimension 2; views."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 2."""
e: _float
def einsum(*args: Any) -> Tensor:
    """The sum of products of operands that the equation describes."""
def empty(*size: SupportsIndex | Sequence[SupportsIndex], out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: memory_format | None = None, **names: Any) -> Tensor:
    """An uninitialised tensor."""
def empty_like(input: Tensor, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """An uninitialised tensor with the shape, type and device of `input`."""
def empty_strided(size: SupportsIndex | Sequence[SupportsIndex], stride: Any, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """An uninitialised tensor with the given strides."""
def eq(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are equal."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether both have the same shape and the same elements."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function."""
def erf_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `erf`."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One minus the error function."""
def erfc_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `erfc`."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the error function."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e to the power of each element."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element."""
def exp2_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `exp2`."""
def exp_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `exp`."""
def expand_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """`expand` as a copy instead of a view."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) - 1, exact for small x."""
def expm1_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `expm1`."""
def eye(n: _int, m: _int | None = None, *, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A matrix of `n` rows and `m` columns (default: `n`) with ones on the diagonal and zeros elsewhere."""
def feature_alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """`alpha_dropout` of whole channels."""
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor with the shape and type of `input`, filled with one value."""
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one value into every element."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element without its fraction."""
def fix_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `trunc`."""
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Merge the dimensions from `start_dim` to `end_dim` into one."""
def flip(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """Reverse the order along some dimensions."""
def fliplr(input: Tensor) -> Tensor:
    """Reverse the columns."""
def flipud(input: Tensor) -> Tensor:
    """Reverse the rows."""
float: dtype
float16: dtype
float32: dtype
float64: dtype
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """A power computed in double precision."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest integer that is not above each element."""
def floor_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `floor`."""
def floor_divide(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input / other`, rounded down."""
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two elements; the other one where one is nan."""
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two elements; the other one where one is nan."""
def fmod(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The remainder of `input / other`, with the sign of `input`: C's fmod."""
def fork_rng(devices: Iterable[Any] | None = None, enabled: _bool = True, device_type: str = 'cuda') -> Iterator[None]:
    """A context manager that restores the states of the default generators of all devices at the end of the block."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The fraction of each element, with its sign."""
def frac_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `frac`."""
def frexp(input: Tensor, *, out: Any = None) -> _frexp:
    """Mantissa and exponent of each element: the element is the mantissa, from [0.5, 1), times two to the power of the exponent."""
def frobenius_norm(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The root of the sum of squares over dimensions."""
def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor that shares the memory of an object of another library, through DLPack."""
def from_numpy(ndarray: ndarray[Any, Any]) -> Tensor:
    """A tensor that shares the array's memory."""
def frombuffer(buffer: Any, *, dtype: dtype, count: _int = -1, offset: _int = 0, requires_grad: _bool = False) -> Tensor:
    """A one-dimensional tensor over the memory of an object with the buffer protocol."""
def full(size: SupportsIndex | Sequence[SupportsIndex], fill_value: Any, *, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A tensor filled with `fill_value`; without `dtype`, the type of that value decides the element type."""
def full_like(input: Tensor, fill_value: Any, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """A tensor with the shape, type and device of `input`, filled with `fill_value`."""
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Elements chosen along a dimension: `result[i][j] = input[index[i][j]][j]` for dim 0."""
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor of each pair of integers."""
def gcd_(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `gcd`."""
def ge(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are not less than those of `other`."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix of products of the elements of two vectors."""
def get_default_device() -> device:
    """The default device of factory functions in this thread."""
def get_default_dtype() -> dtype:
    """The floating-point type of new tensors."""
def get_deterministic_debug_mode() -> _int:
    """The current mode, as a number of `set_deterministic_debug_mode`."""
def get_device(self: Tensor) -> _int:
    """The index of the GPU of this tensor; -1 on the CPU."""
def get_float32_matmul_precision() -> str:
    """The value that `set_float32_matmul_precision` has set."""
def get_num_interop_threads() -> _int:
    """The value that `set_num_interop_threads` has set."""
def get_num_threads() -> _int:
    """The number of threads of matrix products; the number of cores if the BLAS is not OpenBLAS."""
def get_rng_state() -> Tensor:
    """The state of the default generator, as a tensor of bytes."""
def gradient(input: Tensor, *, spacing: Any = 1, dim: _int | Sequence[_int] | None = None, edge_order: _int = 1) -> tuple[Tensor, ...]:
    """Numerical gradient along each dimension, from differences of neighbours; for inner elements of second order."""
def greater(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are greater than those of `other`."""
def greater_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are not less than those of `other`."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor:
    """Normalise each of `num_groups` groups of channels of each element of the batch."""
def gt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are greater than those of `other`."""
half: dtype
def hamming_window(window_length: _int, periodic: _bool = True, alpha: _float = 0.54, beta: _float = 0.46, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A raised cosine that does not reach zero at its ends."""
def hann_window(window_length: _int, periodic: _bool = True, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """One period of a raised cosine."""
def hardshrink(input: Tensor, lambd: _float = 0.5) -> Tensor:
    """x if |x| > `lambd`, otherwise 0."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 where `input` is negative, 1 where it is positive, and the element of `values` where it is 0."""
def histc(input: Tensor, bins: _int = 100, min: Any = 0, max: Any = 0, *, out: Tensor | None = None) -> Tensor:
    """The number of elements in each of `bins` equal bins between `min` and `max`; if these are equal, between the smallest and the largest element."""
def histogram(input: Tensor, bins: Any, *, range: tuple[_float, _float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _histogram:
    """The number of elements (or the sum of their weights) in each bin, and the edges of the bins."""
def hsplit(input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
    """Split along dimension 1 (vectors along dimension 0); views."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 1 (vectors along dimension 0)."""
def hypot(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """sqrt(input^2 + other^2), without overflow."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 0."""
def i0_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `i0`."""
def igamma(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularised lower incomplete gamma function."""
def igammac(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularised upper incomplete gamma function."""
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, as a view."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """Add the slices of `source` to the slices of `input` at the given indices."""
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Replace the slices of `input` at the given indices by those of `source`."""
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Any) -> Tensor:
    """Write one value into the slices of a dimension at the given indices."""
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: _bool = False) -> Tensor:
    """A copy with `values` assigned (or added) at index tensors."""
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: _bool = False) -> Tensor:
    """Assign `values` at index tensors (or masks), or add them with `accumulate`, in place."""
def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """Combine the slices of `source` into those of `input` that `index` names, by "prod", "mean", "amax" or "amin"."""
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The slices of `input` at the indices `index` of a dimension."""
inf: _float
def initial_seed() -> _int:
    """The seed of the default generator."""
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of products over the last dimension of both tensors."""
int: dtype
int16: dtype
int32: dtype
int64: dtype
int8: dtype
def inverse(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices."""
def is_anomaly_check_nan_enabled() -> _bool:
    """Whether anomaly detection looks for NaNs."""
def is_anomaly_enabled() -> _bool:
    """Whether anomaly detection is on."""
def is_complex(input: Tensor) -> _bool:
    """Whether the elements are complex numbers."""
def is_conj(input: Tensor) -> _bool:
    """Whether a conjugation is deferred: always False."""
def is_deterministic_algorithms_warn_only_enabled() -> _bool:
    """Whether `use_deterministic_algorithms` requested warnings only."""
def is_distributed(input: Tensor) -> _bool:
    """Whether one tensor is spread over several processes: always False."""
def is_floating_point(input: Tensor) -> _bool:
    """Whether the elements are real floating-point numbers."""
def is_grad_enabled() -> _bool:
    """Whether this thread records operations for differentiation."""
def is_inference(input: Tensor) -> _bool:
    """Whether the tensor was created in inference mode."""
def is_inference_mode_enabled() -> _bool:
    """Whether this thread is inside `inference_mode`."""
def is_neg(input: Tensor) -> _bool:
    """Whether a negation is deferred: always False."""
def is_nonzero(input: Tensor) -> _bool:
    """Whether the only element of the tensor is not zero; RuntimeError if it has several."""
def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether both tensors have the same shape."""
def is_signed(input: Tensor) -> _bool:
    """Whether the elements can be negative."""
def is_tensor(obj: Any) -> _bool:
    """Whether `obj` is a tensor."""
def is_warn_always_enabled() -> _bool:
    """Whether `set_warn_always(True)` was called."""
def isclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
    """Whether elements differ by at most `atol + rtol * |other|`."""
def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are neither infinite nor nan."""
def isin(elements: Any = None, test_elements: Any = None, *, assume_unique: _bool = False, invert: _bool = False, out: Tensor | None = None, element: Any = None, test_element: Any = None) -> Tensor:
    """Whether each element is one of `test_elements`."""
def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are infinite."""
def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are nan."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are -inf."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are inf."""
def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements have no imaginary part."""
def kaiser_window(window_length: _int, periodic: _bool = True, beta: _float = 12.0, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A window of Bessel functions; a larger `beta` means less spectral leakage and less resolution."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: `input` with each element replaced by its product with `other`."""
def kthvalue(input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Any = None) -> _kthvalue:
    """The `k`-th smallest element of a dimension (counted from 1), and its index."""
def layer_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor:
    """Normalise over the last dimensions, whose lengths are `normalized_shape`."""
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple of each pair of integers."""
def lcm_(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `lcm`."""
def ldexp(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * 2 ** other`."""
def ldexp_(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `ldexp`."""
def le(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are not greater than those of `other`."""
def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
    """Linear interpolation: `input + weight * (end - input)`."""
def less(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are less than those of `other`."""
def less_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are not greater than those of `other`."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
def linspace(start: Any, end: Any, steps: _int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """`steps` numbers at equal distances, from `start` to `end`, both included."""
def load(f: Any, map_location: Callable[..., Any] | device | str | dict[Any, Any] | None = None, pickle_module: Any = None, *, weights_only: _bool | None = None, mmap: _bool | None = None, **pickle_load_args: Any) -> Any:
    """Read what `save` or `torch.save` wrote, or a safetensors file."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm of each element."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10 of each element."""
def log10_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `log10`."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + x), exact for small x."""
def log1p_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `log1p`."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2 of each element."""
def log2_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `log2`."""
def log_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `log`."""
def log_softmax(input: Tensor, dim: _int | None = None, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of softmax, computed without loss of digits."""
def logaddexp(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """log(exp(input) + exp(other)), without overflow."""
def logaddexp2(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """log2(2^input + 2^other), without overflow."""
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """Running log(sum(exp(x))) along a dimension, without overflow."""
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; nan if that is negative."""
def logical_and(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether both elements are nonzero."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are zero."""
def logical_or(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether at least one of the elements is nonzero."""
def logical_xor(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether exactly one of the elements is nonzero."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of sigmoid. With `eps`, x is limited to the range from eps to 1 - eps."""
def logit_(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `logit`."""
def logspace(start: Any, end: Any, steps: _int, base: _float = 10.0, *, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """`base ** linspace(start, end, steps)`."""
def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) over dimensions, without overflow."""
long: dtype
def lt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are less than those of `other`."""
def lu(A: Tensor, pivot: _bool = True, get_infos: _bool = False, out: Any = None) -> Any:
    """Deprecated form of `linalg.lu_factor_ex`; returns the infos if `get_infos`."""
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Deprecated form of `linalg.lu_solve`, with another order of arguments."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True) -> _lu_unpack:
    """P, L and U from the result of `linalg.lu_factor`."""
def manual_seed(seed: _int) -> Generator:
    """Seed the default generators of all devices."""
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with one value written where the mask is True."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of the tensor; where the mask is True, its elements are replaced by those of `source`, in order."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where the mask is True, as a vector."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of vectors, matrices, or broadcast batches of matrices: Python's `@`."""
def matrix_exp(A: Tensor) -> Tensor:
    """The matrix exponential of square matrices."""
def matrix_power(A: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """The `n`-th power of square matrices; negative powers are powers of the inverse."""
@overload
def max(input: Tensor) -> Tensor: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor: ...
@overload
def max(input: Tensor, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _max: ...
@overload
def max_pool1d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window; with `return_indices`, also its index in the input."""
@overload
def max_pool1d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element of each window; with `return_indices`, also its index in the input."""
@overload
def max_pool1d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """The largest element of each window; with `return_indices`, also its index in the input."""
@overload
def max_pool2d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window; with `return_indices`, also its index in the flattened image."""
@overload
def max_pool2d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element of each window; with `return_indices`, also its index in the flattened image."""
@overload
def max_pool2d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """The largest element of each window; with `return_indices`, also its index in the flattened image."""
@overload
def max_pool3d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window; with `return_indices`, also its index in the flattened volume."""
@overload
def max_pool3d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element of each window; with `return_indices`, also its index in the flattened volume."""
@overload
def max_pool3d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """The largest element of each window; with `return_indices`, also its index in the flattened volume."""
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two elements; nan if one is."""
def mean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None, axis: Any = None, keepdims: _bool | None = None) -> Tensor:
    """The mean of all elements, or over the given dimensions; of float or complex tensors only."""
@overload
def median(input: Tensor, dim: None=None, keepdim: _bool=False, *, out: Any=None) -> Tensor: ...
@overload
def median(input: Tensor, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _median: ...
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinate grids of vectors, as views: `indexing` is "ij" (the first vector runs along dimension 0) or "xy"."""
@overload
def min(input: Tensor) -> Tensor: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor: ...
@overload
def min(input: Tensor, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _min: ...
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two elements; nan if one is."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""
def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: Any = None) -> _mode:
    """The most frequent value (of equals the smallest) along a dimension, and its last index: (values, indices)."""
def moveaxis(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Move dimensions to other positions; the other dimensions keep their order. A view."""
def movedim(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Move dimensions to other positions; the other dimensions keep their order. A view."""
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tensor sorted along its first dimension."""
def mul(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * other`, element by element."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """`num_samples` random indices for each row of `input`; the probability of an index is proportional to the row's element."""
def multiply(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * other`, element by element."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`."""
nan: _float
def nan_to_num(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Replace nan by `nan` (0), inf by `posinf` and -inf by `neginf` (the largest and the smallest number of the type)."""
def nan_to_num_(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `nan_to_num`."""
def nanmean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The mean of the elements that are not nan."""
@overload
def nanmedian(input: Tensor, dim: None=None, keepdim: _bool=False, *, out: Any=None) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _nanmedian: ...
def nanquantile(input: Tensor, q: Any, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
    """`quantile` of the elements that are not nan."""
def nansum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of the elements that are not nan."""
def narrow(input: Tensor, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
    """The slice of a dimension from `start`, `length` elements long; a view."""
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = None) -> Tensor:
    """`narrow` as a copy instead of a view."""
def ne(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements differ."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative of each element."""
def neg_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `neg`."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative of each element."""
def negative_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `neg`."""
newaxis: None
def nextafter(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The next number from `input` towards `other`."""
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor:
    """The indices of nonzero elements: a row for each, or a tuple of index vectors."""
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
    """The indices of nonzero elements: a row for each, or a tuple of index vectors."""
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: _bool = False) -> Any:
    """The indices of nonzero elements: a row for each, or a tuple of index vectors."""
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
    """The coordinates of the first `size` elements that are not zero; if there are fewer, the rest is `fill_value`."""
def norm(input: Tensor, p: Any = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
    """The norm of the elements, over all or some dimensions; by default the 2-norm ("fro")."""
def normal(mean: Any, std: Any = 1.0, size: SupportsIndex | Sequence[SupportsIndex] | None = None, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Random numbers of normal distributions. `mean` and `std` are tensors, one element for each result, or numbers together with a `size`."""
def not_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements differ."""
def nuclear_norm(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The sum of the singular values."""
def numel(input: Tensor) -> _int:
    """The number of elements."""
def ones(*size: SupportsIndex | Sequence[SupportsIndex], out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False, **names: Any) -> Tensor:
    """A tensor of ones."""
def ones_like(input: Tensor, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """Ones with the shape, type and device of `input`."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix of products of the elements of two vectors."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> Tensor:
    """The p-norm of the difference of rows."""
def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The p-norm distances of all pairs of different rows, each pair once."""
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """Reorder the dimensions; a view."""
def permute_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """`permute` as a copy instead of a view."""
pi: _float
def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """The Moore-Penrose pseudo-inverse."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Move channels into space: from (c * r * r, h, w) to (c, h * r, w * r), where r is `upscale_factor`."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """The inverse of `pixel_shuffle`."""
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Random counts of Poisson distributions whose means are the elements of `input`."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their absolute values and angles."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The `n`-th derivative of digamma."""
def positive(input: Tensor) -> Tensor:
    """The tensor itself; raises an error for booleans, as in PyTorch."""
def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """`input` to the power of `exponent`; one of them may be a number."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x if it is positive, otherwise x times the `weight` of its channel."""
preserve_format: memory_format
def prod(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The product of all elements, or along a dimension."""
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type that holds both, by PyTorch's lattice."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """A copy of the tensor in which the elements with the given indices in the flattened tensor are replaced, or added to."""
def qr(input: Tensor, some: _bool = True, *, out: Any = None) -> _qr:
    """Deprecated name of `linalg.qr`."""
def quantile(input: Tensor, q: Any, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
    """The `q`-quantile of the elements, over all or along a dimension."""
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angles in radians as degrees."""
def rad2deg_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `rad2deg`."""
def rand(*size: SupportsIndex | Sequence[SupportsIndex], generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False, **names: Any) -> Tensor:
    """Random numbers, uniformly distributed in [0, 1)."""
def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """`rand` with the shape, type and device of `input`."""
def randint(low: Any, high: Any = None, size: SupportsIndex | Sequence[SupportsIndex] | None = None, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Random integers, uniformly distributed in [low, high): `randint(high, size)` or `randint(low, high, size)`."""
def randint_like(input: Tensor, low: Any, high: Any = None, *, generator: Generator | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """`randint` with the shape, type and device of `input`."""
def randn(*size: SupportsIndex | Sequence[SupportsIndex], generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False, **names: Any) -> Tensor:
    """Numbers of the normal distribution with mean 0 and variance 1."""
def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """`randn` with the shape, type and device of `input`."""
def randperm(n: _int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
def range(start: Any, end: Any, step: Any = 1, *, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Deprecated form of `arange` that includes `end` and returns floating-point numbers."""
def ravel(input: Tensor) -> Tensor:
    """All elements as a vector; a view if possible."""
def real(input: Tensor) -> Tensor:
    """The real parts, as a view; a real tensor is returned unchanged."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One over each element."""
def reciprocal_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `reciprocal`."""
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element, or zero if it is negative."""
def relu_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `relu`."""
def remainder(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The remainder of `input / other`, with the sign of `other`: Python's `%`."""
def renorm(input: Tensor, p: Any, dim: _int, maxnorm: Any, *, out: Tensor | None = None) -> Tensor:
    """Scale down each slice of a dimension whose `p`-norm is larger than `maxnorm`, so that its norm is `maxnorm`."""
def repeat_interleave(input: Tensor, repeats: _int | Tensor | None = None, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
    """Repeat each element of the flattened tensor (or each slice of a dimension); the copies follow each other."""
def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor:
    """A tensor with the same elements in another shape; a view of `input` if possible, otherwise a copy."""
def resize_as_(self: Tensor, other: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """Give this tensor the shape of another."""
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: mpigrad computes conjugates at once, PyTorch may defer them."""
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: mpigrad computes negatives at once, PyTorch may defer them."""
def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The element type of the result of an operation on both arguments."""
def rms_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = None, eps: _float | None = None) -> Tensor:
    """Divide by the root mean square over the last dimensions, whose lengths are `normalized_shape`."""
def roll(input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = None) -> Tensor:
    """Shift elements along dimensions cyclically; without `dims`, in the flattened tensor."""
def rot90(input: Tensor, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor:
    """Rotate by 90 degrees, `k` times, in the plane of the two dimensions `dims`."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """Each element rounded to `decimals` digits after the point; halves go to the even neighbour."""
def round_(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """In-place version of `round`."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 0; vectors become rows."""
def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False) -> Tensor:
    """x if it is positive, otherwise x times a slope: random in [lower, upper] in training, their mean otherwise."""
def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False) -> Tensor:
    """`rrelu` in place."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One over the square root of each element."""
def rsqrt_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `rsqrt`."""
def rsub(input: Tensor, other: _Operand, *, alpha: _complex = 1) -> Tensor:
    """`other - alpha * input`."""
def save(obj: Any, f: Any, pickle_module: Any = ..., pickle_protocol: _int = 2, _use_new_zipfile_serialization: _bool = True, *, format: str = 'mpigrad') -> None:
    """Write an object (tensors, containers of tensors, state dicts ...) to a file, given by name or open for writing."""
def scalar_tensor(s: Any, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A zero-dimensional tensor of one number, of the default float type."""
def scatter(input: Tensor, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None, out: Tensor | None = None) -> Tensor:
    """Write `src` (a tensor or a number) at the positions that `index` gives: `result[index[i][j]][j] = src[i][j]` for dim 0."""
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Add `src` at the positions that `index` gives: `result[index[i][j]][j] += src[i][j]` for dim 0."""
def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """Combine `src` into the elements that `index` names by "sum", "prod", "mean", "amax" or "amin"."""
def searchsorted(sorted_sequence: Tensor, input: Any, *, out_int32: _bool = False, right: _bool = False, side: str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The indices at which values would have to be inserted into the sorted last dimension to keep it sorted."""
def seed() -> _int:
    """Seed the default generators from the operating system and return the seed."""
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """The slice at one index of a dimension, without that dimension; a view."""
def select_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """`select` as a copy instead of a view."""
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor:
    """A copy of the tensor with `src` written to one index of a dimension."""
def selu(input: Tensor, inplace: _bool = False) -> Tensor:
    """elu with the scale and alpha for which activations keep mean 0 and variance 1."""
def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
def set_anomaly_enabled(enabled: _bool, check_nan: _bool = True) -> None:
    """Switch anomaly detection on or off."""
def set_default_device(device: Any) -> None:
    """Make `device` the default of factory functions (`zeros`, `tensor`, `rand`, ...) in this thread; None is the CPU."""
def set_default_dtype(d: dtype) -> None:
    """Make the floating-point type `d` the default of new tensors."""
def set_default_tensor_type(t: Any, /) -> None:
    """Legacy form of `set_default_dtype`: takes a type such as `mpigrad.DoubleTensor` or its name."""
def set_deterministic_debug_mode(debug_mode: _int | str) -> None:
    """`use_deterministic_algorithms` by number or name: 0 "default", 1 "warn", 2 "error"."""
def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision of float32 matrix products. No effect: they always have full float32 precision ("highest")."""
def set_flush_denormal(mode: _bool) -> _bool:
    """Request that denormal numbers are flushed to zero; returns whether the mode is supported: only False is."""
def set_num_interop_threads(n: _int, /) -> None:
    """Set the number of threads that run operators in parallel. No effect: there are no such threads here."""
def set_num_threads(int: _int) -> None:
    """Use this many threads for products of matrices in this process; 1 is best with one rank per core."""
def set_printoptions(precision: _int | None = None, threshold: _float | None = None, edgeitems: _int | None = None, linewidth: _int | None = None, profile: str | None = None, sci_mode: _bool | None = None) -> None:
    """Set the options for printing tensors: digits after the point, the threshold for summarising, the line width."""
def set_rng_state(new_state: Tensor) -> None:
    """Restore the default generator to a state from `get_rng_state`."""
def set_warn_always(b: _bool, /) -> None:
    """Request that one-time warnings are always shown. No effect: Python's warning filters decide that here."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign of each element; of complex ones, z / |z|."""
short: dtype
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-x)), the logistic function."""
def sigmoid_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `sigmoid`."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1: the sign of each element."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements have a minus sign."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine of each element."""
def sin_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `sin`."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def sinc_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `sinc`."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine."""
def sinh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `sinh`."""
def slice_scatter(input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
    """A copy of the tensor with `src` written to a range of a dimension."""
def slogdet(A: Tensor, *, out: Any = None) -> linalg_slogdet:
    """The sign of the determinant and the logarithm of its absolute value."""
def softmax(input: Tensor, dim: _int | None = None, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """exp(x), divided by the sum of exp(x) along a dimension."""
def sort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool | None = None, *, out: Any = None) -> _sort:
    """The elements of a dimension in ascending (or descending) order, and their original indices. Equal elements keep their order."""
sparse_coo: layout
def sparse_coo_tensor(indices: Any = None, values: Any = None, size: SupportsIndex | Sequence[SupportsIndex] | None = None, *, dtype: dtype | None = None, device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None, is_coalesced: _bool | None = None) -> Tensor:
    """A sparse tensor with `values` at `indices`; values of repeated indices are added up."""
def split(tensor: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Parts of a given size (the last may be smaller), or of given sizes, along a dimension; views."""
def split_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> tuple[Tensor, ...]:
    """`split` as a copy instead of a view."""
def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Parts of given sizes along a dimension; views."""
def split_with_sizes_copy(input: Tensor, split_sizes: Any, dim: _int = 0) -> tuple[Tensor, ...]:
    """`split_with_sizes` as copies instead of views."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root of each element."""
def sqrt_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `sqrt`."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square of each element."""
def square_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `square`."""
def squeeze(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """Remove dimensions of length 1: all, or those given."""
def squeeze_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """`squeeze` as a copy instead of a view."""
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors of the same shape along a new dimension."""
def std(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor:
    """The standard deviation: the square root of `var`."""
def std_mean(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean."""
strided: layout
def sub(input: Tensor, other: _Operand, *, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`input - alpha * other`."""
def subtract(input: Tensor, other: _Operand, *, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`input - alpha * other`."""
def sum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None, axis: Any = None, keepdims: _bool | None = None) -> Tensor:
    """The sum of all elements, or over the given dimensions. Integers and booleans are summed as int64."""
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: Any = None) -> _svd:
    """Deprecated form of `linalg.svd`: returns U, S and V with A = U diag(S) V^H."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """Another name of `transpose`."""
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Another name of `transpose`."""
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix, as a view; tensors with fewer dimensions are returned unchanged."""
def t_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """`t` as a copy instead of a view."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements with the given indices in the flattened tensor."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Like `gather`, with broadcast shapes; without `dim`, on the flattened tensor."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent of each element."""
def tan_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `tan`."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent."""
def tanh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `tanh`."""
def tensor(data: Any, *, dtype: dtype | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor with a copy of `data`: a number, nested lists, a NumPy array."""
def tensor_split(input: Tensor, indices_or_sections: Any = None, dim: _int = 0, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
    """Parts of nearly equal size, or the parts between given indices, along a dimension; views."""
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The sum of products over the last `dims` dimensions of `a` and the first `dims` of `b`, or over given pairs of dimensions."""
def threshold(input: Tensor, threshold: _float, value: _float, inplace: _bool = False) -> Tensor:
    """x if it is larger than `threshold`, otherwise `value`."""
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """`threshold` in place."""
def tile(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """Like `repeat`; if there are fewer numbers than dimensions, ones are put in front."""
def to_dlpack(tensor: Tensor) -> Any:
    """The tensor's memory as a DLPack capsule."""
def topk(input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Any = None) -> _topk:
    """The `k` largest (or smallest) elements of a dimension, and their indices."""
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Swap two dimensions; a view."""
def transpose_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """`transpose` as a copy instead of a view."""
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: _int = -1) -> Tensor:
    """The integral of samples along a dimension by the trapezoidal rule; `x` are the positions of the samples, or `dx` their distance."""
def trapz(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: _int = -1) -> Tensor:
    """Another name of `trapezoid`."""
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of a matrix, including the diagonal number `diagonal`; zeros elsewhere."""
def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: dtype = ..., device: Any = None, layout: layout | None = None, pin_memory: _bool = False) -> Tensor:
    """Rows and columns of the elements of a matrix's lower triangle."""
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of a matrix, including the diagonal number `diagonal`; zeros elsewhere."""
def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: dtype = ..., device: Any = None, layout: layout | None = None, pin_memory: _bool = False) -> Tensor:
    """Rows and columns of the elements of a matrix's upper triangle."""
def true_divide(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input / other`; another name of `div`."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element without its fraction."""
def trunc_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `trunc`."""
def typename(obj: Any, /) -> str:
    """The full name of an object's type; for a tensor, the name of its tensor type, such as "mpigrad.FloatTensor"."""
uint16: dtype
uint32: dtype
uint64: dtype
uint8: dtype
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """The slices of a dimension, without that dimension, as a tuple of views."""
def unbind_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> tuple[Tensor, ...]:
    """`unbind` as a copy instead of a view."""
def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
    """Split the dimension `dim` into several, of the lengths `sizes`."""
def unfold_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """`unfold` as a copy instead of a view."""
@overload
def unique(input: Tensor, sorted: _bool=True, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor: ...
@overload
def unique(input: Tensor, sorted: _bool=True, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> Any: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> Any: ...
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Coordinates of elements, from their indices in the flattened tensor."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """`chunk` that allows in-place changes of its results, as in PyTorch."""
def unsafe_split(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """`split` that allows in-place changes of its results, as in PyTorch."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: _int = 0) -> tuple[Tensor, ...]:
    """`split_with_sizes` that allows in-place changes of its results, as in PyTorch."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """Insert a dimension of length 1."""
def unsqueeze_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """`unsqueeze` as a copy instead of a view."""
def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool = False) -> None:
    """Request results that have the same bits in every run."""
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """The Vandermonde matrix: each row has the powers of one element of a vector."""
def var(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor:
    """The variance: the sum of squared differences from the mean, divided by the number of elements minus `correction` (default 1)."""
def var_mean(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> tuple[Tensor, Tensor]:
    """The variance and the mean."""
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors, the first one conjugated."""
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers as complex ones, in the same memory."""
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones, in the same memory."""
def view_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """`view` as a copy instead of a view."""
def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = 'error', *, chunk_size: _int | None = None) -> Callable[..., Any]:
    """A function that applies `func` to each slice of its arguments along `in_dims` (None: not sliced) and stacks the results along `out_dims`."""
def vsplit(input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
    """Split along dimension 0; views."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 0; vectors become rows."""
@overload
def where(condition: Tensor, input: None=None, other: None=None, *, out: None=None) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, input: Any, other: Any, *, out: Tensor | None=None) -> Tensor: ...
def xlogy(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`, and 0 where `input` is 0."""
def xlogy_(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """In-place version of `xlogy`."""
def zero_(self: Tensor) -> Tensor:
    """Write zeros into every element."""
def zeros(*size: SupportsIndex | Sequence[SupportsIndex], out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False, **names: Any) -> Tensor:
    """A tensor of zeros."""
def zeros_like(input: Tensor, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """Zeros with the shape, type and device of `input`."""

__all__ = ['BFloat16Tensor', 'BoolTensor', 'ByteTensor', 'CharTensor', 'ComplexDoubleTensor', 'ComplexFloatTensor', 'DoubleTensor', 'FloatTensor', 'Generator', 'HalfTensor', 'IntTensor', 'LongTensor', 'OutOfMemoryError', 'ShortTensor', 'Size', 'Tensor', 'UntypedStorage', 'abs', 'abs_', 'absolute', 'acos', 'acos_', 'acosh', 'acosh_', 'adaptive_avg_pool1d', 'adaptive_max_pool1d', 'add', 'addbmm', 'addcdiv', 'addcmul', 'addmm', 'addmv', 'addmv_', 'addr', 'adjoint', 'alias_copy', 'all', 'allclose', 'alpha_dropout', 'amax', 'amin', 'aminmax', 'angle', 'any', 'arange', 'arccos', 'arccos_', 'arccosh', 'arccosh_', 'arcsin', 'arcsin_', 'arcsinh', 'arcsinh_', 'arctan', 'arctan2', 'arctan_', 'arctanh', 'arctanh_', 'are_deterministic_algorithms_enabled', 'argmax', 'argmin', 'argsort', 'argwhere', 'as_strided', 'as_strided_', 'as_strided_copy', 'as_strided_scatter', 'as_tensor', 'asarray', 'asin', 'asin_', 'asinh', 'asinh_', 'atan', 'atan2', 'atan_', 'atanh', 'atanh_', 'atleast_1d', 'atleast_2d', 'atleast_3d', 'autograd', 'avg_pool1d', 'baddbmm', 'bartlett_window', 'bernoulli', 'bfloat16', 'bilinear', 'bincount', 'binomial', 'bitwise_and', 'bitwise_left_shift', 'bitwise_not', 'bitwise_or', 'bitwise_right_shift', 'bitwise_xor', 'blackman_window', 'block_diag', 'bmm', 'bool', 'broadcast_shapes', 'broadcast_tensors', 'broadcast_to', 'bucketize', 'can_cast', 'cartesian_prod', 'cat', 'cdist', 'cdouble', 'ceil', 'ceil_', 'celu', 'celu_', 'cfloat', 'chain_matmul', 'channel_shuffle', 'channels_last', 'channels_last_3d', 'cholesky', 'cholesky_inverse', 'cholesky_solve', 'chunk', 'clamp', 'clamp_', 'clamp_max', 'clamp_max_', 'clamp_min', 'clamp_min_', 'clip', 'clip_', 'clone', 'column_stack', 'combinations', 'compile', 'complex', 'complex128', 'complex64', 'concat', 'concatenate', 'conj', 'conj_physical', 'conj_physical_', 'contiguous_format', 'conv1d', 'conv2d', 'conv3d', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d', 'copysign', 'corrcoef', 'cos', 'cos_', 'cosh', 'cosh_', 'cosine_similarity', 'count_nonzero', 'cov', 'cross', 'ctc_loss', 'cummax', 'cummin', 'cumprod', 'cumsum', 'cumulative_trapezoid', 'default_generator', 'deg2rad', 'deg2rad_', 'det', 'detach', 'detach_', 'detach_copy', 'device', 'diag', 'diag_embed', 'diagflat', 'diagonal', 'diagonal_copy', 'diagonal_scatter', 'diff', 'digamma', 'dist', 'div', 'divide', 'dot', 'double', 'dropout', 'dsplit', 'dstack', 'dtype', 'e', 'einsum', 'empty', 'empty_like', 'empty_strided', 'enable_grad', 'eq', 'equal', 'erf', 'erf_', 'erfc', 'erfc_', 'erfinv', 'exp', 'exp2', 'exp2_', 'exp_', 'expand_copy', 'expm1', 'expm1_', 'eye', 'feature_alpha_dropout', 'fill', 'fill_', 'finfo', 'fix', 'fix_', 'flatten', 'flip', 'fliplr', 'flipud', 'float', 'float16', 'float32', 'float64', 'float_power', 'floor', 'floor_', 'floor_divide', 'fmax', 'fmin', 'fmod', 'fork_rng', 'frac', 'frac_', 'frexp', 'frobenius_norm', 'from_dlpack', 'from_numpy', 'frombuffer', 'full', 'full_like', 'gather', 'gcd', 'gcd_', 'ge', 'ger', 'get_default_device', 'get_default_dtype', 'get_deterministic_debug_mode', 'get_device', 'get_float32_matmul_precision', 'get_num_interop_threads', 'get_num_threads', 'get_rng_state', 'gradient', 'greater', 'greater_equal', 'group_norm', 'gt', 'half', 'hamming_window', 'hann_window', 'hardshrink', 'heaviside', 'histc', 'histogram', 'hsplit', 'hstack', 'hypot', 'i0', 'i0_', 'igamma', 'igammac', 'iinfo', 'imag', 'index_add', 'index_copy', 'index_fill', 'index_put', 'index_put_', 'index_reduce', 'index_select', 'inf', 'inference_mode', 'initial_seed', 'inner', 'int', 'int16', 'int32', 'int64', 'int8', 'inverse', 'is_anomaly_check_nan_enabled', 'is_anomaly_enabled', 'is_complex', 'is_conj', 'is_deterministic_algorithms_warn_only_enabled', 'is_distributed', 'is_floating_point', 'is_grad_enabled', 'is_inference', 'is_inference_mode_enabled', 'is_neg', 'is_nonzero', 'is_same_size', 'is_signed', 'is_tensor', 'is_warn_always_enabled', 'isclose', 'isfinite', 'isin', 'isinf', 'isnan', 'isneginf', 'isposinf', 'isreal', 'kaiser_window', 'kron', 'kthvalue', 'layer_norm', 'layout', 'lcm', 'lcm_', 'ldexp', 'ldexp_', 'le', 'lerp', 'less', 'less_equal', 'lgamma', 'linalg', 'linspace', 'load', 'log', 'log10', 'log10_', 'log1p', 'log1p_', 'log2', 'log2_', 'log_', 'log_softmax', 'logaddexp', 'logaddexp2', 'logcumsumexp', 'logdet', 'logical_and', 'logical_not', 'logical_or', 'logical_xor', 'logit', 'logit_', 'logspace', 'logsumexp', 'long', 'lt', 'lu', 'lu_solve', 'lu_unpack', 'manual_seed', 'masked_fill', 'masked_scatter', 'masked_select', 'matmul', 'matrix_exp', 'matrix_power', 'max', 'max_pool1d', 'max_pool2d', 'max_pool3d', 'maximum', 'mean', 'median', 'memory_format', 'meshgrid', 'min', 'minimum', 'mm', 'mode', 'moveaxis', 'movedim', 'msort', 'mul', 'multinomial', 'multiply', 'mv', 'mvlgamma', 'nan', 'nan_to_num', 'nan_to_num_', 'nanmean', 'nanmedian', 'nanquantile', 'nansum', 'narrow', 'narrow_copy', 'ne', 'neg', 'neg_', 'negative', 'negative_', 'newaxis', 'nextafter', 'no_grad', 'nonzero', 'nonzero_static', 'norm', 'normal', 'not_equal', 'nuclear_norm', 'numel', 'ones', 'ones_like', 'outer', 'pairwise_distance', 'pdist', 'permute', 'permute_copy', 'pi', 'pinverse', 'pixel_shuffle', 'pixel_unshuffle', 'poisson', 'polar', 'polygamma', 'positive', 'pow', 'prelu', 'preserve_format', 'prod', 'promote_types', 'put', 'qr', 'quantile', 'rad2deg', 'rad2deg_', 'rand', 'rand_like', 'randint', 'randint_like', 'randn', 'randn_like', 'random', 'randperm', 'range', 'ravel', 'real', 'reciprocal', 'reciprocal_', 'relu', 'relu_', 'remainder', 'renorm', 'repeat_interleave', 'reshape', 'resize_as_', 'resolve_conj', 'resolve_neg', 'result_type', 'return_types', 'rms_norm', 'roll', 'rot90', 'round', 'round_', 'row_stack', 'rrelu', 'rrelu_', 'rsqrt', 'rsqrt_', 'rsub', 'save', 'scalar_tensor', 'scatter', 'scatter_add', 'scatter_reduce', 'searchsorted', 'seed', 'select', 'select_copy', 'select_scatter', 'selu', 'selu_', 'set_anomaly_enabled', 'set_default_device', 'set_default_dtype', 'set_default_tensor_type', 'set_deterministic_debug_mode', 'set_float32_matmul_precision', 'set_flush_denormal', 'set_grad_enabled', 'set_num_interop_threads', 'set_num_threads', 'set_printoptions', 'set_rng_state', 'set_warn_always', 'sgn', 'short', 'sigmoid', 'sigmoid_', 'sign', 'signbit', 'sin', 'sin_', 'sinc', 'sinc_', 'sinh', 'sinh_', 'slice_scatter', 'slogdet', 'softmax', 'sort', 'sparse_coo', 'sparse_coo_tensor', 'split', 'split_copy', 'split_with_sizes', 'split_with_sizes_copy', 'sqrt', 'sqrt_', 'square', 'square_', 'squeeze', 'squeeze_copy', 'stack', 'std', 'std_mean', 'strided', 'sub', 'subtract', 'sum', 'svd', 'swapaxes', 'swapdims', 't', 't_copy', 'take', 'take_along_dim', 'tan', 'tan_', 'tanh', 'tanh_', 'tensor', 'tensor_split', 'tensordot', 'threshold', 'threshold_', 'tile', 'to_dlpack', 'topk', 'trace', 'transpose', 'transpose_copy', 'trapezoid', 'trapz', 'tril', 'tril_indices', 'triu', 'triu_indices', 'true_divide', 'trunc', 'trunc_', 'typename', 'uint16', 'uint32', 'uint64', 'uint8', 'unbind', 'unbind_copy', 'unflatten', 'unfold_copy', 'unique', 'unique_consecutive', 'unravel_index', 'unsafe_chunk', 'unsafe_split', 'unsafe_split_with_sizes', 'unsqueeze', 'unsqueeze_copy', 'use_deterministic_algorithms', 'vander', 'var', 'var_mean', 'vdot', 'view_as_complex', 'view_as_real', 'view_copy', 'vmap', 'vsplit', 'vstack', 'where', 'xlogy', 'xlogy_', 'zero_', 'zeros', 'zeros_like']
