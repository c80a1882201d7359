"""`Parameter` and `Buffer`: tensors that modules register."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .._core.tensor import wrap, wrap_as
from .._ops._define.binary import PLAIN
from .._tensor import Tensor


class Parameter(Tensor):
    """A tensor that becomes one of a module's parameters when it is assigned to an attribute of the module.

    It requires gradients, unless `requires_grad=False`. It shares memory with `data`, the tensor from which it is
    made.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> weight = nn.Parameter(mpigrad.zeros(2))
    >>> weight
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = wrap(np.empty(0, np.float32))
        if not isinstance(data, Tensor):
            raise TypeError(f"Creating a Parameter from an instance of type {type(data).__name__} requires a Tensor")
        if requires_grad and data._array.dtype.kind not in "fcV":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made = wrap_as(cls, data._array)
        made.requires_grad_(requires_grad)
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()

    __str__ = __repr__  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = type(self)(wrap(self._array.copy()), self._requires)
            _take_attributes(found, copy.deepcopy(self.__dict__, memo))
        return found

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild, (type(self), wrap(self._array), self._requires, dict(self.__dict__))


class Buffer(Tensor):
    """A tensor that becomes one of a module's buffers when it is assigned to an attribute of the module: it is saved
    and moved with the module, but not trained. With `persistent=False` it is not part of `state_dict`.
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        made = wrap_as(cls, np.empty(0, np.float32) if data is None else data._array)
        if data is not None:
            made._requires, made._grad_fn, made._nr = data._requires, data._grad_fn, data._nr
        made.__dict__["persistent"] = persistent
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = type(self)(wrap(self._array.copy()), persistent=self.__dict__["persistent"])
        return found

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild_buffer, (wrap(self._array), self.__dict__["persistent"])


class _Uninitialized:
    """Base class of tensors without a shape: lazy modules set the shape when they get their first input."""

    __slots__ = ()

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Set the shape (and device and type, by default unchanged); the tensor becomes an ordinary parameter or
        buffer, with arbitrary values.
        """
        from .modules._blank import blank

        made = blank(*shape, device=self.device if device is None else device, dtype=self.dtype if dtype is None else dtype)
        self._array = made._array
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Raises an error: the tensor has no shape yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` to "
            "initialize the parameters before accessing their attributes."
        )

    def numel(self) -> int:
        """Raises an error: the tensor has no elements yet."""
        raise ValueError(
            "Attempted to use an uninitialized parameter in numel. This error happens when you are using a `LazyModule` or "
            "explicitly manipulating `mpigrad.nn.parameter.UninitializedParameter` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling mpigrad functions"
        )

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        return memo.setdefault(id(self), type(self)(self._requires, self.device, self.dtype))

    def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self._requires, self.device, self.dtype)

    def __repr__(self: Any) -> str:
        return f"<{type(self).__name__}>"

    __str__ = __repr__  # type: ignore[assignment]


def _shapeless(cls: Any, requires_grad: bool, device: Any, dtype: Any) -> Any:
    from .modules._blank import blank

    return wrap_as(cls, blank(0, device=device, dtype=dtype)._array).requires_grad_(requires_grad)


class UninitializedParameter(_Uninitialized, Parameter):  # type: ignore[misc]
    """A parameter without a shape, for lazy modules; `materialize(shape)` makes it an ordinary one.

    >>> from mpigrad import nn
    >>> weight = nn.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> weight.shape
    mpigrad.Size([2, 3])
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:  # type: ignore[misc]
        return _shapeless(cls, requires_grad, device, dtype)


class UninitializedBuffer(_Uninitialized, Tensor):  # type: ignore[misc]
    """A buffer without a shape, for lazy modules; `materialize(shape)` makes it an ordinary tensor."""

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> UninitializedBuffer:  # type: ignore[misc]
        return _shapeless(cls, requires_grad, device, dtype)


def is_uninitialized(value: Any) -> bool:
    """Whether `value` is a parameter or buffer that has no shape yet.

    >>> from mpigrad import nn
    >>> nn.parameter.is_uninitialized(nn.UninitializedParameter())
    True
    """
    return isinstance(value, _Uninitialized)


def _take_attributes(made: Tensor, attributes: dict[str, Any]) -> None:
    made.__dict__.update(attributes)


def _rebuild(cls: type[Parameter], data: Tensor, requires_grad: bool, attributes: dict[str, Any]) -> Parameter:
    made = cls(data, requires_grad)
    _take_attributes(made, attributes)
    return made


def _rebuild_buffer(data: Tensor, persistent: bool) -> Buffer:
    return Buffer(data, persistent=persistent)


PLAIN.update((Parameter, Buffer))

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_uninitialized"]
