"""Tensors, with the operators that other modules attach to them. Made by tools/stubs.py; do not edit."""

from builtins import bool as _bool, float as _float, int as _int, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from mpigrad._array.device import device as _device
from mpigrad._array.dtype import dtype as _dtype
from mpigrad._array.layout import layout as _layout, memory_format
from mpigrad._core.node import Node, RemovableHandle
from mpigrad._core.tensor import TensorBase
from mpigrad._generator import Generator
from mpigrad._ops.tensor.storage import UntypedStorage
from mpigrad.autograd._edge import GradientEdge
from mpigrad.return_types import (
    aminmax as _aminmax,
    cummax as _cummax,
    cummin as _cummin,
    frexp as _frexp,
    histogram as _histogram,
    kthvalue as _kthvalue,
    linalg_slogdet,
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
from numpy import generic, ndarray, ufunc
from typing import Any, Literal, SupportsIndex, TypeAlias, TypeVar, overload
from typing_extensions import Self

Fn = TypeVar("Fn", bound=Callable[..., Any] | property)
_Operand: TypeAlias = Tensor | ndarray[Any, Any] | generic | complex
_Subclass = TypeVar("_Subclass")

class Size(tuple[int, ...]):
    """A tensor's shape: a tuple of ints that prints like PyTorch's and counts elements."""

    def __new__(cls, lengths: Iterable[SupportsIndex] = ...) -> Size: ...
    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice[Any, Any, Any]) -> Size: ...
    def __add__(self, other: Iterable[int]) -> Size: ...  # type: ignore[override]
    def numel(self) -> int: ...

class Extra:
    """What few tensors have: hooks, a kept gradient, the accumulator of a leaf, a name."""

    accumulate: Any
    hooks: Any
    post_hooks: Any
    retains_grad: bool
    inference: bool
    name: str | None
    undo: tuple[Any, ...]

class Tensor(TensorBase):
    """A multi-dimensional array with gradients; created by `mpigrad.tensor`, `mpigrad.zeros` and others."""

    @property
    def H(self) -> Tensor: ...
    @property
    def T(self) -> Tensor: ...
    def __abs__(self, *, out: Tensor | None = None) -> Tensor: ...
    def __add__(self, b: _Operand) -> Tensor: ...
    def __and__(self, b: _Operand) -> Tensor: ...
    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> ndarray[Any, Any]: ...
    __array_priority__: _int
    def __array_ufunc__(self, ufunc: ufunc, how: str, *inputs: Any, **kwargs: Any) -> Any: ...
    def __bool__(self) -> _bool: ...
    def __complex__(self) -> complex: ...
    def __contains__(self, element: Any) -> _bool: ...
    def __deepcopy__(self, memo: dict[_int, Any]) -> Tensor: ...
    def __dlpack__(self, *, stream: Any = None, **kw: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __eq__(self, b: Any) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> _float: ...
    def __floordiv__(self, other: _Operand) -> Tensor: ...
    def __format__(self, spec: str) -> str: ...
    def __ge__(self, b: _Operand) -> Tensor: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __gt__(self, b: _Operand) -> Tensor: ...
    def __hash__(self) -> _int: ...
    def __iadd__(self, other: _Operand) -> Self: ...  # type: ignore[misc]
    def __iand__(self, other: _Operand, *, out: Tensor | None = None) -> Self: ...  # type: ignore[misc]
    def __ifloordiv__(self, other: _Operand, *, out: Tensor | None = None) -> Self: ...  # type: ignore[misc]
    def __ilshift__(self, other: _Operand, *, out: Tensor | None = None) -> Self: ...  # type: ignore[misc]
    def __imod__(self, other: _Operand, *, out: Tensor | None = None) -> Self: ...  # type: ignore[misc]
    def __imul__(self, other: _Operand) -> Self: ...  # type: ignore[misc]
    def __index__(self) -> _int: ...
    def __int__(self) -> _int: ...
    def __invert__(self, *, out: Tensor | None = None) -> Tensor: ...
    def __ior__(self, other: _Operand, *, out: Tensor | None = None) -> Self: ...  # type: ignore[misc]
    def __ipow__(self, exponent: _Operand, *, out: Tensor | None = None) -> Self: ...  # type: ignore[misc]
    def __irshift__(self, other: _Operand, *, out: Tensor | None = None) -> Self: ...  # type: ignore[misc]
    def __isub__(self, other: _Operand) -> Self: ...  # type: ignore[misc]
    def __iter__(self) -> Iterator[Tensor]: ...
    def __itruediv__(self, other: _Operand) -> Self: ...  # type: ignore[misc]
    def __ixor__(self, other: _Operand, *, out: Tensor | None = None) -> Self: ...  # type: ignore[misc]
    def __le__(self, b: _Operand) -> Tensor: ...
    def __len__(self) -> _int: ...
    def __lshift__(self, b: _Operand) -> Tensor: ...
    def __lt__(self, b: _Operand) -> Tensor: ...
    def __matmul__(self, other: _Operand) -> Tensor: ...
    def __mod__(self, other: _Operand) -> Tensor: ...
    def __mul__(self, b: _Operand) -> Tensor: ...
    def __ne__(self, b: Any) -> Tensor: ...  # type: ignore[override]
    def __neg__(self, *, out: Tensor | None = None) -> Tensor: ...
    def __new__(cls, *args: Any, device: Any=None, **kwargs: Any) -> Self: ...
    def __or__(self, b: _Operand) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: _Operand) -> Tensor: ...
    def __radd__(self, b: _Operand) -> Tensor: ...
    def __rand__(self, other: _Operand) -> Tensor: ...
    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]: ...
    def __repr__(self, *, tensor_contents: Any = None) -> str: ...
    def __reversed__(self) -> Tensor: ...
    def __rfloordiv__(self, other: _Operand) -> Tensor: ...
    def __rlshift__(self, other: _Operand) -> Tensor: ...
    def __rmatmul__(self, other: _Operand) -> Tensor: ...
    def __rmod__(self, other: _Operand) -> Tensor: ...
    def __rmul__(self, b: _Operand) -> Tensor: ...
    def __ror__(self, other: _Operand) -> Tensor: ...
    def __rpow__(self, other: _Operand) -> Tensor: ...
    def __rrshift__(self, other: _Operand) -> Tensor: ...
    def __rshift__(self, b: _Operand) -> Tensor: ...
    def __rsub__(self, other: _Operand) -> Tensor: ...
    def __rtruediv__(self, other: _Operand) -> Tensor: ...
    def __rxor__(self, other: _Operand) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __str__(self, *, tensor_contents: Any = None) -> str: ...
    def __sub__(self, b: _Operand) -> Tensor: ...
    def __truediv__(self, b: _Operand) -> Tensor: ...
    def __xor__(self, b: _Operand) -> Tensor: ...
    @property
    def _base(self) -> Tensor | None: ...
    def _indices(self) -> Tensor:
        """The indices of a sparse tensor, which need not be coalesced."""
    def _is_view(self) -> _bool: ...
    def _nnz(self) -> _int:
        """The number of stored values."""
    def _values(self) -> Tensor:
        """The values of a sparse tensor, which need not be coalesced; not differentiable."""
    @property
    def _version(self) -> _int: ...
    def abs(self, *, out: Tensor | None = None) -> Tensor:
        """The absolute value of each element."""
    def abs_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `abs`."""
    def absolute(self, *, out: Tensor | None = None) -> Tensor:
        """The absolute value of each element."""
    def absolute_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `abs`."""
    def acos(self, *, out: Tensor | None = None) -> Tensor:
        """The angle whose cosine each element is."""
    def acos_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `acos`."""
    def acosh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of the hyperbolic cosine."""
    def acosh_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `acosh`."""
    def add(self, other: _Operand, *, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`input + alpha * other`."""
    def add_(self, other: _Operand, **kw: Any) -> Self:
        """In-place version of `add`."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`beta * input + alpha * (sum of the matrix products batch1[i] @ batch2[i])`."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Self:
        """In-place version of `addbmm`."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
        """`input + value * tensor1 / tensor2`, of float tensors."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Self:
        """In-place version of `addcdiv`."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
        """`input + value * tensor1 * tensor2`."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Self:
        """In-place version of `addcmul`."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`beta * input + alpha * (mat1 @ mat2)`."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Self:
        """In-place version of `addmm`."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`beta * input + alpha * (mat @ vec)`."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Self:
        """In-place version of `addmv`."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`beta * input + alpha * outer(vec1, vec2)`."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Self:
        """In-place version of `addr`."""
    def adjoint(self) -> Tensor:
        """The conjugate of the tensor with its last two dimensions swapped."""
    def all(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Whether all elements (or all along dimensions) are nonzero."""
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether all elements of two tensors are close, in the sense of `isclose`."""
    def amax(self, dim: _int | Sequence[_int] = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The largest element over one or several dimensions; elements that are equal to it share the gradient."""
    def amin(self, dim: _int | Sequence[_int] = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The smallest element over one or several dimensions; elements that are equal to it share the gradient."""
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False) -> _aminmax:
        """The smallest and the largest element."""
    def angle(self, *, out: Tensor | None = None) -> Tensor:
        """The angle of each element in the complex plane: 0 or pi for real ones."""
    def any(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Whether at least one element (of all, or along dimensions) is nonzero."""
    def apply_(self, callable: Callable[[Any], Any]) -> Self:
        """Replace each element by `callable(element)`, in place. It calls Python for each element, so it is slow."""
    def arccos(self, *, out: Tensor | None = None) -> Tensor:
        """The angle whose cosine each element is."""
    def arccos_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `acos`."""
    def arccosh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of the hyperbolic cosine."""
    def arccosh_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `acosh`."""
    def arcsin(self, *, out: Tensor | None = None) -> Tensor:
        """The angle whose sine each element is."""
    def arcsin_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `asin`."""
    def arcsinh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of the hyperbolic sine."""
    def arcsinh_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `asinh`."""
    def arctan(self, *, out: Tensor | None = None) -> Tensor:
        """The angle whose tangent each element is."""
    def arctan2(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The angle of the point (other, input): arctan(input / other) in the right quadrant."""
    def arctan2_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `atan2`."""
    def arctan_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `atan`."""
    def arctanh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of the hyperbolic tangent."""
    def arctanh_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `atanh`."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The index of the largest element: in the flattened tensor, or along a dimension."""
    def argmin(self, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The index of the smallest element: in the flattened tensor, or along a dimension."""
    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
        """The indices that sort a dimension."""
    def argwhere(self) -> Tensor:
        """The indices of nonzero elements, a row for each."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A view with any shape, strides and offset into the tensor's memory."""
    def as_strided_(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Self:
        """Give this tensor another shape, strides and offset into its memory."""
    def as_strided_scatter(self, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A copy of the tensor, with `src` written to the elements that `as_strided` with these arguments would return."""
    def as_subclass(self, cls: _type[_Subclass]) -> _Subclass: ...
    def asin(self, *, out: Tensor | None = None) -> Tensor:
        """The angle whose sine each element is."""
    def asin_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `asin`."""
    def asinh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of the hyperbolic sine."""
    def asinh_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `asinh`."""
    def atan(self, *, out: Tensor | None = None) -> Tensor:
        """The angle whose tangent each element is."""
    def atan2(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The angle of the point (other, input): arctan(input / other) in the right quadrant."""
    def atan2_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `atan2`."""
    def atan_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `atan`."""
    def atanh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of the hyperbolic tangent."""
    def atanh_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `atanh`."""
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Sequence[Tensor | GradientEdge] | Tensor | GradientEdge | None = None) -> None:
        """Add the gradient of this tensor to the `.grad` of the leaves below it."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`beta * input + alpha * bmm(batch1, batch2)`."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Self:
        """In-place version of `baddbmm`."""
    def bernoulli(self, p: _float | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
        """Random zeros and ones: each element of `input` is the probability of a one; with `p`, all probabilities are `p`."""
    def bernoulli_(self, p: Any = 0.5, *, generator: Generator | None = None) -> Self:
        """Fill with ones with probability `p` (a number or a tensor), zeros otherwise."""
    def bfloat16(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.bfloat16."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """The number of occurrences of each non-negative integer, or the sum of its `weights`."""
    def bitwise_and(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits that both elements have."""
    def bitwise_and_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `bitwise_and`."""
    def bitwise_left_shift(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits of `input` moved up by `other`."""
    def bitwise_left_shift_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `bitwise_left_shift`."""
    def bitwise_not(self, *, out: Tensor | None = None) -> Tensor:
        """Every bit turned over."""
    def bitwise_not_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `bitwise_not`."""
    def bitwise_or(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits that at least one of the elements has."""
    def bitwise_or_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `bitwise_or`."""
    def bitwise_right_shift(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits of `input` moved down by `other`."""
    def bitwise_right_shift_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `bitwise_right_shift`."""
    def bitwise_xor(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits that exactly one of the elements has."""
    def bitwise_xor_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `bitwise_xor`."""
    def bmm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The matrix products of two batches of matrices, pair by pair."""
    def bool(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.bool."""
    def broadcast_to(self, size: Sequence[_int]) -> Tensor:
        """Broadcast a tensor to a shape, as a view."""
    def byte(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.uint8."""
    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill with numbers of a Cauchy distribution."""
    def cdouble(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.complex128."""
    def ceil(self, *, out: Tensor | None = None) -> Tensor:
        """The smallest integer that is not below each element."""
    def ceil_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `ceil`."""
    def cfloat(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.complex64."""
    def char(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.int8."""
    def cholesky(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Deprecated name of `linalg.cholesky`."""
    def cholesky_inverse(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The inverse of A, given its Cholesky factor."""
    def cholesky_solve(self, L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The solution X of A X = B, given the Cholesky factor of A."""
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` parts of equal size (the last may be smaller); views."""
    def clamp(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
        """Each element, limited to the range from `min` to `max` (numbers or tensors; None: no limit)."""
    def clamp_(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Self:
        """In-place version of `clamp`."""
    def clamp_max(self, max: Any, *, out: Tensor | None = None) -> Tensor:
        """Each element, or `max` if that is smaller."""
    def clamp_max_(self, max: Any, *, out: Tensor | None = None) -> Self:
        """In-place version of `clamp_max`."""
    def clamp_min(self, min: Any, *, out: Tensor | None = None) -> Tensor:
        """Each element, or `min` if that is larger."""
    def clamp_min_(self, min: Any, *, out: Tensor | None = None) -> Self:
        """In-place version of `clamp_min`."""
    def clip(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
        """Each element, limited to the range from `min` to `max` (numbers or tensors; None: no limit)."""
    def clip_(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Self:
        """In-place version of `clamp`."""
    def clone(self, *, memory_format: memory_format | None = None) -> Tensor:
        """A copy; gradients flow through it to the original."""
    def coalesce(self) -> Tensor:
        """A copy with unique, sorted indices, whose values are summed; itself if it is coalesced."""
    def combinations(self, r: _int = 2, with_replacement: _bool = False) -> Tensor:
        """All combinations of `r` elements of a vector, one per row."""
    def conj(self) -> Tensor:
        """The complex conjugate; a real tensor is returned unchanged."""
    def conj_physical(self) -> Tensor: ...
    def conj_physical_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `conj_physical`."""
    def const_data_ptr(self) -> _int:
        """The address of the first element."""
    def contiguous(self, memory_format: memory_format | None = None) -> Tensor:
        """The tensor itself if it is contiguous, otherwise a contiguous copy."""
    def copy_(self, src: Any, non_blocking: _bool = False) -> Self:
        """Write the elements of `src`, of any type and on any device, into this tensor."""
    def copysign(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The absolute values of `input` with the signs of `other`."""
    def copysign_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `copysign`."""
    def corrcoef(self) -> Tensor:
        """The matrix of correlation coefficients of variables; each row is a variable, each column an observation."""
    def cos(self, *, out: Tensor | None = None) -> Tensor:
        """The cosine of each element."""
    def cos_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `cos`."""
    def cosh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic cosine."""
    def cosh_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `cosh`."""
    def count_nonzero(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """How many elements are not zero."""
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariance matrix of variables; each row is a variable, each column an observation."""
    def cpu(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor in host memory; itself if it is there already."""
    def cross(self, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
        """The vector product along a dimension of length 3; without `dim`, along the first such dimension."""
    def cuda(self, device: Any = None, non_blocking: _bool = False, memory_format: memory_format | None = None) -> Tensor:
        """This tensor in a GPU's memory; itself if it is there already."""
    def cummax(self, dim: _int, *, out: Any = None) -> _cummax:
        """The largest element up to each position of a dimension, and its index."""
    def cummin(self, dim: _int, *, out: Any = None) -> _cummin:
        """The smallest element up to each position of a dimension, and its index."""
    def cumprod(self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Running products along a dimension."""
    def cumprod_(self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Self:
        """In-place version of `cumprod`."""
    def cumsum(self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Running sums along a dimension."""
    def cumsum_(self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Self:
        """In-place version of `cumsum`."""
    @property
    def data(self) -> Tensor: ...
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def data_ptr(self) -> _int:
        """The memory address of the first element."""
    def deg2rad(self, *, out: Tensor | None = None) -> Tensor:
        """Angles in degrees as radians."""
    def deg2rad_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `deg2rad`."""
    def dense_dim(self) -> _int:
        """The number of dense dimensions, those of each stored value."""
    def det(self, *, out: Tensor | None = None) -> Tensor:
        """The determinant of square matrices."""
    def detach(self) -> Tensor:
        """An alias that is not connected to the graph. In-place changes are visible in both, and detected."""
    def detach_(self) -> Self:
        """Disconnect this tensor from the graph, in place: it becomes a leaf."""
    @property
    def device(self) -> _device: ...
    def diag(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """A matrix with a vector on its diagonal, or the diagonal of a matrix as a vector."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices with the last dimension of `input` on the diagonal and zeros elsewhere."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """A matrix with all elements of a tensor on its diagonal."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The diagonal of two dimensions, as the last dimension of a view."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A copy of the tensor with `src` written to a diagonal."""
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
        """The differences of neighbouring elements along a dimension, taken `n` times."""
    def digamma(self, *, out: Tensor | None = None) -> Tensor:
        """The derivative of lgamma."""
    def digamma_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `digamma`."""
    def dim(self) -> _int:
        """The number of dimensions."""
    def dim_order(self, ambiguity_check: _bool = False) -> tuple[_int, ...]:
        """The dimensions in descending order of their strides."""
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """The `p`-norm of `input - other`."""
    def div(self, other: _Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """`input / other`; with `rounding_mode` "trunc" or "floor", rounded towards zero or down."""
    def div_(self, other: _Operand, **kw: Any) -> Self:
        """In-place version of `div`."""
    def divide(self, other: _Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """`input / other`; with `rounding_mode` "trunc" or "floor", rounded towards zero or down."""
    def divide_(self, other: _Operand, **kw: Any) -> Self:
        """In-place version of `div`."""
    def dot(self, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The inner product of two vectors."""
    def double(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.float64."""
    def dsplit(self, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Split along dimension 2; views."""
    @property
    def dtype(self) -> _dtype: ...
    def element_size(self) -> _int:
        """The number of bytes of one element."""
    def eq(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are equal."""
    def eq_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `eq`."""
    def equal(self, other: Tensor) -> _bool:
        """Whether both have the same shape and the same elements."""
    def erf(self, *, out: Tensor | None = None) -> Tensor:
        """The error function."""
    def erf_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `erf`."""
    def erfc(self, *, out: Tensor | None = None) -> Tensor:
        """One minus the error function."""
    def erfc_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `erfc`."""
    def erfinv(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of the error function."""
    def erfinv_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `erfinv`."""
    def exp(self, *, out: Tensor | None = None) -> Tensor:
        """e to the power of each element."""
    def exp2(self, *, out: Tensor | None = None) -> Tensor:
        """2 to the power of each element."""
    def exp2_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `exp2`."""
    def exp_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `exp`."""
    def expand(self, *sizes: Any, size: SupportsIndex | Sequence[SupportsIndex] | None = None) -> Tensor:
        """Broadcast dimensions of length 1 to other lengths, and add dimensions in front, as a view."""
    def expand_as(self, other: Tensor) -> Tensor:
        """Broadcast this tensor to the shape of `other`, as a view."""
    def expm1(self, *, out: Tensor | None = None) -> Tensor:
        """exp(x) - 1, exact for small x."""
    def expm1_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `expm1`."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill with numbers of an exponential distribution."""
    def fill_(self, value: Any) -> Self:
        """Write one value into every element."""
    def fill_diagonal_(self, fill_value: Any, wrap: _bool = False) -> Self:
        """Write one value into the diagonal, in place."""
    def fix(self, *, out: Tensor | None = None) -> Tensor:
        """Each element without its fraction."""
    def fix_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `trunc`."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Merge the dimensions from `start_dim` to `end_dim` into one."""
    def flip(self, *args: Any, dims: Any = None) -> Tensor:
        """Reverse the order along some dimensions."""
    def fliplr(self) -> Tensor:
        """Reverse the columns."""
    def flipud(self) -> Tensor:
        """Reverse the rows."""
    def float(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.float32."""
    def float_power(self, exponent: Any, *, out: Tensor | None = None) -> Tensor:
        """A power computed in double precision."""
    def float_power_(self, exponent: Any, *, out: Tensor | None = None) -> Self:
        """In-place version of `float_power`."""
    def floor(self, *, out: Tensor | None = None) -> Tensor:
        """The largest integer that is not above each element."""
    def floor_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `floor`."""
    def floor_divide(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input / other`, rounded down."""
    def floor_divide_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `floor_divide`."""
    def fmax(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The larger of two elements; the other one where one is nan."""
    def fmin(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The smaller of two elements; the other one where one is nan."""
    def fmod(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The remainder of `input / other`, with the sign of `input`: C's fmod."""
    def fmod_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `fmod`."""
    def frac(self, *, out: Tensor | None = None) -> Tensor:
        """The fraction of each element, with its sign."""
    def frac_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `frac`."""
    def frexp(self, *, out: Any = None) -> _frexp:
        """Mantissa and exponent of each element: the element is the mantissa, from [0.5, 1), times two to the power of the exponent."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
        """Elements chosen along a dimension: `result[i][j] = input[index[i][j]][j]` for dim 0."""
    def gcd(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The greatest common divisor of each pair of integers."""
    def gcd_(self, other: Tensor, *, out: Tensor | None = None) -> Self:
        """In-place version of `gcd`."""
    def ge(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are not less than those of `other`."""
    def ge_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `ge`."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Self:
        """Fill with the numbers of trials until the first success of probability `p`."""
    def ger(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The matrix of products of the elements of two vectors."""
    def get_device(self) -> _int:
        """The index of the GPU of this tensor; -1 on the CPU."""
    @property
    def grad(self) -> Tensor | None: ...
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def grad_fn(self) -> Node | None: ...
    def greater(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are greater than those of `other`."""
    def greater_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `gt`."""
    def greater_equal(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are not less than those of `other`."""
    def greater_equal_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `ge`."""
    def gt(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are greater than those of `other`."""
    def gt_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `gt`."""
    def half(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.float16."""
    def heaviside(self, values: Tensor, *, out: Tensor | None = None) -> Tensor:
        """0 where `input` is negative, 1 where it is positive, and the element of `values` where it is 0."""
    def heaviside_(self, values: Tensor, *, out: Tensor | None = None) -> Self:
        """In-place version of `heaviside`."""
    def histc(self, bins: _int = 100, min: Any = 0, max: Any = 0, *, out: Tensor | None = None) -> Tensor:
        """The number of elements in each of `bins` equal bins between `min` and `max`; if these are equal, between the smallest and the largest element."""
    def histogram(self, bins: Any, *, range: tuple[_float, _float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _histogram:
        """The number of elements (or the sum of their weights) in each bin, and the edges of the bins."""
    def hsplit(self, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Split along dimension 1 (vectors along dimension 0); views."""
    def hypot(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """sqrt(input^2 + other^2), without overflow."""
    def hypot_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `hypot`."""
    def i0(self, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of order 0."""
    def i0_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `i0`."""
    def igamma(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The regularised lower incomplete gamma function."""
    def igamma_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `igamma`."""
    def igammac(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The regularised upper incomplete gamma function."""
    def igammac_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `igammac`."""
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """Add the slices of `source` to the slices of `input` at the given indices."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: complex = 1, out: Tensor | None = None) -> Self:
        """In-place version of `index_add`."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Replace the slices of `input` at the given indices by those of `source`."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Self:
        """In-place version of `index_copy`."""
    def index_fill(self, dim: _int, index: Tensor, value: Any) -> Tensor:
        """Write one value into the slices of a dimension at the given indices."""
    def index_fill_(self, dim: _int, index: Tensor, value: Any) -> Self:
        """In-place version of `index_fill`."""
    def index_put(self, indices: Any, values: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy with `values` assigned (or added) at index tensors."""
    def index_put_(self, indices: Any, values: Tensor, accumulate: _bool = False) -> Self:
        """Assign `values` at index tensors (or masks), or add them with `accumulate`, in place."""
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
        """Combine the slices of `source` into those of `input` that `index` names, by "prod", "mean", "amax" or "amin"."""
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Self:
        """In-place version of `index_reduce`."""
    def index_select(self, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The slices of `input` at the indices `index` of a dimension."""
    def indices(self) -> Tensor:
        """The indices of a coalesced sparse tensor, one column per element."""
    def inner(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The sum of products over the last dimension of both tensors."""
    def int(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.int32."""
    def inverse(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of square matrices."""
    def is_coalesced(self) -> _bool:
        """Whether the indices are unique and sorted."""
    def is_complex(self) -> _bool:
        """Whether the elements are complex numbers."""
    def is_conj(self) -> _bool: ...
    def is_contiguous(self, memory_format: memory_format | None = None) -> _bool:
        """Whether the elements are in memory in row-major order without gaps."""
    @property
    def is_cpu(self) -> _bool: ...
    @property
    def is_cuda(self) -> _bool: ...
    def is_distributed(self) -> _bool:
        """Whether one tensor is spread over several processes: always False."""
    def is_floating_point(self) -> _bool:
        """Whether the elements are real floating-point numbers."""
    def is_inference(self) -> _bool:
        """Whether this tensor was created in inference mode."""
    @property
    def is_ipu(self) -> _bool: ...
    @property
    def is_leaf(self) -> _bool: ...
    @property
    def is_maia(self) -> _bool: ...
    @property
    def is_meta(self) -> _bool: ...
    @property
    def is_mkldnn(self) -> _bool: ...
    @property
    def is_mps(self) -> _bool: ...
    @property
    def is_mtia(self) -> _bool: ...
    def is_neg(self) -> _bool: ...
    @property
    def is_nested(self) -> _bool: ...
    def is_nonzero(self) -> _bool:
        """Whether the only element of the tensor is not zero; RuntimeError if it has several."""
    def is_pinned(self, device: Any = None) -> _bool:
        """Whether this tensor is in pinned host memory."""
    @property
    def is_quantized(self) -> _bool: ...
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether both tensors have the same shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether both tensors have the same memory, offset, shape and strides."""
    def is_shared(self) -> _bool:
        """Whether other processes may see this memory: on a GPU, or after `share_memory_`."""
    def is_signed(self) -> _bool:
        """Whether the elements can be negative."""
    @property
    def is_sparse(self) -> _bool: ...
    @property
    def is_sparse_csr(self) -> _bool: ...
    @property
    def is_vulkan(self) -> _bool: ...
    @property
    def is_xla(self) -> _bool: ...
    @property
    def is_xpu(self) -> _bool: ...
    def isclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Whether elements differ by at most `atol + rtol * |other|`."""
    def isfinite(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are neither infinite nor nan."""
    def isinf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are infinite."""
    def isnan(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are nan."""
    def isneginf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are -inf."""
    def isposinf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are inf."""
    def isreal(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements have no imaginary part."""
    def item(self) -> _int | _float | _bool:
        """The only element, as a Python number; RuntimeError if there are several."""
    @property
    def itemsize(self) -> _bool: ...
    def kron(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The Kronecker product: `input` with each element replaced by its product with `other`."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Any = None) -> _kthvalue:
        """The `k`-th smallest element of a dimension (counted from 1), and its index."""
    @property
    def layout(self) -> _layout: ...
    def lcm(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The least common multiple of each pair of integers."""
    def lcm_(self, other: Tensor, *, out: Tensor | None = None) -> Self:
        """In-place version of `lcm`."""
    def ldexp(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input * 2 ** other`."""
    def ldexp_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `ldexp`."""
    def le(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are not greater than those of `other`."""
    def le_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `le`."""
    def lerp(self, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
        """Linear interpolation: `input + weight * (end - input)`."""
    def lerp_(self, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Self:
        """In-place version of `lerp`."""
    def less(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are less than those of `other`."""
    def less_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `lt`."""
    def less_equal(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are not greater than those of `other`."""
    def less_equal_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `le`."""
    def lgamma(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the absolute value of the gamma function."""
    def lgamma_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `lgamma`."""
    def log(self, *, out: Tensor | None = None) -> Tensor:
        """The natural logarithm of each element."""
    def log10(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm to base 10 of each element."""
    def log10_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `log10`."""
    def log1p(self, *, out: Tensor | None = None) -> Tensor:
        """log(1 + x), exact for small x."""
    def log1p_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `log1p`."""
    def log2(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm to base 2 of each element."""
    def log2_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `log2`."""
    def log_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `log`."""
    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Self:
        """Fill with numbers whose logarithms are normally distributed."""
    def log_softmax(self, dim: _int | None = None, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of softmax, computed without loss of digits."""
    def logaddexp(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """log(exp(input) + exp(other)), without overflow."""
    def logaddexp2(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """log2(2^input + 2^other), without overflow."""
    def logaddexp2_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `logaddexp2`."""
    def logaddexp_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `logaddexp`."""
    def logcumsumexp(self, dim: _int, *, out: Tensor | None = None) -> Tensor:
        """Running log(sum(exp(x))) along a dimension, without overflow."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant; nan if that is negative."""
    def logical_and(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether both elements are nonzero."""
    def logical_and_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `logical_and`."""
    def logical_not(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are zero."""
    def logical_not_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `logical_not`."""
    def logical_or(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether at least one of the elements is nonzero."""
    def logical_or_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `logical_or`."""
    def logical_xor(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether exactly one of the elements is nonzero."""
    def logical_xor_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `logical_xor`."""
    def logit(self, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
        """log(x / (1 - x)), the inverse of sigmoid. With `eps`, x is limited to the range from eps to 1 - eps."""
    def logit_(self, eps: _float | None = None, *, out: Tensor | None = None) -> Self:
        """In-place version of `logit`."""
    def logsumexp(self, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """log(sum(exp(x))) over dimensions, without overflow."""
    def long(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.int64."""
    def lt(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are less than those of `other`."""
    def lt_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `lt`."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False, out: Any = None) -> Any:
        """Deprecated form of `linalg.lu_factor_ex`; returns the infos if `get_infos`."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor: ...
    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Self:
        """Replace each element by `callable(element, element of x, element of y)`, in place."""
    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Self:
        """Replace each element by `callable(element, element of tensor)`, in place."""
    def masked_fill(self, mask: Tensor, value: Any) -> Tensor:
        """A copy with one value written where the mask is True."""
    def masked_fill_(self, mask: Tensor, value: Any) -> Self:
        """In-place version of `masked_fill`."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """A copy of the tensor; where the mask is True, its elements are replaced by those of `source`, in order."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """In-place version of `masked_scatter`."""
    def masked_select(self, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements where the mask is True, as a vector."""
    def matmul(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of vectors, matrices, or broadcast batches of matrices: Python's `@`."""
    def matrix_exp(self) -> Tensor:
        """The matrix exponential of square matrices."""
    def matrix_power(self, n: _int, *, out: Tensor | None = None) -> Tensor:
        """The `n`-th power of square matrices; negative powers are powers of the inverse."""
    @overload
    def max(self) -> Tensor: ...
    @overload
    def max(self, other: Tensor, *, out: Tensor | None=None) -> Tensor: ...
    @overload
    def max(self, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _max: ...
    def maximum(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The larger of two elements; nan if one is."""
    def mean(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None, axis: Any = None, keepdims: _bool | None = None) -> Tensor:
        """The mean of all elements, or over the given dimensions; of float or complex tensors only."""
    @overload
    def median(self, dim: None=None, keepdim: _bool=False, *, out: Any=None) -> Tensor: ...
    @overload
    def median(self, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _median: ...
    @overload
    def min(self) -> Tensor: ...
    @overload
    def min(self, other: Tensor, *, out: Tensor | None=None) -> Tensor: ...
    @overload
    def min(self, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _min: ...
    def minimum(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The smaller of two elements; nan if one is."""
    def mm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of two matrices."""
    def mode(self, dim: _int = -1, keepdim: _bool = False, *, out: Any = None) -> _mode:
        """The most frequent value (of equals the smallest) along a dimension, and its last index: (values, indices)."""
    def moveaxis(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Move dimensions to other positions; the other dimensions keep their order. A view."""
    def movedim(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Move dimensions to other positions; the other dimensions keep their order. A view."""
    def msort(self, *, out: Tensor | None = None) -> Tensor:
        """The tensor sorted along its first dimension."""
    def mul(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input * other`, element by element."""
    def mul_(self, other: _Operand, **kw: Any) -> Self:
        """In-place version of `mul`."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
        """`num_samples` random indices for each row of `input`; the probability of an index is proportional to the row's element."""
    def multiply(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input * other`, element by element."""
    def multiply_(self, other: _Operand, **kw: Any) -> Self:
        """In-place version of `mul`."""
    def mv(self, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: _int, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension `p`."""
    def mvlgamma_(self, p: _int, *, out: Tensor | None = None) -> Self:
        """In-place version of `mvlgamma`."""
    @property
    def name(self) -> str | None: ...
    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
        """Replace nan by `nan` (0), inf by `posinf` and -inf by `neginf` (the largest and the smallest number of the type)."""
    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Self:
        """In-place version of `nan_to_num`."""
    def nanmean(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """The mean of the elements that are not nan."""
    @overload
    def nanmedian(self, dim: None=None, keepdim: _bool=False, *, out: Any=None) -> Tensor: ...
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _nanmedian: ...
    def nanquantile(self, q: Any, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
        """`quantile` of the elements that are not nan."""
    def nansum(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """The sum of the elements that are not nan."""
    def narrow(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """The slice of a dimension from `start`, `length` elements long; a view."""
    def narrow_copy(self, dim: _int, start: _int, length: _int, *, out: Tensor | None = None) -> Tensor:
        """`narrow` as a copy instead of a view."""
    @property
    def nbytes(self) -> _bool: ...
    @property
    def ndim(self) -> _int: ...
    def ndimension(self) -> _int:
        """The number of dimensions."""
    def ne(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements differ."""
    def ne_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `ne`."""
    def neg(self, *, out: Tensor | None = None) -> Tensor:
        """The negative of each element."""
    def neg_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `neg`."""
    def negative(self, *, out: Tensor | None = None) -> Tensor:
        """The negative of each element."""
    def negative_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `neg`."""
    def nelement(self) -> _int:
        """The number of elements."""
    def new(self, *args: Any) -> Tensor:
        """A tensor with this tensor's type and device: from a list, tensor or array; uninitialised if sizes are given."""
    def new_empty(self, *size: SupportsIndex | Sequence[SupportsIndex], dtype: _dtype | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """An uninitialised tensor with this tensor's type and device."""
    def new_empty_strided(self, size: SupportsIndex | Sequence[SupportsIndex], stride: Any, *, dtype: _dtype | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """`empty_strided` with this tensor's type and device."""
    def new_full(self, size: SupportsIndex | Sequence[SupportsIndex], fill_value: Any, *, dtype: _dtype | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """A tensor filled with one value, with this tensor's type and device."""
    def new_ones(self, *size: SupportsIndex | Sequence[SupportsIndex], dtype: _dtype | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """Ones with this tensor's type and device."""
    def new_tensor(self, data: Any, *, dtype: _dtype | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """A tensor with a copy of `data`, with this tensor's type and device."""
    def new_zeros(self, *size: SupportsIndex | Sequence[SupportsIndex], dtype: _dtype | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """Zeros with this tensor's type and device."""
    def nextafter(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The next number from `input` towards `other`."""
    def nextafter_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `nextafter`."""
    @overload
    def nonzero(self, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor:
        """The indices of nonzero elements: a row for each, or a tuple of index vectors."""
    @overload
    def nonzero(self, *, out: Tensor | None = None, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """The indices of nonzero elements: a row for each, or a tuple of index vectors."""
    @overload
    def nonzero(self, *, out: Tensor | None = None, as_tuple: _bool = False) -> Any:
        """The indices of nonzero elements: a row for each, or a tuple of index vectors."""
    def nonzero_static(self, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
        """The coordinates of the first `size` elements that are not zero; if there are fewer, the rest is `fill_value`."""
    def norm(self, p: Any = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
        """The norm of the elements, over all or some dimensions; by default the 2-norm ("fro")."""
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill with numbers of a normal distribution."""
    def not_equal(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements differ."""
    def not_equal_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `ne`."""
    def numel(self) -> _int:
        """The number of elements."""
    def numpy(self, *, force: _bool = False) -> ndarray[Any, Any]:
        """A NumPy array that shares this tensor's memory; `force` detaches the tensor, moves it to the host and copies, if necessary."""
    def outer(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The matrix of products of the elements of two vectors."""
    @property
    def output_nr(self) -> _int: ...
    def permute(self, *dims: Any) -> Tensor:
        """Reorder the dimensions: `x.permute(2, 0, 1)` or `x.permute((2, 0, 1))`; a view."""
    def pin_memory(self, device: Any = None) -> Tensor:
        """A copy in pinned host memory, for asynchronous transfers with `to(..., non_blocking=True)`."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """The Moore-Penrose pseudo-inverse."""
    def polygamma(self, n: _int) -> Tensor: ...
    def polygamma_(self, n: _int) -> Self:
        """In-place version of `_polygamma_method`."""
    def positive(self) -> Tensor:
        """The tensor itself; raises an error for booleans, as in PyTorch."""
    def pow(self, exponent: Any, *, out: Tensor | None = None) -> Tensor:
        """`input` to the power of `exponent`; one of them may be a number."""
    def pow_(self, exponent: Any, *, out: Tensor | None = None) -> Self:
        """In-place version of `pow`."""
    def prod(self, dim: _int | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """The product of all elements, or along a dimension."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy of the tensor in which the elements with the given indices in the flattened tensor are replaced, or added to."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Self:
        """In-place version of `put`."""
    def qr(self, some: _bool = True, *, out: Any = None) -> _qr:
        """Deprecated name of `linalg.qr`."""
    def quantile(self, q: Any, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
        """The `q`-quantile of the elements, over all or along a dimension."""
    def rad2deg(self, *, out: Tensor | None = None) -> Tensor:
        """Angles in radians as degrees."""
    def rad2deg_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `rad2deg`."""
    def random_(self, from_: Any = None, to: Any = None, *, generator: Generator | None = None, **names: Any) -> Self:
        """Fill with random integers: from [from, to), from [0, to), or from the whole range of the type."""
    def ravel(self) -> Tensor:
        """All elements as a vector; a view if possible."""
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: Tensor) -> None: ...
    def reciprocal(self, *, out: Tensor | None = None) -> Tensor:
        """One over each element."""
    def reciprocal_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `reciprocal`."""
    def record_stream(self, stream: Any) -> None:
        """Record that `stream` uses this tensor, which belongs to another stream: when the tensor is freed, its memory is not reused before all work that `stream` has been given until then is complete."""
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` with the gradient of this tensor; if it returns a tensor, that replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` each time after a gradient was added to this leaf's `.grad`."""
    def relu(self, *, out: Tensor | None = None) -> Tensor:
        """Each element, or zero if it is negative."""
    def relu_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `relu`."""
    def remainder(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The remainder of `input / other`, with the sign of `other`: Python's `%`."""
    def remainder_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `remainder`."""
    def renorm(self, p: Any, dim: _int, maxnorm: Any, *, out: Tensor | None = None) -> Tensor:
        """Scale down each slice of a dimension whose `p`-norm is larger than `maxnorm`, so that its norm is `maxnorm`."""
    def renorm_(self, p: Any, dim: _int, maxnorm: Any, *, out: Tensor | None = None) -> Self:
        """In-place version of `renorm`."""
    def repeat(self, *repeats: Any) -> Tensor:
        """Copies of this tensor, concatenated: `repeats` has the number of copies along each dimension."""
    def repeat_interleave(self, repeats: _int | Tensor | None = None, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
        """Repeat each element of the flattened tensor (or each slice of a dimension); the copies follow each other."""
    @property
    def requires_grad(self) -> _bool: ...
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Self:
        """Set `requires_grad` of this leaf, in place."""
    def reshape(self, *shape: Any) -> Tensor:
        """A tensor with the same elements in another shape: `x.reshape(2, 3)` or `x.reshape((2, 3))`."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """Reshape this tensor to the shape of `other`."""
    def resize_(self, *sizes: Any, memory_format: memory_format | None = None, **names: Any) -> Self:
        """Resize this tensor in place, keeping the elements that fit; new ones are not initialised."""
    def resize_as_(self, other: Tensor, *, memory_format: memory_format | None = None) -> Self:
        """Give this tensor the shape of another."""
    def resolve_conj(self) -> Tensor: ...
    def resolve_neg(self) -> Tensor: ...
    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `.grad`."""
    @property
    def retains_grad(self) -> _bool: ...
    def roll(self, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = None) -> Tensor:
        """Shift elements along dimensions cyclically; without `dims`, in the flattened tensor."""
    def rot90(self, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor:
        """Rotate by 90 degrees, `k` times, in the plane of the two dimensions `dims`."""
    def round(self, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
        """Each element rounded to `decimals` digits after the point; halves go to the even neighbour."""
    def round_(self, *, decimals: _int = 0, out: Tensor | None = None) -> Self:
        """In-place version of `round`."""
    def rsqrt(self, *, out: Tensor | None = None) -> Tensor:
        """One over the square root of each element."""
    def rsqrt_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `rsqrt`."""
    def rsub(self, other: _Operand, *, alpha: complex = 1) -> Tensor:
        """`other - alpha * input`."""
    def scatter(self, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None, out: Tensor | None = None) -> Tensor:
        """Write `src` (a tensor or a number) at the positions that `index` gives: `result[index[i][j]][j] = src[i][j]` for dim 0."""
    def scatter_(self, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None, out: Tensor | None = None) -> Self:
        """In-place version of `scatter`."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Add `src` at the positions that `index` gives: `result[index[i][j]][j] += src[i][j]` for dim 0."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Self:
        """In-place version of `scatter_add`."""
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
        """Combine `src` into the elements that `index` names by "sum", "prod", "mean", "amax" or "amin"."""
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Self:
        """In-place version of `scatter_reduce`."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """The slice at one index of a dimension, without that dimension; a view."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """A copy of the tensor with `src` written to one index of a dimension."""
    def set_(self, source: Tensor | None = None) -> Self:
        """Make this tensor share the memory of `source`; without `source`, make it empty."""
    def sgn(self, *, out: Tensor | None = None) -> Tensor:
        """The sign of each element; of complex ones, z / |z|."""
    def sgn_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `sgn`."""
    @property
    def shape(self) -> Size: ...
    def share_memory_(self) -> Self:
        """Move the memory of this tensor and its views to shared memory."""
    def short(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.int16."""
    def sigmoid(self, *, out: Tensor | None = None) -> Tensor:
        """1 / (1 + exp(-x)), the logistic function."""
    def sigmoid_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `sigmoid`."""
    def sign(self, *, out: Tensor | None = None) -> Tensor:
        """-1, 0 or 1: the sign of each element."""
    def sign_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `sign`."""
    def signbit(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements have a minus sign."""
    def sin(self, *, out: Tensor | None = None) -> Tensor:
        """The sine of each element."""
    def sin_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `sin`."""
    def sinc(self, *, out: Tensor | None = None) -> Tensor:
        """sin(pi x) / (pi x), and 1 at 0."""
    def sinc_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `sinc`."""
    def sinh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic sine."""
    def sinh_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `sinh`."""
    @overload
    def size(self, dim: None=None) -> Size: ...
    @overload
    def size(self, dim: _int) -> _int: ...
    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
        """A copy of the tensor with `src` written to a range of a dimension."""
    def slogdet(self, *, out: Any = None) -> linalg_slogdet:
        """The sign of the determinant and the logarithm of its absolute value."""
    def softmax(self, dim: _int | None = None, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
        """exp(x), divided by the sum of exp(x) along a dimension."""
    def sort(self, dim: _int = -1, descending: _bool = False, stable: _bool | None = None, *, out: Any = None) -> _sort:
        """The elements of a dimension in ascending (or descending) order, and their original indices. Equal elements keep their order."""
    def sparse_dim(self) -> _int:
        """The number of sparse dimensions, which the indices address; 0 for dense tensors."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements at the indices of a sparse `mask`, as a sparse tensor."""
    def sparse_resize_(self, size: Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Self:
        """Resize a sparse tensor to the given sparse and dense dimensions; its elements stay."""
    def sparse_resize_and_clear_(self, size: Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Self:
        """Resize a sparse tensor and remove all its elements."""
    def split(self, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Parts of a given size, or of given sizes, along a dimension; views."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Parts of given sizes along a dimension; views."""
    def sqrt(self, *, out: Tensor | None = None) -> Tensor:
        """The square root of each element."""
    def sqrt_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `sqrt`."""
    def square(self, *, out: Tensor | None = None) -> Tensor:
        """The square of each element."""
    def square_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `square`."""
    def squeeze(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """Remove dimensions of length 1: all, or those given."""
    def squeeze_(self, dim: _int | Sequence[_int] | None = None) -> Self:
        """Remove dimensions of length 1, in place."""
    def std(self, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor:
        """The standard deviation: the square root of `var`."""
    def storage_offset(self) -> _int:
        """The offset of the tensor's first element in its storage, in elements."""
    @overload
    def stride(self, dim: None=None) -> tuple[_int, ...]: ...
    @overload
    def stride(self, dim: _int) -> _int: ...
    def sub(self, other: _Operand, *, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`input - alpha * other`."""
    def sub_(self, other: _Operand, **kw: Any) -> Self:
        """In-place version of `sub`."""
    def subtract(self, other: _Operand, *, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`input - alpha * other`."""
    def subtract_(self, other: _Operand, **kw: Any) -> Self:
        """In-place version of `sub`."""
    def sum(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None, axis: Any = None, keepdims: _bool | None = None) -> Tensor:
        """The sum of all elements, or over the given dimensions. Integers and booleans are summed as int64."""
    def sum_to_size(self, *size: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """Sum over the dimensions that broadcasting from `size` to this tensor's shape adds or stretches."""
    def svd(self, some: _bool = True, compute_uv: _bool = True, *, out: Any = None) -> _svd:
        """Deprecated form of `linalg.svd`: returns U, S and V with A = U diag(S) V^H."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Another name of `transpose`."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Self:
        """Swap two dimensions, in place."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Another name of `transpose`."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """Swap two dimensions, in place."""
    def t(self) -> Tensor:
        """The transpose of a matrix, as a view; tensors with fewer dimensions are returned unchanged."""
    def t_(self) -> Self:
        """Transpose a matrix in place."""
    def take(self, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements with the given indices in the flattened tensor."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
        """Like `gather`, with broadcast shapes; without `dim`, on the flattened tensor."""
    def tan(self, *, out: Tensor | None = None) -> Tensor:
        """The tangent of each element."""
    def tan_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `tan`."""
    def tanh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic tangent."""
    def tanh_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `tanh`."""
    def tensor_split(self, indices_or_sections: Any = None, dim: _int = 0, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Parts of nearly equal size, or the parts between given indices, along a dimension; views."""
    def tile(self, *dims: Any) -> Tensor:
        """Like `repeat`; if there are fewer numbers than dimensions, ones are put in front."""
    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Convert to another type or device, or to those of another tensor; returns itself if nothing changes."""
    def to_dense(self, dtype: _dtype | None = None, *, masked_grad: _bool = True) -> Tensor:
        """A dense tensor of the same elements."""
    def to_sparse(self, sparse_dim: _int | None = None, *, layout: _layout | None = None) -> Tensor:
        """A sparse tensor of the elements that are not zero; `sparse_dim` leading dimensions become sparse."""
    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; one number for a zero-dimensional tensor."""
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Any = None) -> _topk:
        """The `k` largest (or smallest) elements of a dimension, and their indices."""
    def trace(self) -> Tensor:
        """The sum of a matrix's diagonal."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dimensions; a view."""
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """Swap two dimensions, in place."""
    def tril(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """The lower triangle of a matrix, including the diagonal number `diagonal`; zeros elsewhere."""
    def tril_(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Self:
        """In-place version of `tril`."""
    def triu(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """The upper triangle of a matrix, including the diagonal number `diagonal`; zeros elsewhere."""
    def triu_(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Self:
        """In-place version of `triu`."""
    def true_divide(self, other: _Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """`input / other`; with `rounding_mode` "trunc" or "floor", rounded towards zero or down."""
    def true_divide_(self, other: _Operand, **kw: Any) -> Self:
        """In-place version of `div`."""
    def trunc(self, *, out: Tensor | None = None) -> Tensor:
        """Each element without its fraction."""
    def trunc_(self, *, out: Tensor | None = None) -> Self:
        """In-place version of `trunc`."""
    @overload
    def type(self, dtype: None=None, non_blocking: _bool=False) -> str: ...
    @overload
    def type(self, dtype: Any, non_blocking: _bool=False) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor:
        """This tensor with the type and device of `other`."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """The slices of a dimension, without that dimension, as a tuple of views."""
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """Split the dimension `dim` into several, of the lengths `sizes`."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows of `size` elements of a dimension, at distances of `step`, in a new last dimension; a view."""
    def uniform_(self, from_: _float = 0.0, to: _float = 1.0, *, generator: Generator | None = None, **names: Any) -> Self:
        """Fill with random numbers, uniformly distributed in [from, to)."""
    @overload
    def unique(self, sorted: _bool=True, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor: ...
    @overload
    def unique(self, sorted: _bool=True, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> Any: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor: ...
    @overload
    def unique_consecutive(self, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> Any: ...
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`chunk` that allows in-place changes of its results, as in PyTorch."""
    def unsafe_split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`split` that allows in-place changes of its results, as in PyTorch."""
    def unsafe_split_with_sizes(self, split_sizes: Any, dim: _int = 0) -> tuple[Tensor, ...]:
        """`split_with_sizes` that allows in-place changes of its results, as in PyTorch."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """Insert a dimension of length 1."""
    def unsqueeze_(self, dim: _int) -> Self:
        """Insert a dimension of length 1, in place."""
    def untyped_storage(self) -> UntypedStorage:
        """The memory of this tensor and of all views that share it."""
    def values(self) -> Tensor:
        """The values of a coalesced sparse tensor; differentiable."""
    def var(self, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor:
        """The variance: the sum of squared differences from the mean, divided by the number of elements minus `correction` (default 1)."""
    def vdot(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The inner product of two vectors, the first one conjugated."""
    def view(self, *shape: Any, **names: Any) -> Tensor:
        """A view of the same memory in another shape; RuntimeError if that would need a copy."""
    def view_as(self, other: Tensor) -> Tensor:
        """View this tensor in the shape of `other`."""
    def vsplit(self, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Split along dimension 0; views."""
    def where(self, condition: Tensor, other: _Operand) -> Tensor:
        """This tensor where `condition` is true, else `other`."""
    def xlogy(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input * log(other)`, and 0 where `input` is 0."""
    def xlogy_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """In-place version of `xlogy`."""
    def zero_(self) -> Self:
        """Write zeros into every element."""

def extra(tensor: Tensor) -> Extra:
    """The tensor's record of rare properties, created on first use."""
def counter(tensor: Tensor) -> list[Any]:
    """The tensor's version counter, created on first use; `_core.node` extends it for views. The node that created the tensor may already have one, if it saved its result."""
def flag_views(base: Tensor) -> None:
    """Update `requires_grad` of the views of a base whose own flag has changed."""
def method(fn: Fn, name: str | None = None) -> Fn:
    """Attach `fn` to Tensor as a method and return it: `@method` in the file that defines the operator."""
def _check_assigned_grad(tensor: Tensor, value: Tensor) -> None: ...
def _warn_about_grad_of_non_leaf() -> None: ...
