"""`backward` and `grad`: check the arguments, then run the local engine from some root tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array.device import array_module, guard
from .._core.engine import Captures, GraphTask, as_array, count_dependencies, framework_below, needed_for
from .._core.node import AccumulateGrad, DiscardGrad, Edge, Node, edge_of
from .._core.tensor import wrap
from .._graph.grad_mode import MODE, set_grad_enabled
from .._graph.namespace import DIFF, RAW
from .._tensor import Tensor, method
from ._edge import GradientEdge
from ._hooks import retain_grad

ndarray = np.ndarray
Tensors = Sequence[Tensor | GradientEdge] | Tensor | GradientEdge
Gradients = Sequence[Tensor | None] | Tensor | None


def backward(
    tensors: Tensors,
    grad_tensors: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Gradients = None,
    inputs: Tensors | None = None,
) -> None:
    """Run a backward pass: add the gradients of `tensors` to the `.grad` of the leaves from which they were computed.

    - `grad_tensors`: the gradient of each tensor, None for those with a single element (then it is 1); needed for all
      others.
    - `retain_graph`: keep the graph for another pass; by default it is freed, unless `create_graph`.
    - `create_graph`: record the pass, so that the gradients can be differentiated again.
    - `inputs`: add gradients to the `.grad` of these tensors only. `grad_variables` is a deprecated name of
      `grad_tensors`.

    >>> import mpigrad
    >>> x = mpigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> mpigrad.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    roots = as_tuple(tensors)
    targets = None if inputs is None else as_tuple(inputs)
    if targets is not None and not targets:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    grads = _initial_gradients(roots, grad_tensors, create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    if targets is None:
        run_backward(roots, grads, keep, create_graph)
    else:
        _backward_into(roots, grads, keep, create_graph, targets)


def _backward_into(roots: Any, grads: Any, keep: bool, create_graph: bool, targets: tuple[Any, ...]) -> None:
    """Add gradients to the `.grad` of these tensors only. Non-leaves retain their gradient from now on, as with `retain_grad`."""
    edges = [_target_edge(each, "can't retain_grad on Tensor that has requires_grad=False") for each in targets]
    for (node, _), target in zip(edges, targets):
        if not isinstance(node, AccumulateGrad):
            _keep_gradient(target)
    # a dict, so that a tensor that is listed twice gets its gradient once
    owners = dict(zip(edges, targets))
    found = run_backward(roots, grads, keep, create_graph, tuple(owners.values()))
    with set_grad_enabled(create_graph):
        for (node, _), each in zip(owners, found):
            if each is not None and isinstance(node, AccumulateGrad):
                # a copy: the array may also be the gradient of another target, and `.grad` is changed in place later
                node.run(DIFF if create_graph else RAW, each if create_graph else as_array(each).copy())


def _keep_gradient(target: Any) -> None:
    if not isinstance(target, Tensor):
        raise RuntimeError(
            f"backward(inputs=) can only add gradients to Tensors and edges of leaves, but got {target!r}"
        )
    retain_grad(target)


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
) -> tuple[Tensor, ...]:
    """Return the gradients of `outputs` with respect to `inputs`, a tuple with one for each input, without changing
    any `.grad`.

    - `grad_outputs`: the gradient of each output, None for those with a single element (then it is 1).
    - `retain_graph`, `create_graph`: as for `backward`.
    - `allow_unused`: give None for inputs on which the outputs do not depend, instead of raising a RuntimeError; with
      `materialize_grads`, zeros.
    - `is_grads_batched`: the first dimension of `grad_outputs` counts gradients; each gets a pass of its own, and the
      results are stacked. `only_inputs` has no effect.

    >>> import mpigrad
    >>> x = mpigrad.tensor(3.0, requires_grad=True)
    >>> mpigrad.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    roots, targets = as_tuple(outputs), as_tuple(inputs)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched(roots, targets, as_tuple(grad_outputs), keep, create_graph, allow_unused, materialize_grads)
    grads = _initial_gradients(roots, grad_outputs, create_graph)
    found = run_backward(roots, grads, keep, create_graph, targets)
    made: list[Any] = [None if each is None else each if create_graph else wrap(as_array(each)) for each in found]
    if materialize_grads:
        made = [wrap(zeros_for(target)) if each is None else each for each, target in zip(made, targets)]
    elif not allow_unused and any(each is None for each in made):
        place = next(place for place, each in enumerate(made) if each is None)
        raise RuntimeError(
            f"The differentiated Tensor at index {place} appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior."
        )
    return tuple(made)


def _batched(
    roots: tuple[Tensor, ...],
    targets: tuple[Tensor, ...],
    batches: tuple[Any, ...],
    keep: bool,
    create: bool,
    *rest: Any,
) -> tuple[Tensor, ...]:
    from .._ops.shape.joining import stack

    count = next(len(each) for each in batches if each is not None)
    rows: list[tuple[Any, ...]] = []
    for i in range(count):
        last = i == count - 1
        row = [None if each is None else each[i] for each in batches]
        # one pass for each gradient of the batch; the graph is freed by the last one
        rows.append(grad(roots, targets, row, keep or not last, create, True, rest[0], False, rest[1]))
    return tuple(None if column[0] is None else stack(list(column)) for column in zip(*rows))  # type: ignore[misc]


def run_backward(
    roots: tuple[Tensor, ...],
    grads: Sequence[Any],
    keep: bool,
    create_graph: bool,
    targets: tuple[Tensor, ...] | None = None,
) -> list[Any]:
    """Run one backward pass. With `targets`, return their gradients (arrays unless `create_graph`) and change no `.grad`."""
    edges = [_root_edge(root, i) for i, root in enumerate(roots)]
    nodes = [edge[0] for edge in edges]
    framework = framework_below(nodes)
    if framework is not None:
        found: list[Any] = framework.run_backward(roots, grads, targets, keep, create_graph)
        return found
    captures, needed = (None, None) if targets is None else _captures(targets, nodes)
    counts = count_dependencies(nodes)
    task = GraphTask(DIFF if create_graph else RAW, counts, keep, None, captures, needed)
    for (node, nr), grad in zip(edges, grads):
        task.feed(node, nr, grad)
    for node in dict.fromkeys(nodes):
        # a root below another root must wait for the gradients that come from above
        if counts[node] == 0:
            task.start(node)
    # hooks and custom functions run inside, and must not record unless a graph of the pass is wanted
    before, MODE.enabled = MODE.enabled, create_graph
    try:
        task.run()
    finally:
        MODE.enabled = before
    return [] if targets is None else [task.captured.get(place) for place in range(len(targets))]


def _root_edge(root: Any, place: int) -> Edge:
    edge = (root.node, root.output_nr) if root.__class__ is GradientEdge else edge_of(root)
    if edge is None or edge[0].__class__ is DiscardGrad:
        raise RuntimeError(f"element {place} of tensors does not require grad and does not have a grad_fn")
    return edge


def _target_edge(target: Any, complaint: str) -> Edge:
    if isinstance(target, GradientEdge):
        return target.node, target.output_nr
    if not isinstance(target, Tensor):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(target).__name__}")
    edge = edge_of(target)
    if edge is None:
        raise RuntimeError(complaint)
    return edge


def _captures(targets: tuple[Any, ...], roots: list[Node]) -> tuple[Captures, set[Node]]:
    captures: Captures = {}
    for place, target in enumerate(targets):
        node, nr = _target_edge(target, "One of the differentiated Tensors does not require grad")
        captures.setdefault(node, []).append((nr, place))
    return captures, needed_for(roots, captures)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Convert a tensor, None or a sequence of them to a tuple."""
    return (value,) if value is None or isinstance(value, (Tensor, GradientEdge)) else tuple(value)


def zeros_for(tensor: Any) -> Any:
    """An array of zeros with the shape, type and device of `tensor`."""
    with guard(tensor._array):
        return array_module(tensor._array).zeros(tensor._array.shape, tensor._array.dtype)


def _initial_gradients(roots: tuple[Tensor, ...], given: Gradients, create_graph: bool) -> list[Any]:
    if given is None:
        made = [_initial(root, None, place) for place, root in enumerate(roots)]
    else:
        grads = as_tuple(given)
        if len(grads) != len(roots):
            raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
        made = [_initial(root, each, place) for place, (root, each) in enumerate(zip(roots, grads))]
    return made if create_graph else [each._array for each in made]


def _initial(root: Any, grad: Tensor | None, place: int) -> Tensor:
    if root.__class__ is GradientEdge:
        if grad is None:
            raise RuntimeError("a GradientEdge has no shape: give its gradient in grad_tensors or grad_outputs")
        return grad
    array = root._array
    if grad is None:
        if array.size != 1 and root._requires:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if array.dtype.kind == "c":
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {root.dtype}")
        return wrap(_one(array))
    if not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    if grad._array.shape != array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{place}] has a shape of {grad.shape} and output[{place}] has a shape of "
            f"{root.shape}."
        )
    if (grad._array.__class__ is not np.ndarray or array.__class__ is not np.ndarray) and grad.device != root.device:
        raise RuntimeError(f"invalid gradient at index {place} - expected device {root.device} but got {grad.device}")
    if grad._array.dtype != array.dtype:
        if (grad._array.dtype.kind == "c") != (array.dtype.kind == "c"):
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                f"dtype: grad_output[{place}] has a dtype of {grad.dtype} and output[{place}] has a dtype of "
                f"{root.dtype}."
            )
        return DIFF.cast(grad, dtype=array.dtype)
    return grad


def _one(array: Any) -> Any:
    """An array of ones like `array`."""
    if array.__class__ is ndarray and not array.ndim:
        return np.array(1, array.dtype)  # three times as fast as np.ones
    with guard(array):
        return array_module(array).ones(array.shape, array.dtype)


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Run a backward pass: add the gradient of this tensor to the `.grad` of the leaves from which it was computed.

    `gradient`: the gradient of this tensor; may be left out if it has one element (then it is 1). The other arguments
    are those of `mpigrad.autograd.backward`.
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


method(_backward, "backward")
