"""`TensorBase`: the fields of a tensor, which compiled modules read without calling Python; and the creation of tensors.

`mpigrad.Tensor` is derived from it and adds the methods. All fields are set at creation and never deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .objects import new, show

if TYPE_CHECKING:
    from .._tensor import Extra, Tensor
    from ..interop import TensorAdapter
    from .node import Node, View


class TensorBase:
    """An array with a position in the graph."""

    __slots__ = ("_array", "_counter", "_extra", "_grad", "_grad_fn", "_nr", "_requires", "_view")
    _array: Any  # a numpy or cupy array, or a SparseArray
    _requires: bool  # requires_grad
    _grad_fn: Node | None  # None for leaves
    _nr: int  # index among the node's outputs
    _grad: Tensor | None
    _counter: list[Any] | None  # [version, ...], shared with views; None until it is needed
    _view: View | None  # None for tensors that are not views
    _extra: Extra | None


show(TensorBase)


class GuestTensor(TensorBase):
    """Stands for a tensor of another framework among the tensors of a message; see `mpigrad.interop`.

    Here `_array` has the elements, and `_requires` is what the tensor says. It takes no part in mpigrad's own graph.
    """

    __slots__ = ("adapter", "description", "tensor")
    adapter: TensorAdapter
    description: bytes
    tensor: Any


def guest(adapter: Any, tensor: Any, array: Any, description: bytes, requires: bool) -> GuestTensor:
    """Create a stand-in for a tensor of another framework; `requires` says whether it requires a gradient there."""
    made = GuestTensor.__new__(GuestTensor)
    made.adapter, made.tensor, made.description = adapter, tensor, description
    made._array = array
    made._requires = requires
    made._grad_fn = made._grad = made._counter = made._view = made._extra = None
    made._nr = 0
    return made


_Tensor: Any = None


def tensors_are(cls: type[TensorBase]) -> None:
    """Set the class of the tensors that `wrap` creates; called when `mpigrad.Tensor` is defined."""
    global _Tensor
    _Tensor = cls


def wrap(array: Any) -> Tensor:
    """A plain tensor around an array, without gradient and `grad_fn`."""
    return _plain(_Tensor, array)


def wrap_as(cls: type[Tensor], array: Any) -> Any:
    """A plain tensor of a subclass, such as Parameter."""
    if not issubclass(cls, _Tensor):
        raise TypeError(f"{cls!r} is no class of tensors")
    return _plain(cls, array)


def _plain(cls: Any, array: Any) -> Any:
    made = new(TensorBase, cls)
    made._array = array
    made._requires = False
    made._grad_fn = made._grad = made._counter = made._view = made._extra = None
    made._nr = 0
    return made
