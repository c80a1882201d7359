"""PyTorch's legacy constructors: Tensor(2, 3), Tensor([1.0]), LongTensor(...)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import CPU, resolve
from mpigrad._array.dtype import ALL, bfloat16, dtype, get_default_dtype
from mpigrad._core.tensor import wrap_as
from mpigrad._tensor import Size, Tensor, method

from .._define.dims import size_from
from .data import array_from, build

_TITLES = {
    "float32": "FloatTensor", "float64": "DoubleTensor", "float16": "HalfTensor", "bfloat16": "BFloat16Tensor",
    "uint8": "ByteTensor", "int8": "CharTensor", "int16": "ShortTensor", "int32": "IntTensor",
    "int64": "LongTensor", "bool": "BoolTensor", "complex64": "ComplexFloatTensor", "complex128": "ComplexDoubleTensor",
}  # fmt: skip


def legacy_tensor(cls: type[Tensor], *args: Any, device: Any = None, **kwargs: Any) -> Tensor:
    """`Tensor(...)`: an uninitialised tensor for sizes, a copy for data, both of the default float type."""
    if kwargs:
        raise TypeError(
            f"Tensor() got unexpected keyword arguments {sorted(kwargs)}; use mpigrad.tensor(data, dtype=...)"
        )
    if len(args) == 1 and isinstance(args[0], Tensor):  # of any type: shares its memory
        return wrap_as(cls, args[0]._array)
    return wrap_as(cls, _array(args, get_default_dtype(), CPU if device is None else resolve(device)))


method(staticmethod(legacy_tensor), "__new__")


def _array(args: tuple[Any, ...], kind: dtype, place: Any) -> Any:
    if not args:
        return build(place, "empty", (0,), kind.numpy)
    first = args[0]
    if len(args) == 1 and isinstance(first, Size):
        return build(place, "empty", tuple(first), kind.numpy)
    if len(args) == 1 and isinstance(first, Tensor):
        if first.dtype is not kind:
            raise TypeError(f"expected {kind} (got {first.dtype})")
        return first._array
    if len(args) == 1 and not (isinstance(first, (int, np.integer)) and not isinstance(first, bool)):
        if isinstance(first, (float, bool, complex)):
            raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
        return array_from(first, kind, place)
    return build(place, "empty", size_from("new", args), kind.numpy)


class _Typed(type):
    """The metaclass of LongTensor and similar types: `isinstance` checks the element type."""

    kind: dtype

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.kind and not value.is_cuda

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        return wrap_as(Tensor, _array(args, cls.kind, CPU if device is None else resolve(device)))

    def __repr__(cls) -> str:
        return f"<class 'mpigrad.{cls.__name__}'>"


def _doc(kind: Any) -> str:
    return (
        f"Legacy: create a tensor of type {kind} on the CPU, from sizes (uninitialised) or from data; `mpigrad.tensor` is "
        "the present form.\n\n`isinstance(x, ...)` is true for CPU tensors of this type."
    )


BY_TITLE: dict[str, Any] = {}
for _kind in (*ALL, bfloat16):
    if _kind.name in _TITLES:
        _title = _TITLES[_kind.name]
        BY_TITLE[_title] = globals()[_title] = _Typed(
            _title,
            (),
            {"kind": _kind, "dtype": _kind, "__module__": "mpigrad", "__doc__": _doc(_kind)},
        )


def type_title(tensor: Tensor) -> str:
    """The name of a tensor's type as `Tensor.type()` returns it, such as "mpigrad.FloatTensor"."""
    module = "mpigrad.cuda" if tensor.is_cuda else "mpigrad"
    return f"{module}.{'sparse.' if tensor.is_sparse else ''}{_TITLES.get(tensor.dtype.name, tensor.dtype.name)}"


__all__ = list(_TITLES.values())
