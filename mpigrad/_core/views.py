"""Views and in-place changes: how a change of shared memory reaches the graphs of everything that shares it.

- A view and its base share memory and one version counter. A view knows the chain of view operators that leads from
  the base to it.
- Changing a *view* in place rewrites the base's history: the base's new node, `CopySlices`, applies the change to that
  slice of the gradient and passes the rest on.
- Whoever reads a view's `grad_fn` after the memory changed gets it made anew, by replaying the chain on the base.
- A base that starts to need gradients tells its views (`flag_views`): they need them too. A view that needs them only
  because its base does, and has no history (it was made under `no_grad`, or before the base needed any), says that it
  requires grad, as in PyTorch, but gradients end at it: it is not a leaf that gathers them.
- A base whose shape was changed in place (`t_`) leaves the way back for its older views (`note_reshaped`).
"""

from __future__ import annotations

import copy
import weakref
from typing import Any

from .._graph.grad_mode import MODE
from .._graph.namespace import RAW
from .._tensor import Tensor, counter, extra, flag_views
from .node import Edge, Node, edge_of, hooks_of, short_name

Step = tuple[Any, dict[str, Any]]  # a view operator and its keyword arguments

# Why a view must not be changed in place by a recorded operation.
ONE_OF_SEVERAL = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the output "
    "views to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one."
)
_AMBIGUOUS = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
    "view and the inplace either both inside the {mode} block (if you don't want the inplace to be tracked) or both outside "
    "(if you want the inplace to be tracked)."
)
MADE_UNRECORDED = _AMBIGUOUS.format(mode="no_grad")
MADE_IN_INFERENCE = _AMBIGUOUS.format(mode="inference_mode")
_MODES = {
    MADE_UNRECORDED: ("no_grad", "with grad mode enabled"),
    MADE_IN_INFERENCE: ("inference", "in normal mode"),
}


class View:
    """What makes a tensor a view: its base, the operators between them, and when its history was last right."""

    __slots__ = ("age", "base", "chain", "fixed", "inherits", "version")

    def __init__(
        self, base: Tensor, chain: tuple[Step, ...], version: int, fixed: str | None = None, age: int = 0
    ) -> None:
        self.base, self.chain, self.version = base, chain, version
        self.fixed = fixed  # why it must not be changed in place, if so
        self.age = age  # how many shape changes of the base it has seen
        self.inherits = False  # it requires grad because its base does, and for no other reason

    def refresh(self, tensor: Tensor) -> None:
        """Make `tensor`'s history right again after a change of the base's memory."""
        now = counter(self.base)[0]
        if now == self.version:
            return
        if not self.base._requires:
            self.version = now
            return
        if self.fixed in _MODES and not tensor._requires:
            self.version = now
            return
        if self.fixed is ONE_OF_SEVERAL or self.fixed in _MODES:
            raise_fixed(tensor, "its base or another view of its base has been modified inplace")
        self.version = now
        enabled, MODE.enabled = MODE.enabled, True
        try:
            fresh = replay(self.base, self.whole_chain())
        finally:
            MODE.enabled = enabled
        if fresh._grad_fn is not None:
            tensor._grad_fn, tensor._nr, tensor._requires = _one_step(fresh, self.base), 0, True

    def whole_chain(self) -> tuple[Step, ...]:
        """The steps from the base as it is now, shape changes included."""
        rare = self.base._extra
        undo = () if rare is None else rare.undo
        return self.chain if self.age == len(undo) else (*reversed(undo[self.age :]), *self.chain)


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


def _shared(tensor: Tensor) -> list[Any]:
    """What a base and its views share: the version, and weak references to views without history."""
    shared = counter(tensor)
    if len(shared) == 1:
        shared.append(set())
    return shared


def make_view(made: Tensor, of: Tensor, step: Step, fixed: str | None = None) -> None:
    """Note that `made` is a view of `of` through one operator."""
    shared = made._counter = _shared(of)
    if not MODE.enabled and (fixed is None or fixed is ONE_OF_SEVERAL):
        fixed = MADE_IN_INFERENCE if MODE.inference else MADE_UNRECORDED
    above = of._view
    if above is None:
        made._view = View(of, (step,), shared[0], fixed, 0 if of._extra is None else len(of._extra.undo))
    else:
        made._view = View(above.base, (*above.chain, step), shared[0], fixed or above.fixed, above.age)
    if made._grad_fn is None and made._array.dtype.kind in "fcV":
        shared[1].add(weakref.ref(made, shared[1].discard))
        if made._view.base._requires:
            made._requires = made._view.inherits = True


def forget_view(tensor: Tensor) -> None:
    """Undo `make_view`, for a tensor that becomes another view of the same memory: references to one tensor cannot be told
    apart by a set, which would compare its elements."""
    views = _shared(tensor)[1]
    for reference in [each for each in views if each() is tensor]:
        views.discard(reference)
    tensor._view = None


def note_reshaped(base: Tensor, undo: Step) -> None:
    """Leave the way back for views made before the base's shape was changed in place."""
    rare = extra(base)
    rare.undo = (*rare.undo, undo)


class CopySlices(Node):
    """The history of a base whose slice was changed in place by the operation of `inner`."""

    __slots__ = ("chain", "inner", "order")
    chain: tuple[Step, ...]
    inner: Node
    order: tuple[int, ...] | None  # the base's dimensions as they lie in memory; None: as they are numbered

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        # What a recorded derivative saves of the operation's results hangs on its node, which the coming pass may free
        # before or after this one: so that is a node of its own.
        inner = self.inner if F is RAW else _twin(self.inner)
        into, *others = inner.run(F, F.read_view(grad, chain=self.chain))
        return F.write_view(grad, into, chain=self.chain, order=self.order), *others

    def release(self) -> None:
        self.inner.release()

    def name(self) -> str:
        return "torch::autograd::CopySlices"


def _twin(node: Node) -> Node:
    return copy.copy(node)


class AsStridedBackward0(Node):
    """The history of a view that was made anew: all steps from the base to it in one node."""

    __slots__ = ("steps",)
    steps: tuple[Edge, ...]  # last one first

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        for node, nr in self.steps:
            if node.outputs == 1:
                (grad,) = node.run(F, grad)
            else:
                (grad,) = node.run(F, [grad if i == nr else None for i in range(node.outputs)])
        return (grad,)


def _one_step(fresh: Tensor, base: Tensor) -> Node:
    end = edge_of(base)
    assert end is not None and fresh._grad_fn is not None
    steps: list[Edge] = []
    edge: Edge = (fresh._grad_fn, fresh._nr)
    while edge[0] is not end[0]:
        steps.append(edge)
        edge = edge[0].edges[0]  # type: ignore[assignment]
    made = AsStridedBackward0()
    made.edges, made.steps = (end,), tuple(steps)
    return made


def rebase(tensor: Tensor, node: Node) -> None:
    """Give `tensor`, just changed in place by the operation of `node` (whose first edge is the old `tensor`), its new
    history. The version counter has been bumped already."""
    view = tensor._view
    base = tensor if view is None else view.base
    first_time, before = not base._requires, (tensor._grad_fn, tensor._nr)
    if view is None:
        tensor._grad_fn, tensor._nr, tensor._requires = node, 0, True
    else:
        slices = CopySlices()
        slices.chain, slices.inner = view.whole_chain(), node
        slices.order = memory_order(base._array)
        slices.edges = (edge_of(base), *node.edges[1:])
        base._grad_fn, base._nr, base._requires = slices, 0, True
        view.version = -1
        view.refresh(tensor)
    if first_time and len(base._counter) > 1:  # type: ignore[arg-type]
        flag_views(base)
    if tensor._extra is not None and tensor._extra.retains_grad:
        _move_retained(tensor, *before)


def _move_retained(tensor: Tensor, old: Node | None, nr: int) -> None:
    """A kept gradient is that of the tensor as it is now; hooks stay with the value that they were registered for."""
    if old is not None and old.hooks is not None:
        kept = old.hooks.retained.pop(nr, None)
        if kept is not None and tensor._grad_fn is not None:
            hooks_of(tensor._grad_fn).retained[tensor._nr] = kept


def memory_order(array: Any) -> tuple[int, ...] | None:
    """The dimensions of an array from the widest stride to the narrowest; None when they are in order already."""
    if array.flags.c_contiguous:
        return None
    strides = array.strides
    return tuple(sorted(range(array.ndim), key=lambda dim: -abs(strides[dim])))


def check_in_place(tensor: Tensor, recorded: bool | None = None) -> None:
    """Refuse to change what must not be changed in place. `recorded`: whether the change takes part in a graph; None
    stands for "if the tensor does"."""
    if tensor._extra is not None and tensor._extra.inference and not MODE.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to "
            "get a normal "
            "tensor before doing inplace update."
        )
    view = tensor._view
    if recorded is None:
        recorded = tensor._requires or view is not None and view.base._requires
    if not recorded or not MODE.enabled:
        return
    if view is None:
        if tensor._requires and tensor._grad_fn is None:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return
    if view.fixed is not None:
        raise_fixed(tensor, "is being modified inplace")
    if tensor._requires and view.base.grad_fn is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")


def raise_fixed(tensor: Tensor, what: str) -> None:
    """Complain of a recorded in-place change that reaches a view which cannot follow it."""
    view, node = tensor._view, tensor._grad_fn
    assert view is not None and view.fixed is not None
    if view.fixed is not ONE_OF_SEVERAL and view.fixed not in _MODES:
        raise RuntimeError(view.fixed)
    output = "" if node is None else f"Output {tensor._nr} of {short_name(node)} is a view"
    if view.fixed in _MODES or node is None:
        mode, where = _MODES.get(view.fixed, _MODES[MADE_UNRECORDED])
        start = f"{output + ' of a view which' if output else 'A view'} was created in {mode} mode and {what} {where}."
    else:
        start = f"{output} and {what}."
    raise RuntimeError(f"{start} {view.fixed}")
