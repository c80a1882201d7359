"""`Node`: one recorded operation, seen from its outputs: gradients come in for them and go out along `edges`.

Here are the nodes that every graph has: their fields, which compiled modules read without going through Python, the ends
of the graph at leaves, and recording the call of an operator.
"""

from __future__ import annotations

import itertools
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .._graph.grad_mode import raise_inference
from .._graph.waiting import settle
from .._tensor import Tensor, extra
from .accumulate import add_to_grad
from .objects import new, show

Edge = tuple["Node", int]


class RemovableHandle:
    """Undoes one `register_*hook`; also works as a context manager."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Any]) -> None:
        self._hooks, self.id = hooks, next(RemovableHandle._ids)

    def remove(self) -> None:
        """Take the hook out; nothing happens the second time."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Hooks:
    """The hooks of one node. `tensor[nr]` see the gradient of one output, `pre` all of them, `post` what comes out."""

    __slots__ = ("post", "pre", "retained", "tensor")
    made = 0  # in this process: who remembers which nodes have none looks again when it grows

    def __init__(self) -> None:
        self.tensor: dict[int, OrderedDict[int, Callable[[Tensor], Tensor | None]]] = {}
        self.pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.post: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.retained: dict[int, Any] = {}  # output number -> weak reference to the tensor that keeps its gradient


class Node:
    """A recorded operation. Subclasses say in `run` how gradients pass through it."""

    __slots__ = ("__weakref__", "edges", "hooks", "stack")
    edges: tuple[Edge | None, ...]  # where the gradients of the operation's inputs go; None where none is wanted
    hooks: Hooks | None
    stack: str  # the forward's traceback, while anomaly detection is on
    outputs = 1  # how many tensors the operation made
    user_code = False  # whether `run` calls a function of the user's
    runs_on_none = False  # whether it runs even when no gradient came for any of its outputs
    uses_up = False  # whether there is a `run_last`, for passes after which what was saved is not needed again
    multiplies = False  # whether `run` only multiplies the gradient: a view that repeats numbers does as well as an array

    def __init__(self) -> None:
        """A node without edges. Nodes of operators bypass this: `record_one` and its relatives fill them."""
        self.edges, self.hooks = (), None

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        """Give the gradients of the inputs, aligned with `edges`. `grad` is the gradient of the output (a list of
        gradients and Nones when `outputs` is not 1), an array when F is RAW and a Tensor otherwise."""
        raise NotImplementedError(f"{type(self).__name__} does not say how gradients pass through it")

    def run_last(self, F: Any, grad: Any) -> tuple[Any, ...]:
        """`run` for the last time: gradients may be written over what was saved, if nobody else holds it."""
        return self.run(F, grad)

    def release(self) -> None:
        """Drop what was saved for the gradients."""

    def counter_of(self, nr: int) -> list[Any]:
        """A counter for the changes of output `nr`, which has none yet."""
        return [0]

    def name(self) -> str:
        """The operation's name, as PyTorch has it."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes to which gradients go on, each with the number of its output."""
        return tuple((None, 0) if edge is None or edge[0].__class__ is DiscardGrad else edge for edge in self.edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's notes about this node."""
        notes = _NOTES.get(self)
        if notes is None:
            notes = _NOTES[self] = {}
        return notes

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after this node ran; what it returns replaces `grad_inputs`."""
        return _register(hooks_of(self).post, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before this node runs; what it returns replaces them."""
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
    """The node's hooks, made when first needed."""
    found = node.hooks
    if found is None:
        with _leaf_lock:
            found = node.hooks
            if found is None:
                found = node.hooks = Hooks()
                Hooks.made += 1  # after they can be seen: who looks again because of it must not miss them
    return found


def _register(hooks: dict[int, Any], hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def short_name(node: Node) -> str:
    """The operation's name as PyTorch's errors have it: Exp for ExpBackward0."""
    return re.sub(r"Backward(\d*)$", lambda found: found[1].removesuffix("0"), node.name())


class RecordedNode(Node):
    """The fields of an operator's node, filled by `record_one`, `record_two` and `new_node`."""

    __slots__ = ("kw", "meta", "saved", "shapes", "versions")
    kw: dict[str, Any]
    saved: tuple[Any, ...] | None  # tensors (perhaps packed) and Nones; None once freed
    versions: tuple[int, ...]
    shapes: tuple[Any, ...]  # of the inputs
    # (shape, numpy dtype) of each input, to which its gradient is summed and cast; None if all have those of the result
    meta: tuple[tuple[Any, Any] | None, ...] | None


show(RecordedNode)


class AccumulateGrad(Node):
    """The end of the graph at a leaf: adds what arrives to the leaf's `.grad`."""

    __slots__ = ("variable",)
    variable: Tensor

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        if grad is not None:
            self.take(F, grad, False)
        return ()

    def take(self, F: Any, grad: Any, owned: bool) -> None:
        """Add a gradient to the leaf's. `owned`: nobody else holds the gradient."""
        leaf = self.variable
        add_to_grad(leaf, grad, F, owned)
        if leaf._extra is not None and leaf._extra.post_hooks:
            settle()
            for hook in list(leaf._extra.post_hooks.values()):
                hook(leaf)


show(AccumulateGrad)


class DiscardGrad(Node):
    """The end of the graph at a view that requires grad because its base does, but has no history: drops what arrives."""

    __slots__ = ()

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return ()


def _nowhere() -> DiscardGrad:
    return DiscardGrad()


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The leaf's one AccumulateGrad, which lives as long as a graph uses it. Threads that ask at once get the same."""
    with _leaf_lock:
        return _accumulator(leaf)


_leaf_lock = threading.RLock()  # a finalizer may come in between, in the same thread


def _accumulator(leaf: Tensor) -> AccumulateGrad:
    rare = extra(leaf)
    found = None if rare.accumulate is None else rare.accumulate()
    if found is None:
        found = AccumulateGrad()
        found.variable = leaf
        if rare.hooks:
            hooks_of(found).tensor[0] = rare.hooks
        rare.accumulate = weakref.ref(found)  # last: other threads find it from here on, without the lock
    return found


def edge_of(tensor: Tensor) -> Edge | None:
    """Where the gradient of `tensor` goes; None when it needs none."""
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
    """A node of an operator. `shapes` may be None for operators whose derivative needs none."""
    node = new(RecordedNode, cls)
    node.edges, node.kw, node.shapes, node.saved, node.versions = edges, kw, shapes, saved, versions
    node.hooks = node.meta = None
    return node


def record_one(
    cls: Any, made: Tensor, x: Tensor, kw: dict[str, Any], shapes: tuple[Any, ...] | None = None, place: int | None = None
) -> None:
    """Record that an operator of one input made `made` of `x`, which requires a gradient.

    `place` says what is saved: None for nothing; 0 for the input, with its version; a negative number for the result's
    array. The last two are for LightNode."""
    node = new(RecordedNode, cls)
    above = x._grad_fn
    node.edges = ((above, x._nr) if above is not None and x._view is None else edge_of(x),)
    node.hooks = node.meta = None
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
    """Record that an operator of two inputs, one of which requires a gradient, made `made`.

    `saves` is None if nothing is saved. Otherwise it has a number for each input: the input is saved if the input of that
    number requires a gradient; None: always; -1: never."""
    node = new(RecordedNode, cls)
    above = a._grad_fn
    node.edges = edges = (
        (above, a._nr) if above is not None and a._view is None else edge_of(a),
        edge_of(b) if b._requires else None,
    )
    node.hooks = node.meta = None
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
