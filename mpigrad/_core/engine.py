"""The local engine: runs the nodes of a graph backwards in topological order, each once, when all its gradients have arrived.

Invariants:
- A `GraphTask` belongs to one pass; only the thread inside `run` uses its queues, so passes need no lock.
- `dependencies[node]` counts the missing gradients; a node runs when the count is 0. Counts come from `count_dependencies`, or
  from the caller (a distributed pass knows more than the local graph).
- A gradient that is None counts as arrived. Nodes that get only None are not run, unless they set `runs_on_none`.
- Of the nodes that are ready, the one with the highest sequence number runs first, as in PyTorch: the order in which nodes run is
  that of the forward, reversed, and does not depend on the shape of the graph. Ranks that run the same program so run the
  collectives of their graphs in the same order.
- Leaves run as soon as they are ready, before other nodes, so that their gradients are freed early.
- Leaves (nodes without edges) are passed to `sink(node, grad, owned)`, if there is one, instead of being run. `owned`: the
  engine has the only reference to the gradient, so the sink may keep it without a copy.
- No recursion, so the depth of graphs is unlimited.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable
from typing import Any

import numpy as np

from .._array.device import current_gpu, device_of, is_loaded, use_gpu
from .._graph.grad_mode import TRACING
from .._graph.namespace import RAW
from .._graph.tracing import run_traced
from .._graph.waiting import WAITING, settle
from .._tensor import Tensor
from .node import AccumulateGrad, Converted, Node, owns_memory, sum_of_tensors
from .objects import sole
from .tensor import wrap

ndarray = np.ndarray
_LARGE = 1 << 14  # elements
Captures = dict[Node, list[tuple[int, int]]]  # node -> (output index, index in the result)


def count_dependencies(roots: Iterable[Node]) -> dict[Node, int]:
    """The number of gradients that each node below `roots` will receive."""
    counts = dict.fromkeys(roots, 0)
    stack = list(counts)
    pop, push, get = stack.pop, stack.append, counts.get
    while stack:
        node = pop()
        for edge in node.edges:
            if edge is not None:
                node = edge[0]
                seen = get(node)
                if seen is None:
                    counts[node] = 1
                    push(node)
                else:
                    counts[node] = seen + 1
    return counts


def framework_below(roots: Iterable[Node]) -> Any:
    """The adapter of the framework from whose tensors some below `roots` were converted; None if there are none."""
    if Converted.used:
        for node in count_dependencies(roots):
            if type(node) is Converted:
                return node.adapter
    return None


def needed_for(roots: Iterable[Node], targets: Container[Node]) -> set[Node]:
    """The nodes below `roots` that must run so that all nodes of `targets` get their gradients."""
    leading: dict[Node, bool] = {}  # whether a node is a target or leads to one; False until all nodes below it are known
    needed: set[Node] = set()
    stack: list[Node | None] = list(roots)
    pop, push = stack.pop, stack.append
    while stack:
        node = pop()
        if node is None:  # marker: all nodes below the next one have been visited
            node = pop()
            assert node is not None
            for edge in node.edges:
                if edge is not None and leading[edge[0]]:
                    leading[node] = True
                    needed.add(node)
                    break
        elif node not in leading:
            leading[node] = node in targets
            if node.edges:
                push(node)
                push(None)
                for edge in node.edges:
                    if edge is not None and edge[0] not in leading:
                        push(edge[0])
    return needed


def _is_later(one: Node, other: Node) -> bool:
    """Whether the node `one` was recorded after the node `other`."""
    return one._sequence > other._sequence


def _push(heap: list[Node], node: Node) -> None:
    """Add a node to a heap whose first element is the node that was recorded last."""
    place = len(heap)
    heap.append(node)
    while place > 0:
        above = (place - 1) >> 1
        other = heap[above]
        if other._sequence > node._sequence:
            break
        heap[place] = other
        place = above
    heap[place] = node


def _pop(heap: list[Node]) -> Node:
    """Remove the first node of a heap and return it."""
    last = heap.pop()
    size = len(heap)
    if not size:
        return last
    first = heap[0]
    place, below = 0, 1
    while below < size:
        other = heap[below]
        if below + 1 < size and _is_later(heap[below + 1], other):
            below += 1
            other = heap[below]
        if other._sequence < last._sequence:
            break
        heap[place] = other
        place, below = below, 2 * below + 1
    heap[place] = last
    return first


def add_in_order(terms: list[tuple[bytes, Any]], grad: Any, array: Any = None) -> Any:
    """Add a gradient to a list of terms; returns their sum. Its bits do not depend on the order of the calls: terms are added in
    the order of their bytes. `array` has the elements of a gradient of another framework."""
    terms.append((_bytes_of(grad if array is None else array), grad))
    terms.sort(key=_first)
    total = terms[0][1]
    for _, each in terms[1:]:
        total = sum_of_tensors(total, each)
    return total


def _bytes_of(grad: Any) -> bytes:
    array = grad._array if isinstance(grad, Tensor) else as_array(grad)
    parts = (array.indices, array.values) if getattr(array, "is_sparse_array", False) else (array,)
    return b"".join([(part if hasattr(part, "tobytes") else np.asarray(part.detach())).tobytes() for part in parts])


def _first(term: tuple[bytes, Any]) -> bytes:
    return term[0]


class _Running(threading.local):
    """Holds the pass that this thread is running."""

    task: GraphTask | None = None


_RUNNING = _Running()


def current_task() -> GraphTask | None:
    """The pass that this thread is running, for hooks; None outside of a pass."""
    return _RUNNING.task


class GraphTask:
    """One backward pass over (part of) a graph: its queues, the counts of missing gradients, and the gradients that
    have arrived.
    """

    __slots__ = (
        "F",
        "buffers",
        "captured",
        "captures",
        "dependencies",
        "keep",
        "needed",
        "ordered",
        "own",
        "ready",
        "sink",
    )

    def __init__(
        self,
        F: Any,
        dependencies: dict[Node, int],
        keep: bool,
        sink: Callable[[Node, Any, bool], None] | None = None,
        captures: Captures | None = None,
        needed: set[Node] | None = None,
    ) -> None:
        self.F, self.keep, self.dependencies, self.sink = F, keep, dependencies, sink
        self.buffers: dict[Node, Any] = {}
        self.own: set[Node] = set()  # nodes whose buffered gradient was created here, so it may be added to in place
        self.ready: list[Node] = []  # a heap: the node with the highest sequence number is the first
        self.captures, self.captured = captures, {}  # type: ignore[var-annotated]
        self.needed = needed  # run only these; None runs all
        # by node and output: the terms of sums whose bits must not depend on their order; None: add as gradients arrive
        self.ordered: dict[tuple[Node, int], list[tuple[bytes, Any]]] | None = None

    def start(self, node: Node) -> None:
        """Add a node that has received all its gradients to those that are ready."""
        _push(self.ready, node)

    def feed(self, node: Node, nr: int, grad: Any) -> None:
        """Add a gradient of output `nr` of `node`, without changing the dependency count."""
        if node.outputs == 1:
            held = self.buffers.get(node)
            self.buffers[node] = grad if held is None else self._sum(node, held, grad)
            return
        held = self.buffers.get(node)
        if held is None:
            held = self.buffers[node] = [None] * node.outputs
        if grad is not None:
            if held[nr] is None:
                held[nr] = grad
            elif self.ordered is not None:
                held[nr] = self._sum_in_order(node, nr, held[nr], grad)
            else:
                held[nr] = sum_of_tensors(held[nr], grad)

    def _sum(self, node: Node, held: Any, grad: Any) -> Any:
        if grad is None:
            return held
        if self.ordered is not None:
            return self._sum_in_order(node, 0, held, grad)
        if self.F is not RAW:
            return sum_of_tensors(held, grad)
        if type(held) is not ndarray:
            _go_where(held)
        if node in self.own and type(held) is type(grad) and held.ndim:
            held += grad
            return held
        self.own.add(node)
        return held + grad

    def _sum_in_order(self, node: Node, nr: int, held: Any, grad: Any) -> Any:
        assert self.ordered is not None
        terms = self.ordered.get((node, nr))
        if terms is None:
            terms = self.ordered[node, nr] = []
            add_in_order(terms, held)
        return add_in_order(terms, grad)

    def _sum_alone(self, node: Node, held: Any, grad: Any, alone: bool) -> Any:
        """Add as `_sum` does, inside the loop; a large array that nothing else refers to (`alone`) is added to in
        place.
        """
        if self.ordered is not None:
            return self._sum(node, held, grad)
        if alone and type(held) is ndarray and held.size >= _LARGE and node not in self.own and owns_memory(held):
            if type(grad) is ndarray and held.dtype == grad.dtype and held.shape == grad.shape:
                self.own.add(node)
        return self._sum(node, held, grad)

    def run(self) -> None:
        """Run all nodes that are ready or become ready."""
        above, _RUNNING.task = _RUNNING.task, self
        gpu = current_gpu()
        if gpu is not None:
            WAITING.passes += 1
        try:
            self._run(gpu is not None)
        finally:
            _RUNNING.task = above
            if gpu is not None:
                WAITING.passes -= 1
                settle()
                use_gpu(gpu)

    def run_alone(self) -> None:
        """`run` for graphs without user code, which could call `current_task`."""
        if is_loaded():
            self.run()
        else:
            self._run(False)

    def _run(self, gpus: bool) -> None:
        """The loop of a pass; `gpus` says whether gradients may be on GPUs.

        `node` and `grad` hold one ready node, the one recorded last of those that became ready in this step: in a chain it runs
        next without going through the queue.
        """
        ready, buffers, dependencies = self.ready, self.buffers, self.dependencies
        needed, captures = self.needed, self.captures
        take = buffers.pop
        leaves: list[Node] = []
        node: Any = None
        grad: Any = None
        while True:
            if node is None:
                if not ready:
                    return
                node = _pop(ready)
                if not node.edges:
                    self._end(node)
                    node = None
                    continue
                grad = take(node, None)
            elif ready and _is_later(ready[0], node):
                buffers[node] = grad
                _push(ready, node)
                node = _pop(ready)
                grad = take(node, None)
            if gpus and type(grad) is not ndarray:
                _go_where(grad)
            if node.hooks is not None or captures is not None and node in captures:
                grad = self._before(node, grad)
            if needed is not None and node not in needed:  # it does not lead to a target
                node = grad = None
                continue
            edges, outs = node.edges, self._run_node(node, grad)
            node = grad = None
            for edge, out in zip(edges, outs):
                if edge is None:
                    continue
                below, nr = edge
                left = dependencies[below] - 1
                if below.outputs != 1:
                    self.feed(below, nr, out)
                elif out is not None:
                    held = take(below, None)
                    if held is not None:
                        buffers[below] = self._sum_alone(below, held, out, sole(held))
                    elif left or not below.edges:  # it must wait, or is a leaf
                        buffers[below] = out
                    else:
                        if node is None:
                            node, grad = below, out
                        elif below._sequence > node._sequence:
                            buffers[node] = grad
                            _push(ready, node)
                            node, grad = below, out
                        else:
                            buffers[below] = out
                            _push(ready, below)
                        continue
                if left:
                    dependencies[below] = left
                elif below.edges:
                    _push(ready, below)
                else:
                    leaves.append(below)
            outs = out = held = None  # drop references, so that `_end` finds gradients with only one
            if leaves:
                for leaf in leaves:
                    self._end(leaf)
                leaves.clear()

    def _run_node(self, node: Any, grad: Any) -> Any:
        """Run a node and return the gradients for its edges; the node frees its saved tensors, unless the graph is retained."""
        if grad is None and not node.runs_on_none:
            outs: Any = (None,) * len(node.edges)
        elif node.hooks is not None or TRACING.on:
            outs = self._watched(node, grad)
        elif not self.keep and node.uses_up:
            outs = node.run_last(self.F, grad)
        else:
            outs = node.run(self.F, grad)
        if not self.keep:
            node.release()
        return outs

    def _end(self, leaf: Node) -> None:
        """Pass the gradient of a leaf to the sink, or run the leaf."""
        grad = self.buffers.pop(leaf, None)
        if grad is not None and type(grad) is not ndarray:
            _go_where(grad)
        if leaf.hooks is not None or self.captures is not None:
            grad = self._before(leaf, grad)
        if self.sink is not None:
            self.sink(leaf, grad, sole(grad))
        elif grad is not None and self.captures is None:
            if leaf.hooks is not None or TRACING.on:
                self._watched(leaf, grad)
            elif leaf.__class__ is AccumulateGrad:
                leaf.take(self.F, grad, sole(grad))
            else:
                leaf.run(self.F, grad)

    def will_run(self, node: Node) -> bool:
        """Whether the pass will reach `node`; used by `register_multi_grad_hook`."""
        if node not in self.dependencies:
            return False
        return self.needed is None or node in self.needed or self.captures is not None and node in self.captures

    # -- hooks -------------------------------------------------------------------------------------------------------
    def _before(self, node: Node, grad: Any) -> Any:
        """Run the hooks of the node's tensors, and store retained and captured gradients."""
        settle()
        if node.hooks is not None and (node.hooks.tensor or node.hooks.retained) and grad is not None:
            grads = list(grad) if node.outputs != 1 else [grad]
            for nr, value in enumerate(grads):
                if value is not None:
                    grads[nr] = self._tensor_hooks(node, nr, value)
            grad = grads if node.outputs != 1 else grads[0]
        if self.captures is not None and node in self.captures:
            for nr, place in self.captures[node]:
                self.captured[place] = filled(grad if node.outputs == 1 or grad is None else grad[nr])
        return grad

    def _tensor_hooks(self, node: Node, nr: int, value: Any) -> Any:
        assert node.hooks is not None
        tensor: Any = self.as_tensor(value)
        for hook in list(node.hooks.tensor.get(nr, {}).values()):
            changed = hook(tensor)
            if changed is not None:
                tensor = check_hook_result(hook, changed, tensor)
        keeper = node.hooks.retained.get(nr)
        kept = None if keeper is None else keeper()
        if kept is not None:
            kept._grad = self._own_copy(tensor) if kept._grad is None else kept._grad + tensor
        return self.as_value(tensor)

    def _own_copy(self, tensor: Tensor) -> Tensor:
        return wrap(tensor._array.copy()) if self.F is RAW else tensor.clone()

    def _watched(self, node: Node, grad: Any) -> Any:
        """Run a node with its pre- and post-hooks and under all watchers."""
        hooks = node.hooks
        if hooks is None or not (hooks.pre or hooks.post):
            return run_traced(node, self.F, grad) if TRACING.on else node.run(self.F, grad)
        settle()
        given = self._as_tensors(grad, node.outputs)
        for hook in list(hooks.pre.values()):
            given = check_hook_results(hook, hook(given), given)
        value = [self.as_value(each) for each in given] if node.outputs != 1 else self.as_value(given[0])
        outs = run_traced(node, self.F, value) if TRACING.on else node.run(self.F, value)
        settle()
        made = tuple(self.as_tensor(each) for each in outs)
        for hook in list(hooks.post.values()):
            made = check_hook_results(hook, hook(made, given), made)
        return tuple(self.as_value(each) for each in made)

    def _as_tensors(self, grad: Any, outputs: int) -> tuple[Any, ...]:
        if grad is None:
            return (None,) * outputs
        return tuple(self.as_tensor(each) for each in (grad if outputs != 1 else [grad]))

    def as_tensor(self, value: Any) -> Tensor | None:
        """Convert a gradient to a tensor, for hooks and other user code."""
        return wrap(filled(as_array(value))) if self.F is RAW and value is not None else value

    def as_value(self, tensor: Tensor | None) -> Any:
        """Convert a gradient to the form that nodes use: an array if F is RAW, otherwise a tensor."""
        return tensor._array if self.F is RAW and tensor is not None else tensor


def _go_where(grad: Any) -> None:
    """Make the GPU of a gradient (or of the first of several) the current device, since the node must run on it."""
    for each in grad if type(grad) is list else (grad,):
        if each is not None:
            place = each.device if isinstance(each, Tensor) else device_of(each)
            if place.type == "cuda" and place.index is not None:
                use_gpu(place.index)
            return


def as_array(value: Any) -> Any:
    """A NumPy scalar, which NumPy returns for zero-dimensional results, as an array; other values unchanged."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def filled(value: Any) -> Any:
    """The gradient with memory that may be written to: views with stride 0 (see `Node.multiplies`) must not leave the
    engine.
    """
    return value.copy() if type(value) is ndarray and 0 in value.strides and value.size > 1 else value


def check_hook_results(hook: Any, changed: Any, before: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a node's hook returned (`changed`), checked; the gradients `before` the hook if that is None."""
    if changed is None:
        return before
    if not isinstance(changed, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(changed).__name__}'")
    if len(changed) != len(before):
        raise RuntimeError(
            f"hook '{_title(hook)}' has returned an incorrect number of values (got {len(changed)}, but expected "
            f"{len(before)})"
        )
    return tuple(
        new if old is None or new is None else check_hook_result(hook, new, old) for new, old in zip(changed, before)
    )


def check_hook_result(hook: Any, changed: Any, before: Tensor) -> Tensor:
    """Raise PyTorch's errors unless a hook's result has the type, shape, dtype and device of the gradient."""
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if tuple(changed.shape) != tuple(before.shape):
        raise RuntimeError(
            f"hook '{_title(hook)}' has changed the size of value (was {list(before.shape)} got {list(changed.shape)})"
        )
    if changed.dtype is not before.dtype:
        raise RuntimeError(
            f"hook '{_title(hook)}' has changed the type of value (was {before.dtype} got {changed.dtype})"
        )
    if changed.device != before.device:
        raise RuntimeError(
            f"hook '{_title(hook)}' has changed the device of value (was {before.device} got {changed.device})"
        )
    return changed


def _title(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
