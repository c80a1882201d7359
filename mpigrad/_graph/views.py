"""Views and in-place changes: how a change of shared memory reaches the graphs of everything that shares it.

- A view and its base share memory and one version counter. A view knows the chain of view operators that leads from
  the base to it.
- Changing a *view* in place rewrites the base's history: the base's new node, `CopySlices`, applies the change to that
  slice of the gradient and passes the rest on.
- Whoever reads a view's `grad_fn` after the memory changed gets it made anew, by replaying the chain on the base.
"""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor, counter
from .grad_mode import MODE
from .node import Node, edge_of

Step = tuple[Any, dict[str, Any]]  # a view operator and its keyword arguments


class View:
    """What makes a tensor a view: its base, the operators between them, and when its history was last right."""

    __slots__ = ("base", "chain", "fixed", "version")

    def __init__(self, base: Tensor, chain: tuple[Step, ...], version: int, fixed: str | None = None) -> None:
        self.base, self.chain, self.version = base, chain, version
        self.fixed = fixed  # why it must not be changed in place, if so

    def refresh(self, tensor: Tensor) -> None:
        """Make `tensor`'s history right again after a change of the base's memory."""
        now = counter(self.base)[0]
        if now == self.version:
            return
        self.version = now
        if not self.base._requires:
            return
        enabled, MODE.enabled = MODE.enabled, True
        try:
            fresh = replay(self.base, self.chain)
        finally:
            MODE.enabled = enabled
        tensor._grad_fn, tensor._nr, tensor._requires = fresh._grad_fn, fresh._nr, fresh._requires


def replay(value: Any, chain: tuple[Step, ...]) -> Any:
    """Apply view operators to a tensor."""
    for operator, kw in chain:
        value = operator(value, **kw)
    return value


def replay_raw(array: Any, chain: tuple[Step, ...]) -> Any:
    """Apply view operators to an array; the result shares its memory."""
    for operator, kw in chain:
        array = operator.forward(array, **kw)
    return array


def make_view(made: Tensor, of: Tensor, step: Step, fixed: str | None = None) -> None:
    """Note that `made` is a view of `of` through one operator."""
    above = of._view
    shared = counter(of)
    made._counter = shared
    if above is None:
        made._view = View(of, (step,), shared[0], fixed)
    else:
        made._view = View(above.base, (*above.chain, step), shared[0], fixed or above.fixed)


class CopySlices(Node):
    """The history of a base whose slice was changed in place by the operation of `inner`."""

    __slots__ = ("chain", "inner")
    chain: tuple[Step, ...]
    inner: Node

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        into, *others = self.inner.run(F, F.read_view(grad, chain=self.chain))
        return F.write_view(grad, into, chain=self.chain), *others

    def release(self) -> None:
        self.inner.release()


def rebase(tensor: Tensor, node: Node) -> None:
    """Give `tensor`, just changed in place by the operation of `node` (whose first edge is the old `tensor`), its new
    history. The version counter has been bumped already."""
    view = tensor._view
    if view is None:
        tensor._grad_fn, tensor._nr, tensor._requires = node, 0, True
        return
    base, slices = view.base, object.__new__(CopySlices)
    slices.hooks, slices.chain, slices.inner = None, view.chain, node
    slices.edges = (edge_of(base), *node.edges[1:])
    base._grad_fn, base._nr, base._requires = slices, 0, True
    view.version = -1
    view.refresh(tensor)


def check_in_place(tensor: Tensor) -> None:
    """Refuse to change what must not be changed in place while operations are recorded."""
    if not MODE.enabled:
        return
    if tensor._extra is not None and tensor._extra.inference and not MODE.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal "
            "tensor before doing inplace update."
        )
    view = tensor._view
    if view is None:
        if tensor._requires and tensor._grad_fn is None:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return
    if view.base._requires and view.base._grad_fn is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if view.fixed is not None and (view.base._requires or tensor._requires):
        raise RuntimeError(view.fixed)
