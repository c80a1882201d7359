"""Converts users' data to arrays: nested lists, numbers, NumPy arrays, tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import CPU, device, device_of, module_for, move, on_device, resolve
from mpigrad._array.dtype import as_dtype, dtype, from_numpy_dtype, get_default_dtype, promote_types, scalar_dtype
from mpigrad._tensor import Tensor

from .._define.foreign import of_torch, torch_array

_PLAIN = (bool, int, float)  # for lists of these, NumPy's conversion equals PyTorch's


def array_from(data: Any, kind: dtype | None, place: device, copy: bool = True) -> Any:
    """An array of `data`, of type `kind` (None: the type of the data) on `place`."""
    if isinstance(data, Tensor):
        return _converted(data._array, kind, place, copy)
    if isinstance(data, np.ndarray):
        return _converted(_checked(data), kind, place, copy)
    if isinstance(data, np.generic):
        return _converted(np.asarray(data), kind, place, False)
    if hasattr(data, "__cuda_array_interface__"):
        return _converted(module_for(device("cuda")).asarray(data), kind, place, copy)
    if of_torch(data):
        return _converted(_checked(torch_array(data)), kind, place, copy)
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        return _converted(_checked(np.asarray(data)), kind, place, copy)
    made = _from_python(data, kind)
    return made if place is CPU else move(made, place)


def _checked(array: np.ndarray) -> np.ndarray:
    from_numpy_dtype(array.dtype)
    if any(stride < 0 for stride in array.strides) and array.size:
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _converted(array: Any, kind: dtype | None, place: device, copy: bool) -> Any:
    wanted = array.dtype if kind is None else kind.numpy
    moved = move(array, place) if device_of(array) != place else array
    if moved.dtype != wanted:
        return moved.astype(wanted)
    return moved.copy() if copy and moved is array else moved


def _from_python(data: Any, kind: dtype | None) -> np.ndarray:
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if not _is_sequence(data):
        return _from_number(data, kind)
    shape = _shape(data)
    flat: list[Any] = []
    try:
        _flatten(data, shape, 0, flat)
    except _TooDeep as found:
        what = (
            f"must be real number, not {found}"
            if _holds_floats(data)
            else f"'{found}' object cannot be interpreted as an integer"
        )
        raise TypeError(what) from None
    kind = _infer(flat) if kind is None else kind
    return _fill(flat, kind).reshape(shape)


class _TooDeep(Exception):
    """The error for nested lists in which numbers and lists are mixed."""


def _holds_floats(data: Any) -> bool:
    if _is_sequence(data):
        return len(data) == 0 or any(_holds_floats(each) for each in data)
    return isinstance(data, (float, complex, np.floating, np.complexfloating))


def _is_sequence(data: Any) -> bool:
    return hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (Tensor, dict, set, str))


def _shape(data: Any) -> tuple[int, ...]:
    """The shape of nested lists according to their first elements; `_flatten` checks the others."""
    shape: list[int] = []
    while True:
        if isinstance(data, (np.ndarray, Tensor)) and shape:
            return (*shape, *data.shape) if isinstance(data, np.ndarray) else tuple(shape)
        if isinstance(data, str):
            raise ValueError("too many dimensions 'str'")
        if not _is_sequence(data):
            return tuple(shape)
        shape.append(len(data))
        if len(shape) > 64:
            raise ValueError("too many dimensions: is the list inside itself?")
        if len(data) == 0:
            return tuple(shape)
        data = data[0]


def _flatten(data: Any, shape: tuple[int, ...], depth: int, flat: list[Any]) -> None:
    if depth == len(shape):
        flat.append(_scalar(data))
        return
    if not _is_sequence(data):
        raise TypeError(f"not a sequence: expected {shape[depth]} elements at dim {depth}, got {type(data).__name__}")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    if depth == len(shape) - 1 and isinstance(data, (list, tuple)) and all(type(each) in _PLAIN for each in data):
        flat.extend(data)
        return
    for each in data:
        _flatten(each, shape, depth + 1, flat)


def _scalar(value: Any) -> Any:
    if isinstance(value, Tensor):
        if value._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return value._array.reshape(())[()]
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return value
    if isinstance(value, str):
        raise ValueError("too many dimensions 'str'")
    if _is_sequence(value):
        raise _TooDeep(type(value).__name__)
    raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")


def _infer(flat: list[Any]) -> dtype:
    kind: dtype | None = None
    for each in {type(value): value for value in flat}.values():
        found = from_numpy_dtype(each.dtype) if isinstance(each, np.generic) else scalar_dtype(each)
        kind = found if kind is None else promote_types(kind, found)
    return get_default_dtype() if kind is None else kind


def _fill(flat: list[Any], kind: dtype) -> np.ndarray:
    if kind.category < 2 and any(isinstance(each, (float, np.floating)) for each in flat):
        return np.array(flat).astype(kind.numpy)  # truncates, as in C
    try:
        return np.array(flat, dtype=kind.numpy)
    except OverflowError:
        if not kind.is_signed and all(isinstance(each, int) and abs(each) < 1 << 8 * kind.itemsize for each in flat):
            return np.array(flat).astype(kind.numpy)  # wraps around, as in C
        raise _overflow(flat, kind) from None


def _overflow(flat: list[Any], kind: dtype) -> Exception:
    if any(isinstance(each, int) and not -(2**63) <= each < 2**63 for each in flat):
        return ValueError("Overflow when unpacking long long")
    return RuntimeError(f"value cannot be converted to type {kind.name} without overflow")


def _from_number(value: Any, kind: dtype | None) -> np.ndarray:
    if isinstance(value, (bool, int, float, complex)):
        return _fill([value], scalar_dtype(value) if kind is None else kind).reshape(())
    raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")


def place_and_type(given: Any, kind: Any) -> tuple[device, dtype]:
    """The device and type of a new tensor from the arguments `device` and `dtype`."""
    return resolve(given), get_default_dtype() if kind is None else as_dtype(kind)


def build(place: device, function: str, *args: Any, **kw: Any) -> Any:
    """Call a function of the array module (NumPy or CuPy) of a device, with that device as the current one."""
    if place is CPU:
        return getattr(np, function)(*args, **kw)
    with on_device(place):
        return getattr(module_for(place), function)(*args, **kw)
