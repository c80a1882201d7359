"""Public access to the graph: nodes and edges, hooks over several tensors, hooks of saved tensors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from .._core.node import Node, RemovableHandle
from .._graph.saved import PACKING, hooks_entered, hooks_left
from .._tensor import Tensor, counter
from ._edge import GradientEdge, get_gradient_edge


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Tell autograd that the elements of a tensor (or of several) were changed in a way that it could not see, such as through
    NumPy.

    Backward passes that saved the tensor then raise an error instead of using wrong values.

    >>> import mpigrad
    >>> x = mpigrad.ones(2)
    >>> mpigrad.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for each in (tensor,) if isinstance(tensor, Tensor) else tensor:
        counter(each)[0] += 1


class saved_tensors_hooks:
    """A context manager: operations inside save `pack_hook(tensor)` instead of each tensor that the backward pass
    needs.

    The backward pass gets the tensor back with `unpack_hook(packed)`; `packed` may be any object, for example a file
    name.

    >>> import mpigrad
    >>> x = mpigrad.tensor(3.0, requires_grad=True)
    >>> with mpigrad.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 2, lambda t: t / 2):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor(6.)
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if PACKING.disabled is not None:
            raise RuntimeError(PACKING.disabled)
        hooks_entered(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error: object) -> None:
        hooks_left()


class save_on_cpu(saved_tensors_hooks):
    """A context manager: tensors saved inside are kept in host memory and copied back to their device in the backward
    pass.

    `pin_memory` and `device_type` are ignored.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor.cpu()), lambda packed: packed[1].to(packed[0]))


class disable_saved_tensors_hooks:
    """A context manager in which using `saved_tensors_hooks` raises a RuntimeError with the text `error_message`."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message
        self._before: list[str | None] = []

    def __enter__(self) -> None:
        if PACKING.stack:
            raise RuntimeError(self.error_message)
        self._before.append(PACKING.disabled)
        PACKING.disabled = self.error_message

    def __exit__(self, *error: object) -> None:
        PACKING.disabled = self._before.pop()


class _MultiHandle(RemovableHandle):
    """Removes the hooks of several tensors."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        super().__init__({})
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn(grads)` in each backward pass, as soon as the gradients of all `tensors` that it reaches are known.

    `grads` is a list with the gradient of each of the tensors, None for those that the pass does not reach.

    With `mode="any"`, call `fn(grad)` with the first gradient instead. Returns a handle, whose `remove()` removes the
    hook.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    hook = _all_hook(tensors, fn) if mode == "all" else _any_hook(tensors, fn)
    return _MultiHandle([tensor.register_hook(hook(place)) for place, tensor in enumerate(tensors)])


def _any_hook(tensors: Sequence[Tensor], fn: Callable[..., None]) -> Callable[[int], Callable[[Tensor], None]]:
    from .._core.engine import current_task

    lock = threading.Lock()
    served: list[Any] = [None]  # the pass for which `fn` has been called

    def hook(grad: Tensor) -> None:
        with lock:
            task = current_task()
            # compared by identity: each pass is a new task
            first = served[0] is not task
            served[0] = task
        if first:
            fn(grad)

    return lambda place: hook


def _all_hook(tensors: Sequence[Tensor], fn: Callable[..., None]) -> Callable[[int], Callable[[Tensor], None]]:
    from .._core.engine import current_task
    from .._core.node import edge_of

    lock = threading.Lock()
    waiting: dict[Any, list[Any]] = {}  # pass -> number of missing gradients, and those received

    def at(place: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            task: Any = current_task()
            with lock:
                if task not in waiting:
                    nodes = [edge_of(each)[0] for each in tensors]  # type: ignore[index]
                    # this pass may not reach all tensors: wait only for those that it will
                    waiting[task] = [sum(task.will_run(node) for node in nodes), [None] * len(tensors)]
                entry = waiting[task]
                entry[0], entry[1][place] = entry[0] - 1, grad
                done = entry[0] == 0
                if done:
                    del waiting[task]
            if done:
                fn(entry[1])

        return hook

    return at


__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
