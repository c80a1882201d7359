"""Hooks of tensors: inspect or replace a gradient, retain it, or run after a leaf has accumulated its gradient."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .._core.node import RemovableHandle, accumulator, edge_of, hooks_of
from .._tensor import Tensor, extra, method

_NO_GRADIENT = "cannot register a hook on a tensor that doesn't require gradient"


@method
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(grad)` when a backward pass has computed the gradient of this tensor; if it returns a tensor, that
    replaces the gradient.

    Returns a handle, whose `remove()` removes the hook.

    >>> import mpigrad
    >>> x = mpigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """
    edge = edge_of(self)
    if edge is None:
        raise RuntimeError(_NO_GRADIENT)
    node, nr = edge
    if self._grad_fn is None:
        hooks = extra(self).hooks = extra(self).hooks or hooks_of(node).tensor.setdefault(0, OrderedDict())
    else:
        hooks = hooks_of(node).tensor.setdefault(nr, OrderedDict())
    return _add(hooks, hook)


@method
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this tensor in `.grad`, though it is no leaf; no effect on leaves.

    >>> import mpigrad
    >>> x = mpigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * 2
    >>> y.retain_grad()
    >>> y.sum().backward()
    >>> y.grad
    tensor([1., 1.])
    """
    edge = edge_of(self)
    if edge is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._grad_fn is not None:
        node, nr = edge
        extra(self).retains_grad = True
        # weak: the graph must not keep its own results alive
        hooks_of(node).retained[nr] = weakref.ref(self)


@method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(tensor)` each time after a gradient was added to this leaf's `.grad`.

    Returns a handle, whose `remove()` removes the hook. Raises a RuntimeError for tensors that are no leaves.

    >>> import mpigrad
    >>> x = mpigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
    >>> x.sum().backward()
    tensor([1., 1.])
    """
    if not self._requires:
        raise RuntimeError(_NO_GRADIENT)
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    rare = extra(self)
    if rare.post_hooks is None:
        rare.post_hooks = OrderedDict()
    accumulator(self)
    return _add(rare.post_hooks, hook)


def _add(hooks: Any, hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
