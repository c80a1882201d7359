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
    """`abs` in place: overwrite this tensor with the result, and return it. Arguments: those of `abs`."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of each element."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse cosine of each element, in radians."""
def acos_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`acos` in place: overwrite this tensor with the result, and return it. Arguments: those of `acos`."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine of each element."""
def acosh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`acosh` in place: overwrite this tensor with the result, and return it. Arguments: those of `acosh`."""
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means of `output_size` windows, of nearly equal length, that cover a sequence (batch, channels, length), or without batch."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: Literal[False] = False) -> Tensor:
    """Maxima of `output_size` windows, of nearly equal length, that cover a sequence (batch, channels, length), or without batch."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """Maxima of `output_size` windows, of nearly equal length, that cover a sequence (batch, channels, length), or without batch."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: _bool = False) -> Any:
    """Maxima of `output_size` windows, of nearly equal length, that cover a sequence (batch, channels, length), or without batch."""
def add(input: Tensor, other: _Operand, *, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`input + alpha * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a tensor to which the result is written."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (sum of the matrix products batch1[i] @ batch2[i])`; `input` is a matrix. `out`: a tensor to which the result is written."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 / tensor2`, element by element, with broadcasting."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
    """`input + value * tensor1 * tensor2`, element by element, with broadcasting. `out`: a tensor to which the result is written."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` for matrices; `input` is broadcast to the product. `out`: a tensor to which the result is written."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (mat @ vec)` for a matrix and a vector. `out`: a tensor to which the result is written."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`addmv` in place: overwrite this tensor with the result, and return it. Arguments: those of `addmv`."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)` for two vectors. `out`: a tensor to which the result is written."""
def adjoint(input: Tensor) -> Tensor:
    """The conjugate of the tensor with its last two dimensions swapped."""
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of the tensor. `out`: a tensor to which the result is written."""
def all(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether all elements are nonzero, of the tensor or over dimensions; a tensor of bools."""
def allclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
    """Whether all elements of two tensors are close: a Python bool. The arguments are those of `isclose`."""
def alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """Dropout for networks with `selu`: the elements keep mean 0 and variance 1 if they had them."""
def amax(input: Tensor, dim: _int | Sequence[_int] = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The largest element over dimensions; elements that are equal to it share the gradient equally."""
def amin(input: Tensor, dim: _int | Sequence[_int] = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The smallest element over dimensions; elements that are equal to it share the gradient equally."""
def aminmax(input: Tensor, *, dim: _int | None = None, keepdim: _bool = False) -> _aminmax:
    """The smallest and the largest element, as the named tuple (min, max). `dim`: the dimension; by default all elements. `keepdim`: keep it with length 1."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of each element in the complex plane, in radians: 0 or pi for real ones. `out`: a tensor to which the result is written."""
def any(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether at least one element is nonzero: of all, or over dimensions; a tensor of bools."""
def arange(start: Any = ..., end: Any = None, step: Any = 1, *, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The numbers from `start` (default 0) in steps of `step` up to, not including, `end`: a vector."""
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse cosine of each element, in radians."""
def arccos_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`acos` in place: overwrite this tensor with the result, and return it. Arguments: those of `acos`."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine of each element."""
def arccosh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`acosh` in place: overwrite this tensor with the result, and return it. Arguments: those of `acosh`."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse sine of each element, in radians."""
def arcsin_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`asin` in place: overwrite this tensor with the result, and return it. Arguments: those of `asin`."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine of each element."""
def arcsinh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`asinh` in place: overwrite this tensor with the result, and return it. Arguments: those of `asinh`."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse tangent of each element, in radians."""
def arctan2(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (x=other, y=input) in radians, from -pi to pi: arctan(input / other) in the right quadrant. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
def arctan_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`atan` in place: overwrite this tensor with the result, and return it. Arguments: those of `atan`."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent of each element."""
def arctanh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`atanh` in place: overwrite this tensor with the result, and return it. Arguments: those of `atanh`."""
def are_deterministic_algorithms_enabled() -> _bool:
    """Whether deterministic algorithms were requested (`use_deterministic_algorithms`)."""
def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index (int64) of the largest element: in the flattened tensor, or along `dim`. `keepdim`: keep `dim` with length 1. `out`: a tensor to which the result is written."""
def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index (int64) of the smallest element: in the flattened tensor, or along `dim`. `keepdim`: keep `dim` with length 1. `out`: a tensor to which the result is written."""
def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
    """The indices that sort `input` along `dim`, in ascending (or `descending`) order. Equal elements keep their order."""
def argwhere(input: Tensor) -> Tensor:
    """The indices of nonzero elements: (count, dimensions), one row for each; `nonzero` without `as_tuple`."""
def as_strided(input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """A view with any shape `size`, strides (in elements) and offset into the tensor's memory; errors if it would leave the memory."""
def as_strided_(self: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """Give this tensor another shape `size`, other strides (in elements) and offset into its memory, in place; returns the tensor."""
def as_strided_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The result of `as_strided` as a copy (or copies) instead of a view; the arguments are the same."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """A copy of the tensor, with `src` written to the elements that `as_strided` with these arguments would return."""
def as_tensor(data: Any, dtype: dtype | None = None, device: device | str | _int | None = None) -> Tensor:
    """A tensor of `data` (as for `tensor`) that shares the memory of arrays and tensors if `dtype` and `device` allow it."""
def asarray(obj: Any, *, dtype: dtype | None = None, device: device | str | _int | None = None, copy: _bool | None = None, requires_grad: _bool = False) -> Tensor:
    """A tensor of `obj`: a number, nested lists, a tensor, or an object that NumPy converts to an array."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse sine of each element, in radians."""
def asin_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`asin` in place: overwrite this tensor with the result, and return it. Arguments: those of `asin`."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine of each element."""
def asinh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`asinh` in place: overwrite this tensor with the result, and return it. Arguments: those of `asinh`."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse tangent of each element, in radians."""
def atan2(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (x=other, y=input) in radians, from -pi to pi: arctan(input / other) in the right quadrant. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
def atan_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`atan` in place: overwrite this tensor with the result, and return it. Arguments: those of `atan`."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent of each element."""
def atanh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`atanh` in place: overwrite this tensor with the result, and return it. Arguments: those of `atanh`."""
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
    """The mean of each window of sequences (batch, channels, length) or (channels, length)."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _complex = 1, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2)` for batches of matrices (batch, n, m) and (batch, m, p). `out`: a tensor to which the result is written."""
def bartlett_window(window_length: _int, periodic: _bool = True, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The triangular window: a vector of `window_length` elements. `periodic=False`: a symmetric window."""
def bernoulli(input: Tensor, p: _float | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Random zeros and ones, of the shape and type of `input`."""
bfloat16: dtype
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1^T W_k input2 + b_k for each output feature k."""
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """The number of occurrences of each integer 0, 1, ... in a vector of non-negative integers."""
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Random counts: how many of `count` trials succeed, each with probability `prob`. Both are tensors of floats of one shape."""
def bitwise_and(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits that both elements have (and), of integers or booleans."""
def bitwise_left_shift(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits of `input` shifted left by `other`: input * 2 ** other, of integers."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit inverted, of integers; logical not of booleans."""
def bitwise_or(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits that at least one of the two elements has (or), of integers or booleans."""
def bitwise_right_shift(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits of `input` shifted right by `other`: input / 2 ** other rounded down, of integers."""
def bitwise_xor(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits that exactly one of the two elements has (exclusive or), of integers or booleans."""
def blackman_window(window_length: _int, periodic: _bool = True, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The Blackman window, a sum of three cosine terms with little spectral leakage: a vector of `window_length` elements."""
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere; vectors count as matrices of one row."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix products of two batches, pair by pair: (batch, n, m) and (batch, m, p) give (batch, n, p). `out`: a tensor to which the result is written."""
bool: dtype
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which all given shapes (tuples of ints) can be broadcast; a RuntimeError if there is none."""
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Broadcast tensors to their common shape: a tuple of views."""
def broadcast_to(input: Tensor, size: Sequence[_int]) -> Tensor:
    """Broadcast a tensor to the shape `size`, as a view; a RuntimeError if the shapes do not fit."""
def bucketize(input: Any, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False, out: Tensor | None = None) -> Tensor:
    """For each element of `input`, the index of the bucket into which it falls: how many of the sorted `boundaries` are below it."""
def can_cast(from_: dtype, to: dtype) -> _bool:
    """Whether values of type `from_` may be written into a tensor of type `to`: not from complex to real, real to integer, or integer to bool."""
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """The Cartesian product of vectors: each row has one element of each vector."""
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the existing dimension `dim`; their other dimensions must be equal. The type is the common one. `out`: a tensor to which the result is written."""
def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The `p`-norm distance of every row of `x1` (..., n, features) from every row of `x2` (..., m, features): (..., n, m)."""
cdouble: dtype
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer that is not below each element."""
def ceil_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`ceil` in place: overwrite this tensor with the result, and return it. Arguments: those of `ceil`."""
def celu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """x where it is positive, otherwise alpha * (exp(x / alpha) - 1). With `inplace=True` the result overwrites `input`."""
def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """`celu` in place: overwrites `input` and returns it. The arguments are those of `celu`."""
cfloat: dtype
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that needs the fewest multiplications. `out`: a tensor to which the result is written."""
def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Interleave the channels of `groups` equal groups: of each group the first channel, then of each the second, and so on."""
channels_last: memory_format
channels_last_3d: memory_format
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Deprecated name of `linalg.cholesky`, with the same arguments."""
def cholesky_inverse(L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A, given the lower triangular `L` with A = L L^H; with `upper`, the upper triangular U with A = U^H U."""
def cholesky_solve(B: Tensor, L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The solution X of A X = B, given the lower triangular `L` with A = L L^H; with `upper`, the upper triangular U with A = U^H U."""
def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Cut a tensor along `dim` into at most `chunks` parts of equal length (the last may be shorter): a tuple of views."""
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Limit each element to the range from `min` to `max`: numbers or tensors; None for no limit, but not for both."""
def clamp_(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """`clamp` in place: overwrite this tensor with the result, and return it. Arguments: those of `clamp`."""
def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Replace elements above `max` (a number or a tensor) by it. `out`: a tensor to which the result is written."""
def clamp_max_(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """`clamp_max` in place: overwrite this tensor with the result, and return it. Arguments: those of `clamp_max`."""
def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Replace elements below `min` (a number or a tensor) by it. `out`: a tensor to which the result is written."""
def clamp_min_(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """`clamp_min` in place: overwrite this tensor with the result, and return it. Arguments: those of `clamp_min`."""
def clip(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Limit each element to the range from `min` to `max`: numbers or tensors; None for no limit, but not for both."""
def clip_(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """`clamp` in place: overwrite this tensor with the result, and return it. Arguments: those of `clamp`."""
def clone(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """A copy of the tensor; gradients flow through it to the original. `memory_format` has no effect on the elements."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 1; vectors become columns. `out`: a tensor to which the result is written."""
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """All combinations of `r` elements of a vector, one in each row. `with_replacement`: an element may occur several times."""
def compile(model: Callable[..., Any] | None = None, *, fullgraph: _bool = False, dynamic: _bool | None = None, backend: Any = None, mode: str | None = None, options: dict[str, Any] | None = None, disable: _bool = False, **others: Any) -> Any:
    """Return the function or module `model` unchanged; used as a decorator, too. All other arguments are ignored."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A complex tensor from real and imaginary parts: two tensors of one floating-point type. `out`: a tensor to which the result is written."""
complex128: dtype
complex64: dtype
def concat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the existing dimension `dim`; their other dimensions must be equal. The type is the common one. `out`: a tensor to which the result is written."""
def concatenate(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors along the existing dimension `dim`; their other dimensions must be equal. The type is the common one. `out`: a tensor to which the result is written."""
def conj(input: Tensor) -> Tensor:
    """The complex conjugate of each element; a real tensor is returned unchanged."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate of each element, as a new tensor. `out`: a tensor to which the result is written."""
def conj_physical_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`conj_physical` in place: overwrite this tensor with the result, and return it. Arguments: those of `conj_physical`."""
contiguous_format: memory_format
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | tuple[_int, ...] | list[_int] = 1, padding: _int | tuple[_int, ...] | list[_int] | str = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, groups: _int = 1) -> Tensor:
    """Slide filters over sequences: the cross-correlation of `input` with `weight`, plus `bias`."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | tuple[_int, ...] | list[_int] = 1, padding: _int | tuple[_int, ...] | list[_int] | str = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, groups: _int = 1) -> Tensor:
    """Slide filters over images: the cross-correlation of `input` with `weight`, plus `bias`."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | tuple[_int, ...] | list[_int] = 1, padding: _int | tuple[_int, ...] | list[_int] | str = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, groups: _int = 1) -> Tensor:
    """Slide filters over volumes: the cross-correlation of `input` with `weight`, plus `bias`."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | tuple[_int, ...] | list[_int] = 1, padding: _int | tuple[_int, ...] | list[_int] = 0, output_padding: _int | tuple[_int, ...] | list[_int] = 0, groups: _int = 1, dilation: _int | tuple[_int, ...] | list[_int] = 1) -> Tensor:
    """The transposed convolution of sequences: the linear map by which gradients flow back through `conv1d`; it upsamples."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | tuple[_int, ...] | list[_int] = 1, padding: _int | tuple[_int, ...] | list[_int] = 0, output_padding: _int | tuple[_int, ...] | list[_int] = 0, groups: _int = 1, dilation: _int | tuple[_int, ...] | list[_int] = 1) -> Tensor:
    """The transposed convolution of images: the linear map by which gradients flow back through `conv2d`; it upsamples."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | tuple[_int, ...] | list[_int] = 1, padding: _int | tuple[_int, ...] | list[_int] = 0, output_padding: _int | tuple[_int, ...] | list[_int] = 0, groups: _int = 1, dilation: _int | tuple[_int, ...] | list[_int] = 1) -> Tensor:
    """The transposed convolution of volumes: the linear map by which gradients flow back through `conv3d`; it upsamples."""
def copysign(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The absolute values of `input` with the signs of `other`, a tensor or a number. `out`: a tensor to which the result is written."""
def corrcoef(input: Tensor) -> Tensor:
    """The matrix of correlation coefficients of variables: each row of `input` is a variable, each column an observation."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine of each element, an angle in radians."""
def cos_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`cos` in place: overwrite this tensor with the result, and return it. Arguments: those of `cos`."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine of each element."""
def cosh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`cosh` in place: overwrite this tensor with the result, and return it. Arguments: those of `cosh`."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along `dim`: their inner product divided by the product of their norms, each at least `eps`."""
def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """The number of elements that are not zero: of all, or over the dimension (or dimensions) `dim`."""
def cov(input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance matrix of variables: each row of `input` is a variable, each column an observation."""
def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The vector product along `dim`, which has length 3; by default the first dimension of this length. `out`: a tensor to which the result is written."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int = 0, reduction: str = 'mean', zero_infinity: _bool = False) -> Tensor:
    """Connectionist temporal classification: the negative log likelihood of label sequences, summed over all alignments with the input."""
def cummax(input: Tensor, dim: _int, *, out: Any = None) -> _cummax:
    """The largest element up to each position along `dim`, and its index: the named tuple (values, indices)."""
def cummin(input: Tensor, dim: _int, *, out: Any = None) -> _cummin:
    """The smallest element up to each position along `dim`, and its index: the named tuple (values, indices)."""
def cumprod(input: Tensor, dim: _int, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Running products along `dim`: result i is the product of the elements 0 to i. `dtype`: convert the input to this type first (default: keep its type). `out`: a tensor to which the result is written."""
def cumsum(input: Tensor, dim: _int, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Running sums along `dim`: result i is the sum of the elements 0 to i. `dtype`: convert the input to this type first (default: keep its type). `out`: a tensor to which the result is written."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: _int = -1) -> Tensor:
    """The integral of samples from the first one up to each of the others, by the trapezoidal rule; arguments as for `trapezoid`."""
default_generator: Generator
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angles in degrees as radians."""
def deg2rad_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`deg2rad` in place: overwrite this tensor with the result, and return it. Arguments: those of `deg2rad`."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices."""
def detach(input: Tensor) -> Tensor:
    """A tensor with the same memory that is not connected to the graph: no gradients flow through it."""
def detach_(input: Tensor) -> Tensor:
    """Disconnect this tensor from the graph, in place: it becomes a leaf. Returns the tensor."""
def detach_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The result of `detach` as a copy (or copies) instead of a view; the arguments are the same."""
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """A vector gives a matrix with it on the diagonal, a matrix gives its diagonal as a vector."""
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Matrices, in the dimensions `dim1` and `dim2` of the result, with the last dimension of `input` on their diagonal."""
def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """A matrix with all elements of a tensor on its diagonal. `offset`: above (positive) or below the main diagonal."""
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """The diagonal of the dimensions `dim1` and `dim2`, as the last dimension of a view. `offset`: above (positive) or below the main diagonal."""
def diagonal_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The result of `diagonal` as a copy (or copies) instead of a view; the arguments are the same."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A copy of `input` with `src` written to a diagonal, that of `diagonal(input, offset, dim1, dim2)`."""
def diff(input: Tensor, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """The differences of neighbouring elements, x[i + 1] - x[i], along `dim`, taken `n` times."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma` at each element."""
def dist(input: Tensor, other: Tensor, p: _float = 2) -> Tensor:
    """The `p`-norm of `input - other`, over all elements: a zero-dimensional tensor."""
def div(input: Tensor, other: _Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """`input / other`, element by element; integers give the default float type. `other` is a tensor or a number."""
def divide(input: Tensor, other: _Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """`input / other`, element by element; integers give the default float type. `other` is a tensor or a number."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors of the same length: a zero-dimensional tensor. `out`: a tensor to which the result is written."""
double: dtype
def dropout(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """In training, set each element to zero with probability `p` and divide the others by 1 - p; otherwise return `input`."""
def dsplit(input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
    """Cut a tensor along dimension 2 into a tuple of views. The arguments are those of `tensor_split`."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 2, after `atleast_3d`. `out`: a tensor to which the result is written."""
e: _float
def einsum(*args: Any) -> Tensor:
    """Einstein summation: `einsum(equation, *operands)` sums products of operands over the labels that the result does not have."""
def empty(*size: SupportsIndex | Sequence[SupportsIndex], out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False, memory_format: memory_format | None = None, **names: Any) -> Tensor:
    """An uninitialised tensor of the shape `size`: several ints, or one sequence of them. Its elements are arbitrary."""
def empty_like(input: Tensor, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """An uninitialised tensor with the shape of `input`. `dtype` and `device` are by default those of `input`; `requires_grad` (default: False) is that of the new tensor."""
def empty_strided(size: SupportsIndex | Sequence[SupportsIndex], stride: Any, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """An uninitialised tensor of the shape `size` with the strides `stride`, in elements. `dtype` (by default the default float type), `device` and `requires_grad` are those of the new tensor. `layout` and `pin_memory` are ignored."""
def eq(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are equal: a tensor of bools."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape and the same elements: a Python bool."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of each element."""
def erf_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`erf` in place: overwrite this tensor with the result, and return it. Arguments: those of `erf`."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One minus the error function of each element."""
def erfc_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`erfc` in place: overwrite this tensor with the result, and return it. Arguments: those of `erfc`."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse error function of each element."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e to the power of each element."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element."""
def exp2_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp2` in place: overwrite this tensor with the result, and return it. Arguments: those of `exp2`."""
def exp_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp` in place: overwrite this tensor with the result, and return it. Arguments: those of `exp`."""
def expand_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The result of `expand` as a copy (or copies) instead of a view; the arguments are the same."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) - 1 for each element x, exact for small x."""
def expm1_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`expm1` in place: overwrite this tensor with the result, and return it. Arguments: those of `expm1`."""
def eye(n: _int, m: _int | None = None, *, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The identity: a matrix of `n` rows and `m` columns (default: `n`) with ones on the diagonal and zeros elsewhere."""
def feature_alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """`alpha_dropout` of whole channels (dimension 1 of `input`). Only with `training=True`, which is not the default."""
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor with the shape and type of `input`, filled with the number `value`."""
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write `value` (a number, or a tensor with one element) into every element, in place; returns the tensor."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element without its fraction."""
def fix_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`trunc` in place: overwrite this tensor with the result, and return it. Arguments: those of `trunc`."""
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Merge the dimensions from `start_dim` to `end_dim` (included; default: all) into one; a view if possible."""
def flip(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """Reverse the order of elements along the dimensions `dims`; a copy."""
def fliplr(input: Tensor) -> Tensor:
    """Reverse the order of columns (dimension 1); a copy."""
def flipud(input: Tensor) -> Tensor:
    """Reverse the order of rows (dimension 0); a copy."""
float: dtype
float16: dtype
float32: dtype
float64: dtype
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """A power computed in double precision: the result is float64 or complex128. `input` or `exponent` may be a number. `out`: a tensor to which the result is written."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest integer that is not above each element."""
def floor_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`floor` in place: overwrite this tensor with the result, and return it. Arguments: those of `floor`."""
def floor_divide(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input / other`, rounded down, element by element. Either may be a number. `out`: a tensor to which the result is written."""
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two elements, element by element; if one of them is nan, the other one. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two elements, element by element; if one of them is nan, the other one. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
def fmod(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The remainder of `input / other`, with the sign of `input`: C's fmod. `other` may be a number. `out`: a tensor to which the result is written."""
def fork_rng(devices: Iterable[Any] | None = None, enabled: _bool = True, device_type: str = 'cuda') -> Iterator[None]:
    """A context manager after which the default generators of all devices have the states that they had before."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The fraction of each element, with its sign."""
def frac_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`frac` in place: overwrite this tensor with the result, and return it. Arguments: those of `frac`."""
def frexp(input: Tensor, *, out: Any = None) -> _frexp:
    """Split each element into the named tuple (mantissa, exponent): element = mantissa * 2 ** exponent, with 0.5 <= |mantissa| < 1."""
def frobenius_norm(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The root of the sum of squares over the dimension (or dimensions) `dim`. `keepdim`: keep them with length 1. `out`: a tensor to which the result is written."""
def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor that shares the memory of an array of another library (NumPy, CuPy, JAX, PyTorch ...), through DLPack."""
def from_numpy(ndarray: ndarray[Any, Any]) -> Tensor:
    """A tensor that shares the memory of a NumPy array, with its element type: changes of one are visible in the other."""
def frombuffer(buffer: Any, *, dtype: dtype, count: _int = -1, offset: _int = 0, requires_grad: _bool = False) -> Tensor:
    """A vector over the memory of an object with the buffer protocol (bytearray, array, mmap ...), without a copy."""
def full(size: SupportsIndex | Sequence[SupportsIndex], fill_value: Any, *, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A tensor of the shape `size` (a sequence of ints), filled with the number `fill_value`."""
def full_like(input: Tensor, fill_value: Any, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """A tensor with the shape of `input`, filled with the number `fill_value`. `dtype` and `device` are by default those of `input`; `requires_grad` (default: False) is that of the new tensor."""
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Read elements by index along a dimension: `result[i][j] = input[index[i][j]][j]` for `dim=0`."""
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor of each pair of integers. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
def gcd_(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`gcd` in place: overwrite this tensor with the result, and return it. Arguments: those of `gcd`."""
def ge(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are greater than or equal to those of `other`: a tensor of bools."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The outer product of two vectors: the matrix with input[i] * vec2[j] in row i and column j. `out`: a tensor to which the result is written."""
def get_default_device() -> device:
    """The device of tensors that this thread creates without saying where."""
def get_default_dtype() -> dtype:
    """The floating-point type of tensors that are created without a type, by `zeros`, `rand` and others, or from Python floats."""
def get_deterministic_debug_mode() -> _int:
    """The mode set by `set_deterministic_debug_mode` or `use_deterministic_algorithms`: 0, 1 or 2."""
def get_device(self: Tensor) -> _int:
    """The index of the GPU on which this tensor is; -1 for a tensor on the CPU."""
def get_float32_matmul_precision() -> str:
    """The value that `set_float32_matmul_precision` has stored."""
def get_num_interop_threads() -> _int:
    """The value that `set_num_interop_threads` has stored."""
def get_num_threads() -> _int:
    """The number of threads that matrix products use; the number of cores if NumPy's BLAS is not OpenBLAS."""
def get_rng_state() -> Tensor:
    """The state of the CPU's default generator, as a tensor of bytes."""
def gradient(input: Tensor, *, spacing: Any = 1, dim: _int | Sequence[_int] | None = None, edge_order: _int = 1) -> tuple[Tensor, ...]:
    """The numerical gradient along each dimension of `dim` (default: all), from differences of neighbours: a tuple of tensors."""
def greater(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are greater than those of `other`: a tensor of bools."""
def greater_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are greater than or equal to those of `other`: a tensor of bools."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor:
    """Divide the channels (dimension 1) into `num_groups` groups, and normalise each group of each sample."""
def gt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are greater than those of `other`: a tensor of bools."""
half: dtype
def hamming_window(window_length: _int, periodic: _bool = True, alpha: _float = 0.54, beta: _float = 0.46, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The Hamming window alpha - beta * cos(2 pi k / n), which does not reach zero at its ends: a vector of `window_length` elements."""
def hann_window(window_length: _int, periodic: _bool = True, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The Hann window, one period of a raised cosine: a vector of `window_length` elements."""
def hardshrink(input: Tensor, lambd: _float = 0.5) -> Tensor:
    """Set elements with |x| <= `lambd` to 0 and keep the others."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The step function: 0 where `input` is negative, 1 where it is positive, and the element of `values` where it is 0. `out`: a tensor to which the result is written."""
def histc(input: Tensor, bins: _int = 100, min: Any = 0, max: Any = 0, *, out: Tensor | None = None) -> Tensor:
    """The number of elements in each of `bins` equal bins between `min` and `max`; elements outside are not counted."""
def histogram(input: Tensor, bins: Any, *, range: tuple[_float, _float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _histogram:
    """The named tuple (hist, bin_edges): the number of elements in each bin, and the edges of the bins."""
def hsplit(input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
    """Cut a tensor along dimension 1, a vector along dimension 0, into a tuple of views. The arguments are those of `tensor_split`."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 1; vectors along dimension 0. `out`: a tensor to which the result is written."""
def hypot(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """sqrt(input ** 2 + other ** 2), element by element, without overflow. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0, of each element."""
def i0_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`i0` in place: overwrite this tensor with the result, and return it. Arguments: those of `i0`."""
def igamma(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularised lower incomplete gamma function P(input, other), element by element. Either argument may be a number. `out`: a tensor to which the result is written."""
def igammac(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularised upper incomplete gamma function Q(input, other) = 1 - P(input, other), element by element. Either argument may be a number. `out`: a tensor to which the result is written."""
def imag(input: Tensor) -> Tensor:
    """The imaginary parts of a complex tensor, as a view; a real tensor raises a RuntimeError."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with the slices of `source`, times `alpha`, added to the slices of dimension `dim` at the indices `index`."""
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` in which the slices of dimension `dim` at the indices `index` are replaced by those of `source`. `out`: a tensor to which the result is written."""
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Any) -> Tensor:
    """A copy of `input` in which the slices of dimension `dim` at the indices `index` are filled with the number `value`."""
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: _bool = False) -> Tensor:
    """A copy of `input` after `copy[indices] = values`, or with `accumulate` `copy[indices] += values`, where repeated indices add up."""
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: _bool = False) -> Tensor:
    """Assign in place: `self[indices] = values`, or with `accumulate` `self[indices] += values`, where repeated indices add up."""
def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """Combine the slices of `source` into the slices of a copy of `input` at the indices `index` of dimension `dim`."""
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The slices of dimension `dim` at the indices `index`, a vector of int64 or int32: a copy. `out`: a tensor to which the result is written."""
inf: _float
def initial_seed() -> _int:
    """The seed of the CPU's default generator."""
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of products over the last dimensions of both tensors, which must have the same length. `out`: a tensor to which the result is written."""
int: dtype
int16: dtype
int32: dtype
int64: dtype
int8: dtype
def inverse(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices; a LinAlgError if one is singular."""
def is_anomaly_check_nan_enabled() -> _bool:
    """Whether anomaly detection looks for NaNs; meaningful only while it is on."""
def is_anomaly_enabled() -> _bool:
    """Whether anomaly detection (`detect_anomaly`) is on."""
def is_complex(input: Tensor) -> _bool:
    """Whether the element type is a complex type."""
def is_conj(input: Tensor) -> _bool:
    """Whether a conjugation is deferred: always False."""
def is_deterministic_algorithms_warn_only_enabled() -> _bool:
    """Whether `use_deterministic_algorithms` requested warnings only."""
def is_distributed(input: Tensor) -> _bool:
    """Whether one tensor is spread over several processes: always False."""
def is_floating_point(input: Tensor) -> _bool:
    """Whether the element type is a real floating-point type (float16, bfloat16, float32, float64)."""
def is_grad_enabled() -> _bool:
    """Whether this thread records operations for gradients: True at first, False inside `no_grad` or `inference_mode`."""
def is_inference(input: Tensor) -> _bool:
    """Whether the tensor was created inside `inference_mode`."""
def is_inference_mode_enabled() -> _bool:
    """Whether this thread is inside an `inference_mode` block."""
def is_neg(input: Tensor) -> _bool:
    """Whether a negation is deferred: always False."""
def is_nonzero(input: Tensor) -> _bool:
    """Whether the only element of the tensor is not zero; RuntimeError if it has several."""
def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape."""
def is_signed(input: Tensor) -> _bool:
    """Whether the element type has negative numbers."""
def is_tensor(obj: Any) -> _bool:
    """Whether `obj` is a tensor of mpigrad."""
def is_warn_always_enabled() -> _bool:
    """Whether `set_warn_always(True)` was called."""
def isclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
    """Whether elements differ by at most `atol + rtol * |other|`: a tensor of bools."""
def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are neither infinite nor nan: a tensor of bools."""
def isin(elements: Any = None, test_elements: Any = None, *, assume_unique: _bool = False, invert: _bool = False, out: Tensor | None = None, element: Any = None, test_element: Any = None) -> Tensor:
    """Whether each element is one of `test_elements`: a tensor of bools with the shape of `elements`; either may be a number."""
def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are infinite: a tensor of bools."""
def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are nan: a tensor of bools."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are -inf: a tensor of bools."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are inf: a tensor of bools."""
def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the imaginary part of elements is zero: a tensor of bools."""
def kaiser_window(window_length: _int, periodic: _bool = True, beta: _float = 12.0, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """The Kaiser window: a vector of `window_length` elements; a larger `beta` means less spectral leakage and less resolution."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: `input` with each element replaced by its product with the whole of `other`. `out`: a tensor to which the result is written."""
def kthvalue(input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Any = None) -> _kthvalue:
    """The `k`-th smallest element along `dim` (counted from 1): the named tuple (values, indices). `keepdim`: keep `dim` with length 1."""
def layer_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor:
    """Normalise each sample to mean 0 and variance 1 over its last dimensions, then multiply by `weight` and add `bias`, if given."""
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple of each pair of integers. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
def lcm_(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`lcm` in place: overwrite this tensor with the result, and return it. Arguments: those of `lcm`."""
def ldexp(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * 2 ** other`, element by element. `out`: a tensor to which the result is written."""
def ldexp_(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`ldexp` in place: overwrite this tensor with the result, and return it. Arguments: those of `ldexp`."""
def le(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are less than or equal to those of `other`: a tensor of bools."""
def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
    """Linear interpolation: `input + weight * (end - input)`; `weight` is a number or a tensor. `out`: a tensor to which the result is written."""
def less(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are less than those of `other`: a tensor of bools."""
def less_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are less than or equal to those of `other`: a tensor of bools."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function at each element."""
def linspace(start: Any, end: Any, steps: _int, *, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A vector of `steps` numbers at equal distances from `start` to `end`, both included."""
def load(f: Any, map_location: Callable[..., Any] | device | str | dict[Any, Any] | None = None, pickle_module: Any = None, *, weights_only: _bool | None = None, mmap: _bool | None = None, **pickle_load_args: Any) -> Any:
    """Read an object that `save` or `torch.save` wrote, or a safetensors file. `f`: a file name, or a file open for reading bytes."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm of each element."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10 of each element."""
def log10_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log10` in place: overwrite this tensor with the result, and return it. Arguments: those of `log10`."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + x) for each element x, exact for small x."""
def log1p_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log1p` in place: overwrite this tensor with the result, and return it. Arguments: those of `log1p`."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2 of each element."""
def log2_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log2` in place: overwrite this tensor with the result, and return it. Arguments: those of `log2`."""
def log_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log` in place: overwrite this tensor with the result, and return it. Arguments: those of `log`."""
def log_softmax(input: Tensor, dim: _int | None = None, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax` along `dim`, computed without overflow. `dtype`: convert the input to this type first (default: keep its type). `out`: a tensor to which the result is written."""
def logaddexp(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """log(exp(input) + exp(other)), element by element, without overflow. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
def logaddexp2(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """log2(2 ** input + 2 ** other), element by element, without overflow. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """Running log(sum(exp(x))) along `dim`, computed without overflow. `out`: a tensor to which the result is written."""
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant of square matrices; nan if the determinant is negative, -inf if it is 0."""
def logical_and(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether both elements are nonzero: a tensor of bools."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements are zero: a tensor of bools."""
def logical_or(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether at least one of the two elements is nonzero: a tensor of bools."""
def logical_xor(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether exactly one of the two elements is nonzero: a tensor of bools."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of sigmoid, element by element. With `eps`, x is first limited to the range from eps to 1 - eps. `out`: a tensor to which the result is written."""
def logit_(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`logit` in place: overwrite this tensor with the result, and return it. Arguments: those of `logit`."""
def logspace(start: Any, end: Any, steps: _int, base: _float = 10.0, *, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A vector of `steps` numbers base ** x, with x at equal distances from `start` to `end`, both included."""
def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) over the dimension (or dimensions) `dim`, without overflow. `keepdim`: keep them with length 1. `out`: a tensor to which the result is written."""
long: dtype
def lt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements of `input` are less than those of `other`: a tensor of bools."""
def lu(A: Tensor, pivot: _bool = True, get_infos: _bool = False, out: Any = None) -> Any:
    """Deprecated form of `linalg.lu_factor`: returns (LU, pivots), with `get_infos` (LU, pivots, infos)."""
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Deprecated form of `linalg.lu_solve(LU_data, LU_pivots, b)`."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True) -> _lu_unpack:
    """The named tuple (P, L, U), from the results of `linalg.lu_factor`."""
def manual_seed(seed: _int) -> Generator:
    """Set the seed of the default generators of all devices, and return that of the CPU. Equal seeds give equal random numbers."""
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy of `input` with `value` (a number, or a tensor with one element) where the bool tensor `mask` is True."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` in which the elements where the bool tensor `mask` is True are replaced by those of `source`, in order."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where the bool tensor `mask` is True, as a vector. Mask and input are broadcast. `out`: a tensor to which the result is written."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product, Python's `@`: of vectors, matrices, or batches of matrices, which are broadcast."""
def matrix_exp(A: Tensor) -> Tensor:
    """The matrix exponential of square matrices: the sum over k of A^k / k!."""
def matrix_power(A: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """The `n`-th power of square matrices, for an int n; negative powers are powers of the inverse."""
@overload
def max(input: Tensor) -> Tensor: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor: ...
@overload
def max(input: Tensor, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _max: ...
@overload
def max_pool1d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window of sequences (batch, channels, length) or (channels, length)."""
@overload
def max_pool1d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element of each window of sequences (batch, channels, length) or (channels, length)."""
@overload
def max_pool1d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """The largest element of each window of sequences (batch, channels, length) or (channels, length)."""
@overload
def max_pool2d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window of images (batch, channels, height, width), or without batch."""
@overload
def max_pool2d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element of each window of images (batch, channels, height, width), or without batch."""
@overload
def max_pool2d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """The largest element of each window of images (batch, channels, height, width), or without batch."""
@overload
def max_pool3d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest element of each window of volumes (batch, channels, depth, height, width), or without batch."""
@overload
def max_pool3d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The largest element of each window of volumes (batch, channels, depth, height, width), or without batch."""
@overload
def max_pool3d(input: Tensor, kernel_size: _int | tuple[_int, ...] | list[_int], stride: _int | tuple[_int, ...] | list[_int] | None = None, padding: _int | tuple[_int, ...] | list[_int] = 0, dilation: _int | tuple[_int, ...] | list[_int] = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """The largest element of each window of volumes (batch, channels, depth, height, width), or without batch."""
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger of two elements, element by element; nan if one of them is nan. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
def mean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None, axis: Any = None, keepdims: _bool | None = None) -> Tensor:
    """The mean of all elements, or over dimensions. Integers raise a RuntimeError, unless `dtype` is given."""
@overload
def median(input: Tensor, dim: None=None, keepdim: _bool=False, *, out: Any=None) -> Tensor: ...
@overload
def median(input: Tensor, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _median: ...
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinate grids of vectors: a tuple with one tensor for each vector, all of the shape of their lengths; views."""
@overload
def min(input: Tensor) -> Tensor: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor: ...
@overload
def min(input: Tensor, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _min: ...
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller of two elements, element by element; nan if one of them is nan. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices, (n, m) and (m, p). `out`: a tensor to which the result is written."""
def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: Any = None) -> _mode:
    """The most frequent value along `dim` (of several the smallest), and the last index of it: the named tuple (values, indices)."""
def moveaxis(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Move the dimensions `source` to the positions `destination` (ints, or one for each); the others keep their order. A view."""
def movedim(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """Move the dimensions `source` to the positions `destination` (ints, or one for each); the others keep their order. A view."""
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tensor sorted along its first dimension, in ascending order. `out`: a tensor to which the result is written."""
def mul(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a tensor to which the result is written."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Draw `num_samples` random indices for each row of `input`; the probability of an index is proportional to the row's element."""
def multiply(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a tensor to which the result is written."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix (n, m) and a vector (m,): (n,). `out`: a tensor to which the result is written."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p` at each element, which must be above (p - 1) / 2. `out`: a tensor to which the result is written."""
nan: _float
def nan_to_num(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Replace nan by `nan` (default 0), inf by `posinf` and -inf by `neginf` (default: the largest and smallest number of the type). `out`: a tensor to which the result is written."""
def nan_to_num_(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`nan_to_num` in place: overwrite this tensor with the result, and return it. Arguments: those of `nan_to_num`."""
def nanmean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The mean of the elements that are not nan. `dim`: a dimension, or a tuple of several; by default all. `keepdim`: keep them with length 1. `dtype`: convert the input to this type first (default: keep its type). `out`: a tensor to which the result is written."""
@overload
def nanmedian(input: Tensor, dim: None=None, keepdim: _bool=False, *, out: Any=None) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _nanmedian: ...
def nanquantile(input: Tensor, q: Any, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
    """`quantile` of the elements that are not nan; the arguments are the same."""
def nansum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of the elements that are not nan. `dim`: a dimension, or a tuple of several; by default all. `keepdim`: keep them with length 1. `dtype`: convert the input to this type first (default: keep its type). `out`: a tensor to which the result is written."""
def narrow(input: Tensor, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
    """The elements from `start` to `start + length - 1` of dimension `dim`; a view."""
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = None) -> Tensor:
    """The elements from `start` to `start + length - 1` of dimension `dim`, as a copy; `narrow` gives a view. `out`: a tensor to which the result is written."""
def ne(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements differ: a tensor of bools."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative of each element."""
def neg_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`neg` in place: overwrite this tensor with the result, and return it. Arguments: those of `neg`."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative of each element."""
def negative_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`neg` in place: overwrite this tensor with the result, and return it. Arguments: those of `neg`."""
newaxis: None
def nextafter(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The next number from `input` towards `other`. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor:
    """The indices of nonzero elements: (count, dimensions), one row for each; int64."""
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
    """The indices of nonzero elements: (count, dimensions), one row for each; int64."""
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: _bool = False) -> Any:
    """The indices of nonzero elements: (count, dimensions), one row for each; int64."""
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
    """The coordinates of the first `size` elements that are not zero, one in each row; if there are fewer, rows of `fill_value` follow. `out`: a tensor to which the result is written."""
def norm(input: Tensor, p: Any = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
    """The `p`-norm of the elements, by default the 2-norm ("fro"); "nuc" is the nuclear norm of matrices."""
def normal(mean: Any, std: Any = 1.0, size: SupportsIndex | Sequence[SupportsIndex] | None = None, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Random numbers of normal distributions with the given means and standard deviations."""
def not_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether elements differ: a tensor of bools."""
def nuclear_norm(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The sum of the singular values of a matrix, or of the matrices in the two dimensions `dim`. `keepdim`: keep them with length 1. `out`: a tensor to which the result is written."""
def numel(input: Tensor) -> _int:
    """The number of elements of a tensor."""
def ones(*size: SupportsIndex | Sequence[SupportsIndex], out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False, **names: Any) -> Tensor:
    """A tensor of ones, of the shape `size`: several ints, or one sequence of them."""
def ones_like(input: Tensor, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """A tensor of ones with the shape of `input`. `dtype` and `device` are by default those of `input`; `requires_grad` (default: False) is that of the new tensor."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The outer product of two vectors: the matrix with input[i] * vec2[j] in row i and column j. `out`: a tensor to which the result is written."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> Tensor:
    """The `p`-norm of x1 - x2 + eps along the last dimension, row by row. `keepdim`: keep that dimension with length 1."""
def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The `p`-norm distances of all pairs of different rows of a matrix, each pair once: a vector, in the order (0, 1), (0, 2), ..."""
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """Reorder the dimensions: dimension i of the result is dimension `dims[i]` of `input`; a view."""
def permute_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The result of `permute` as a copy (or copies) instead of a view; the arguments are the same."""
pi: _float
def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """The Moore-Penrose pseudo-inverse; `linalg.pinv` with `rcond` as relative tolerance."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Move channels into space: from (c * r * r, h, w) to (c, h * r, w * r), where r is `upscale_factor`."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """The inverse of `pixel_shuffle`."""
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Random counts of Poisson distributions whose means are the elements of `input`, with its shape and type. `generator`: the source of random numbers, by default that of the device."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A complex tensor from absolute values and angles (in radians): two tensors of one floating-point type. `out`: a tensor to which the result is written."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The `n`-th derivative of the digamma function at each element, for n >= 0. `out`: a tensor to which the result is written."""
def positive(input: Tensor) -> Tensor:
    """The tensor itself, as Python's `+x`; booleans raise a RuntimeError."""
def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """`input` to the power of `exponent`, element by element; one of them may be a number."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Keep positive elements, and multiply the others by a slope, usually a parameter."""
preserve_format: memory_format
def prod(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The product of all elements, or along `dim`. `keepdim`: keep `dim` with length 1."""
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The type of the result of an operation on tensors of the two types, by PyTorch's rules: the smallest that both convert to."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """A copy of `input` in which the elements at the indices `index` of the flattened tensor are replaced by those of `source`."""
def qr(input: Tensor, some: _bool = True, *, out: Any = None) -> _qr:
    """Deprecated form of `linalg.qr`: returns (Q, R). `some=True` (default) is `mode="reduced"`, False is "complete"."""
def quantile(input: Tensor, q: Any, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
    """The `q`-quantile of the elements: of all, or along `dim`. `keepdim`: keep `dim` with length 1."""
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angles in radians as degrees."""
def rad2deg_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`rad2deg` in place: overwrite this tensor with the result, and return it. Arguments: those of `rad2deg`."""
def rand(*size: SupportsIndex | Sequence[SupportsIndex], generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False, **names: Any) -> Tensor:
    """A tensor of random numbers, uniformly distributed in [0, 1), of the shape `size`: several ints, or one sequence of them."""
def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """Random numbers, uniformly distributed in [0, 1), with the shape of `input`. `dtype` and `device` are by default those of `input`; `requires_grad` (default: False) is that of the new tensor. `generator`: the source of random numbers, by default that of the device."""
def randint(low: Any, high: Any = None, size: SupportsIndex | Sequence[SupportsIndex] | None = None, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor of random integers, uniformly distributed in [low, high): `randint(high, size)` or `randint(low, high, size)`."""
def randint_like(input: Tensor, low: Any, high: Any = None, *, generator: Generator | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """Random integers from [low, high), with the shape of `input`: `randint_like(x, high)` or `randint_like(x, low, high)`. `dtype` and `device` are by default those of `input`; `requires_grad` (default: False) is that of the new tensor. `generator`: the source of random numbers, by default that of the device."""
def randn(*size: SupportsIndex | Sequence[SupportsIndex], generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False, **names: Any) -> Tensor:
    """A tensor of random numbers of the standard normal distribution, of the shape `size`: several ints, or one sequence of them."""
def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """Random numbers of the standard normal distribution, with the shape of `input`. `dtype` and `device` are by default those of `input`; `requires_grad` (default: False) is that of the new tensor. `generator`: the source of random numbers, by default that of the device."""
def randperm(n: _int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The integers from 0 to n - 1 in random order: a vector, by default of type int64."""
def range(start: Any, end: Any, step: Any = 1, *, out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """Deprecated form of `arange` that includes `end` and returns floating-point numbers."""
def ravel(input: Tensor) -> Tensor:
    """All elements as a vector; a view if possible, otherwise a copy."""
def real(input: Tensor) -> Tensor:
    """The real parts of a complex tensor, as a view; a real tensor is returned unchanged."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One over each element."""
def reciprocal_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`reciprocal` in place: overwrite this tensor with the result, and return it. Arguments: those of `reciprocal`."""
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Replace negative elements by 0."""
def relu_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`relu` in place: overwrite this tensor with the result, and return it. Arguments: those of `relu`."""
def remainder(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The remainder of `input / other`, with the sign of `other`: Python's `%`. Either may be a number. `out`: a tensor to which the result is written."""
def renorm(input: Tensor, p: Any, dim: _int, maxnorm: Any, *, out: Tensor | None = None) -> Tensor:
    """Scale down each slice of dimension `dim` whose `p`-norm is larger than `maxnorm`, so that its norm becomes `maxnorm`. `out`: a tensor to which the result is written."""
def repeat_interleave(input: Tensor, repeats: _int | Tensor | None = None, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
    """Repeat each element of the flattened tensor, or with `dim` each slice of that dimension; the copies of one follow each other."""
def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor:
    """A tensor with the same elements in the shape `shape`; a view of `input` if possible, otherwise a copy."""
def resize_as_(self: Tensor, other: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """Resize this tensor to the shape of `other`, in place; see `resize_`."""
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: mpigrad computes conjugates at once, PyTorch may defer them."""
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: mpigrad computes negatives at once, PyTorch may defer them."""
def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The element type of the result of an operation on both arguments, which are tensors or numbers."""
def rms_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = None, eps: _float | None = None) -> Tensor:
    """Divide by the root mean square over the last dimensions, then multiply by `weight`, if given."""
def roll(input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = None) -> Tensor:
    """Shift elements cyclically by `shifts` along `dims` (an int, or one for each dimension); without `dims`, in the flattened tensor."""
def rot90(input: Tensor, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor:
    """Rotate by 90 degrees, `k` times, in the plane of the two dimensions `dims`."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """Each element rounded to `decimals` digits after the point (negative: before it); halves go to the even neighbour. `out`: a tensor to which the result is written."""
def round_(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """`round` in place: overwrite this tensor with the result, and return it. Arguments: those of `round`."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 0; vectors become rows. `out`: a tensor to which the result is written."""
def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False) -> Tensor:
    """Keep positive elements, and multiply the others by a slope."""
def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False) -> Tensor:
    """`rrelu` in place: overwrites `input` and returns it. The arguments are those of `rrelu`."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One over the square root of each element."""
def rsqrt_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`rsqrt` in place: overwrite this tensor with the result, and return it. Arguments: those of `rsqrt`."""
def rsub(input: Tensor, other: _Operand, *, alpha: _complex = 1) -> Tensor:
    """`other - alpha * input`, element by element; `other` is a tensor or a number."""
def save(obj: Any, f: Any, pickle_module: Any = ..., pickle_protocol: _int = 2, _use_new_zipfile_serialization: _bool = True, *, format: str = 'mpigrad') -> None:
    """Write an object (tensors, containers of tensors, state dicts ...) to `f`: a file name, or a file open for writing bytes."""
def scalar_tensor(s: Any, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
    """A zero-dimensional tensor of the number `s`. `dtype` (by default the default float type), `device` and `requires_grad` are those of the new tensor. `pin_memory`: in pinned host memory. `layout` is ignored."""
def scatter(input: Tensor, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `src` written at the positions that `index` gives: `result[index[i][j]][j] = src[i][j]` for `dim=0`."""
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `src` added at the positions that `index` gives: `result[index[i][j]][j] += src[i][j]` for `dim=0`."""
def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """Combine `src` into the elements of a copy of `input` that `index` gives (as in `scatter`), by `reduce`."""
def searchsorted(sorted_sequence: Tensor, input: Any, *, out_int32: _bool = False, right: _bool = False, side: str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The indices at which the values `input` would have to be inserted into `sorted_sequence` to keep it sorted."""
def seed() -> _int:
    """Set a seed from the operating system in the default generators of all devices, and return it."""
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """The slice at position `index` of dimension `dim`, without that dimension; a view. Negative indices count from the end."""
def select_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The result of `select` as a copy (or copies) instead of a view; the arguments are the same."""
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor:
    """A copy of `input` with `src` written to the slice at `index` of dimension `dim`."""
def selu(input: Tensor, inplace: _bool = False) -> Tensor:
    """`elu` with the scale and alpha for which activations keep mean 0 and variance 1. With `inplace=True` the result overwrites `input`."""
def selu_(input: Tensor) -> Tensor:
    """`selu` in place: overwrites `input` and returns it. The arguments are those of `selu`."""
def set_anomaly_enabled(enabled: _bool, check_nan: _bool = True) -> None:
    """Switch anomaly detection (`detect_anomaly`) on or off; `check_nan`: also raise an error when a node returns NaN."""
def set_default_device(device: Any) -> None:
    """Make `device` the place of tensors that this thread creates (`zeros`, `tensor`, `rand`, ...) without saying where; None is the CPU."""
def set_default_dtype(d: dtype) -> None:
    """Make `d`, a floating-point type, the type of tensors that are created without a type; float32 at first."""
def set_default_tensor_type(t: Any, /) -> None:
    """Legacy form of `set_default_dtype`: takes a type such as `mpigrad.DoubleTensor` or its name."""
def set_deterministic_debug_mode(debug_mode: _int | str) -> None:
    """`use_deterministic_algorithms` by number or name: 0 or "default" (off), 1 or "warn", 2 or "error" (on)."""
def set_float32_matmul_precision(precision: str) -> None:
    """Store the precision of float32 matrix products, "highest", "high" or "medium". No effect: they always have full precision."""
def set_flush_denormal(mode: _bool) -> _bool:
    """Request that denormal numbers are flushed to zero; returns whether the mode is supported: only False is."""
def set_num_interop_threads(n: _int, /) -> None:
    """Store a number of threads that run operators in parallel. No effect: there are no such threads here."""
def set_num_threads(int: _int) -> None:
    """Let NumPy's matrix products use `int` threads in this process (through OpenBLAS); 1 is best with one rank per core."""
def set_printoptions(precision: _int | None = None, threshold: _float | None = None, edgeitems: _int | None = None, linewidth: _int | None = None, profile: str | None = None, sci_mode: _bool | None = None) -> None:
    """Set the options for printing tensors."""
def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the CPU's default generator to `new_state`, a result of `get_rng_state`."""
def set_warn_always(b: _bool, /) -> None:
    """Request that one-time warnings are always shown. No effect: Python's warning filters decide that here."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign of each element; of complex ones, z / |z|."""
short: dtype
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function 1 / (1 + exp(-x)) of each element x."""
def sigmoid_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sigmoid` in place: overwrite this tensor with the result, and return it. Arguments: those of `sigmoid`."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign of each element: -1, 0 or 1."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether elements have a minus sign (also -0.0): a tensor of bools."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine of each element, an angle in radians."""
def sin_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin` in place: overwrite this tensor with the result, and return it. Arguments: those of `sin`."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi * x) / (pi * x) for each element x, and 1 for 0."""
def sinc_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sinc` in place: overwrite this tensor with the result, and return it. Arguments: those of `sinc`."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine of each element."""
def sinh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sinh` in place: overwrite this tensor with the result, and return it. Arguments: those of `sinh`."""
def slice_scatter(input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
    """A copy of `input` with `src` written to the elements `start:end:step` of dimension `dim`."""
def slogdet(A: Tensor, *, out: Any = None) -> linalg_slogdet:
    """The named tuple (sign, logabsdet): the sign of the determinant and the logarithm of its absolute value, without overflow."""
def softmax(input: Tensor, dim: _int | None = None, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """Turn scores into probabilities: exp(x) divided by its sum along `dim`, so that the results along `dim` add up to 1."""
def sort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool | None = None, *, out: Any = None) -> _sort:
    """The elements along `dim` in ascending (or `descending`) order, and their original indices: the named tuple (values, indices)."""
sparse_coo: layout
def sparse_coo_tensor(indices: Any = None, values: Any = None, size: SupportsIndex | Sequence[SupportsIndex] | None = None, *, dtype: dtype | None = None, device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _bool | None = None, is_coalesced: _bool | None = None) -> Tensor:
    """A sparse tensor in coordinate format, with `values` at `indices` and zeros elsewhere; values of repeated indices add up."""
def split(tensor: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Cut a tensor along `dim` into a tuple of views."""
def split_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> tuple[Tensor, ...]:
    """The result of `split` as a copy (or copies) instead of a view; the arguments are the same."""
def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Cut a tensor along `dim` into parts of the lengths `split_sizes`: a tuple of views."""
def split_with_sizes_copy(input: Tensor, split_sizes: Any, dim: _int = 0) -> tuple[Tensor, ...]:
    """Cut a tensor along `dim` into parts of the lengths `split_sizes`, as copies; `split_with_sizes` gives views."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root of each element."""
def sqrt_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sqrt` in place: overwrite this tensor with the result, and return it. Arguments: those of `sqrt`."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square of each element."""
def square_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`square` in place: overwrite this tensor with the result, and return it. Arguments: those of `square`."""
def squeeze(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """Remove dimensions of length 1: all of them, or those of `dim` (an int or a tuple); a view. Longer dimensions stay."""
def squeeze_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The result of `squeeze` as a copy (or copies) instead of a view; the arguments are the same."""
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Join tensors of the same shape along a new dimension, which becomes dimension `dim` of the result. `out`: a tensor to which the result is written."""
def std(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor:
    """The standard deviation: the square root of `var`, whose arguments it has."""
def std_mean(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> tuple[Tensor, Tensor]:
    """The tuple (standard deviation, mean). The arguments are those of `var`."""
strided: layout
def sub(input: Tensor, other: _Operand, *, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`input - alpha * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a tensor to which the result is written."""
def subtract(input: Tensor, other: _Operand, *, alpha: _complex = 1, out: Tensor | None = None) -> Tensor:
    """`input - alpha * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a tensor to which the result is written."""
def sum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, out: Tensor | None = None, axis: Any = None, keepdims: _bool | None = None) -> Tensor:
    """The sum of all elements, or over dimensions. Integers and booleans are summed as int64."""
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: Any = None) -> _svd:
    """Deprecated form of `linalg.svd`: returns (U, S, V) with A = U diag(S) V^H."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """Swap two dimensions; another name of `transpose`."""
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Swap two dimensions; another name of `transpose`."""
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix, as a view; tensors with fewer dimensions are returned unchanged."""
def t_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The result of `t` as a copy (or copies) instead of a view; the arguments are the same."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements at the indices `index` (int64, any shape) of the flattened tensor, with the shape of `index`. `out`: a tensor to which the result is written."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Read elements by index along `dim`: `gather` whose arguments are broadcast; without `dim`, of the flattened tensor."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent of each element, an angle in radians."""
def tan_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`tan` in place: overwrite this tensor with the result, and return it. Arguments: those of `tan`."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent of each element."""
def tanh_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`tanh` in place: overwrite this tensor with the result, and return it. Arguments: those of `tanh`."""
def tensor(data: Any, *, dtype: dtype | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A new tensor with a copy of `data`: a number, nested lists or tuples, a NumPy array or a tensor."""
def tensor_split(input: Tensor, indices_or_sections: Any = None, dim: _int = 0, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
    """Cut a tensor along `dim` into a tuple of views."""
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The sum of products over several dimensions of both tensors."""
def threshold(input: Tensor, threshold: _float, value: _float, inplace: _bool = False) -> Tensor:
    """Keep elements larger than `threshold` and replace the others by `value`. With `inplace=True` the result overwrites `input`."""
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """`threshold` in place: overwrites `input` and returns it. The arguments are those of `threshold`."""
def tile(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """Copies of `input` side by side: `dims` has the number of copies along each of the last dimensions."""
def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the tensor's memory, for the `from_dlpack` of another library. It can be used once."""
def topk(input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Any = None) -> _topk:
    """The `k` largest elements along `dim` (with `largest=False` the smallest), in order: the named tuple (values, indices)."""
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix: a zero-dimensional tensor."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Swap the dimensions `dim0` and `dim1`; a view."""
def transpose_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The result of `transpose` as a copy (or copies) instead of a view; the arguments are the same."""
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: _int = -1) -> Tensor:
    """The integral of samples `y` along `dim` by the trapezoidal rule."""
def trapz(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: _int = -1) -> Tensor:
    """Another name of `trapezoid`, with the same arguments."""
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of matrices (the last two dimensions), with zeros elsewhere; a copy."""
def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: dtype = ..., device: Any = None, layout: layout | None = None, pin_memory: _bool = False) -> Tensor:
    """The rows and columns of the elements in the lower triangle of a matrix (row, col): a tensor (2, count)."""
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of matrices (the last two dimensions), with zeros elsewhere; a copy."""
def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: dtype = ..., device: Any = None, layout: layout | None = None, pin_memory: _bool = False) -> Tensor:
    """The rows and columns of the elements in the upper triangle of a matrix (row, col): a tensor (2, count)."""
def true_divide(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input / other`, element by element: `div` without rounding mode. `out`: a tensor to which the result is written."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element without its fraction."""
def trunc_(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`trunc` in place: overwrite this tensor with the result, and return it. Arguments: those of `trunc`."""
def typename(obj: Any, /) -> str:
    """The full name of an object's type; for a tensor, the name of its tensor type, such as "mpigrad.FloatTensor"."""
uint16: dtype
uint32: dtype
uint64: dtype
uint8: dtype
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """All slices along dimension `dim`, without that dimension, as a tuple of views."""
def unbind_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> tuple[Tensor, ...]:
    """The result of `unbind` as a copy (or copies) instead of a view; the arguments are the same."""
def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
    """Split the dimension `dim` into several, of the lengths `sizes`; -1 for a length that follows from the others. A view."""
def unfold_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The result of `unfold` as a copy (or copies) instead of a view; the arguments are the same."""
@overload
def unique(input: Tensor, sorted: _bool=True, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor: ...
@overload
def unique(input: Tensor, sorted: _bool=True, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> Any: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> Any: ...
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates of elements in a tensor of the shape `shape`, from their indices in the flattened tensor: a tuple of tensors."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """`chunk` whose results may be changed in place, as in PyTorch."""
def unsafe_split(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """`split` whose results may be changed in place, as in PyTorch."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: _int = 0) -> tuple[Tensor, ...]:
    """`split_with_sizes` whose results may be changed in place, as in PyTorch."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """Insert a dimension of length 1, which becomes dimension `dim` of the result; a view."""
def unsqueeze_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The result of `unsqueeze` as a copy (or copies) instead of a view; the arguments are the same."""
def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool = False) -> None:
    """Request results that have the same bits in every run (`mode=True`), or end that."""
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """The Vandermonde matrix of a vector: each row has the powers of one element, N of them (default: the vector's length)."""
def var(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor:
    """The variance: the sum of squared differences from the mean, divided by the number of elements minus `correction` (default 1)."""
def var_mean(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None) -> tuple[Tensor, Tensor]:
    """The tuple (variance, mean). The arguments are those of `var`."""
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors of the same length, the first one conjugated: a zero-dimensional tensor. `out`: a tensor to which the result is written."""
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers as complex ones; a view of the same memory. The last dimension must have length 2."""
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as pairs of real numbers in a new last dimension of length 2; a view of the same memory."""
def view_copy(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The result of `view` as a copy (or copies) instead of a view; the arguments are the same."""
def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = 'error', *, chunk_size: _int | None = None) -> Callable[..., Any]:
    """A function that applies `func` to each slice of its arguments, and stacks the results."""
def vsplit(input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
    """Cut a tensor along dimension 0 into a tuple of views. The arguments are those of `tensor_split`."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Join tensors along dimension 0; vectors become rows. `out`: a tensor to which the result is written."""
@overload
def where(condition: Tensor, input: None=None, other: None=None, *, out: None=None) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, input: Any, other: Any, *, out: Tensor | None=None) -> Tensor: ...
def xlogy(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`, and 0 where `input` is 0. Either may be a number. `out`: a tensor to which the result is written."""
def xlogy_(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`xlogy` in place: overwrite this tensor with the result, and return it. Arguments: those of `xlogy`."""
def zero_(self: Tensor) -> Tensor:
    """Write zeros into every element, in place; returns the tensor."""
def zeros(*size: SupportsIndex | Sequence[SupportsIndex], out: Tensor | None = None, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, pin_memory: _bool = False, requires_grad: _bool = False, **names: Any) -> Tensor:
    """A tensor of zeros, of the shape `size`: several ints, or one sequence of them."""
def zeros_like(input: Tensor, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | _int | None = None, requires_grad: _bool = False, memory_format: memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """A tensor of zeros with the shape of `input`. `dtype` and `device` are by default those of `input`; `requires_grad` (default: False) is that of the new tensor."""

__all__ = ['BFloat16Tensor', 'BoolTensor', 'ByteTensor', 'CharTensor', 'ComplexDoubleTensor', 'ComplexFloatTensor', 'DoubleTensor', 'FloatTensor', 'Generator', 'HalfTensor', 'IntTensor', 'LongTensor', 'OutOfMemoryError', 'ShortTensor', 'Size', 'Tensor', 'UntypedStorage', 'abs', 'abs_', 'absolute', 'acos', 'acos_', 'acosh', 'acosh_', 'adaptive_avg_pool1d', 'adaptive_max_pool1d', 'add', 'addbmm', 'addcdiv', 'addcmul', 'addmm', 'addmv', 'addmv_', 'addr', 'adjoint', 'alias_copy', 'all', 'allclose', 'alpha_dropout', 'amax', 'amin', 'aminmax', 'angle', 'any', 'arange', 'arccos', 'arccos_', 'arccosh', 'arccosh_', 'arcsin', 'arcsin_', 'arcsinh', 'arcsinh_', 'arctan', 'arctan2', 'arctan_', 'arctanh', 'arctanh_', 'are_deterministic_algorithms_enabled', 'argmax', 'argmin', 'argsort', 'argwhere', 'as_strided', 'as_strided_', 'as_strided_copy', 'as_strided_scatter', 'as_tensor', 'asarray', 'asin', 'asin_', 'asinh', 'asinh_', 'atan', 'atan2', 'atan_', 'atanh', 'atanh_', 'atleast_1d', 'atleast_2d', 'atleast_3d', 'autograd', 'avg_pool1d', 'baddbmm', 'bartlett_window', 'bernoulli', 'bfloat16', 'bilinear', 'bincount', 'binomial', 'bitwise_and', 'bitwise_left_shift', 'bitwise_not', 'bitwise_or', 'bitwise_right_shift', 'bitwise_xor', 'blackman_window', 'block_diag', 'bmm', 'bool', 'broadcast_shapes', 'broadcast_tensors', 'broadcast_to', 'bucketize', 'can_cast', 'cartesian_prod', 'cat', 'cdist', 'cdouble', 'ceil', 'ceil_', 'celu', 'celu_', 'cfloat', 'chain_matmul', 'channel_shuffle', 'channels_last', 'channels_last_3d', 'cholesky', 'cholesky_inverse', 'cholesky_solve', 'chunk', 'clamp', 'clamp_', 'clamp_max', 'clamp_max_', 'clamp_min', 'clamp_min_', 'clip', 'clip_', 'clone', 'column_stack', 'combinations', 'compile', 'complex', 'complex128', 'complex64', 'concat', 'concatenate', 'conj', 'conj_physical', 'conj_physical_', 'contiguous_format', 'conv1d', 'conv2d', 'conv3d', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d', 'copysign', 'corrcoef', 'cos', 'cos_', 'cosh', 'cosh_', 'cosine_similarity', 'count_nonzero', 'cov', 'cross', 'ctc_loss', 'cummax', 'cummin', 'cumprod', 'cumsum', 'cumulative_trapezoid', 'default_generator', 'deg2rad', 'deg2rad_', 'det', 'detach', 'detach_', 'detach_copy', 'device', 'diag', 'diag_embed', 'diagflat', 'diagonal', 'diagonal_copy', 'diagonal_scatter', 'diff', 'digamma', 'dist', 'div', 'divide', 'dot', 'double', 'dropout', 'dsplit', 'dstack', 'dtype', 'e', 'einsum', 'empty', 'empty_like', 'empty_strided', 'enable_grad', 'eq', 'equal', 'erf', 'erf_', 'erfc', 'erfc_', 'erfinv', 'exp', 'exp2', 'exp2_', 'exp_', 'expand_copy', 'expm1', 'expm1_', 'eye', 'feature_alpha_dropout', 'fill', 'fill_', 'finfo', 'fix', 'fix_', 'flatten', 'flip', 'fliplr', 'flipud', 'float', 'float16', 'float32', 'float64', 'float_power', 'floor', 'floor_', 'floor_divide', 'fmax', 'fmin', 'fmod', 'fork_rng', 'frac', 'frac_', 'frexp', 'frobenius_norm', 'from_dlpack', 'from_numpy', 'frombuffer', 'full', 'full_like', 'gather', 'gcd', 'gcd_', 'ge', 'ger', 'get_default_device', 'get_default_dtype', 'get_deterministic_debug_mode', 'get_device', 'get_float32_matmul_precision', 'get_num_interop_threads', 'get_num_threads', 'get_rng_state', 'gradient', 'greater', 'greater_equal', 'group_norm', 'gt', 'half', 'hamming_window', 'hann_window', 'hardshrink', 'heaviside', 'histc', 'histogram', 'hsplit', 'hstack', 'hypot', 'i0', 'i0_', 'igamma', 'igammac', 'iinfo', 'imag', 'index_add', 'index_copy', 'index_fill', 'index_put', 'index_put_', 'index_reduce', 'index_select', 'inf', 'inference_mode', 'initial_seed', 'inner', 'int', 'int16', 'int32', 'int64', 'int8', 'inverse', 'is_anomaly_check_nan_enabled', 'is_anomaly_enabled', 'is_complex', 'is_conj', 'is_deterministic_algorithms_warn_only_enabled', 'is_distributed', 'is_floating_point', 'is_grad_enabled', 'is_inference', 'is_inference_mode_enabled', 'is_neg', 'is_nonzero', 'is_same_size', 'is_signed', 'is_tensor', 'is_warn_always_enabled', 'isclose', 'isfinite', 'isin', 'isinf', 'isnan', 'isneginf', 'isposinf', 'isreal', 'kaiser_window', 'kron', 'kthvalue', 'layer_norm', 'layout', 'lcm', 'lcm_', 'ldexp', 'ldexp_', 'le', 'lerp', 'less', 'less_equal', 'lgamma', 'linalg', 'linspace', 'load', 'log', 'log10', 'log10_', 'log1p', 'log1p_', 'log2', 'log2_', 'log_', 'log_softmax', 'logaddexp', 'logaddexp2', 'logcumsumexp', 'logdet', 'logical_and', 'logical_not', 'logical_or', 'logical_xor', 'logit', 'logit_', 'logspace', 'logsumexp', 'long', 'lt', 'lu', 'lu_solve', 'lu_unpack', 'manual_seed', 'masked_fill', 'masked_scatter', 'masked_select', 'matmul', 'matrix_exp', 'matrix_power', 'max', 'max_pool1d', 'max_pool2d', 'max_pool3d', 'maximum', 'mean', 'median', 'memory_format', 'meshgrid', 'min', 'minimum', 'mm', 'mode', 'moveaxis', 'movedim', 'msort', 'mul', 'multinomial', 'multiply', 'mv', 'mvlgamma', 'nan', 'nan_to_num', 'nan_to_num_', 'nanmean', 'nanmedian', 'nanquantile', 'nansum', 'narrow', 'narrow_copy', 'ne', 'neg', 'neg_', 'negative', 'negative_', 'newaxis', 'nextafter', 'no_grad', 'nonzero', 'nonzero_static', 'norm', 'normal', 'not_equal', 'nuclear_norm', 'numel', 'ones', 'ones_like', 'outer', 'pairwise_distance', 'pdist', 'permute', 'permute_copy', 'pi', 'pinverse', 'pixel_shuffle', 'pixel_unshuffle', 'poisson', 'polar', 'polygamma', 'positive', 'pow', 'prelu', 'preserve_format', 'prod', 'promote_types', 'put', 'qr', 'quantile', 'rad2deg', 'rad2deg_', 'rand', 'rand_like', 'randint', 'randint_like', 'randn', 'randn_like', 'random', 'randperm', 'range', 'ravel', 'real', 'reciprocal', 'reciprocal_', 'relu', 'relu_', 'remainder', 'renorm', 'repeat_interleave', 'reshape', 'resize_as_', 'resolve_conj', 'resolve_neg', 'result_type', 'return_types', 'rms_norm', 'roll', 'rot90', 'round', 'round_', 'row_stack', 'rrelu', 'rrelu_', 'rsqrt', 'rsqrt_', 'rsub', 'save', 'scalar_tensor', 'scatter', 'scatter_add', 'scatter_reduce', 'searchsorted', 'seed', 'select', 'select_copy', 'select_scatter', 'selu', 'selu_', 'set_anomaly_enabled', 'set_default_device', 'set_default_dtype', 'set_default_tensor_type', 'set_deterministic_debug_mode', 'set_float32_matmul_precision', 'set_flush_denormal', 'set_grad_enabled', 'set_num_interop_threads', 'set_num_threads', 'set_printoptions', 'set_rng_state', 'set_warn_always', 'sgn', 'short', 'sigmoid', 'sigmoid_', 'sign', 'signbit', 'sin', 'sin_', 'sinc', 'sinc_', 'sinh', 'sinh_', 'slice_scatter', 'slogdet', 'softmax', 'sort', 'sparse_coo', 'sparse_coo_tensor', 'split', 'split_copy', 'split_with_sizes', 'split_with_sizes_copy', 'sqrt', 'sqrt_', 'square', 'square_', 'squeeze', 'squeeze_copy', 'stack', 'std', 'std_mean', 'strided', 'sub', 'subtract', 'sum', 'svd', 'swapaxes', 'swapdims', 't', 't_copy', 'take', 'take_along_dim', 'tan', 'tan_', 'tanh', 'tanh_', 'tensor', 'tensor_split', 'tensordot', 'threshold', 'threshold_', 'tile', 'to_dlpack', 'topk', 'trace', 'transpose', 'transpose_copy', 'trapezoid', 'trapz', 'tril', 'tril_indices', 'triu', 'triu_indices', 'true_divide', 'trunc', 'trunc_', 'typename', 'uint16', 'uint32', 'uint64', 'uint8', 'unbind', 'unbind_copy', 'unflatten', 'unfold_copy', 'unique', 'unique_consecutive', 'unravel_index', 'unsafe_chunk', 'unsafe_split', 'unsafe_split_with_sizes', 'unsqueeze', 'unsqueeze_copy', 'use_deterministic_algorithms', 'vander', 'var', 'var_mean', 'vdot', 'view_as_complex', 'view_as_real', 'view_copy', 'vmap', 'vsplit', 'vstack', 'where', 'xlogy', 'xlogy_', 'zero_', 'zeros', 'zeros_like']
