"""Reading and writing a gradient through a chain of views: what in-place changes of views need."""

from __future__ import annotations

from typing import Any

from .._graph.namespace import add_to_both
from .._graph.views import Step, replay, replay_raw
from .._tensor import Tensor
from ._define import operator


def _read(x: Any, *, chain: tuple[Step, ...]) -> Any:
    return replay_raw(x, chain).copy()


def _write(x: Any, value: Any = None, *, chain: tuple[Step, ...]) -> Any:
    made = x.copy()
    replay_raw(made, chain)[...] = 0 if value is None else value
    return made


def _write_backward(F: Any, node: Any, g: Any) -> Any:
    chain = node.kw["chain"]
    return F.write_view(g, None, chain=chain), F.read_view(g, chain=chain) if node.needs[1] else None


write_view = operator("write_view", _write, _write_backward, node="CopySlices")


def read_view(tensor: Tensor, *, chain: tuple[Step, ...]) -> Tensor:
    """The slice of a tensor that a chain of view operators leads to, differentiable."""
    return replay(tensor, chain)


add_to_both("read_view", _read, read_view)
