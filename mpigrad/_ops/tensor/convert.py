"""Conversions between types and devices: `to` and others, clone, detach, contiguous."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import device, device_of, move, pin, resolve, used_by
from mpigrad._array.device import is_pinned as memory_is_pinned
from mpigrad._array.dtype import (
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from mpigrad._array.layout import ORDERS, contiguous_format, order_of
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE
from mpigrad._graph.namespace import add_to_both
from mpigrad._tensor import Tensor, counter, extra, method

from .._define.operator import operator
from .._define.sparse_calls import on_arrays
from .._define.unbroadcast import cast
from ..create.legacy import BY_TITLE, _Typed, type_title


def _move_backward(F: Any, node: Any, g: Any) -> Any:
    return F.move_to(g, place=node.kw["source"])


def _move(x: Any, *, place: device, source: device, non_blocking: bool) -> Any:
    return move(x, place, non_blocking)


_move_recorded = operator("move", _move, _move_backward, node="ToCopyBackward0")

_move_recorded.sparse = on_arrays


def _move_to(tensor: Tensor, *, place: device, non_blocking: bool = False) -> Tensor:
    return _move_recorded(tensor, place=place, source=device_of(tensor._array), non_blocking=non_blocking)


add_to_both("move_to", lambda x, *, place: move(x, place), _move_to)


def copied(x: Any) -> Any:
    """A copy of an array that owns its memory, in the same order of dimensions."""
    stretched = any(not stride and length > 1 for stride, length in zip(x.strides, x.shape))
    return x.copy() if stretched else x.copy("K")


clone_op = operator("clone", copied, lambda F, node, g: g)
_clone_ordered = operator(
    "clone_ordered",
    lambda x, *, order: x.transpose(order).copy().transpose(np.argsort(order).tolist()),
    lambda F, node, g: g,
    node="CloneBackward0",
)
_clone_contiguous = operator("clone_contiguous", lambda x: x.copy(), lambda F, node, g: g, node="CloneBackward0")


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy of the tensor; gradients flow through it to the original. `memory_format` has no effect on the elements.

    >>> import mpigrad
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> x.clone().grad_fn.name()
    'CloneBackward0'
    """
    if memory_format in ORDERS:
        return _clone_ordered(input, order=order_of(memory_format, input._array.ndim))
    return clone_op(input) if memory_format is not contiguous_format else _clone_contiguous(input)


@method
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its elements are in memory in row-major order without gaps, otherwise a copy that is."""
    if memory_format in ORDERS:
        order = order_of(memory_format, self._array.ndim)
        return self if self._array.transpose(order).flags.c_contiguous else _clone_ordered(self, order=order)
    return self if self.is_sparse or self._array.flags.c_contiguous else _clone_contiguous(self)


@method
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Convert to another type or device: `x.to(dtype)`, `x.to(device)`, `x.to(device, dtype)`, or `x.to(other)` for
    both of a tensor.

    Returns the tensor itself if nothing changes, unless `copy=True`. `non_blocking`: copies between pinned memory and
    a GPU do not wait.

    >>> import mpigrad
    >>> mpigrad.ones(2).to(mpigrad.int64)
    tensor([1, 1])
    """
    order = kwargs.pop("memory_format", None)
    made = convert(self, *_to_arguments(args, kwargs))
    return made.contiguous(memory_format=order) if order in ORDERS or order is contiguous_format else made


def _to_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dtype | None, device | None, bool, bool]:
    """Parse the arguments of `to`: returns type and device (None: unchanged), `non_blocking` and `copy`."""
    kind, place = kwargs.pop("dtype", None), kwargs.pop("device", None)
    flags = []
    other = kwargs.pop("other", None)
    for each in args:
        if isinstance(each, Tensor):
            other = each
        elif isinstance(each, dtype) or each in (float, complex) or each is int or each is bool:
            kind = each
        elif isinstance(each, (str, device)) or isinstance(each, int) and not isinstance(each, bool):
            place = each
        elif isinstance(each, bool):
            flags.append(each)
        elif each is not None:
            raise TypeError(
                f"to() received an invalid combination of arguments - got {type(each).__name__}, but "
                "expected a device, a "
                "mpigrad.dtype, both, or a Tensor"
            )
    if other is not None:
        kind, place = other.dtype, other.device
    copy = kwargs.pop("copy", flags[1] if len(flags) > 1 else False)
    non_blocking = bool(kwargs.pop("non_blocking", flags[0] if flags else False))
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    return None if kind is None else as_dtype(kind), None if place is None else resolve(place), copy, non_blocking


def convert(
    tensor: Tensor, kind: dtype | None, place: device | None, copy: bool = False, non_blocking: bool = False
) -> Tensor:
    """The tensor converted to the type `kind` and the device `place` (None: unchanged), by recorded operations.

    `copy`: a copy even if nothing changes. `non_blocking`: do not wait for copies between pinned memory and a GPU.
    """
    made = tensor
    if place is not None and device_of(made._array) != place:
        made = _move_to(made, place=place, non_blocking=non_blocking and (kind is None or kind == tensor.dtype))
    if kind is not None and made._array.dtype != kind.numpy:
        made = _cast_dense(made, kind)
    return _copied(made) if copy and made is tensor else made


_copied = operator("copied", copied, lambda F, node, g: g, node="ToCopyBackward0")


def _cast_dense(tensor: Tensor, kind: dtype) -> Tensor:
    return cast(tensor, dtype=kind.numpy)


def _converter(kind: dtype) -> Any:
    def call(self: Tensor, memory_format: Any = None) -> Tensor:
        return self if self._array.dtype == kind.numpy else _cast_dense(self, kind)

    return call


for _name, _kind in {
    "float": float32, "double": float64, "half": float16, "bfloat16": bfloat16, "long": int64, "int": int32, "short": int16,
    "char": int8, "byte": uint8, "bool": bool_, "cfloat": complex64, "cdouble": complex128,
}.items():  # fmt: skip
    _made = _converter(_kind)
    _made.__name__ = _made.__qualname__ = _name
    _made.__doc__ = f"This tensor with elements of {_kind}."
    method(_made)


@method
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """This tensor in host memory; the tensor itself if it is there already."""
    return convert(self, None, resolve("cpu"))


@method
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """This tensor in the memory of a GPU, by default the current one; the tensor itself if it is there already."""
    return convert(self, None, resolve("cuda" if device is None else device), non_blocking=non_blocking)


@method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in pinned host memory, for asynchronous transfers with `to(..., non_blocking=True)`."""
    if self.is_sparse:
        raise RuntimeError(f"cannot pin '{type_title(self)}' only dense CPU tensors can be pinned")
    array = pin(self._array)
    return self if array is self._array else wrap(array)


@method
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether this tensor is in pinned host memory."""
    return memory_is_pinned(self._array)


@method
def record_stream(self: Tensor, stream: Any) -> None:
    """Tell the memory pool that `stream` uses this tensor, which was created on another stream.

    When the tensor is freed, its memory is reused only after all work that `stream` has then been given is complete.
    """
    used_by(self._array, stream._stream)


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Without arguments, the name of the tensor's type, such as "mpigrad.FloatTensor"; with `dtype`, the tensor
    converted to it.
    """
    if dtype is None:
        return type_title(self)
    if isinstance(dtype, str):
        found = BY_TITLE.get(dtype.rpartition(".")[2])
        if found is None:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = found
    return convert(self, dtype.kind if isinstance(dtype, _Typed) else as_dtype(dtype), None)


method(_type, "type")


@method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor converted to the type and device of `other`."""
    return convert(self, other.dtype, other.device)


def detach(input: Tensor) -> Tensor:
    """A tensor with the same memory that is not connected to the graph: no gradients flow through it.

    In-place changes of one are visible in the other, and a backward pass that needs the old values raises an error.
    """
    made = wrap(input._array)
    made._counter = counter(input)
    if MODE.inference or input._extra is not None and input._extra.inference:
        extra(made).inference = True
    return made


def detach_(input: Tensor) -> Tensor:
    """Disconnect this tensor from the graph, in place: it becomes a leaf. Returns the tensor."""
    if input._view is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead. A view shares the history of its base.")
    input._grad_fn, input._nr, input._requires = None, 0, False
    return input


for _fn in (clone, detach, detach_):
    method(_fn)


def _get_data(self: Tensor) -> Tensor:
    """An alias that is not connected to the graph and has a separate version counter: in-place changes are not detected."""
    return wrap(self._array)


def _set_data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if self._requires and value._array.dtype.kind not in "fcV":
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    self._array = value._array


method(property(_get_data, _set_data), "data")  # type: ignore[type-var]

__all__ = ["clone", "detach", "detach_"]
