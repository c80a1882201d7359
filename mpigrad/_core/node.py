"""Nodes of the graph: recorded operations, accumulation of gradients at leaves, views and in-place changes.

A `Node` is one recorded operation: it receives the gradients of its outputs and sends those of its inputs along `edges`. This
file has the nodes that every graph has, with fields that compiled modules read without calling Python: nodes of operators,
nodes of leaves, and the functions that record an operator's call.

Accumulation: references to a buffer are counted in C (`objects`), where the engine's own ones are known. In plain Python they
cannot be counted, and gradients are copied. Users change gradients in place, so it matters which memory these have; the rules are
PyTorch's. The first gradient of a leaf is kept without a copy if there is no other reference to it and its strides are those of
the leaf; otherwise it is copied. (References to indices and values of a sparse gradient do not matter.) Later gradients are added
in place. One exception: where PyTorch would keep a view of memory that others refer to, so that gradients of two leaves may
share memory, it is copied here.

Views and in-place changes
- A view and its base share memory and one version counter. A view stores the chain of view operators from the base to it.
- An in-place change of a *view* changes the base's `grad_fn`: the new node, `CopySlices`, applies the derivative of the change
  to that slice of the gradient and passes the rest on.
- When a view's `grad_fn` is read after its memory was changed, it is computed again, by replaying the chain on the base.
- A base that starts to require grad updates its views (`flag_views`). A view that requires grad only because its base does, and
  has no `grad_fn` (it was created under `no_grad`, or before the base required grad), drops gradients: it is not a leaf, as in
  PyTorch.
- A base whose shape was changed in place (`t_`) stores the inverse operation for its older views (`note_reshaped`).
"""

from __future__ import annotations

import copy
import itertools
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from mpigrad._array.device import array_module, guard
from mpigrad._graph.grad_mode import MODE, raise_inference
from mpigrad._graph.namespace import RAW
from mpigrad._graph.waiting import settle, waits
from mpigrad._tensor import Tensor, counter, extra, flag_views

from .objects import new, show, sole, sole_bases, sole_item, sole_part
from .tensor import wrap

# -- accumulation -----------------------------------------------------------------------------------------------
ndarray = np.ndarray
_lock = threading.RLock()  # concurrent backward passes may add to one leaf


def add_to_grad(leaf: Tensor, grad: Any, F: Any, owned: bool) -> None:
    """Add `grad` (an array if F is RAW, else a tensor) to `leaf.grad`. `owned`: there is no other reference to `grad`."""
    with _lock:
        held = leaf._grad
        if F is not RAW:
            leaf._grad = grad.clone() if held is None else sum_of_tensors(held, grad)
        elif held is None:
            leaf._grad = wrap(keep(grad, leaf, owned))
        else:
            leaf._grad = grown(held, grad)


def grown(held: Tensor, grad: Any) -> Tensor:
    """The sum of two gradients: added in place to `held`, unless that is sparse and the sum is dense."""
    array = held._array
    if type(array) is ndarray and type(grad) is ndarray:
        array += grad
    else:
        with guard(array):
            if getattr(array, "is_sparse_array", False) and not getattr(grad, "is_sparse_array", False):
                return wrap(array + grad)
            held._array = _sum_into(array, grad)
    counter(held)[0] += 1
    return held


def sum_of_tensors(held: Any, grad: Any) -> Any:
    """The sum of two gradients; a dense tensor must be the first operand, since the sum is implemented as dense + sparse."""
    if type(held) is Tensor and held.is_sparse and not grad.is_sparse:
        return grad + held
    return held + grad


def _sum_into(held: Any, grad: Any) -> Any:
    if getattr(held, "is_sparse_array", False):
        return held + grad
    if getattr(grad, "is_sparse_array", False):
        held[...] = held + grad
        return held
    if not waits(held, grad):
        held += grad
    return held


def _copied(grad: Any, like: Any) -> Any:
    """A copy of a gradient, with the strides of `like` if that is dense."""
    if getattr(grad, "is_sparse_array", False):
        return grad.copy()
    with guard(grad):
        if getattr(like, "is_sparse_array", False) or like.flags.c_contiguous or not _is_dense(like):
            return grad.copy()
        made = (np if type(grad) is ndarray else array_module(grad)).empty_like(like, dtype=grad.dtype)
        made[...] = grad
        return made


def _obeys(grad: Any, like: Any) -> bool:
    """Whether a gradient has the strides of its variable, or is contiguous if the variable has gaps or repeated elements."""
    if getattr(like, "is_sparse_array", False) or like.flags.c_contiguous:
        return grad.flags.c_contiguous
    if like.flags.f_contiguous:
        return grad.flags.f_contiguous
    return grad.strides == like.strides if _is_dense(like) else grad.flags.c_contiguous


def _is_dense(array: Any) -> bool:
    """Whether an array has no gaps and no repeated elements, in any order of dimensions."""
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    return array.transpose(order).flags.c_contiguous


def keep(grad: Any, variable: Tensor, owned: bool) -> Any:
    """The gradient itself if nothing else refers to its memory and its layout is right, otherwise a copy, for a leaf
    to keep.

    `owned`: there is no other reference to `grad`.
    """
    if type(grad) is ndarray and type(grad.base) is bytearray:
        return grad.copy()  # a view of a received frame, which it would keep alive
    if owned:
        if getattr(grad, "is_sparse_array", False):
            if grad.indices.flags.c_contiguous and grad.values.flags.c_contiguous:
                return type(grad)(_own(grad.indices), _own(grad.values), grad.shape, grad.is_coalesced)
        elif owns_memory(grad) and _obeys(grad, variable._array):
            return grad
    return np.asarray(grad) if isinstance(grad, np.generic) else _copied(grad, variable._array)


def owns_memory(grad: Any) -> bool:
    """Whether an array without other references is the only user of its memory."""
    if isinstance(grad, np.ndarray):
        flags = grad.flags
        if grad.base is None:
            return flags.owndata and flags.writeable and flags.forc
        return flags.writeable and flags.forc and sole_bases(grad)
    return not isinstance(grad, np.generic) and getattr(grad, "base", None) is None


def _own(part: Any) -> Any:
    """The indices or values of a sparse gradient; a copy if they are a view of memory that others refer to. Other references to
    the array itself do not matter."""
    if part.base is None or (type(part) is ndarray and sole_bases(part)):
        if type(part) is not ndarray or part.flags.writeable:
            return part
    with guard(part):
        return part.copy()


def take_saved(node: Any) -> list[tuple[Any, bool]]:
    """Take the saved tensors out of a node that will not run again.

    Returns for each its array and whether it may be overwritten, because nothing else refers to it; None for those
    not saved.
    """
    saved = node.saved
    node.saved = None  # first: another thread that runs this node must not find arrays that are being overwritten
    shared = not sole(saved)  # another thread is running the node
    found = []
    for place in range(len(saved)):
        if saved[place] is None:
            found.append((None, False))
        else:
            spare = not shared and _is_spare(saved, place)
            found.append((saved[place]._array, spare))
    return found


def _is_spare(saved: tuple[Any, ...], place: int) -> bool:
    """Whether a dense tensor in a tuple, and its memory, have no other references. Weak references count, since another thread
    may dereference them at any time."""
    if not sole_item(saved, place) or saved[place].__class__ is not Tensor or not sole_part(saved[place], "_array"):
        return False
    return not _weakly_held(saved[place]) and owns_memory(saved[place]._array)


def _weakly_held(tensor: Tensor) -> bool:
    held: Any = tensor
    array: Any = tensor._array
    while not weakref.getweakrefcount(held):
        if array is None:
            return False
        held, array = array, getattr(array, "base", None)
    return True


# -- nodes -------------------------------------------------------------------------------------------------------------
Edge = tuple["Node", int]


class RemovableHandle:
    """The result of registering a hook: `remove()` removes the hook, as does the end of a `with` block."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Any]) -> None:
        self._hooks, self.id = hooks, next(RemovableHandle._ids)

    def remove(self) -> None:
        """Remove the hook; no effect the second time."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Hooks:
    """The hooks of one node. `tensor[nr]` get the gradient of one output, `pre` those of all outputs, `post` also the results."""

    __slots__ = ("post", "pre", "retained", "tensor")
    made = 0  # process-wide count: cached facts such as "no node has hooks" are checked again when it grows

    def __init__(self) -> None:
        self.tensor: dict[int, OrderedDict[int, Callable[[Tensor], Tensor | None]]] = {}
        self.pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.post: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.retained: dict[int, Any] = {}  # output index -> weak reference to the tensor that retains its gradient


_made = 0  # number of nodes that this process has made


def next_sequence() -> int:
    """The sequence number of a new node."""
    global _made
    _made += 1
    return _made


class Node:
    """A node of the graph: one recorded operation. `tensor.grad_fn` is the node of a tensor.

    Subclasses compute the operation's gradients in `run`.
    """

    __slots__ = ("__weakref__", "_sequence", "edges", "hooks", "stack")
    edges: tuple[Edge | None, ...]  # (node, output index) for each input; None if it needs no gradient
    hooks: Hooks | None
    _sequence: int  # how many nodes had been made, with this one: of the ready nodes the engine runs the last made
    stack: str  # the forward's traceback, while anomaly detection is on
    outputs = 1  # number of outputs of the operation
    user_code = False  # whether `run` calls user code
    runs_on_none = False  # whether it runs even if all its gradients are None
    uses_up = False  # whether it has a `run_last`, for passes after which saved tensors are not needed
    multiplies = False  # whether `run` only multiplies the gradient, so that it may be a view with stride 0

    def __init__(self) -> None:
        """A node without edges. Operators bypass `__init__`: `record_one`, `record_two` and `new_node` set the fields."""
        self.edges, self.hooks, self._sequence = (), None, next_sequence()

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        """Return the gradients of the inputs, aligned with `edges`.

        The engine calls it. `grad` is the gradient of the output (a list of gradients and Nones if the node has several
        outputs): a bare array if `F` is RAW (docs/glossary.md), otherwise a Tensor.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define run(), which computes the gradients of its inputs")

    def run_last(self, F: Any, grad: Any) -> tuple[Any, ...]:
        """As `run`, when the node will not run again: gradients may be written into saved arrays that nothing else refers to."""
        return self.run(F, grad)

    def release(self) -> None:
        """Free the tensors that this node has saved for the backward pass."""

    def counter_of(self, nr: int) -> list[Any]:
        """Create the version counter of output number `nr`, which counts the in-place changes of that tensor."""
        return [0]

    def name(self) -> str:
        """Return the node's name, as PyTorch calls it, such as "MulBackward0"."""
        return type(self).__name__

    def _sequence_nr(self) -> int:
        """The node's place in the order in which nodes were made."""
        return self._sequence

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes to which this one sends gradients, as pairs (node, index of its output); (None, 0) for inputs
        that need no gradient.
        """
        return tuple((None, 0) if edge is None or edge[0].__class__ is DiscardGrad else edge for edge in self.edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary in which a program may note anything about this node."""
        notes = _NOTES.get(self)
        if notes is None:
            notes = _NOTES[self] = {}
        return notes

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after this node has run in a backward pass; a result other than None
        replaces `grad_inputs`.

        Both are tuples of tensors and Nones. Returns a handle, whose `remove()` removes the hook.
        """
        return _register(hooks_of(self).post, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before this node runs in a backward pass; a result other than None replaces them.

        Returns a handle, whose `remove()` removes the hook.
        """
        return _register(hooks_of(self).pre, hook)

    def _register_hook_dict(self, hooks: dict[int, Any]) -> None:
        for hook in hooks.values():
            self.register_hook(hook)

    def __copy__(self) -> Node:
        made = new(Node, type(self))
        for cls in type(self).__mro__:
            for name in cls.__dict__.get("__slots__", ()):
                if name not in ("__weakref__", "__dict__") and hasattr(self, name):
                    setattr(made, name, getattr(self, name))
        if hasattr(self, "__dict__"):
            made.__dict__.update(self.__dict__)
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


show(Node)
_NOTES: weakref.WeakKeyDictionary[Node, dict[Any, Any]] = weakref.WeakKeyDictionary()


def hooks_of(node: Node) -> Hooks:
    """The node's hooks, created on first use."""
    found = node.hooks
    if found is None:
        with _leaf_lock:  # double-checked: reading needs no lock
            found = node.hooks
            if found is None:
                found = node.hooks = Hooks()
                Hooks.made += 1  # after the assignment: a thread that sees the new count must also see the hooks
    return found


def _register(hooks: dict[int, Any], hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def short_name(node: Node) -> str:
    """The operation's name in PyTorch's errors: Exp for ExpBackward0."""
    return re.sub(r"Backward(\d*)$", lambda found: found[1].removesuffix("0"), node.name())


class RecordedNode(Node):
    """The fields of an operator's node; set by `record_one`, `record_two` and `new_node`."""

    __slots__ = ("kw", "meta", "saved", "shapes", "versions")
    kw: dict[str, Any]
    saved: tuple[Any, ...] | None  # tensors (perhaps packed) and Nones; None after they are freed
    versions: tuple[int, ...]
    shapes: tuple[Any, ...]  # of the inputs
    # (shape, numpy dtype) of each input, to which its gradient is summed and cast; None if all have those of the result
    meta: tuple[tuple[Any, Any] | None, ...] | None


show(RecordedNode)


class AccumulateGrad(Node):
    """The node of a leaf: adds gradients to the leaf's `.grad`."""

    __slots__ = ("variable",)
    variable: Tensor

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        if grad is not None:
            self.take(F, grad, False)
        return ()

    def take(self, F: Any, grad: Any, owned: bool) -> None:
        """Add a gradient to the leaf's `.grad`. `owned`: there is no other reference to the gradient."""
        leaf = self.variable
        add_to_grad(leaf, grad, F, owned)
        if leaf._extra is not None and leaf._extra.post_hooks:
            settle()
            for hook in list(leaf._extra.post_hooks.values()):
                hook(leaf)


show(AccumulateGrad)


class DiscardGrad(Node):
    """The node of a view that requires grad because its base does, but has no `grad_fn`: drops gradients."""

    __slots__ = ()

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return ()


class Converted(Node):
    """The node of a tensor that was made from `origin`, a tensor of another framework: below it, the graph is the framework's.

    The framework's engine runs graphs that lead to one (`TensorAdapter.run_backward`, `guests.in_framework`).
    """

    __slots__ = ("adapter", "memory", "origin")
    adapter: Any
    memory: Any  # notices in-place changes by the framework
    origin: Any
    used = False  # whether this process has made such a node; if not, graphs are not searched for them

    def __init__(self, adapter: Any, origin: Any, memory: Any) -> None:
        Converted.used = True
        self.edges, self.hooks, self._sequence = (), None, next_sequence()
        self.adapter, self.origin, self.memory = adapter, origin, memory

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        raise RuntimeError(f"this pass cannot go on into the graph of {self.adapter.name}, from which a tensor was converted")

    def name(self) -> str:
        return f"{self.adapter.name}::Converted"


def _nowhere() -> DiscardGrad:
    return DiscardGrad()


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The AccumulateGrad of a leaf, which exists as long as a graph uses it. Concurrent threads get the same one."""
    with _leaf_lock:
        return _accumulator(leaf)


_leaf_lock = threading.RLock()  # reentrant: a finalizer may run in between, on the same thread


def _accumulator(leaf: Tensor) -> AccumulateGrad:
    rare = extra(leaf)
    found = None if rare.accumulate is None else rare.accumulate()
    if found is None:
        found = AccumulateGrad()
        found.variable = leaf
        if rare.hooks:
            hooks_of(found).tensor[0] = rare.hooks
        rare.accumulate = weakref.ref(found)  # last, as other threads read it without the lock
    return found


def edge_of(tensor: Tensor) -> Edge | None:
    """The node and output index of `tensor`; None if it needs no gradient."""
    view, node = tensor._view, tensor._grad_fn
    if view is not None:
        view.refresh(tensor)
        node = tensor._grad_fn
        if node is None and view.inherits:
            return (_nowhere(), 0)
    if node is not None:
        return (node, tensor._nr)
    if tensor._requires:
        rare = tensor._extra
        if rare is not None and rare.accumulate is not None:
            node = rare.accumulate()
            if node is not None:
                return (node, 0)
        return (accumulator(tensor), 0)
    return None


_UNCHANGED = (0, 0)


def new_node(cls: Any, edges: tuple[Edge | None, ...], kw: dict[str, Any], shapes: Any, saved: Any, versions: Any) -> Any:
    """Create the node of an operator. `shapes` may be None if the derivative needs none."""
    node = new(RecordedNode, cls)
    node.edges, node.kw, node.shapes, node.saved, node.versions = edges, kw, shapes, saved, versions
    node.hooks, node.meta, node._sequence = None, None, next_sequence()
    return node


def record_one(
    cls: Any, made: Tensor, x: Tensor, kw: dict[str, Any], shapes: tuple[Any, ...] | None = None, place: int | None = None
) -> None:
    """Record an operator with one input: `made` is its result for `x`, which requires grad.

    `place` says what is saved: None for nothing; 0 for the input, with its version; a negative number for the result's
    array. The last two are for LightNode."""
    node = new(RecordedNode, cls)
    above = x._grad_fn  # the usual case of `edge_of`, without a call
    node.edges = ((above, x._nr) if above is not None and x._view is None else edge_of(x),)
    node.hooks, node.meta, node._sequence = None, None, next_sequence()
    node.kw, node.shapes = kw, shapes
    if place is None:
        node.saved = node.versions = ()
    elif place:
        node.saved, node.versions = made._array, ()
    else:
        node.saved, node.versions = x, 0 if x._counter is None else x._counter[0]
    made._grad_fn, made._requires = node, True


def record_two(
    cls: Any, made: Tensor, a: Tensor, b: Tensor, kw: dict[str, Any], saves: tuple[Any, Any] | None, shapes: Any = None
) -> None:
    """Record an operator with two inputs, one of which requires grad; `made` is its result.

    `saves` is None if nothing is saved. Otherwise it has a number for each input: the input is saved if the input of that
    number requires a gradient; None: always; -1: never."""
    node = new(RecordedNode, cls)
    above = a._grad_fn
    node.edges = edges = (
        (above, a._nr) if above is not None and a._view is None else edge_of(a),
        edge_of(b) if b._requires else None,
    )
    node.hooks, node.meta, node._sequence = None, None, next_sequence()
    node.kw, node.shapes = kw, shapes
    if saves is None:
        node.saved = node.versions = ()
    else:
        by_first, by_second = saves
        s = a if by_first is None or by_first >= 0 and edges[by_first] is not None else None
        t = b if by_second is None or by_second >= 0 and edges[by_second] is not None else None
        node.saved = (s, t)
        node.versions = _UNCHANGED if a._counter is None and b._counter is None else (_version(s), _version(t))
        if not a._requires and a._extra is not None and s is not None and a._extra.inference:
            raise_inference()
        if not b._requires and b._extra is not None and t is not None and b._extra.inference:
            raise_inference()
    made._grad_fn, made._requires = node, True


def _version(tensor: Tensor | None) -> int:
    return 0 if tensor is None or tensor._counter is None else tensor._counter[0]


# -- views and in-place changes ----------------------------------------------------------------------------------------
Step = tuple[Any, dict[str, Any]]  # a view operator and its keyword arguments

# Reasons why a recorded operation must not change a view in place (PyTorch's texts).
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
    """What a view knows: its base, the chain of operators between them, and the version at which its `grad_fn` is
    valid.
    """

    __slots__ = ("age", "base", "chain", "fixed", "inherits", "version")

    def __init__(
        self, base: Tensor, chain: tuple[Step, ...], version: int, fixed: str | None = None, age: int = 0
    ) -> None:
        self.base, self.chain, self.version = base, chain, version
        self.fixed = fixed  # the reason why it must not be changed in place, or None
        self.age = age  # number of in-place shape changes of the base before this view was created
        self.inherits = False  # it requires grad only because its base does

    def refresh(self, tensor: Tensor) -> None:
        """Update the `grad_fn` of `tensor` after a change of the base's memory."""
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
        """The steps from the present base, including the inverses of later shape changes."""
        rare = self.base._extra
        undo = () if rare is None else rare.undo
        return self.chain if self.age == len(undo) else (*reversed(undo[self.age :]), *self.chain)


def replay(value: Any, chain: tuple[Step, ...]) -> Any:
    """Apply the view operators of `chain` to a tensor, one after the other."""
    for operator, kw in chain:
        value = operator(value, **kw)
    return value


def replay_raw(array: Any, chain: tuple[Step, ...]) -> Any:
    """Apply view operators to an array; the result shares its memory."""
    for operator, kw in chain:
        array = operator.forward(array, **kw)
    return array


def _shared(tensor: Tensor) -> list[Any]:
    """The list that a base and its views share: the version, and weak references to views without `grad_fn`."""
    shared = counter(tensor)
    if len(shared) == 1:
        shared.append(set())
    return shared


def make_view(made: Tensor, of: Tensor, step: Step, fixed: str | None = None) -> None:
    """Make `made`, the result of the view operator `step` on `of`, a view of it (or of its base).

    `fixed`: why a recorded operation must not change it in place, or None.
    """
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
    """Undo `make_view`, for a tensor that becomes another view of the same memory.

    It compares by identity: looking up a reference in the set would compare tensors, that is, their elements.
    """
    views = _shared(tensor)[1]
    for reference in [each for each in views if each() is tensor]:
        views.discard(reference)
    tensor._view = None


def note_reshaped(base: Tensor, undo: Step) -> None:
    """Store the inverse of an in-place shape change, for views that were created before it."""
    rare = extra(base)
    rare.undo = (*rare.undo, undo)


class CopySlices(Node):
    """The `grad_fn` of a base of which a slice was changed in place by the operation of `inner`."""

    __slots__ = ("chain", "inner", "order")
    chain: tuple[Step, ...]
    inner: Node
    order: tuple[int, ...] | None  # the base's dimensions in memory order; None if they are in order

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        # With a recorded derivative, use a copy of the node: the derivative refers to tensors that the node saved, and a pass
        # over the new graph may free them before or after this one.
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
    """The `grad_fn` of a view after an in-place change: all steps from the base in one node."""

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
    """Set the `grad_fn` of `tensor`, which the operation of `node` (whose first edge is the old `tensor`) has changed in place.
    The version counter has been incremented already."""
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
    """After an in-place change of `tensor`, let its new node retain its gradient instead of `old`; hooks stay with
    the old value.
    """
    if old is not None and old.hooks is not None:
        kept = old.hooks.retained.pop(nr, None)
        if kept is not None and tensor._grad_fn is not None:
            hooks_of(tensor._grad_fn).retained[tensor._nr] = kept


def memory_order(array: Any) -> tuple[int, ...] | None:
    """The dimensions of an array in descending order of strides; None if they are in order."""
    if array.flags.c_contiguous:
        return None
    strides = array.strides
    return tuple(sorted(range(array.ndim), key=lambda dim: -abs(strides[dim])))


def check_in_place(tensor: Tensor, recorded: bool | None = None) -> None:
    """Raise PyTorch's errors for tensors that must not be changed in place.

    `recorded`: whether the change is recorded; None: if the tensor requires grad.
    """
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
    """Raise PyTorch's error for a recorded in-place change of a view that does not allow it, for the reason in
    `what`.
    """
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
