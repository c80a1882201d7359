"""The storage of tensors: address, size and sharing; and elementwise application of Python functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mpigrad._array.device import CPU, device, device_of, pointer
from mpigrad._array.dtype import as_dtype, dtype
from mpigrad._array.shared import block_behind
from mpigrad._core.tensor import wrap, wrap_as
from mpigrad._tensor import Tensor, counter, method

from .._define.dims import size_from
from .._define.guarded import guarded
from .._define.inplace import check_in_place
from ..create.create import Place, empty, tensor


class UntypedStorage:
    """The block of memory that a tensor and its views share: its address and its size in bytes."""

    def __init__(self, array: Any) -> None:
        while getattr(array, "base", None) is not None and type(array.base) is type(array):
            array = array.base
        self._whole = array

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return pointer(self._whole)

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._whole.nbytes

    def size(self) -> int:
        """The number of bytes."""
        return self._whole.nbytes

    __len__ = size

    @property
    def device(self) -> device:
        """The device of the memory."""
        return device_of(self._whole)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a GPU."""
        return self.device.type == "cuda"

    def is_shared(self) -> bool:
        """Whether other processes can map the memory."""
        return self.is_cuda or block_behind(self._whole) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._whole is self._whole

    def __hash__(self) -> int:
        return id(self._whole)

    def __repr__(self) -> str:
        return f"[mpigrad.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


@method
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory of this tensor and of all views that share it."""
    if self.is_sparse:
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")
    return UntypedStorage(self._array)


@method
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both tensors have the same memory, offset, shape and strides."""
    a, b = self._array, tensor._array
    return pointer(a) == pointer(b) and a.shape == b.shape and a.strides == b.strides


@method
def const_data_ptr(self: Tensor) -> int:
    """The address of the first element."""
    return self.data_ptr()


@method
def dim_order(self: Tensor, ambiguity_check: bool = False) -> tuple[int, ...]:
    """The dimensions in descending order of their strides."""
    strides = self.stride()
    return tuple(sorted(range(self.ndim), key=lambda dim: -strides[dim]))


def _each(name: str, self: Tensor, others: Sequence[Tensor], callable: Callable[..., Any]) -> Tensor:
    if self._requires or any(each._requires for each in others):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
        )
    for each in (self, *others):
        if each.device is not CPU:
            raise TypeError(f"{name} is only implemented on CPU tensors")
    check_in_place(self)
    into = self._array
    values = np.broadcast_arrays(into, *(each._array for each in others))
    if values[0].shape != into.shape:
        raise RuntimeError(f"{name}: the other tensors must be expandable to {list(into.shape)}")
    results = [callable(*(value.item() for value in row)) for row in zip(*(each.flat for each in values))]
    into[...] = np.array(results, into.dtype).reshape(into.shape)
    counter(self)[0] += 1
    return self


@method
@guarded
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by `callable(element)`, in place; returns the tensor. It calls Python for each element, so
    it is slow.
    """
    return _each("apply_", self, (), callable)


@method
@guarded
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by `callable(element, element of tensor)`, in place; returns this tensor."""
    return _each("map_", self, (tensor,), callable)


@method
@guarded
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by `callable(element, element of x, element of y)`, in place; returns this tensor."""
    return _each("map2_", self, (x, y), callable)


def empty_strided(size: Any, stride: Any, *, dtype: dtype | None = None, layout: Any = None, device: Place = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """An uninitialised tensor of the shape `size` with the strides `stride`, in elements. `dtype` (by default the
    default float type), `device` and `requires_grad` are those of the new tensor. `layout` and `pin_memory` are ignored.

    >>> import mpigrad
    >>> mpigrad.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    shape, steps = size_from("empty_strided", (size,)), tuple(stride)
    if len(shape) != len(steps):
        raise RuntimeError(
            f"mismatch in length of strides and shape: got {len(steps)} strides for {len(shape)} dimensions"
        )
    count = 0 if 0 in shape else 1 + sum((length - 1) * step for length, step in zip(shape, steps))
    made = empty(count, dtype=dtype, device=device).as_strided(shape, steps)
    return wrap(made._array).requires_grad_(requires_grad)


@method
def new_empty_strided(self: Tensor, size: Any, stride: Any, *, dtype: dtype | None = None, device: Place = None,
                      requires_grad: bool = False, layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """An uninitialised tensor of the shape `size` with the strides `stride`, in elements. `dtype` and `device` are by
    default those of this tensor; `requires_grad` (default: False) is that of the new one.
    """
    kind, place = (self.dtype if dtype is None else dtype), (self.device if device is None else device)
    return empty_strided(size, stride, dtype=kind, device=place, requires_grad=requires_grad)


def frombuffer(buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A vector over the memory of an object with the buffer protocol (bytearray, array, mmap ...), without a copy.

    `dtype`: the type of its elements. `count`: their number, -1 for all; `offset`: bytes to skip at the beginning.

    >>> import mpigrad
    >>> mpigrad.frombuffer(bytearray(4), dtype=mpigrad.int16)
    tensor([0, 0], dtype=mpigrad.int16)
    """
    kind = as_dtype(dtype).numpy
    length = memoryview(buffer).nbytes
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % kind.itemsize:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({kind.itemsize})"
        )
    if count > 0 and offset + count * kind.itemsize > length:
        raise ValueError(
            f"requested buffer length ({count} * {kind.itemsize} bytes) after offset ({offset} bytes) must not be "
            f"greater than actual buffer length ({length} bytes)"
        )
    return wrap(np.frombuffer(buffer, kind, count, offset)).requires_grad_(requires_grad)


@method
def as_subclass(self: Tensor, cls: type[Tensor]) -> Any:
    """This tensor as an instance of `cls`, a subclass of Tensor; with the same memory."""
    made = wrap_as(cls, self._array)
    made._counter = counter(self)
    return made


@method
def new(self: Tensor, *args: Any) -> Tensor:
    """Legacy: a tensor with this tensor's type and device, from a list, tensor or array; uninitialised if sizes are
    given.
    """
    if len(args) == 1 and isinstance(args[0], (list, Tensor, np.ndarray)):
        return tensor(args[0], dtype=self.dtype, device=self.device)
    return self.new_empty(*(args or (0,)))


def _never(name: str, what: str) -> None:
    method(property(lambda self: False, doc=f"Always False: there are no tensors {what} here."), name)


for _name, _what in (
    ("is_meta", "without elements"), ("is_quantized", "of quantized numbers"), ("is_nested", "of tensors"),
    ("is_sparse_csr", "in compressed rows"), ("is_mkldnn", "in MKL-DNN's layout"), ("is_mps", "on Apple's GPUs"),
    ("is_xpu", "on Intel's GPUs"), ("is_xla", "on XLA's devices"), ("is_ipu", "on Graphcore's devices"),
    ("is_mtia", "on MTIA"), ("is_maia", "on MAIA"), ("is_vulkan", "on Vulkan"),
):  # fmt: skip
    _never(_name, _what)
_on_host = property(lambda self: not self.is_cuda, doc="Whether the elements live in the host's memory.")
method(_on_host, "is_cpu")

__all__ = ["UntypedStorage", "empty_strided", "frombuffer"]
