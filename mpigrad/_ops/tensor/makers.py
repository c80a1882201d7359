"""The functions that an untrusted pickle may call: a closed list, with a check of the arguments for each.

They may raise any of Python's errors; the unpickler converts them to one that says that the file is damaged.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, Protocol

import numpy as np

from mpigrad._array.device import device
from mpigrad._array.dtype import dtype, from_numpy_dtype, of_text
from mpigrad._array.sparse.array import SparseArray
from mpigrad._tensor import Size, Tensor

from . import pickling
from .file_names import name_of, named
from .safe_globals import is_allowed

# NumPy's names of element types without fields and objects; other texts NumPy would parse as expressions
KIND = re.compile(r"[<>|=]?(?:[?bBhHiIlLqQefdgFDG]|[biufcSUV]\d{1,9}|[mM]8(?:\[\w{1,16}\])?)|bfloat16")


class Machine(Protocol):
    """The interface of the unpickler that these functions use."""

    def charge(self, count: int) -> None:
        """Count elements that are about to be copied; the unpickler limits their total number."""

    def outside(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function whose errors must not be reported as damage of the file."""

    def placed(self, *args: Any) -> Any:
        """An array on the device that `map_location` chooses for it."""


def make(machine: Machine, function: Any, args: tuple[Any, ...]) -> Any:
    """The result of a call of `function` that the pickle contains; an error if it is not in the list."""
    maker = _BUILTIN.get(function) if isinstance(function, type) else None
    maker = maker or _OWN.get(name_of(function) or "")
    if maker is not None:
        return maker(machine, *args)
    if is_allowed(function):
        return machine.outside(function, *args)
    raise TypeError(f"it would call {getattr(function, '__name__', type(function).__name__)}")


def check_names(state: Any, cls: type) -> None:
    """Raise an error unless attributes are a dict whose names do not hide attributes of the class."""
    _all_of(dict, [state])
    for name in state:
        if type(name) is not str or name.startswith("__") or hasattr(cls, name):
            raise ValueError("an attribute would hide one of its class")


def _all_of(kind: Any, values: Any) -> Any:
    """Return the values; raise an error unless the type of each is exactly one of `kind`."""
    kinds = kind if type(kind) is tuple else (kind,)
    for each in values:
        if type(each) not in kinds:
            raise TypeError(f"{type(each).__name__} instead of {' or '.join(one.__name__ for one in kinds)}")
    return values


# -- plain Python ---------------------------------------------------------------------------------------------------
def _plain(cls: type, *kinds: type) -> Callable[..., Any]:
    """Define a maker that accepts a few values of these types."""
    return lambda machine, *args: cls(*_all_of(kinds, args))


def _bytearray(machine: Machine, content: bytes = b"") -> bytearray:
    _all_of(bytes, [content])
    machine.charge(len(content))
    return bytearray(content)


def _ordered(machine: Machine) -> OrderedDict[Any, Any]:
    return OrderedDict()


def _counter(machine: Machine, counts: dict[Any, Any]) -> Counter[Any]:
    _all_of(dict, [counts])
    machine.charge(len(counts))
    return Counter(counts)


_FACTORIES = (None, bool, bytes, dict, float, frozenset, int, list, set, str, tuple, OrderedDict, Counter)


def _default(machine: Machine, factory: Any = None) -> defaultdict[Any, Any]:
    if not any(factory is each for each in _FACTORIES):
        raise TypeError("a defaultdict would call something else than a constructor of plain data")
    return defaultdict(factory)


def _deque(machine: Machine, start: tuple[Any, ...] = (), length: int | None = None) -> deque[Any]:
    if type(start) not in (tuple, list) or start or type(length) not in (int, type(None)):
        raise TypeError("a deque begins with something in it")
    return deque((), length)


_BUILTIN: dict[type, Callable[..., Any]] = {
    complex: _plain(complex, float, int),
    slice: lambda machine, start, stop, step: slice(*_all_of((int, type(None)), (start, stop, step))),
    range: _plain(range, int),
    bytearray: _bytearray,
    OrderedDict: _ordered,
    Counter: _counter,
    defaultdict: _default,
    deque: _deque,
    datetime: _plain(datetime, int, bytes),
    date: _plain(date, int, bytes),
    timedelta: _plain(timedelta, int),
}


# -- tensors ----------------------------------------------------------------------------------------------------------
def _tensor_class(cls: Any) -> type[Tensor]:
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError("a tensor's class must be Tensor or derived from it")
    return cls


def _finish(cls: Any, array: Any, requires_grad: bool, state: dict[str, Any]) -> Tensor:
    check_names(state, Tensor)
    _all_of(bool, [requires_grad])
    if requires_grad and from_numpy_dtype(array.dtype).category < 2:
        raise TypeError("only floating-point and complex tensors can require gradients")
    return pickling.finish(_tensor_class(cls), array, requires_grad, dict(state))


def check_place(memory: Any, place: tuple[Any, ...]) -> None:
    """Raise an error if the array at `place` (offset, shape, strides, type) would extend beyond its memory block."""
    offset, shape, strides, kind = place
    if type(kind) is not str or not KIND.fullmatch(kind):
        raise TypeError("the elements of a tensor have no known type")
    _all_of(np.ndarray, [memory])
    _all_of(int, (offset, *shape, *strides))
    _all_of(tuple, (shape, strides))
    low = high = offset
    for length, stride in zip(shape, strides, strict=True):
        reach = (length - 1) * stride
        low, high = min(low, low + reach), max(high, high + reach)
    element = of_text(kind)
    end = high + element.itemsize
    if 0 not in shape and (low < 0 or end > memory.nbytes) or min(shape, default=0) < 0 or element.hasobject:
        raise ValueError(f"a tensor reaches from byte {low} to {end} of a block of {memory.nbytes} bytes")
    from_numpy_dtype(np.dtype(kind))


def _tensor(
    machine: Machine, cls: Any, memory: Any, place: Any, where: str, requires_grad: bool, state: dict[str, Any]
) -> Tensor:
    check_place(memory, place)
    _all_of(str, [where])
    machine.charge(len(state))
    return _finish(cls, machine.placed(memory, place, where), requires_grad, state)


def _sparse_array(machine: Machine, indices: Any, values: Any, shape: Any, coalesced: bool) -> SparseArray:
    _all_of(np.ndarray, (indices, values))
    _all_of(int, shape)
    _all_of(bool, [coalesced])
    machine.charge(len(shape))
    from_numpy_dtype(values.dtype)
    if indices.dtype != np.int64 or indices.ndim != 2 or values.shape != (indices.shape[1], *shape[len(indices) :]):
        raise ValueError("the parts of a sparse tensor do not fit together")
    limits = np.array(shape[: len(indices)], np.int64)[:, None]
    if min(shape, default=0) < 0 or len(limits) != len(indices) or ((indices < 0) | (indices >= limits)).any():
        raise ValueError("an index of a sparse tensor is out of its shape")
    return SparseArray(indices, values, tuple(shape), coalesced)


def _sparse_tensor(
    machine: Machine, cls: Any, parts: Any, requires_grad: bool, state: dict[str, Any], where: str = "cpu"
) -> Tensor:
    array = parts if type(parts) is SparseArray else _sparse_array(machine, *parts)
    _all_of(str, [where])
    machine.charge(len(state))
    array = array.moved(lambda each: machine.placed(each, (0, each.shape, each.strides, each.dtype.str), where))
    return _finish(cls, array, requires_grad, state)


def _parameter(machine: Machine, cls: Any, data: Tensor, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    _all_of(Tensor, [data])
    _all_of(bool, [requires_grad])
    check_names(attributes, Tensor)
    machine.charge(len(attributes))
    if not issubclass(_tensor_class(cls), named("mpigrad.nn.Parameter")):
        raise TypeError("a parameter's class must be Parameter or derived from it")
    return named("parameter")(cls, data, requires_grad, attributes)


def _buffer(machine: Machine, data: Tensor, persistent: bool) -> Tensor:
    _all_of(Tensor, [data])
    return named("buffer")(data, *_all_of(bool, [persistent]))


def _uninitialized(name: str) -> Callable[..., Any]:
    def maker(machine: Machine, requires_grad: bool, place: device, kind: Any) -> Tensor:
        _all_of(bool, [requires_grad])
        _all_of(device, [place])
        _all_of(dtype, [kind])
        return machine.outside(named(name), requires_grad, place, kind)

    return maker


# -- mpigrad's other objects ----------------------------------------------------------------------------------------
def _size(machine: Machine, lengths: tuple[int, ...]) -> Size:
    machine.charge(len(lengths))
    return Size(_all_of(int, lengths))


def _device(machine: Machine, kind: str, index: int | None) -> device:
    _all_of(str, [kind])
    if index is not None and not 0 <= _all_of(int, [index])[0] < 1 << 16:
        raise ValueError("no device has this index")
    return device(kind, index)


def _dtype(machine: Machine, name: str) -> Any:
    return named("dtype")(*_all_of(str, [name]))


def _result(machine: Machine, name: str, values: tuple[Any, ...]) -> Any:
    _all_of(str, [name])
    _all_of(tuple, [values])
    machine.charge(len(values))
    return named("named result")(name, values)


def _generator(machine: Machine, place: str, state: Tensor) -> Any:
    _all_of(str, [place])
    _all_of(Tensor, [state])
    if state._array.dtype != np.uint8 or state._array.shape != (16,):
        raise ValueError("the state of a generator has 16 bytes")
    device(place)
    return machine.outside(named("generator"), place, state)


_OWN: dict[str, Callable[..., Any]] = {
    "tensor": _tensor,
    "sparse tensor": _sparse_tensor,
    "sparse array": _sparse_array,
    "memory": lambda machine, memory: _all_of(np.ndarray, [memory])[0],
    "parameter": _parameter,
    "buffer": _buffer,
    "dtype": _dtype,
    "named result": _result,
    "generator": _generator,
    "mpigrad.Size": _size,
    "mpigrad.device": _device,
    "mpigrad.nn.UninitializedParameter": _uninitialized("mpigrad.nn.UninitializedParameter"),
    "mpigrad.nn.UninitializedBuffer": _uninitialized("mpigrad.nn.UninitializedBuffer"),
}

__all__: list[str] = []
