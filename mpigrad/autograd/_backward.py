"""`backward` and `grad`: start a pass at some tensors and let the engine run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._device import array_module
from .._graph.accumulate import add_to_grad
from .._graph.engine import Captures, GraphTask, as_array, count_dependencies, needed_for
from .._graph.grad_mode import MODE
from .._graph.namespace import DIFF, RAW
from .._graph.node import Edge, Node, edge_of
from .._tensor import Tensor, method, wrap

Tensors = Sequence[Tensor] | Tensor
Gradients = Sequence[Tensor | None] | Tensor | None


def backward(
    tensors: Tensors,
    grad_tensors: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Gradients = None,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves below them (or of `inputs` only).

    >>> import mpigrad
    >>> x = mpigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> mpigrad.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if inputs is not None and not isinstance(inputs, Tensor) and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = as_tuple(tensors)
    grads = _initial_gradients(roots, grad_tensors if grad_variables is None else grad_variables, create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run_backward(roots, grads, keep, create_graph)
        return
    targets = as_tuple(inputs)
    for target, found in zip(targets, run_backward(roots, grads, keep, create_graph, targets)):
        if found is not None:
            add_to_grad(target, found, DIFF if create_graph else RAW)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Give the gradients of `outputs` with respect to `inputs`, leaving every `.grad` alone.

    >>> import mpigrad
    >>> x = mpigrad.tensor(3.0, requires_grad=True)
    >>> mpigrad.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    roots, targets = as_tuple(outputs), as_tuple(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched(roots, targets, as_tuple(grad_outputs), keep, create_graph, allow_unused, materialize_grads)
    grads = _initial_gradients(roots, grad_outputs, create_graph)
    found = run_backward(roots, grads, keep, create_graph, targets)
    made = [None if each is None else each if create_graph else wrap(as_array(each)) for each in found]
    if materialize_grads:
        made = [wrap(zeros_for(target)) if each is None else each for each, target in zip(made, targets)]
    elif not allow_unused and any(each is None for each in made):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is "
            "the desired behavior."
        )
    return tuple(made)


def _batched(
    roots: tuple[Tensor, ...], targets: tuple[Tensor, ...], batches: tuple[Any, ...], keep: bool, create: bool, *rest: Any
) -> tuple[Tensor | None, ...]:
    from .._ops.joining import stack

    count = next(len(each) for each in batches if each is not None)
    rows = []
    for i in range(count):
        last = i == count - 1
        row = [None if each is None else each[i] for each in batches]
        rows.append(grad(roots, targets, row, keep or not last, create, True, rest[0], False, rest[1]))
    return tuple(None if column[0] is None else stack(list(column)) for column in zip(*rows))


def run_backward(
    roots: tuple[Tensor, ...],
    grads: Sequence[Any],
    keep: bool,
    create_graph: bool,
    targets: tuple[Tensor, ...] | None = None,
) -> list[Any]:
    """Run one pass. With `targets`, give their gradients and touch no `.grad`; values are arrays unless `create_graph`."""
    F = DIFF if create_graph else RAW
    edges = [_root_edge(root, i) for i, root in enumerate(roots)]
    nodes = [edge[0] for edge in edges]
    captures, needed = _captures(targets, nodes) if targets is not None else (None, None)
    task = GraphTask(F, count_dependencies(nodes), keep, captures=captures, needed=needed)
    for (node, nr), grad in zip(edges, grads):
        task.feed(node, nr, grad)
    task.ready.extend(node for node in dict.fromkeys(nodes) if task.dependencies[node] == 0)
    before, MODE.enabled = MODE.enabled, create_graph
    try:
        task.run()
    finally:
        MODE.enabled = before
    return [] if targets is None else [task.captured.get(place) for place in range(len(targets))]


def _root_edge(root: Tensor, place: int) -> Edge:
    edge = edge_of(root)
    if edge is None:
        raise RuntimeError(f"element {place} of tensors does not require grad and does not have a grad_fn")
    return edge


def _captures(targets: tuple[Tensor, ...], roots: list[Node]) -> tuple[Captures, set[Node]]:
    captures: Captures = {}
    for place, target in enumerate(targets):
        edge = edge_of(target)
        if edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        captures.setdefault(edge[0], []).append((edge[1], place))
    return captures, needed_for(roots, set(captures))


def as_tuple(value: Any) -> tuple[Any, ...]:
    """One tensor, or None, or several: always a tuple."""
    return (value,) if value is None or isinstance(value, Tensor) else tuple(value)


def zeros_for(tensor: Tensor) -> Any:
    """An array of zeros like the tensor's own."""
    return array_module(tensor._array).zeros(tensor._array.shape, tensor._array.dtype)


def _initial_gradients(roots: tuple[Tensor, ...], given: Gradients, create_graph: bool) -> list[Any]:
    grads = as_tuple(given) if given is not None else (None,) * len(roots)
    if len(grads) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    made = [_initial(root, each) for root, each in zip(roots, grads)]
    return made if create_graph else [each._array for each in made]


def _initial(root: Tensor, grad: Tensor | None) -> Tensor:
    array = root._array
    if grad is None:
        if array.size != 1 and root._requires:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if array.dtype.kind == "c":
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {root.dtype}")
        return wrap(array_module(array).ones(array.shape, array.dtype))
    if not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    if grad._array.shape != array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {grad.shape} and output[0] has a shape of {root.shape}."
        )
    if grad._array.dtype != array.dtype:
        if (grad._array.dtype.kind == "c") != (array.dtype.kind == "c"):
            raise RuntimeError(
                f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[0] has a dtype of {grad.dtype} and output[0] has a dtype of {root.dtype}."
            )
        return wrap(grad._array.astype(array.dtype))
    return grad


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradient of this tensor to the `.grad` of the leaves below it."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


method(_backward, "backward")
