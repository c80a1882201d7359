"""`TensorBase`: the fields of a tensor, which compiled modules read without going through Python; and making tensors.

`mpigrad.Tensor` derives from it and has the methods. All fields are set from the beginning on, and none is ever deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .objects import new, show

if TYPE_CHECKING:
    from .._tensor import Extra, Tensor
    from .node import Node, View


class TensorBase:
    """An array with a place in the graph."""

    __slots__ = ("_array", "_counter", "_extra", "_grad", "_grad_fn", "_nr", "_requires", "_view")
    _array: Any  # a numpy or cupy array, or a SparseArray
    _requires: bool  # a gradient flows through here
    _grad_fn: Node | None  # the node that made this; None on leaves
    _nr: int  # which of the node's outputs this is
    _grad: Tensor | None
    _counter: list[Any] | None  # [version, ...], shared with views; None until there is a reason to count
    _view: View | None  # how this is a view of another tensor
    _extra: Extra | None


show(TensorBase)
_Tensor: Any = None


def tensors_are(cls: type[TensorBase]) -> None:
    """Say which class `wrap` makes: `mpigrad.Tensor` does, when it is defined."""
    global _Tensor
    _Tensor = cls


def wrap(array: Any) -> Tensor:
    """A plain tensor around an array: no gradient, no history."""
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
