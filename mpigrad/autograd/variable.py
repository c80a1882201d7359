"""`Variable`: PyTorch's old name of a tensor with gradients."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor


class _Kind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=_Kind):
    """PyTorch's old way to make a tensor that requires grad: returns `data` itself, after setting `requires_grad`.

    >>> import mpigrad
    >>> mpigrad.autograd.Variable(mpigrad.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Any:
        from .._graph.namespace import DIFF

        made = data.detach() if isinstance(data, Tensor) else DIFF.tensor(data)
        return made.requires_grad_(requires_grad)


__all__ = ["Variable"]
