"""Queries: sizes, memory, elements as Python or NumPy objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import cupy, host
from mpigrad._array.layout import ORDERS
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE
from mpigrad._tensor import Size, Tensor, method

from .._define.arguments import need_tensors
from .._define.dims import wrap_dim


@method
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, a `Size`; with `dim`, the length of that dimension."""
    return Size(self._array.shape) if dim is None else self._array.shape[_strict_dim(dim, self._array.ndim)]


def _strict_dim(dim: int, ndim: int) -> int:
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


@method
def stride(self: Tensor, dim: int | None = None) -> Any:
    """The strides, in elements: how far apart in memory neighbours along each dimension are; with `dim`, that of one
    dimension.
    """
    array = self._array
    if self.is_sparse:
        strides: tuple[int, ...] = (0,) * array.ndim
    else:
        strides = tuple(each // array.itemsize for each in array.strides) if array.size else _dense_strides(array.shape)
    return strides if dim is None else strides[_strict_dim(dim, len(strides))]


def _dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    made, step = [], 1
    for length in reversed(shape):
        made.append(step)
        step *= max(length, 1)
    return tuple(reversed(made))


@method
def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return self._array.ndim


method(dim, "ndimension")


def numel(input: Tensor) -> int:
    """The number of elements of a tensor.

    >>> import mpigrad
    >>> mpigrad.numel(mpigrad.zeros(2, 3))
    6
    """
    need_tensors("numel", input=input)
    size = 1
    for length in input._array.shape:
        size *= length
    return size


method(numel)
method(numel, "nelement")


@method
def element_size(self: Tensor) -> int:
    """The number of bytes of one element."""
    return self._array.dtype.itemsize


method(property(lambda self: self._array.dtype.itemsize, doc="Bytes of one element."), "itemsize")  # type: ignore[type-var]
method(property(lambda self: numel(self) * self._array.dtype.itemsize, doc="Bytes of all elements."), "nbytes")  # type: ignore[type-var]


@method
def data_ptr(self: Tensor) -> int:
    """The memory address of the first element."""
    array = self._array
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr


@method
def storage_offset(self: Tensor) -> int:
    """The offset of the tensor's first element in its storage, in elements."""
    root = self if self._view is None else self._view.base
    return (data_ptr(self) - data_ptr(root)) // self._array.dtype.itemsize


@method
def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether the elements are in memory in row-major order without gaps."""
    if memory_format in ORDERS:
        order = ORDERS[memory_format]
        return len(order) == self._array.ndim and bool(self._array.transpose(order).flags.c_contiguous)
    return not self.is_sparse and bool(self._array.flags.c_contiguous)


def is_floating_point(input: Tensor) -> bool:
    """Whether the element type is a real floating-point type (float16, bfloat16, float32, float64)."""
    return input._array.dtype.kind in "fV"


def is_complex(input: Tensor) -> bool:
    """Whether the element type is a complex type."""
    return input._array.dtype.kind == "c"


def is_signed(input: Tensor) -> bool:
    """Whether the element type has negative numbers."""
    return input._array.dtype.kind in "ifcV"


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element of the tensor is not zero; RuntimeError if it has several."""
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return input._array.shape == other._array.shape


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was created inside `inference_mode`."""
    return input.is_inference()


for _fn in (is_floating_point, is_complex, is_signed, is_nonzero, is_same_size):
    method(_fn)


@method
def item(self: Tensor) -> Any:
    """The only element, as a Python number; RuntimeError unless there is exactly one.

    >>> import mpigrad
    >>> mpigrad.tensor([2.5]).item()
    2.5
    """
    if self._array.size != 1:
        raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
    return _dense(self).item()


def _dense(tensor: Tensor) -> Any:
    array = tensor.to_dense()._array if tensor.is_sparse else tensor._array
    return array.astype("f4") if array.dtype.kind == "V" else array  # whose elements are Python's floats


@method
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers; one number for a zero-dimensional tensor."""
    return _dense(self).tolist()


def _numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """A NumPy array that shares this tensor's memory; RuntimeError for tensors that require grad, TypeError for those
    on a GPU.

    `force`: detach the tensor, move it to the host and copy, if that is necessary.

    >>> import mpigrad
    >>> mpigrad.ones(2).numpy()
    array([1., 1.], dtype=float32)
    """
    if self.is_sparse:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")
    if not force:
        if self.is_cuda:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy "
                "the tensor to host memory "
                "first."
            )
        if self._requires and MODE.enabled:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    return host(self._array)


method(_numpy, "numpy")


@method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    array = _numpy(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(
                f"a conversion from {array.dtype} to {np.dtype(dtype)} needs a copy, which copy=False forbids"
            )
        return array.astype(dtype)
    return array.copy() if copy else array


@method
def __dlpack__(self: Tensor, *, stream: Any = None, **kw: Any) -> Any:
    if self._requires:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_sparse:
        raise BufferError("Can't export tensors with layout other than mpigrad.strided")
    kw = {key: value for key, value in kw.items() if value is not None}
    return self._array.__dlpack__(stream=stream, **kw) if stream is not None else self._array.__dlpack__(**kw)


@method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    kind, index = self._array.__dlpack_device__()
    return int(kind), int(index)


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor that shares the memory of an array of another library (NumPy, CuPy, JAX, PyTorch ...), through DLPack.

    `ext_tensor`: an object with `__dlpack__`, or a DLPack capsule.

    >>> import mpigrad, numpy
    >>> mpigrad.from_dlpack(numpy.array([1.0, 2.0]))
    tensor([1., 2.], dtype=mpigrad.float64)
    """
    if not hasattr(ext_tensor, "__dlpack_device__"):
        raise TypeError(
            f"from_dlpack expects an object with __dlpack__ and __dlpack_device__, not {type(ext_tensor).__name__}"
        )
    kind = int(ext_tensor.__dlpack_device__()[0])
    if kind in (1, 3):
        return wrap(np.from_dlpack(ext_tensor))
    return wrap(cupy().from_dlpack(ext_tensor))


@method
def __len__(self: Tensor) -> int:
    if self._array.ndim == 0:
        raise TypeError("len() of a 0-d tensor")
    return self._array.shape[0]


@method
def __bool__(self: Tensor) -> bool:
    array = self._array
    if array.size == 1:
        return bool(_dense(self).item())
    many = "more than one value" if array.size else "no values"
    raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")


def _number(self: Tensor) -> Any:
    if self._array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return _dense(self).item()


method(lambda self: float(_number(self)), "__float__")
method(lambda self: int(_number(self)), "__int__")
method(lambda self: complex(_number(self)), "__complex__")


@method
def __index__(self: Tensor) -> int:
    if self._array.size != 1 or self._array.dtype.kind not in "iub":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self._array.item())


@method
def __contains__(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, int, float, complex, np.generic)):
        return bool(self.eq(element).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


@method
def get_device(self: Tensor) -> int:
    """The index of the GPU on which this tensor is; -1 for a tensor on the CPU."""
    return -1 if self.device.index is None else self.device.index


def typename(obj: Any, /) -> str:
    """The full name of an object's type; for a tensor, the name of its tensor type, such as "mpigrad.FloatTensor".

    >>> import mpigrad
    >>> mpigrad.typename(mpigrad.ones(1))
    'mpigrad.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    found = obj if isinstance(obj, type) else type(obj)
    home = found.__module__
    return found.__qualname__ if home in ("builtins", "__builtin__") else f"{home}.{found.__qualname__}"


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the tensor's memory, for the `from_dlpack` of another library. It can be used once."""
    return tensor.__dlpack__()


__all__ = [
    "from_dlpack", "get_device", "is_complex", "is_floating_point", "is_inference", "is_nonzero", "is_same_size",
    "is_signed", "numel", "to_dlpack", "typename",
]  # fmt: skip
