"""Selection by a condition: where, and the gradients of operators that select."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import CPU, array_module, on_device
from mpigrad._core.tensor import wrap
from mpigrad._kernels import select
from mpigrad._tensor import Tensor, method

from .._define.arguments import invalid_combination, need_tensors, title
from .._define.binary import NUMBERS, as_common, check_shapes, common_dtype
from .._define.operator import on_one_device, operator
from .._define.out import deliver

operator("keep", select.keep, lambda F, node, g, mask: (F.keep(g, mask), None), saves=(1,), node="MulBackward0")


def _where(mask: Any, x: Any, y: Any) -> Any:
    return select.choose(mask, x, y, array_module(mask))


def _where_backward(F: Any, node: Any, g: Any, mask: Any) -> Any:
    _, for_x, for_y = node.needs
    return None, F.keep(g, mask) if for_x else None, F.keep(g, ~mask) if for_y else None


WHERE = operator("where", _where, _where_backward, saves=(0,), broadcasts=True)


def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """Choose by a condition: elements of `input` where the bool tensor `condition` is True, of `other` elsewhere.

    `input` and `other` are tensors or numbers, broadcast with the condition. `where(condition)` alone returns the
    indices where it is true, like `nonzero(condition, as_tuple=True)`. `out`: a tensor to which the result is
    written.

    >>> import mpigrad
    >>> x = mpigrad.tensor([-1.0, 2.0])
    >>> mpigrad.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    need_tensors("where", condition=condition)
    if input is None and other is None:
        return tuple(wrap(each) for each in array_module(condition._array).nonzero(condition._array))
    if condition._array.dtype.kind != "b":
        if condition._array.dtype != np.uint8:
            raise RuntimeError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{title(condition._array)}"
            )
        condition = wrap(condition._array != 0)
    if not isinstance(input, (Tensor, *NUMBERS)) or not isinstance(other, (Tensor, *NUMBERS)):
        raise invalid_combination(
            "where",
            (condition, input, other),
            "Tensor condition",
            "Tensor condition, Tensor or Number input, Tensor or Number other",
        )
    kind = common_dtype((input, other))
    (condition, input, other), place = on_one_device("where", (condition, input, other))
    with on_device(place):
        arrays = as_common((input, other), kind)
        if place is not CPU:  # two numbers do not determine a device
            arrays = [array if isinstance(e, Tensor) else array[()] for e, array in zip((input, other), arrays)]
        _check_broadcast(condition._array, arrays[0], arrays[1])
        given = (condition, *(e if isinstance(e, Tensor) else wrap(a) for e, a in zip((input, other), arrays)))
        return deliver(WHERE.finish(given, WHERE.forward(condition._array, *arrays), {}), out)


def _check_broadcast(*arrays: Any) -> None:
    for i, x in enumerate(arrays):
        for y in arrays[i + 1 :]:
            check_shapes(x, y)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Elements of this tensor where the bool tensor `condition` is True, of `other` (a tensor or a number) elsewhere.
    """
    return where(condition, self, other)


method(_where_method, "where")

__all__ = ["where"]
