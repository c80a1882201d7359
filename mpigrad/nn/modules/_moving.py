"""Moving and converting all tensors of a module, keeping the parameters the same objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad._array import dtype
from mpigrad._array.device import device as Device
from mpigrad._array.device import move, resolve
from mpigrad._array.dtype import dtype as Dtype

from ..._core.tensor import wrap
from ..._ops.tensor.sharing import share
from ..._tensor import Tensor
from ..parameter import Buffer
from ._traversal import Traversal

if TYPE_CHECKING:
    from typing_extensions import Self


def _float_cast(wanted: Dtype) -> Callable[[Any], Any]:
    return lambda array: (
        array.astype(wanted.numpy) if array.dtype.kind in "fV" and array.dtype != wanted.numpy else array
    )


class Moving(Traversal):
    """The part of `Module` that moves it to devices and converts its type. All methods change the module in place and
    return it.
    """

    def _apply_arrays(self, fn: Callable[[Any], Any]) -> None:
        for module in self.modules():
            module._apply(lambda tensor: wrap(fn(tensor._array)), recurse=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                parameter._array = fn(wrap(parameter._array))._array
                if parameter._grad is not None:
                    parameter._grad = wrap(fn(wrap(parameter._grad._array))._array)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                made = fn(wrap(buffer._array))
                if isinstance(buffer, Buffer):
                    made = Buffer(made, persistent=buffer.__dict__["persistent"])
                self._buffers[name] = made
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move all parameters and buffers to a device, and convert those of floats and complex numbers to a type;
        returns the module.

        `to(device)`, `to(dtype)`, `to(device, dtype)`, or `to(tensor)` for both of a tensor. Parameters stay the same
        objects, so that optimizers keep working. Other than floating-point and complex types raise a TypeError.
        """
        place, kind, non_blocking = _parse_to(*args, **kwargs)
        if kind is not None and not (kind.is_floating_point or kind.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={kind}")

        def convert(array: Any) -> Any:
            if kind is not None and array.dtype.kind in "fcV" and array.dtype != kind.numpy:
                array = array.astype(kind.numpy)
            return array if place is None else move(array, place, non_blocking)

        self._apply_arrays(convert)
        return self

    def cuda(self, device: Any = None) -> Self:
        """Move all parameters and buffers to a GPU, by default the current one, in place; returns the module."""
        place = resolve("cuda" if device is None else device)
        self._apply_arrays(lambda array: move(array, place))
        return self

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU, in place; returns the module."""
        place = resolve("cpu")
        self._apply_arrays(lambda array: move(array, place))
        return self

    def type(self, dst_type: Dtype) -> Self:
        """Convert all parameters and buffers, also those of integers, to `dst_type`, in place; returns the module."""
        self._apply_arrays(lambda array: array.astype(dst_type.numpy))
        return self

    def float(self) -> Self:
        """Convert floating-point parameters and buffers to float32, in place; returns the module."""
        self._apply_arrays(_float_cast(dtype.float32))
        return self

    def double(self) -> Self:
        """Convert floating-point parameters and buffers to float64, in place; returns the module."""
        self._apply_arrays(_float_cast(dtype.float64))
        return self

    def half(self) -> Self:
        """Convert floating-point parameters and buffers to float16, in place; returns the module."""
        self._apply_arrays(_float_cast(dtype.float16))
        return self

    def bfloat16(self) -> Self:
        """Convert floating-point parameters and buffers to bfloat16, in place; returns the module."""
        self._apply_arrays(_float_cast(dtype.bfloat16))
        return self

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Give all parameters and buffers new memory on `device`, whose values must be set afterwards; returns the
        module.

        `recurse=False` leaves submodules as they are.
        """
        place = resolve(device)
        return self._apply(lambda tensor: wrap(move(tensor._array.copy(), place)), recurse=recurse)

    def share_memory(self) -> Self:
        """Move parameters, buffers and gradients to memory that other processes of this host can map; returns the
        module.

        A module that is then passed to `mpigrad.multiprocessing` is shared, not copied.
        """
        tensors = [*self.parameters(), *self.buffers()]
        share([*tensors, *(each.grad for each in tensors if each.grad is not None)])
        return self


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Device | None, Dtype | None, bool]:
    place, kind = kwargs.pop("device", None), kwargs.pop("dtype", None)
    non_blocking = bool(kwargs.pop("non_blocking", False))
    kwargs.pop("memory_format", None)
    other = kwargs.pop("tensor", None)
    if kwargs:
        raise TypeError(
            f"to() received an invalid combination of arguments - got an unexpected keyword {next(iter(kwargs))!r}"
        )
    for arg in args:
        if isinstance(arg, Tensor):
            other = arg
        elif isinstance(arg, Dtype):
            kind = arg
        elif isinstance(arg, (Device, str)) or isinstance(arg, int) and not isinstance(arg, bool):
            place = arg
        elif isinstance(arg, bool):
            non_blocking = arg
        elif arg is not None:
            raise TypeError(f"to() received an invalid combination of arguments - got ({type(arg).__name__})")
    if other is not None:
        place, kind = other.device, other.dtype
    return None if place is None else resolve(place), kind, non_blocking
