"""Operators whose results are views, with a fast call; and reading and writing a gradient through a chain of views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._core.engine import as_array
from mpigrad._core.node import Step, make_view, record_one, replay, replay_raw
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._graph.namespace import add_to_both
from mpigrad._tensor import Tensor

from .inplace import check_writable
from .operator import Operator, operator

ndarray = np.ndarray


class ViewOperator(Operator):
    """An operator of one input whose result shares its memory; saves nothing, so that its call can be short."""

    __slots__ = ()

    def __call__(self, tensor: Tensor, **kw: Any) -> Tensor:  # type: ignore[override]
        array = tensor._array
        if array.__class__ is not ndarray or TRACING.detour:
            return Operator.__call__(self, tensor, **kw)
        made = wrap(self.forward(array, **kw))
        if tensor._requires and MODE.enabled:
            record_one(self.node_type, made, tensor, kw, (array.shape,))
        make_view(made, tensor, (self, kw))
        return made


def view_operator(name: str, forward: Callable[..., Any], backward: Callable[..., Any], node: str) -> ViewOperator:
    """Define a view operator and register it as `F.name` for use in derivatives."""
    made = ViewOperator(name, forward, backward, (), node, view=True)
    add_to_both(name, forward, made)
    return made


def _read(x: Any, *, chain: tuple[Step, ...]) -> Any:
    return replay_raw(as_array(x), chain).copy()


def _copy(x: Any, order: tuple[int, ...] | None) -> Any:
    """A copy with its dimensions in memory in the given order, so that chains of views of the base can be applied to it."""
    if order is None:
        return x.copy()
    back = np.argsort(order).tolist()
    return x.transpose(order).copy().transpose(back)


def _write(x: Any, value: Any = None, *, chain: tuple[Step, ...], order: tuple[int, ...] | None = None) -> Any:
    made = _copy(
        as_array(x), order
    )  # NumPy returns scalars for zero-dimensional results, which are not writable
    target = replay_raw(made, chain)
    # A step of the chain copies if it needs strides that `made` does not have; writing would then have no effect.
    if target.size and not array_module(x).may_share_memory(target, made):
        raise RuntimeError(
            "an in-place change of a view cannot be differentiated: its base's memory has gaps. Please clone() "
            "the base first."
        )
    check_writable(target)
    target[...] = 0 if value is None else value
    return made


# The gradient of the base is zero where the view was written, and the gradient of the written value is the view of
# it.
def _write_backward(F: Any, node: Any, g: Any) -> Any:
    chain = node.kw["chain"]
    return F.write_view(g, None, **node.kw), F.read_view(g, chain=chain) if node.needs[1] else None


write_view = operator("write_view", _write, _write_backward, node="CopySlices")


def read_view(tensor: Tensor, *, chain: tuple[Step, ...]) -> Tensor:
    """Apply the view operators of `chain` to a tensor, one after the other, so that gradients flow back."""
    return replay(tensor, chain)


add_to_both("read_view", _read, read_view)
