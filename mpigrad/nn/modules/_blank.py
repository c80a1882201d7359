"""New tensors for parameters and buffers, with the device and type arguments of modules."""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import module_for, on_device, resolve
from mpigrad._array.dtype import as_dtype, get_default_dtype

from ..._core.tensor import wrap
from ..._tensor import Tensor


def blank(*shape: int, device: Any = None, dtype: Any = None) -> Tensor:
    """An uninitialised tensor, whose elements an initialisation sets."""
    return _made("empty", shape, device, dtype)


def zeros(*shape: int, device: Any = None, dtype: Any = None) -> Tensor:
    """A tensor of zeros of this shape; device and type as in modules (None: the defaults)."""
    return _made("zeros", shape, device, dtype)


def ones(*shape: int, device: Any = None, dtype: Any = None) -> Tensor:
    """A tensor of ones of this shape; device and type as in modules (None: the defaults)."""
    return _made("ones", shape, device, dtype)


def _made(how: str, shape: tuple[int, ...], device: Any, dtype: Any) -> Tensor:
    place = resolve(device)
    kind = get_default_dtype() if dtype is None else as_dtype(dtype)
    with on_device(place):
        return wrap(getattr(module_for(place), how)(shape, kind.numpy))
