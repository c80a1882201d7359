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
    """A multi-dimensional array of one element type, on one device, whose operations can be recorded for gradients.

    Create it with `mpigrad.tensor(data)`, `mpigrad.zeros(shape)` and others; `Tensor(...)` itself is PyTorch's legacy
    constructor.
    """

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
        """`abs` in place: overwrite this tensor with the result, and return it. Arguments: those of `abs`."""
    def absolute(self, *, out: Tensor | None = None) -> Tensor:
        """The absolute value of each element."""
    def absolute_(self, *, out: Tensor | None = None) -> Self:
        """`abs` in place: overwrite this tensor with the result, and return it. Arguments: those of `abs`."""
    def acos(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse cosine of each element, in radians."""
    def acos_(self, *, out: Tensor | None = None) -> Self:
        """`acos` in place: overwrite this tensor with the result, and return it. Arguments: those of `acos`."""
    def acosh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse hyperbolic cosine of each element."""
    def acosh_(self, *, out: Tensor | None = None) -> Self:
        """`acosh` in place: overwrite this tensor with the result, and return it. Arguments: those of `acosh`."""
    def add(self, other: _Operand, *, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`input + alpha * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a tensor to which the result is written."""
    def add_(self, other: _Operand, **kw: Any) -> Self:
        """`add` in place: overwrite this tensor with the result, and return it. Arguments: those of `add`."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`beta * input + alpha * (sum of the matrix products batch1[i] @ batch2[i])`; `input` is a matrix. `out`: a tensor to which the result is written."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Self:
        """`addbmm` in place: overwrite this tensor with the result, and return it. Arguments: those of `addbmm`."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
        """`input + value * tensor1 / tensor2`, element by element, with broadcasting."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Self:
        """`addcdiv` in place: overwrite this tensor with the result, and return it. Arguments: those of `addcdiv`."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Tensor:
        """`input + value * tensor1 * tensor2`, element by element, with broadcasting. `out`: a tensor to which the result is written."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Tensor | None = None) -> Self:
        """`addcmul` in place: overwrite this tensor with the result, and return it. Arguments: those of `addcmul`."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`beta * input + alpha * (mat1 @ mat2)` for matrices; `input` is broadcast to the product. `out`: a tensor to which the result is written."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Self:
        """`addmm` in place: overwrite this tensor with the result, and return it. Arguments: those of `addmm`."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`beta * input + alpha * (mat @ vec)` for a matrix and a vector. `out`: a tensor to which the result is written."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Self:
        """`addmv` in place: overwrite this tensor with the result, and return it. Arguments: those of `addmv`."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`beta * input + alpha * outer(vec1, vec2)` for two vectors. `out`: a tensor to which the result is written."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Self:
        """`addr` in place: overwrite this tensor with the result, and return it. Arguments: those of `addr`."""
    def adjoint(self) -> Tensor:
        """The conjugate of the tensor with its last two dimensions swapped."""
    def all(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Whether all elements are nonzero, of the tensor or over dimensions; a tensor of bools."""
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether all elements of two tensors are close: a Python bool. The arguments are those of `isclose`."""
    def amax(self, dim: _int | Sequence[_int] = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The largest element over dimensions; elements that are equal to it share the gradient equally."""
    def amin(self, dim: _int | Sequence[_int] = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The smallest element over dimensions; elements that are equal to it share the gradient equally."""
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False) -> _aminmax:
        """The smallest and the largest element, as the named tuple (min, max). `dim`: the dimension; by default all elements. `keepdim`: keep it with length 1."""
    def angle(self, *, out: Tensor | None = None) -> Tensor:
        """The angle of each element in the complex plane, in radians: 0 or pi for real ones. `out`: a tensor to which the result is written."""
    def any(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Whether at least one element is nonzero: of all, or over dimensions; a tensor of bools."""
    def apply_(self, callable: Callable[[Any], Any]) -> Self:
        """Replace each element by `callable(element)`, in place; returns the tensor. It calls Python for each element, so it is slow."""
    def arccos(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse cosine of each element, in radians."""
    def arccos_(self, *, out: Tensor | None = None) -> Self:
        """`acos` in place: overwrite this tensor with the result, and return it. Arguments: those of `acos`."""
    def arccosh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse hyperbolic cosine of each element."""
    def arccosh_(self, *, out: Tensor | None = None) -> Self:
        """`acosh` in place: overwrite this tensor with the result, and return it. Arguments: those of `acosh`."""
    def arcsin(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse sine of each element, in radians."""
    def arcsin_(self, *, out: Tensor | None = None) -> Self:
        """`asin` in place: overwrite this tensor with the result, and return it. Arguments: those of `asin`."""
    def arcsinh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse hyperbolic sine of each element."""
    def arcsinh_(self, *, out: Tensor | None = None) -> Self:
        """`asinh` in place: overwrite this tensor with the result, and return it. Arguments: those of `asinh`."""
    def arctan(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse tangent of each element, in radians."""
    def arctan2(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The angle of the point (x=other, y=input) in radians, from -pi to pi: arctan(input / other) in the right quadrant. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
    def arctan2_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`atan2` in place: overwrite this tensor with the result, and return it. Arguments: those of `atan2`."""
    def arctan_(self, *, out: Tensor | None = None) -> Self:
        """`atan` in place: overwrite this tensor with the result, and return it. Arguments: those of `atan`."""
    def arctanh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse hyperbolic tangent of each element."""
    def arctanh_(self, *, out: Tensor | None = None) -> Self:
        """`atanh` in place: overwrite this tensor with the result, and return it. Arguments: those of `atanh`."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The index (int64) of the largest element: in the flattened tensor, or along `dim`. `keepdim`: keep `dim` with length 1. `out`: a tensor to which the result is written."""
    def argmin(self, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The index (int64) of the smallest element: in the flattened tensor, or along `dim`. `keepdim`: keep `dim` with length 1. `out`: a tensor to which the result is written."""
    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
        """The indices that sort `input` along `dim`, in ascending (or `descending`) order. Equal elements keep their order."""
    def argwhere(self) -> Tensor:
        """The indices of nonzero elements: (count, dimensions), one row for each; `nonzero` without `as_tuple`."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A view with any shape `size`, strides (in elements) and offset into the tensor's memory; errors if it would leave the memory."""
    def as_strided_(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Self:
        """Give this tensor another shape `size`, other strides (in elements) and offset into its memory, in place; returns the tensor."""
    def as_strided_scatter(self, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A copy of the tensor, with `src` written to the elements that `as_strided` with these arguments would return."""
    def as_subclass(self, cls: _type[_Subclass]) -> _Subclass: ...
    def asin(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse sine of each element, in radians."""
    def asin_(self, *, out: Tensor | None = None) -> Self:
        """`asin` in place: overwrite this tensor with the result, and return it. Arguments: those of `asin`."""
    def asinh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse hyperbolic sine of each element."""
    def asinh_(self, *, out: Tensor | None = None) -> Self:
        """`asinh` in place: overwrite this tensor with the result, and return it. Arguments: those of `asinh`."""
    def atan(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse tangent of each element, in radians."""
    def atan2(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The angle of the point (x=other, y=input) in radians, from -pi to pi: arctan(input / other) in the right quadrant. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
    def atan2_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`atan2` in place: overwrite this tensor with the result, and return it. Arguments: those of `atan2`."""
    def atan_(self, *, out: Tensor | None = None) -> Self:
        """`atan` in place: overwrite this tensor with the result, and return it. Arguments: those of `atan`."""
    def atanh(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse hyperbolic tangent of each element."""
    def atanh_(self, *, out: Tensor | None = None) -> Self:
        """`atanh` in place: overwrite this tensor with the result, and return it. Arguments: those of `atanh`."""
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Sequence[Tensor | GradientEdge] | Tensor | GradientEdge | None = None) -> None:
        """Run a backward pass: add the gradient of this tensor to the `.grad` of the leaves from which it was computed."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`beta * input + alpha * bmm(batch1, batch2)` for batches of matrices (batch, n, m) and (batch, m, p). `out`: a tensor to which the result is written."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None) -> Self:
        """`baddbmm` in place: overwrite this tensor with the result, and return it. Arguments: those of `baddbmm`."""
    def bernoulli(self, p: _float | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
        """Random zeros and ones, of the shape and type of `input`."""
    def bernoulli_(self, p: Any = 0.5, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with ones with probability `p` (a number, or a tensor with one for each element), otherwise zeros, and return it. `generator`: the source of random numbers, by default that of the device."""
    def bfloat16(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.bfloat16."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """The number of occurrences of each integer 0, 1, ... in a vector of non-negative integers."""
    def bitwise_and(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits that both elements have (and), of integers or booleans."""
    def bitwise_and_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`bitwise_and` in place: overwrite this tensor with the result, and return it. Arguments: those of `bitwise_and`."""
    def bitwise_left_shift(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits of `input` shifted left by `other`: input * 2 ** other, of integers."""
    def bitwise_left_shift_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`bitwise_left_shift` in place: overwrite this tensor with the result, and return it. Arguments: those of `bitwise_left_shift`."""
    def bitwise_not(self, *, out: Tensor | None = None) -> Tensor:
        """Every bit inverted, of integers; logical not of booleans."""
    def bitwise_not_(self, *, out: Tensor | None = None) -> Self:
        """`bitwise_not` in place: overwrite this tensor with the result, and return it. Arguments: those of `bitwise_not`."""
    def bitwise_or(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits that at least one of the two elements has (or), of integers or booleans."""
    def bitwise_or_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`bitwise_or` in place: overwrite this tensor with the result, and return it. Arguments: those of `bitwise_or`."""
    def bitwise_right_shift(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits of `input` shifted right by `other`: input / 2 ** other rounded down, of integers."""
    def bitwise_right_shift_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`bitwise_right_shift` in place: overwrite this tensor with the result, and return it. Arguments: those of `bitwise_right_shift`."""
    def bitwise_xor(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits that exactly one of the two elements has (exclusive or), of integers or booleans."""
    def bitwise_xor_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`bitwise_xor` in place: overwrite this tensor with the result, and return it. Arguments: those of `bitwise_xor`."""
    def bmm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The matrix products of two batches, pair by pair: (batch, n, m) and (batch, m, p) give (batch, n, p). `out`: a tensor to which the result is written."""
    def bool(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.bool."""
    def broadcast_to(self, size: Sequence[_int]) -> Tensor:
        """Broadcast a tensor to the shape `size`, as a view; a RuntimeError if the shapes do not fit."""
    def byte(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.uint8."""
    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with numbers of the Cauchy distribution around `median` with scale `sigma`, and return it. `generator`: the source of random numbers, by default that of the device."""
    def cdouble(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.complex128."""
    def ceil(self, *, out: Tensor | None = None) -> Tensor:
        """The smallest integer that is not below each element."""
    def ceil_(self, *, out: Tensor | None = None) -> Self:
        """`ceil` in place: overwrite this tensor with the result, and return it. Arguments: those of `ceil`."""
    def cfloat(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.complex64."""
    def char(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.int8."""
    def cholesky(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """Deprecated name of `linalg.cholesky`, with the same arguments."""
    def cholesky_inverse(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The inverse of A, given the lower triangular `L` with A = L L^H; with `upper`, the upper triangular U with A = U^H U."""
    def cholesky_solve(self, L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The solution X of A X = B, given the lower triangular `L` with A = L L^H; with `upper`, the upper triangular U with A = U^H U."""
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """Cut a tensor along `dim` into at most `chunks` parts of equal length (the last may be shorter): a tuple of views."""
    def clamp(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
        """Limit each element to the range from `min` to `max`: numbers or tensors; None for no limit, but not for both."""
    def clamp_(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Self:
        """`clamp` in place: overwrite this tensor with the result, and return it. Arguments: those of `clamp`."""
    def clamp_max(self, max: Any, *, out: Tensor | None = None) -> Tensor:
        """Replace elements above `max` (a number or a tensor) by it. `out`: a tensor to which the result is written."""
    def clamp_max_(self, max: Any, *, out: Tensor | None = None) -> Self:
        """`clamp_max` in place: overwrite this tensor with the result, and return it. Arguments: those of `clamp_max`."""
    def clamp_min(self, min: Any, *, out: Tensor | None = None) -> Tensor:
        """Replace elements below `min` (a number or a tensor) by it. `out`: a tensor to which the result is written."""
    def clamp_min_(self, min: Any, *, out: Tensor | None = None) -> Self:
        """`clamp_min` in place: overwrite this tensor with the result, and return it. Arguments: those of `clamp_min`."""
    def clip(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
        """Limit each element to the range from `min` to `max`: numbers or tensors; None for no limit, but not for both."""
    def clip_(self, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Self:
        """`clamp` in place: overwrite this tensor with the result, and return it. Arguments: those of `clamp`."""
    def clone(self, *, memory_format: memory_format | None = None) -> Tensor:
        """A copy of the tensor; gradients flow through it to the original. `memory_format` has no effect on the elements."""
    def coalesce(self) -> Tensor:
        """A copy with unique, sorted indices, in which the values of repeated indices are added up; itself if it is coalesced."""
    def combinations(self, r: _int = 2, with_replacement: _bool = False) -> Tensor:
        """All combinations of `r` elements of a vector, one in each row. `with_replacement`: an element may occur several times."""
    def conj(self) -> Tensor:
        """The complex conjugate of each element; a real tensor is returned unchanged."""
    def conj_physical(self) -> Tensor: ...
    def conj_physical_(self, *, out: Tensor | None = None) -> Self:
        """`conj_physical` in place: overwrite this tensor with the result, and return it. Arguments: those of `conj_physical`."""
    def const_data_ptr(self) -> _int:
        """The address of the first element."""
    def contiguous(self, memory_format: memory_format | None = None) -> Tensor:
        """The tensor itself if its elements are in memory in row-major order without gaps, otherwise a copy that is."""
    def copy_(self, src: Any, non_blocking: _bool = False) -> Self:
        """Write the elements of `src` (a tensor, broadcast to this shape, of any type and on any device) into this tensor; returns it."""
    def copysign(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The absolute values of `input` with the signs of `other`, a tensor or a number. `out`: a tensor to which the result is written."""
    def copysign_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`copysign` in place: overwrite this tensor with the result, and return it. Arguments: those of `copysign`."""
    def corrcoef(self) -> Tensor:
        """The matrix of correlation coefficients of variables: each row of `input` is a variable, each column an observation."""
    def cos(self, *, out: Tensor | None = None) -> Tensor:
        """The cosine of each element, an angle in radians."""
    def cos_(self, *, out: Tensor | None = None) -> Self:
        """`cos` in place: overwrite this tensor with the result, and return it. Arguments: those of `cos`."""
    def cosh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic cosine of each element."""
    def cosh_(self, *, out: Tensor | None = None) -> Self:
        """`cosh` in place: overwrite this tensor with the result, and return it. Arguments: those of `cosh`."""
    def count_nonzero(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """The number of elements that are not zero: of all, or over the dimension (or dimensions) `dim`."""
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariance matrix of variables: each row of `input` is a variable, each column an observation."""
    def cpu(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor in host memory; the tensor itself if it is there already."""
    def cross(self, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
        """The vector product along `dim`, which has length 3; by default the first dimension of this length. `out`: a tensor to which the result is written."""
    def cuda(self, device: Any = None, non_blocking: _bool = False, memory_format: memory_format | None = None) -> Tensor:
        """This tensor in the memory of a GPU, by default the current one; the tensor itself if it is there already."""
    def cummax(self, dim: _int, *, out: Any = None) -> _cummax:
        """The largest element up to each position along `dim`, and its index: the named tuple (values, indices)."""
    def cummin(self, dim: _int, *, out: Any = None) -> _cummin:
        """The smallest element up to each position along `dim`, and its index: the named tuple (values, indices)."""
    def cumprod(self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Running products along `dim`: result i is the product of the elements 0 to i. `dtype`: convert the input to this type first (default: keep its type). `out`: a tensor to which the result is written."""
    def cumprod_(self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Self:
        """`cumprod` in place: overwrite this tensor with the result, and return it. Arguments: those of `cumprod`."""
    def cumsum(self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Running sums along `dim`: result i is the sum of the elements 0 to i. `dtype`: convert the input to this type first (default: keep its type). `out`: a tensor to which the result is written."""
    def cumsum_(self, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Self:
        """`cumsum` in place: overwrite this tensor with the result, and return it. Arguments: those of `cumsum`."""
    @property
    def data(self) -> Tensor: ...
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def data_ptr(self) -> _int:
        """The memory address of the first element."""
    def deg2rad(self, *, out: Tensor | None = None) -> Tensor:
        """Angles in degrees as radians."""
    def deg2rad_(self, *, out: Tensor | None = None) -> Self:
        """`deg2rad` in place: overwrite this tensor with the result, and return it. Arguments: those of `deg2rad`."""
    def dense_dim(self) -> _int:
        """The number of dense dimensions, those of each stored value."""
    def det(self, *, out: Tensor | None = None) -> Tensor:
        """The determinant of square matrices."""
    def detach(self) -> Tensor:
        """A tensor with the same memory that is not connected to the graph: no gradients flow through it."""
    def detach_(self) -> Self:
        """Disconnect this tensor from the graph, in place: it becomes a leaf. Returns the tensor."""
    @property
    def device(self) -> _device: ...
    def diag(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """A vector gives a matrix with it on the diagonal, a matrix gives its diagonal as a vector."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices, in the dimensions `dim1` and `dim2` of the result, with the last dimension of `input` on their diagonal."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """A matrix with all elements of a tensor on its diagonal. `offset`: above (positive) or below the main diagonal."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The diagonal of the dimensions `dim1` and `dim2`, as the last dimension of a view. `offset`: above (positive) or below the main diagonal."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A copy of `input` with `src` written to a diagonal, that of `diagonal(input, offset, dim1, dim2)`."""
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
        """The differences of neighbouring elements, x[i + 1] - x[i], along `dim`, taken `n` times."""
    def digamma(self, *, out: Tensor | None = None) -> Tensor:
        """The derivative of `lgamma` at each element."""
    def digamma_(self, *, out: Tensor | None = None) -> Self:
        """`digamma` in place: overwrite this tensor with the result, and return it. Arguments: those of `digamma`."""
    def dim(self) -> _int:
        """The number of dimensions."""
    def dim_order(self, ambiguity_check: _bool = False) -> tuple[_int, ...]:
        """The dimensions in descending order of their strides."""
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """The `p`-norm of `input - other`, over all elements: a zero-dimensional tensor."""
    def div(self, other: _Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """`input / other`, element by element; integers give the default float type. `other` is a tensor or a number."""
    def div_(self, other: _Operand, **kw: Any) -> Self:
        """`div` in place: overwrite this tensor with the result, and return it. Arguments: those of `div`."""
    def divide(self, other: _Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """`input / other`, element by element; integers give the default float type. `other` is a tensor or a number."""
    def divide_(self, other: _Operand, **kw: Any) -> Self:
        """`div` in place: overwrite this tensor with the result, and return it. Arguments: those of `div`."""
    def dot(self, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The inner product of two vectors of the same length: a zero-dimensional tensor. `out`: a tensor to which the result is written."""
    def double(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.float64."""
    def dsplit(self, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Cut a tensor along dimension 2 into a tuple of views. The arguments are those of `tensor_split`."""
    @property
    def dtype(self) -> _dtype: ...
    def element_size(self) -> _int:
        """The number of bytes of one element."""
    def eq(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are equal: a tensor of bools."""
    def eq_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`eq` in place: overwrite this tensor with the result, and return it. Arguments: those of `eq`."""
    def equal(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape and the same elements: a Python bool."""
    def erf(self, *, out: Tensor | None = None) -> Tensor:
        """The error function of each element."""
    def erf_(self, *, out: Tensor | None = None) -> Self:
        """`erf` in place: overwrite this tensor with the result, and return it. Arguments: those of `erf`."""
    def erfc(self, *, out: Tensor | None = None) -> Tensor:
        """One minus the error function of each element."""
    def erfc_(self, *, out: Tensor | None = None) -> Self:
        """`erfc` in place: overwrite this tensor with the result, and return it. Arguments: those of `erfc`."""
    def erfinv(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse error function of each element."""
    def erfinv_(self, *, out: Tensor | None = None) -> Self:
        """`erfinv` in place: overwrite this tensor with the result, and return it. Arguments: those of `erfinv`."""
    def exp(self, *, out: Tensor | None = None) -> Tensor:
        """e to the power of each element."""
    def exp2(self, *, out: Tensor | None = None) -> Tensor:
        """2 to the power of each element."""
    def exp2_(self, *, out: Tensor | None = None) -> Self:
        """`exp2` in place: overwrite this tensor with the result, and return it. Arguments: those of `exp2`."""
    def exp_(self, *, out: Tensor | None = None) -> Self:
        """`exp` in place: overwrite this tensor with the result, and return it. Arguments: those of `exp`."""
    def expand(self, *sizes: Any, size: SupportsIndex | Sequence[SupportsIndex] | None = None) -> Tensor:
        """Broadcast this tensor to the shape `sizes`, as a view: dimensions of length 1 are repeated without a copy."""
    def expand_as(self, other: Tensor) -> Tensor:
        """Broadcast this tensor to the shape of `other`, as a view; see `expand`."""
    def expm1(self, *, out: Tensor | None = None) -> Tensor:
        """exp(x) - 1 for each element x, exact for small x."""
    def expm1_(self, *, out: Tensor | None = None) -> Self:
        """`expm1` in place: overwrite this tensor with the result, and return it. Arguments: those of `expm1`."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with numbers of the exponential distribution with rate `lambd` (mean 1 / lambd), and return it. `generator`: the source of random numbers, by default that of the device."""
    def fill_(self, value: Any) -> Self:
        """Write `value` (a number, or a tensor with one element) into every element, in place; returns the tensor."""
    def fill_diagonal_(self, fill_value: Any, wrap: _bool = False) -> Self:
        """Write the number `fill_value` into the main diagonal of this tensor, in place, and return it."""
    def fix(self, *, out: Tensor | None = None) -> Tensor:
        """Each element without its fraction."""
    def fix_(self, *, out: Tensor | None = None) -> Self:
        """`trunc` in place: overwrite this tensor with the result, and return it. Arguments: those of `trunc`."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Merge the dimensions from `start_dim` to `end_dim` (included; default: all) into one; a view if possible."""
    def flip(self, *args: Any, dims: Any = None) -> Tensor:
        """Reverse the order of elements along some dimensions: `x.flip(0, 1)` or `x.flip((0, 1))`; a copy."""
    def fliplr(self) -> Tensor:
        """Reverse the order of columns (dimension 1); a copy."""
    def flipud(self) -> Tensor:
        """Reverse the order of rows (dimension 0); a copy."""
    def float(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.float32."""
    def float_power(self, exponent: Any, *, out: Tensor | None = None) -> Tensor:
        """A power computed in double precision: the result is float64 or complex128. `input` or `exponent` may be a number. `out`: a tensor to which the result is written."""
    def float_power_(self, exponent: Any, *, out: Tensor | None = None) -> Self:
        """`float_power` in place: overwrite this tensor with the result, and return it. Arguments: those of `float_power`."""
    def floor(self, *, out: Tensor | None = None) -> Tensor:
        """The largest integer that is not above each element."""
    def floor_(self, *, out: Tensor | None = None) -> Self:
        """`floor` in place: overwrite this tensor with the result, and return it. Arguments: those of `floor`."""
    def floor_divide(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input / other`, rounded down, element by element. Either may be a number. `out`: a tensor to which the result is written."""
    def floor_divide_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`floor_divide` in place: overwrite this tensor with the result, and return it. Arguments: those of `floor_divide`."""
    def fmax(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The larger of two elements, element by element; if one of them is nan, the other one. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
    def fmin(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The smaller of two elements, element by element; if one of them is nan, the other one. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
    def fmod(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The remainder of `input / other`, with the sign of `input`: C's fmod. `other` may be a number. `out`: a tensor to which the result is written."""
    def fmod_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`fmod` in place: overwrite this tensor with the result, and return it. Arguments: those of `fmod`."""
    def frac(self, *, out: Tensor | None = None) -> Tensor:
        """The fraction of each element, with its sign."""
    def frac_(self, *, out: Tensor | None = None) -> Self:
        """`frac` in place: overwrite this tensor with the result, and return it. Arguments: those of `frac`."""
    def frexp(self, *, out: Any = None) -> _frexp:
        """Split each element into the named tuple (mantissa, exponent): element = mantissa * 2 ** exponent, with 0.5 <= |mantissa| < 1."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
        """Read elements by index along a dimension: `result[i][j] = input[index[i][j]][j]` for `dim=0`."""
    def gcd(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The greatest common divisor of each pair of integers. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
    def gcd_(self, other: Tensor, *, out: Tensor | None = None) -> Self:
        """`gcd` in place: overwrite this tensor with the result, and return it. Arguments: those of `gcd`."""
    def ge(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are greater than or equal to those of `other`: a tensor of bools."""
    def ge_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`ge` in place: overwrite this tensor with the result, and return it. Arguments: those of `ge`."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with the numbers (from 1) of trials until the first success, of probability `p`, and return it. `generator`: the source of random numbers, by default that of the device."""
    def ger(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The outer product of two vectors: the matrix with input[i] * vec2[j] in row i and column j. `out`: a tensor to which the result is written."""
    def get_device(self) -> _int:
        """The index of the GPU on which this tensor is; -1 for a tensor on the CPU."""
    @property
    def grad(self) -> Tensor | None: ...
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def grad_fn(self) -> Node | None: ...
    def greater(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are greater than those of `other`: a tensor of bools."""
    def greater_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`gt` in place: overwrite this tensor with the result, and return it. Arguments: those of `gt`."""
    def greater_equal(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are greater than or equal to those of `other`: a tensor of bools."""
    def greater_equal_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`ge` in place: overwrite this tensor with the result, and return it. Arguments: those of `ge`."""
    def gt(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are greater than those of `other`: a tensor of bools."""
    def gt_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`gt` in place: overwrite this tensor with the result, and return it. Arguments: those of `gt`."""
    def half(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.float16."""
    def heaviside(self, values: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The step function: 0 where `input` is negative, 1 where it is positive, and the element of `values` where it is 0. `out`: a tensor to which the result is written."""
    def heaviside_(self, values: Tensor, *, out: Tensor | None = None) -> Self:
        """`heaviside` in place: overwrite this tensor with the result, and return it. Arguments: those of `heaviside`."""
    def histc(self, bins: _int = 100, min: Any = 0, max: Any = 0, *, out: Tensor | None = None) -> Tensor:
        """The number of elements in each of `bins` equal bins between `min` and `max`; elements outside are not counted."""
    def histogram(self, bins: Any, *, range: tuple[_float, _float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _histogram:
        """The named tuple (hist, bin_edges): the number of elements in each bin, and the edges of the bins."""
    def hsplit(self, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Cut a tensor along dimension 1, a vector along dimension 0, into a tuple of views. The arguments are those of `tensor_split`."""
    def hypot(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """sqrt(input ** 2 + other ** 2), element by element, without overflow. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
    def hypot_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`hypot` in place: overwrite this tensor with the result, and return it. Arguments: those of `hypot`."""
    def i0(self, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of the first kind of order 0, of each element."""
    def i0_(self, *, out: Tensor | None = None) -> Self:
        """`i0` in place: overwrite this tensor with the result, and return it. Arguments: those of `i0`."""
    def igamma(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The regularised lower incomplete gamma function P(input, other), element by element. Either argument may be a number. `out`: a tensor to which the result is written."""
    def igamma_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`igamma` in place: overwrite this tensor with the result, and return it. Arguments: those of `igamma`."""
    def igammac(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The regularised upper incomplete gamma function Q(input, other) = 1 - P(input, other), element by element. Either argument may be a number. `out`: a tensor to which the result is written."""
    def igammac_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`igammac` in place: overwrite this tensor with the result, and return it. Arguments: those of `igammac`."""
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """A copy of `input` with the slices of `source`, times `alpha`, added to the slices of dimension `dim` at the indices `index`."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: complex = 1, out: Tensor | None = None) -> Self:
        """`index_add` in place: overwrite this tensor with the result, and return it. Arguments: those of `index_add`."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
        """A copy of `input` in which the slices of dimension `dim` at the indices `index` are replaced by those of `source`. `out`: a tensor to which the result is written."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Self:
        """`index_copy` in place: overwrite this tensor with the result, and return it. Arguments: those of `index_copy`."""
    def index_fill(self, dim: _int, index: Tensor, value: Any) -> Tensor:
        """A copy of `input` in which the slices of dimension `dim` at the indices `index` are filled with the number `value`."""
    def index_fill_(self, dim: _int, index: Tensor, value: Any) -> Self:
        """`index_fill` in place: overwrite this tensor with the result, and return it. Arguments: those of `index_fill`."""
    def index_put(self, indices: Any, values: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy of `input` after `copy[indices] = values`, or with `accumulate` `copy[indices] += values`, where repeated indices add up."""
    def index_put_(self, indices: Any, values: Tensor, accumulate: _bool = False) -> Self:
        """Assign in place: `self[indices] = values`, or with `accumulate` `self[indices] += values`, where repeated indices add up."""
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
        """Combine the slices of `source` into the slices of a copy of `input` at the indices `index` of dimension `dim`."""
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Self:
        """`index_reduce` in place: overwrite this tensor with the result, and return it. Arguments: those of `index_reduce`."""
    def index_select(self, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The slices of dimension `dim` at the indices `index`, a vector of int64 or int32: a copy. `out`: a tensor to which the result is written."""
    def indices(self) -> Tensor:
        """The indices of a coalesced sparse tensor, int64 (sparse dimensions, count); RuntimeError if it is not coalesced."""
    def inner(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The sum of products over the last dimensions of both tensors, which must have the same length. `out`: a tensor to which the result is written."""
    def int(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.int32."""
    def inverse(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of square matrices; a LinAlgError if one is singular."""
    def is_coalesced(self) -> _bool:
        """Whether the indices are unique and sorted."""
    def is_complex(self) -> _bool:
        """Whether the element type is a complex type."""
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
        """Whether the element type is a real floating-point type (float16, bfloat16, float32, float64)."""
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
        """Whether two tensors have the same shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether both tensors have the same memory, offset, shape and strides."""
    def is_shared(self) -> _bool:
        """Whether other processes may see this memory: on a GPU, or after `share_memory_`."""
    def is_signed(self) -> _bool:
        """Whether the element type has negative numbers."""
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
        """Whether elements differ by at most `atol + rtol * |other|`: a tensor of bools."""
    def isfinite(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are neither infinite nor nan: a tensor of bools."""
    def isinf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are infinite: a tensor of bools."""
    def isnan(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are nan: a tensor of bools."""
    def isneginf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are -inf: a tensor of bools."""
    def isposinf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are inf: a tensor of bools."""
    def isreal(self, *, out: Tensor | None = None) -> Tensor:
        """Whether the imaginary part of elements is zero: a tensor of bools."""
    def item(self) -> _int | _float | _bool:
        """The only element, as a Python number; RuntimeError unless there is exactly one."""
    @property
    def itemsize(self) -> _bool: ...
    def kron(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The Kronecker product: `input` with each element replaced by its product with the whole of `other`. `out`: a tensor to which the result is written."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Any = None) -> _kthvalue:
        """The `k`-th smallest element along `dim` (counted from 1): the named tuple (values, indices). `keepdim`: keep `dim` with length 1."""
    @property
    def layout(self) -> _layout: ...
    def lcm(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The least common multiple of each pair of integers. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
    def lcm_(self, other: Tensor, *, out: Tensor | None = None) -> Self:
        """`lcm` in place: overwrite this tensor with the result, and return it. Arguments: those of `lcm`."""
    def ldexp(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input * 2 ** other`, element by element. `out`: a tensor to which the result is written."""
    def ldexp_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`ldexp` in place: overwrite this tensor with the result, and return it. Arguments: those of `ldexp`."""
    def le(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are less than or equal to those of `other`: a tensor of bools."""
    def le_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`le` in place: overwrite this tensor with the result, and return it. Arguments: those of `le`."""
    def lerp(self, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
        """Linear interpolation: `input + weight * (end - input)`; `weight` is a number or a tensor. `out`: a tensor to which the result is written."""
    def lerp_(self, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Self:
        """`lerp` in place: overwrite this tensor with the result, and return it. Arguments: those of `lerp`."""
    def less(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are less than those of `other`: a tensor of bools."""
    def less_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`lt` in place: overwrite this tensor with the result, and return it. Arguments: those of `lt`."""
    def less_equal(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are less than or equal to those of `other`: a tensor of bools."""
    def less_equal_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`le` in place: overwrite this tensor with the result, and return it. Arguments: those of `le`."""
    def lgamma(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the absolute value of the gamma function at each element."""
    def lgamma_(self, *, out: Tensor | None = None) -> Self:
        """`lgamma` in place: overwrite this tensor with the result, and return it. Arguments: those of `lgamma`."""
    def log(self, *, out: Tensor | None = None) -> Tensor:
        """The natural logarithm of each element."""
    def log10(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm to base 10 of each element."""
    def log10_(self, *, out: Tensor | None = None) -> Self:
        """`log10` in place: overwrite this tensor with the result, and return it. Arguments: those of `log10`."""
    def log1p(self, *, out: Tensor | None = None) -> Tensor:
        """log(1 + x) for each element x, exact for small x."""
    def log1p_(self, *, out: Tensor | None = None) -> Self:
        """`log1p` in place: overwrite this tensor with the result, and return it. Arguments: those of `log1p`."""
    def log2(self, *, out: Tensor | None = None) -> Tensor:
        """The logarithm to base 2 of each element."""
    def log2_(self, *, out: Tensor | None = None) -> Self:
        """`log2` in place: overwrite this tensor with the result, and return it. Arguments: those of `log2`."""
    def log_(self, *, out: Tensor | None = None) -> Self:
        """`log` in place: overwrite this tensor with the result, and return it. Arguments: those of `log`."""
    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with numbers whose logarithms have the normal distribution with `mean` and `std`, and return it. `generator`: the source of random numbers, by default that of the device."""
    def log_softmax(self, dim: _int | None = None, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of `softmax` along `dim`, computed without overflow. `dtype`: convert the input to this type first (default: keep its type). `out`: a tensor to which the result is written."""
    def logaddexp(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """log(exp(input) + exp(other)), element by element, without overflow. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
    def logaddexp2(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """log2(2 ** input + 2 ** other), element by element, without overflow. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
    def logaddexp2_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`logaddexp2` in place: overwrite this tensor with the result, and return it. Arguments: those of `logaddexp2`."""
    def logaddexp_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`logaddexp` in place: overwrite this tensor with the result, and return it. Arguments: those of `logaddexp`."""
    def logcumsumexp(self, dim: _int, *, out: Tensor | None = None) -> Tensor:
        """Running log(sum(exp(x))) along `dim`, computed without overflow. `out`: a tensor to which the result is written."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant of square matrices; nan if the determinant is negative, -inf if it is 0."""
    def logical_and(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether both elements are nonzero: a tensor of bools."""
    def logical_and_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`logical_and` in place: overwrite this tensor with the result, and return it. Arguments: those of `logical_and`."""
    def logical_not(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements are zero: a tensor of bools."""
    def logical_not_(self, *, out: Tensor | None = None) -> Self:
        """`logical_not` in place: overwrite this tensor with the result, and return it. Arguments: those of `logical_not`."""
    def logical_or(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether at least one of the two elements is nonzero: a tensor of bools."""
    def logical_or_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`logical_or` in place: overwrite this tensor with the result, and return it. Arguments: those of `logical_or`."""
    def logical_xor(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether exactly one of the two elements is nonzero: a tensor of bools."""
    def logical_xor_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`logical_xor` in place: overwrite this tensor with the result, and return it. Arguments: those of `logical_xor`."""
    def logit(self, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
        """log(x / (1 - x)), the inverse of sigmoid, element by element. With `eps`, x is first limited to the range from eps to 1 - eps. `out`: a tensor to which the result is written."""
    def logit_(self, eps: _float | None = None, *, out: Tensor | None = None) -> Self:
        """`logit` in place: overwrite this tensor with the result, and return it. Arguments: those of `logit`."""
    def logsumexp(self, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """log(sum(exp(x))) over the dimension (or dimensions) `dim`, without overflow. `keepdim`: keep them with length 1. `out`: a tensor to which the result is written."""
    def long(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.int64."""
    def lt(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements of `input` are less than those of `other`: a tensor of bools."""
    def lt_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`lt` in place: overwrite this tensor with the result, and return it. Arguments: those of `lt`."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False, out: Any = None) -> Any:
        """Deprecated form of `linalg.lu_factor`: returns (LU, pivots), with `get_infos` (LU, pivots, infos)."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor: ...
    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Self:
        """Replace each element by `callable(element, element of x, element of y)`, in place; returns this tensor."""
    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Self:
        """Replace each element by `callable(element, element of tensor)`, in place; returns this tensor."""
    def masked_fill(self, mask: Tensor, value: Any) -> Tensor:
        """A copy of `input` with `value` (a number, or a tensor with one element) where the bool tensor `mask` is True."""
    def masked_fill_(self, mask: Tensor, value: Any) -> Self:
        """`masked_fill` in place: overwrite this tensor with the result, and return it. Arguments: those of `masked_fill`."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """A copy of `input` in which the elements where the bool tensor `mask` is True are replaced by those of `source`, in order."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """`masked_scatter` in place: overwrite this tensor with the result, and return it. Arguments: those of `masked_scatter`."""
    def masked_select(self, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements where the bool tensor `mask` is True, as a vector. Mask and input are broadcast. `out`: a tensor to which the result is written."""
    def matmul(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The matrix product, Python's `@`: of vectors, matrices, or batches of matrices, which are broadcast."""
    def matrix_exp(self) -> Tensor:
        """The matrix exponential of square matrices: the sum over k of A^k / k!."""
    def matrix_power(self, n: _int, *, out: Tensor | None = None) -> Tensor:
        """The `n`-th power of square matrices, for an int n; negative powers are powers of the inverse."""
    @overload
    def max(self) -> Tensor: ...
    @overload
    def max(self, other: Tensor, *, out: Tensor | None=None) -> Tensor: ...
    @overload
    def max(self, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _max: ...
    def maximum(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The larger of two elements, element by element; nan if one of them is nan. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
    def mean(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None, axis: Any = None, keepdims: _bool | None = None) -> Tensor:
        """The mean of all elements, or over dimensions. Integers raise a RuntimeError, unless `dtype` is given."""
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
        """The smaller of two elements, element by element; nan if one of them is nan. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
    def mm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of two matrices, (n, m) and (m, p). `out`: a tensor to which the result is written."""
    def mode(self, dim: _int = -1, keepdim: _bool = False, *, out: Any = None) -> _mode:
        """The most frequent value along `dim` (of several the smallest), and the last index of it: the named tuple (values, indices)."""
    def moveaxis(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Move the dimensions `source` to the positions `destination` (ints, or one for each); the others keep their order. A view."""
    def movedim(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Move the dimensions `source` to the positions `destination` (ints, or one for each); the others keep their order. A view."""
    def msort(self, *, out: Tensor | None = None) -> Tensor:
        """The tensor sorted along its first dimension, in ascending order. `out`: a tensor to which the result is written."""
    def mul(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a tensor to which the result is written."""
    def mul_(self, other: _Operand, **kw: Any) -> Self:
        """`mul` in place: overwrite this tensor with the result, and return it. Arguments: those of `mul`."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
        """Draw `num_samples` random indices for each row of `input`; the probability of an index is proportional to the row's element."""
    def multiply(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a tensor to which the result is written."""
    def multiply_(self, other: _Operand, **kw: Any) -> Self:
        """`mul` in place: overwrite this tensor with the result, and return it. Arguments: those of `mul`."""
    def mv(self, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of a matrix (n, m) and a vector (m,): (n,). `out`: a tensor to which the result is written."""
    def mvlgamma(self, p: _int, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension `p` at each element, which must be above (p - 1) / 2. `out`: a tensor to which the result is written."""
    def mvlgamma_(self, p: _int, *, out: Tensor | None = None) -> Self:
        """`mvlgamma` in place: overwrite this tensor with the result, and return it. Arguments: those of `mvlgamma`."""
    @property
    def name(self) -> str | None: ...
    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
        """Replace nan by `nan` (default 0), inf by `posinf` and -inf by `neginf` (default: the largest and smallest number of the type). `out`: a tensor to which the result is written."""
    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Self:
        """`nan_to_num` in place: overwrite this tensor with the result, and return it. Arguments: those of `nan_to_num`."""
    def nanmean(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """The mean of the elements that are not nan. `dim`: a dimension, or a tuple of several; by default all. `keepdim`: keep them with length 1. `dtype`: convert the input to this type first (default: keep its type). `out`: a tensor to which the result is written."""
    @overload
    def nanmedian(self, dim: None=None, keepdim: _bool=False, *, out: Any=None) -> Tensor: ...
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool=False, *, out: Any=None) -> _nanmedian: ...
    def nanquantile(self, q: Any, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
        """`quantile` of the elements that are not nan; the arguments are the same."""
    def nansum(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """The sum of the elements that are not nan. `dim`: a dimension, or a tuple of several; by default all. `keepdim`: keep them with length 1. `dtype`: convert the input to this type first (default: keep its type). `out`: a tensor to which the result is written."""
    def narrow(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """The elements from `start` to `start + length - 1` of dimension `dim`; a view."""
    def narrow_copy(self, dim: _int, start: _int, length: _int, *, out: Tensor | None = None) -> Tensor:
        """The elements from `start` to `start + length - 1` of dimension `dim`, as a copy; `narrow` gives a view. `out`: a tensor to which the result is written."""
    @property
    def nbytes(self) -> _bool: ...
    @property
    def ndim(self) -> _int: ...
    def ndimension(self) -> _int:
        """The number of dimensions."""
    def ne(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements differ: a tensor of bools."""
    def ne_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`ne` in place: overwrite this tensor with the result, and return it. Arguments: those of `ne`."""
    def neg(self, *, out: Tensor | None = None) -> Tensor:
        """The negative of each element."""
    def neg_(self, *, out: Tensor | None = None) -> Self:
        """`neg` in place: overwrite this tensor with the result, and return it. Arguments: those of `neg`."""
    def negative(self, *, out: Tensor | None = None) -> Tensor:
        """The negative of each element."""
    def negative_(self, *, out: Tensor | None = None) -> Self:
        """`neg` in place: overwrite this tensor with the result, and return it. Arguments: those of `neg`."""
    def nelement(self) -> _int:
        """The number of elements of a tensor."""
    def new(self, *args: Any) -> Tensor:
        """Legacy: a tensor with this tensor's type and device, from a list, tensor or array; uninitialised if sizes are given."""
    def new_empty(self, *size: SupportsIndex | Sequence[SupportsIndex], dtype: _dtype | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """An uninitialised tensor of the shape `size`. `dtype` and `device` are by default those of this tensor; `requires_grad` (default: False) is that of the new one."""
    def new_empty_strided(self, size: SupportsIndex | Sequence[SupportsIndex], stride: Any, *, dtype: _dtype | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """An uninitialised tensor of the shape `size` with the strides `stride`, in elements. `dtype` and `device` are by default those of this tensor; `requires_grad` (default: False) is that of the new one."""
    def new_full(self, size: SupportsIndex | Sequence[SupportsIndex], fill_value: Any, *, dtype: _dtype | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """A tensor of the shape `size`, filled with the number `fill_value`. `dtype` and `device` are by default those of this tensor; `requires_grad` (default: False) is that of the new one."""
    def new_ones(self, *size: SupportsIndex | Sequence[SupportsIndex], dtype: _dtype | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """A tensor of ones of the shape `size`. `dtype` and `device` are by default those of this tensor; `requires_grad` (default: False) is that of the new one."""
    def new_tensor(self, data: Any, *, dtype: _dtype | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """A tensor with a copy of `data` (as for `mpigrad.tensor`). `dtype` and `device` are by default those of this tensor; `requires_grad` (default: False) is that of the new one."""
    def new_zeros(self, *size: SupportsIndex | Sequence[SupportsIndex], dtype: _dtype | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, layout: _layout | None = None, pin_memory: _bool = False) -> Tensor:
        """A tensor of zeros of the shape `size`. `dtype` and `device` are by default those of this tensor; `requires_grad` (default: False) is that of the new one."""
    def nextafter(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The next number from `input` towards `other`. Both are tensors, which are broadcast. `out`: a tensor to which the result is written."""
    def nextafter_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`nextafter` in place: overwrite this tensor with the result, and return it. Arguments: those of `nextafter`."""
    @overload
    def nonzero(self, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor:
        """The indices of nonzero elements: (count, dimensions), one row for each; int64."""
    @overload
    def nonzero(self, *, out: Tensor | None = None, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """The indices of nonzero elements: (count, dimensions), one row for each; int64."""
    @overload
    def nonzero(self, *, out: Tensor | None = None, as_tuple: _bool = False) -> Any:
        """The indices of nonzero elements: (count, dimensions), one row for each; int64."""
    def nonzero_static(self, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
        """The coordinates of the first `size` elements that are not zero, one in each row; if there are fewer, rows of `fill_value` follow. `out`: a tensor to which the result is written."""
    def norm(self, p: Any = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
        """The `p`-norm of the elements, by default the 2-norm ("fro"); "nuc" is the nuclear norm of matrices."""
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with numbers of the normal distribution with these parameters, and return it. `generator`: the source of random numbers, by default that of the device."""
    def not_equal(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether elements differ: a tensor of bools."""
    def not_equal_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`ne` in place: overwrite this tensor with the result, and return it. Arguments: those of `ne`."""
    def numel(self) -> _int:
        """The number of elements of a tensor."""
    def numpy(self, *, force: _bool = False) -> ndarray[Any, Any]:
        """A NumPy array that shares this tensor's memory; RuntimeError for tensors that require grad, TypeError for those on a GPU."""
    def outer(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The outer product of two vectors: the matrix with input[i] * vec2[j] in row i and column j. `out`: a tensor to which the result is written."""
    @property
    def output_nr(self) -> _int: ...
    def permute(self, *dims: Any) -> Tensor:
        """Reorder the dimensions: `x.permute(2, 0, 1)` or `x.permute((2, 0, 1))`; a view."""
    def pin_memory(self, device: Any = None) -> Tensor:
        """A copy in pinned host memory, for asynchronous transfers with `to(..., non_blocking=True)`."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """The Moore-Penrose pseudo-inverse; `linalg.pinv` with `rcond` as relative tolerance."""
    def polygamma(self, n: _int) -> Tensor: ...
    def polygamma_(self, n: _int) -> Self:
        """`_polygamma_method` in place: overwrite this tensor with the result, and return it. Arguments: those of `_polygamma_method`."""
    def positive(self) -> Tensor:
        """The tensor itself, as Python's `+x`; booleans raise a RuntimeError."""
    def pow(self, exponent: Any, *, out: Tensor | None = None) -> Tensor:
        """`input` to the power of `exponent`, element by element; one of them may be a number."""
    def pow_(self, exponent: Any, *, out: Tensor | None = None) -> Self:
        """`pow` in place: overwrite this tensor with the result, and return it. Arguments: those of `pow`."""
    def prod(self, dim: _int | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """The product of all elements, or along `dim`. `keepdim`: keep `dim` with length 1."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy of `input` in which the elements at the indices `index` of the flattened tensor are replaced by those of `source`."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Self:
        """`put` in place: overwrite this tensor with the result, and return it. Arguments: those of `put`."""
    def qr(self, some: _bool = True, *, out: Any = None) -> _qr:
        """Deprecated form of `linalg.qr`: returns (Q, R). `some=True` (default) is `mode="reduced"`, False is "complete"."""
    def quantile(self, q: Any, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | None = None) -> Tensor:
        """The `q`-quantile of the elements: of all, or along `dim`. `keepdim`: keep `dim` with length 1."""
    def rad2deg(self, *, out: Tensor | None = None) -> Tensor:
        """Angles in radians as degrees."""
    def rad2deg_(self, *, out: Tensor | None = None) -> Self:
        """`rad2deg` in place: overwrite this tensor with the result, and return it. Arguments: those of `rad2deg`."""
    def random_(self, from_: Any = None, to: Any = None, *, generator: Generator | None = None, **names: Any) -> Self:
        """Fill this tensor with random integers and return it: `random_(from, to)` from [from, to), `random_(to)` from [0, to)."""
    def ravel(self) -> Tensor:
        """All elements as a vector; a view if possible, otherwise a copy."""
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: Tensor) -> None: ...
    def reciprocal(self, *, out: Tensor | None = None) -> Tensor:
        """One over each element."""
    def reciprocal_(self, *, out: Tensor | None = None) -> Self:
        """`reciprocal` in place: overwrite this tensor with the result, and return it. Arguments: those of `reciprocal`."""
    def record_stream(self, stream: Any) -> None:
        """Tell the memory pool that `stream` uses this tensor, which was created on another stream."""
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` when a backward pass has computed the gradient of this tensor; if it returns a tensor, that replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` each time after a gradient was added to this leaf's `.grad`."""
    def relu(self, *, out: Tensor | None = None) -> Tensor:
        """Replace negative elements by 0."""
    def relu_(self, *, out: Tensor | None = None) -> Self:
        """`relu` in place: overwrite this tensor with the result, and return it. Arguments: those of `relu`."""
    def remainder(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The remainder of `input / other`, with the sign of `other`: Python's `%`. Either may be a number. `out`: a tensor to which the result is written."""
    def remainder_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`remainder` in place: overwrite this tensor with the result, and return it. Arguments: those of `remainder`."""
    def renorm(self, p: Any, dim: _int, maxnorm: Any, *, out: Tensor | None = None) -> Tensor:
        """Scale down each slice of dimension `dim` whose `p`-norm is larger than `maxnorm`, so that its norm becomes `maxnorm`. `out`: a tensor to which the result is written."""
    def renorm_(self, p: Any, dim: _int, maxnorm: Any, *, out: Tensor | None = None) -> Self:
        """`renorm` in place: overwrite this tensor with the result, and return it. Arguments: those of `renorm`."""
    def repeat(self, *repeats: Any) -> Tensor:
        """Copies of this tensor side by side: `repeats` has the number of copies along each dimension."""
    def repeat_interleave(self, repeats: _int | Tensor | None = None, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
        """Repeat each element of the flattened tensor, or with `dim` each slice of that dimension; the copies of one follow each other."""
    @property
    def requires_grad(self) -> _bool: ...
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Self:
        """Set `requires_grad` in place and return the tensor; RuntimeError to unset it on a tensor that is no leaf."""
    def reshape(self, *shape: Any) -> Tensor:
        """A tensor with the same elements in another shape: `x.reshape(2, 3)` or `x.reshape((2, 3))`; see `mpigrad.reshape`."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """Reshape this tensor to the shape of `other`."""
    def resize_(self, *sizes: Any, memory_format: memory_format | None = None, **names: Any) -> Self:
        """Resize this tensor to the shape `sizes`, in place; the elements that fit are kept in memory order, new ones are not initialised."""
    def resize_as_(self, other: Tensor, *, memory_format: memory_format | None = None) -> Self:
        """Resize this tensor to the shape of `other`, in place; see `resize_`."""
    def resolve_conj(self) -> Tensor: ...
    def resolve_neg(self) -> Tensor: ...
    def retain_grad(self) -> None:
        """Keep the gradient of this tensor in `.grad`, though it is no leaf; no effect on leaves."""
    @property
    def retains_grad(self) -> _bool: ...
    def roll(self, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = None) -> Tensor:
        """Shift elements cyclically by `shifts` along `dims` (an int, or one for each dimension); without `dims`, in the flattened tensor."""
    def rot90(self, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor:
        """Rotate by 90 degrees, `k` times, in the plane of the two dimensions `dims`."""
    def round(self, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
        """Each element rounded to `decimals` digits after the point (negative: before it); halves go to the even neighbour. `out`: a tensor to which the result is written."""
    def round_(self, *, decimals: _int = 0, out: Tensor | None = None) -> Self:
        """`round` in place: overwrite this tensor with the result, and return it. Arguments: those of `round`."""
    def rsqrt(self, *, out: Tensor | None = None) -> Tensor:
        """One over the square root of each element."""
    def rsqrt_(self, *, out: Tensor | None = None) -> Self:
        """`rsqrt` in place: overwrite this tensor with the result, and return it. Arguments: those of `rsqrt`."""
    def rsub(self, other: _Operand, *, alpha: complex = 1) -> Tensor:
        """`other - alpha * input`, element by element; `other` is a tensor or a number."""
    def scatter(self, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None, out: Tensor | None = None) -> Tensor:
        """A copy of `input` with `src` written at the positions that `index` gives: `result[index[i][j]][j] = src[i][j]` for `dim=0`."""
    def scatter_(self, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None, out: Tensor | None = None) -> Self:
        """`scatter` in place: overwrite this tensor with the result, and return it. Arguments: those of `scatter`."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
        """A copy of `input` with `src` added at the positions that `index` gives: `result[index[i][j]][j] += src[i][j]` for `dim=0`."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Self:
        """`scatter_add` in place: overwrite this tensor with the result, and return it. Arguments: those of `scatter_add`."""
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
        """Combine `src` into the elements of a copy of `input` that `index` gives (as in `scatter`), by `reduce`."""
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | None = None) -> Self:
        """`scatter_reduce` in place: overwrite this tensor with the result, and return it. Arguments: those of `scatter_reduce`."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """The slice at position `index` of dimension `dim`, without that dimension; a view. Negative indices count from the end."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """A copy of `input` with `src` written to the slice at `index` of dimension `dim`."""
    def set_(self, source: Tensor | None = None) -> Self:
        """Make this tensor share the memory of `source`; without `source`, make it empty."""
    def sgn(self, *, out: Tensor | None = None) -> Tensor:
        """The sign of each element; of complex ones, z / |z|."""
    def sgn_(self, *, out: Tensor | None = None) -> Self:
        """`sgn` in place: overwrite this tensor with the result, and return it. Arguments: those of `sgn`."""
    @property
    def shape(self) -> Size: ...
    def share_memory_(self) -> Self:
        """Move the memory of this tensor and its views to shared memory."""
    def short(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor with elements of mpigrad.int16."""
    def sigmoid(self, *, out: Tensor | None = None) -> Tensor:
        """The logistic function 1 / (1 + exp(-x)) of each element x."""
    def sigmoid_(self, *, out: Tensor | None = None) -> Self:
        """`sigmoid` in place: overwrite this tensor with the result, and return it. Arguments: those of `sigmoid`."""
    def sign(self, *, out: Tensor | None = None) -> Tensor:
        """The sign of each element: -1, 0 or 1."""
    def sign_(self, *, out: Tensor | None = None) -> Self:
        """`sign` in place: overwrite this tensor with the result, and return it. Arguments: those of `sign`."""
    def signbit(self, *, out: Tensor | None = None) -> Tensor:
        """Whether elements have a minus sign (also -0.0): a tensor of bools."""
    def sin(self, *, out: Tensor | None = None) -> Tensor:
        """The sine of each element, an angle in radians."""
    def sin_(self, *, out: Tensor | None = None) -> Self:
        """`sin` in place: overwrite this tensor with the result, and return it. Arguments: those of `sin`."""
    def sinc(self, *, out: Tensor | None = None) -> Tensor:
        """sin(pi * x) / (pi * x) for each element x, and 1 for 0."""
    def sinc_(self, *, out: Tensor | None = None) -> Self:
        """`sinc` in place: overwrite this tensor with the result, and return it. Arguments: those of `sinc`."""
    def sinh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic sine of each element."""
    def sinh_(self, *, out: Tensor | None = None) -> Self:
        """`sinh` in place: overwrite this tensor with the result, and return it. Arguments: those of `sinh`."""
    @overload
    def size(self, dim: None=None) -> Size: ...
    @overload
    def size(self, dim: _int) -> _int: ...
    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
        """A copy of `input` with `src` written to the elements `start:end:step` of dimension `dim`."""
    def slogdet(self, *, out: Any = None) -> linalg_slogdet:
        """The named tuple (sign, logabsdet): the sign of the determinant and the logarithm of its absolute value, without overflow."""
    def softmax(self, dim: _int | None = None, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
        """Turn scores into probabilities: exp(x) divided by its sum along `dim`, so that the results along `dim` add up to 1."""
    def sort(self, dim: _int = -1, descending: _bool = False, stable: _bool | None = None, *, out: Any = None) -> _sort:
        """The elements along `dim` in ascending (or `descending`) order, and their original indices: the named tuple (values, indices)."""
    def sparse_dim(self) -> _int:
        """The number of sparse dimensions, which the indices address; 0 for dense tensors."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements of this tensor at the indices of the sparse tensor `mask`, as a sparse tensor."""
    def sparse_resize_(self, size: Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Self:
        """Resize a sparse tensor in place to the shape `size`, with these numbers of sparse and dense dimensions; its elements stay."""
    def sparse_resize_and_clear_(self, size: Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Self:
        """Resize a sparse tensor in place to the shape `size`, with these numbers of sparse and dense dimensions, and remove its elements."""
    def split(self, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Cut this tensor along `dim` into parts of length `split_size` (the last may be shorter), or of a list of lengths: a tuple of views."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Cut a tensor along `dim` into parts of the lengths `split_sizes`: a tuple of views."""
    def sqrt(self, *, out: Tensor | None = None) -> Tensor:
        """The square root of each element."""
    def sqrt_(self, *, out: Tensor | None = None) -> Self:
        """`sqrt` in place: overwrite this tensor with the result, and return it. Arguments: those of `sqrt`."""
    def square(self, *, out: Tensor | None = None) -> Tensor:
        """The square of each element."""
    def square_(self, *, out: Tensor | None = None) -> Self:
        """`square` in place: overwrite this tensor with the result, and return it. Arguments: those of `square`."""
    def squeeze(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """Remove dimensions of length 1: all of them, or those of `dim` (an int or a tuple); a view. Longer dimensions stay."""
    def squeeze_(self, dim: _int | Sequence[_int] | None = None) -> Self:
        """Remove dimensions of length 1 from this tensor, in place: all of them, or those of `dim`; returns the tensor."""
    def std(self, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor:
        """The standard deviation: the square root of `var`, whose arguments it has."""
    def storage_offset(self) -> _int:
        """The offset of the tensor's first element in its storage, in elements."""
    @overload
    def stride(self, dim: None=None) -> tuple[_int, ...]: ...
    @overload
    def stride(self, dim: _int) -> _int: ...
    def sub(self, other: _Operand, *, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`input - alpha * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a tensor to which the result is written."""
    def sub_(self, other: _Operand, **kw: Any) -> Self:
        """`sub` in place: overwrite this tensor with the result, and return it. Arguments: those of `sub`."""
    def subtract(self, other: _Operand, *, alpha: complex = 1, out: Tensor | None = None) -> Tensor:
        """`input - alpha * other`, element by element. `other` is a tensor, broadcast with `input`, or a number. `out`: a tensor to which the result is written."""
    def subtract_(self, other: _Operand, **kw: Any) -> Self:
        """`sub` in place: overwrite this tensor with the result, and return it. Arguments: those of `sub`."""
    def sum(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None, axis: Any = None, keepdims: _bool | None = None) -> Tensor:
        """The sum of all elements, or over dimensions. Integers and booleans are summed as int64."""
    def sum_to_size(self, *size: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """Sum over the dimensions that broadcasting from the shape `size` to this tensor's shape adds or stretches."""
    def svd(self, some: _bool = True, compute_uv: _bool = True, *, out: Any = None) -> _svd:
        """Deprecated form of `linalg.svd`: returns (U, S, V) with A = U diag(S) V^H."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Swap two dimensions; another name of `transpose`."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Self:
        """Swap two dimensions, in place."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dimensions; another name of `transpose`."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """Swap the dimensions `dim0` and `dim1` of this tensor, in place; returns the tensor."""
    def t(self) -> Tensor:
        """The transpose of a matrix, as a view; tensors with fewer dimensions are returned unchanged."""
    def t_(self) -> Self:
        """Transpose this matrix in place, and return it."""
    def take(self, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements at the indices `index` (int64, any shape) of the flattened tensor, with the shape of `index`. `out`: a tensor to which the result is written."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
        """Read elements by index along `dim`: `gather` whose arguments are broadcast; without `dim`, of the flattened tensor."""
    def tan(self, *, out: Tensor | None = None) -> Tensor:
        """The tangent of each element, an angle in radians."""
    def tan_(self, *, out: Tensor | None = None) -> Self:
        """`tan` in place: overwrite this tensor with the result, and return it. Arguments: those of `tan`."""
    def tanh(self, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic tangent of each element."""
    def tanh_(self, *, out: Tensor | None = None) -> Self:
        """`tanh` in place: overwrite this tensor with the result, and return it. Arguments: those of `tanh`."""
    def tensor_split(self, indices_or_sections: Any = None, dim: _int = 0, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Cut a tensor along `dim` into a tuple of views."""
    def tile(self, *dims: Any) -> Tensor:
        """Copies of this tensor side by side: `dims` has the number of copies along each of the last dimensions."""
    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Convert to another type or device: `x.to(dtype)`, `x.to(device)`, `x.to(device, dtype)`, or `x.to(other)` for both of a tensor."""
    def to_dense(self, dtype: _dtype | None = None, *, masked_grad: _bool = True) -> Tensor:
        """A dense tensor of the same elements. `dtype`: convert to this type. The gradient has only the stored elements; `masked_grad` is ignored."""
    def to_sparse(self, sparse_dim: _int | None = None, *, layout: _layout | None = None) -> Tensor:
        """A sparse tensor of the elements that are not zero. `sparse_dim`: how many leading dimensions become sparse, by default all."""
    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; one number for a zero-dimensional tensor."""
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Any = None) -> _topk:
        """The `k` largest elements along `dim` (with `largest=False` the smallest), in order: the named tuple (values, indices)."""
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix: a zero-dimensional tensor."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Swap the dimensions `dim0` and `dim1`; a view."""
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """Swap the dimensions `dim0` and `dim1` of this tensor, in place; returns the tensor."""
    def tril(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """The lower triangle of matrices (the last two dimensions), with zeros elsewhere; a copy."""
    def tril_(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Self:
        """`tril` in place: overwrite this tensor with the result, and return it. Arguments: those of `tril`."""
    def triu(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """The upper triangle of matrices (the last two dimensions), with zeros elsewhere; a copy."""
    def triu_(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Self:
        """`triu` in place: overwrite this tensor with the result, and return it. Arguments: those of `triu`."""
    def true_divide(self, other: _Operand, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """`input / other`, element by element; integers give the default float type. `other` is a tensor or a number."""
    def true_divide_(self, other: _Operand, **kw: Any) -> Self:
        """`div` in place: overwrite this tensor with the result, and return it. Arguments: those of `div`."""
    def trunc(self, *, out: Tensor | None = None) -> Tensor:
        """Each element without its fraction."""
    def trunc_(self, *, out: Tensor | None = None) -> Self:
        """`trunc` in place: overwrite this tensor with the result, and return it. Arguments: those of `trunc`."""
    @overload
    def type(self, dtype: None=None, non_blocking: _bool=False) -> str: ...
    @overload
    def type(self, dtype: Any, non_blocking: _bool=False) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor:
        """This tensor converted to the type and device of `other`."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """All slices along dimension `dim`, without that dimension, as a tuple of views."""
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """Split the dimension `dim` into several, of the lengths `sizes`; -1 for a length that follows from the others. A view."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows of `size` elements along a dimension, `step` apart, in a new last dimension; a view."""
    def uniform_(self, from_: _float = 0.0, to: _float = 1.0, *, generator: Generator | None = None, **names: Any) -> Self:
        """Fill this tensor with random numbers, uniformly distributed in [from, to), and return it. `generator`: the source of random numbers, by default that of the device."""
    @overload
    def unique(self, sorted: _bool=True, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor: ...
    @overload
    def unique(self, sorted: _bool=True, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> Any: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[False]=False, return_counts: Literal[False]=False, dim: _int | None=None) -> Tensor: ...
    @overload
    def unique_consecutive(self, return_inverse: _bool=False, return_counts: _bool=False, dim: _int | None=None) -> Any: ...
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`chunk` whose results may be changed in place, as in PyTorch."""
    def unsafe_split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`split` whose results may be changed in place, as in PyTorch."""
    def unsafe_split_with_sizes(self, split_sizes: Any, dim: _int = 0) -> tuple[Tensor, ...]:
        """`split_with_sizes` whose results may be changed in place, as in PyTorch."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """Insert a dimension of length 1, which becomes dimension `dim` of the result; a view."""
    def unsqueeze_(self, dim: _int) -> Self:
        """Insert a dimension of length 1 into this tensor, in place, as dimension `dim`; returns the tensor."""
    def untyped_storage(self) -> UntypedStorage:
        """The memory of this tensor and of all views that share it."""
    def values(self) -> Tensor:
        """The values of a coalesced sparse tensor; differentiable. RuntimeError if it is not coalesced."""
    def var(self, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor:
        """The variance: the sum of squared differences from the mean, divided by the number of elements minus `correction` (default 1)."""
    def vdot(self, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The inner product of two vectors of the same length, the first one conjugated: a zero-dimensional tensor. `out`: a tensor to which the result is written."""
    def view(self, *shape: Any, **names: Any) -> Tensor:
        """A view of the same memory in another shape: `x.view(2, -1)`; a RuntimeError if that would need a copy."""
    def view_as(self, other: Tensor) -> Tensor:
        """View this tensor in the shape of `other`."""
    def vsplit(self, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Cut a tensor along dimension 0 into a tuple of views. The arguments are those of `tensor_split`."""
    def where(self, condition: Tensor, other: _Operand) -> Tensor:
        """Elements of this tensor where the bool tensor `condition` is True, of `other` (a tensor or a number) elsewhere."""
    def xlogy(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input * log(other)`, and 0 where `input` is 0. Either may be a number. `out`: a tensor to which the result is written."""
    def xlogy_(self, other: _Operand, *, out: Tensor | None = None) -> Self:
        """`xlogy` in place: overwrite this tensor with the result, and return it. Arguments: those of `xlogy`."""
    def zero_(self) -> Self:
        """Write zeros into every element, in place; returns the tensor."""

def extra(tensor: Tensor) -> Extra:
    """The tensor's record of rare properties, created on first use."""
def counter(tensor: Tensor) -> list[Any]:
    """The tensor's version counter, created on first use; `_core.node` extends it for views. The node that created the tensor may already have one, if it saved its result."""
def flag_views(base: Tensor) -> None:
    """Update `requires_grad` of the views of a base whose own flag has changed."""
def method(fn: Fn, name: str | None = None) -> Fn:
    """Attach the function `fn` to Tensor as a method (called `name`, default: its own name) and return it; used as `@method`."""
def _check_assigned_grad(tensor: Tensor, value: Tensor) -> None: ...
def _warn_about_grad_of_non_leaf() -> None: ...
