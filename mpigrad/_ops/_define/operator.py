"""Defines operators: a forward on arrays and a derivative become a function on tensors that records a node.

    exp = operator("exp", lambda x: np.exp(x), lambda F, node, g, y: g * F.conj(y), saves=(RESULT,), node="ExpBackward0")

- `forward(*arrays, **kw)` gives an array, or a tuple of arrays for several outputs.
- `backward(F, node, g, *saved)` gives the gradients of the inputs (a tuple; bare for one input). It is written with
  Python's operators and `F.<operator>`, so that the same formula runs on arrays and, for gradients of gradients, on
  tensors. `node.kw` holds the forward's keyword arguments, `node.needs` says which inputs want a gradient.
- `saves` lists what `backward` gets: input positions (pairs `(i, j)`: input i, if input j needs a gradient), or RESULT.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mpigrad._array.device import CPU, NOWHERE, device, device_of, on_device
from mpigrad._array.dtype import NARROW
from mpigrad._core.engine import as_array as as_array
from mpigrad._core.node import ONE_OF_SEVERAL, Edge, RecordedNode, edge_of, make_view, new_node
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE, TRACING, raise_inference
from mpigrad._graph.namespace import DIFF, RAW, add_to_both
from mpigrad._graph.saved import PACKING, TWICE, Packed, as_output, raise_modified
from mpigrad._graph.tracing import around_operator, note_recorded
from mpigrad._process.lazy import load
from mpigrad._tensor import Tensor, counter, extra

from .narrow import any_narrow, narrowed, through_float32, widened

RESULT = -1  # in `saves`: the first output; -2 is the second, and so on
ndarray, generic = np.ndarray, np.generic
_TITLES = {0: "self", 1: "other", RESULT: "result"}
# PyTorch's names of saved arguments where they differ: position of the argument -> name.
SAVED_TITLES: dict[str, dict[int, str]] = {
    "addmm": {1: "mat1", 2: "mat2"}, "baddbmm": {1: "batch1", 2: "batch2"}, "bmm": {1: "mat2"}, "dot": {1: "tensor"},
    "conv": {0: "input", 1: "weight"}, "embedding": {0: "indices"}, "gather": {1: "index"}, "index_add": {1: "index"},
    "index_select": {1: "index"}, "inverse": {RESULT: "inverse"}, "lerp": {1: "end", 2: "weight"}, "pow": {1: "exponent"},
    "linear": {0: "input", 1: "weight"}, "masked_fill": {1: "mask"}, "masked_fill_number": {1: "mask"}, "mv": {1: "vec"},
    "mm": {1: "mat2"}, "mse_loss": {1: "target"}, "where": {0: "condition"},
}  # fmt: skip


class OpNode(RecordedNode):
    """The node of a recorded operator: its saved tensors, and the shapes and types of its inputs."""

    __slots__ = ()
    operator: Operator

    @property
    def needs(self) -> tuple[bool, ...]:
        """Which inputs need a gradient."""
        return tuple(edge is not None for edge in self.edges)

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        saved = self.saved
        if saved is None:
            raise RuntimeError(TWICE)
        operator = self.operator
        # only on arrays: with F = DIFF the formula calls operators, and each of these converts bfloat16 itself
        if NARROW.used and F is RAW and not operator.exact and any_narrow(grad if grad.__class__ in (list, tuple) else (grad,)):
            out = self._run_narrow(grad)
        elif not saved:
            out = operator.backward(F, self, grad)
        elif F is RAW:
            values: list[Any] = []
            # the arrays are read here, without `tensors()`, because this loop runs for most nodes of every pass
            for tensor, version in zip(saved, self.versions):
                if tensor is None:
                    values.append(None)
                    continue
                count = tensor._counter
                if count is not None and count[0] != version:
                    raise_modified(self, tensor, version)
                values.append(tensor._array)
            out = operator.backward(F, self, grad, *values)
        else:
            out = operator.backward(F, self, grad, *self.tensors())
        if out.__class__ is not tuple:
            out = (out,)
        # `meta` is set only if broadcasting or type promotion changed an input: most gradients fit as they are
        return out if self.meta is None else tuple(map(F.conform, out, self.meta))

    def _run_narrow(self, grad: Any) -> Any:
        """The derivative of an operator on bfloat16 arrays."""
        saved = [None if each is None else widened(each._array) for each in self.tensors()] if self.saved else []
        wide = [widened(each) for each in grad] if grad.__class__ in (list, tuple) else widened(grad)
        return narrowed(self.operator.backward(RAW, self, wide, *saved))

    def tensors(self) -> list[Tensor | None]:
        """The saved tensors, connected to the graph; None for those that were not saved."""
        if self.saved is None:
            raise RuntimeError(TWICE)
        found = []
        for place, tensor, version in zip(self.operator.places, self.saved, self.versions):
            if tensor is not None:
                count = tensor._counter
                if count is not None and count[0] != version:
                    raise_modified(self, tensor, version)
                # a saved output gets this node as `grad_fn` again, which the saved alias must not have (a cycle)
                if place < 0:
                    tensor = as_output(tensor, self, -1 - place)
                elif tensor.__class__ is Packed:
                    tensor = tensor.unpack()
            found.append(tensor)
        return found

    # An empty tuple stays: a node that saves nothing may run again even if the graph was not retained.
    def release(self) -> None:
        if self.saved:
            self.saved = None

    def name(self) -> str:
        return type(self).__name__

    def __getattr__(self, name: str) -> Any:
        """PyTorch's attributes for saved tensors: `_saved_self`, `_saved_other`, `_saved_result` and others."""
        if name.startswith("_saved_"):
            titles = self._titles()
            if name in titles:
                return self.tensors()[titles.index(name)]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._titles()]

    def _titles(self) -> list[str]:
        special = SAVED_TITLES.get(self.operator.name, {})
        return [f"_saved_{special.get(place) or _TITLES.get(place, place)}" for place in self.operator.places]


class ManyNode(OpNode):
    """The node of a recorded operator with several outputs."""

    __slots__ = ("outputs",)
    outputs: int  # type: ignore[misc]

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        # Outputs that the loss does not depend on have no gradient. If none has one, nothing flows further down.
        for each in grad:
            if each is not None:
                return OpNode.run(self, F, grad)
        return (None,) * len(self.edges)


class Operator:
    """A differentiable function of tensors. Call it with tensors (None where optional) and keyword arguments."""

    __slots__ = (
        "backward",
        "broadcasts",
        "exact",
        "forward",
        "many_type",
        "name",
        "node_type",
        "places",
        "saves",
        "sparse",
        "view",
    )

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        backward: Callable[..., Any],
        saves: Sequence[Any],
        node: str,
        broadcasts: bool = False,
        view: bool = False,
        base: type[OpNode] = OpNode,
    ) -> None:
        self.name, self.forward, self.backward = name, forward, backward
        self.saves = tuple(each if isinstance(each, tuple) else (each, None) for each in saves)
        self.places = tuple(place for place, _ in self.saves)
        self.broadcasts, self.view = broadcasts, view
        self.exact = view  # returns elements unchanged, so no conversion of the result is needed
        self.sparse: Callable[..., Any] | None = None  # (operator, inputs, kw) -> result, for sparse inputs
        # Each operator has a node class of its own, so that `type(node).__name__` is PyTorch's name and nodes need no
        # field for it.
        body = {"__slots__": (), "operator": self, "__module__": __name__}
        self.node_type = type(node, (base,), dict(body))
        self.many_type: Any = None  # created on first use: few operators have several outputs

    def saves_of_two(self) -> tuple[int | None, int | None] | None:
        """The `saves` argument of `record_two`, for operators of two inputs; None if nothing is saved."""
        needed_by: dict[int, int | None] = dict(self.saves)
        return (needed_by.get(0, -1), needed_by.get(1, -1)) if needed_by else None

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __call__(self, *inputs: Tensor | None, **kw: Any) -> Any:
        if TRACING.on:
            with around_operator("aten::" + self.name, inputs):
                return self._call(inputs, kw)
        return self._call(inputs, kw)

    def _call(self, inputs: tuple[Tensor | None, ...], kw: dict[str, Any]) -> Any:
        arrays = [None if each is None else each._array for each in inputs]
        # One test for GPU arrays and sparse arrays together: on the CPU path, nothing more is checked.
        for array in arrays:
            if array.__class__ is not ndarray and array is not None:
                return self._call_other(inputs, arrays, kw)
        if NARROW.used and not self.exact and any_narrow(arrays):
            return self.finish(inputs, through_float32(self.forward, arrays, kw), kw)
        return self.finish(inputs, self.forward(*arrays, **kw), kw)

    def _call_other(self, inputs: tuple[Tensor | None, ...], arrays: Sequence[Any], kw: dict[str, Any]) -> Any:
        """Call the operator with arrays that are not all plain NumPy arrays: some are on a GPU or sparse."""
        inputs, place = on_one_device(self.name, inputs)
        with on_device(place):
            if any(getattr(array, "is_sparse_array", False) for array in arrays):
                if self.sparse is None:
                    load_sparse()
                if self.sparse is None:
                    refuse_sparse(self.name, next(each for each in inputs if each is not None))
                return self.sparse(self, inputs, kw)  # type: ignore[misc]
            arrays = [None if each is None else each._array for each in inputs]
            if NARROW.used and not self.exact and any_narrow(arrays):
                return self.finish(inputs, through_float32(self.forward, arrays, kw), kw)
            return self.finish(inputs, self.forward(*arrays, **kw), kw)

    def finish(self, inputs: Sequence[Tensor | None], out: Any, kw: dict[str, Any]) -> Any:
        """Wrap the forward's result `out` in tensors, and record a node if an input requires grad."""
        if out.__class__ is tuple:
            return self._finish_many(inputs, out, kw)
        made = wrap(out if out.__class__ is ndarray else as_array(out))
        # as in PyTorch, a view of an ordinary tensor stays ordinary in inference mode
        if MODE.inference and not (self.view and not inputs[0].is_inference()):  # type: ignore[union-attr]
            extra(made).inference = True
        if MODE.enabled:
            for each in inputs:
                if each is not None and each._requires:
                    # integers and booleans have no gradient ("V" is bfloat16)
                    if made._array.dtype.kind in "fcV":
                        self.record(inputs, (made,), kw)
                    break
        if self.view:
            make_view(made, inputs[0], (self, kw))  # type: ignore[arg-type]
        return made

    def _finish_many(self, inputs: Sequence[Tensor | None], outs: tuple[Any, ...], kw: dict[str, Any]) -> Any:
        made = tuple(wrap(as_array(out)) for out in outs)
        if MODE.enabled and any(each is not None and each._requires for each in inputs):
            self.record(inputs, made, kw)
        if MODE.inference and not (self.view and not inputs[0].is_inference()):  # type: ignore[union-attr]
            for each in made:
                extra(each).inference = True
        if self.view:
            for nr, each in enumerate(made):
                make_view(each, inputs[0], (_Output(self, nr), kw), ONE_OF_SEVERAL)  # type: ignore[arg-type]
        return made

    def _for_many(self) -> Any:
        if self.many_type is None:
            body = {"__slots__": (), "operator": self, "__module__": __name__}
            self.many_type = type(self.node_type.__name__, (ManyNode,), body)
        return self.many_type

    def record(self, inputs: Sequence[Tensor | None], made: Sequence[Tensor], kw: dict[str, Any]) -> OpNode:
        """Make the node of a call with these inputs and keyword arguments, and attach the outputs `made` to it."""
        edges: list[Any] = []
        shapes: list[Any] = []
        for each in inputs:
            if each is None:
                edges.append(None)
                shapes.append(None)
            else:
                edges.append(edge_of(each) if each._requires else None)
                shapes.append(each._array.shape)
        saved, versions = self._saved(edges, inputs, made) if self.saves else ((), ())
        cls = self.node_type if len(made) == 1 else self._for_many()
        node = new_node(cls, tuple(edges), kw, tuple(shapes), saved, versions)
        if self.broadcasts:
            node.meta = self._meta(inputs, made[0])
        if len(made) != 1:
            node.outputs = len(made)
        for nr, each in enumerate(made):
            if each._array.dtype.kind in "fcV":
                each._grad_fn, each._nr, each._requires = node, nr, True
        if TRACING.on:
            note_recorded(node)
        return node

    def _saved(
        self, edges: Sequence[Any], inputs: Sequence[Tensor | None], made: Sequence[Tensor]
    ) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """The tensors that the derivative needs, with their current versions."""
        saved: list[Any] = []
        versions: list[int] = []
        for place, needed_by in self.saves:
            kept: Any = None
            if needed_by is None or edges[needed_by] is not None:
                if place >= 0:
                    kept = inputs[place]
                    if kept is not None and kept._extra is not None and kept._extra.inference:
                        raise_inference()
                else:  # an alias, because the output itself refers to the node (a cycle)
                    output = made[-1 - place]
                    kept = wrap(output._array)
                    kept._counter = counter(output)
            saved.append(kept)
            versions.append(0 if kept is None or kept._counter is None else kept._counter[0])
        # hooks set TRACING.on (see `_Slow` in saved.py), which is read faster than the thread-local stack
        if TRACING.on and PACKING.stack:
            saved = [None if each is None else Packed(each) for each in saved]
            versions = [0] * len(saved)
        return tuple(saved), tuple(versions)

    def _meta(self, inputs: Sequence[Tensor | None], made: Tensor) -> Any:
        shape, kind = made._array.shape, made._array.dtype
        for each in inputs:
            if each is not None and (each._array.shape != shape or each._array.dtype is not kind):
                return tuple(_shape_and_dtype(each) for each in inputs)
        return None


class _Output:
    """One output of a view operator that has several outputs, as a step of a view's chain."""

    __slots__ = ("nr", "operator")

    def __init__(self, operator: Operator, nr: int) -> None:
        self.operator, self.nr = operator, nr

    def __call__(self, value: Tensor, **kw: Any) -> Tensor:
        return self.operator(value, **kw)[self.nr]

    def forward(self, array: Any, **kw: Any) -> Any:
        return self.operator.forward(array, **kw)[self.nr]


def _shape_and_dtype(each: Tensor | None) -> tuple[Any, Any] | None:
    if each is None or not each._requires:
        return None
    return each._array.shape, each._array.dtype


def refuse_sparse(name: str, tensor: Tensor) -> None:
    """Raise an error for a sparse tensor that was passed to an operator of dense tensors."""
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'Sparse{device_of(tensor._array).type.upper()}' backend: "
        "this operator has no sparse version; use to_dense() first."
    )


def check_one_device(name: str, arrays: Sequence[Any]) -> device:
    """The common device of some arrays; raises PyTorch's error if devices are mixed.

    Only zero-dimensional CPU tensors may be combined with tensors on a GPU.
    """
    places: list[device] = []
    for array in arrays:
        # NumPy's scalars and zero-dimensional CPU arrays count as numbers, which belong to no device
        if array is not None and (array.ndim or array.__class__ is not ndarray) and not isinstance(array, generic):
            place = device_of(array)
            if place not in places:
                places.append(place)
    if len(places) > 1:
        places.sort(key=lambda place: place.type == "cpu")
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {places[0]} and {places[1]}! "
            f"(in {name}; move one of them with .to())"
        )
    return places[0] if places else CPU


def load_sparse() -> None:
    """Import the sparse versions of operators, which a program without sparse tensors does not need."""
    for module in ("arithmetic", "forms", "resizing", "selecting", "unary"):
        load(f"_ops.sparse.{module}")


def on_one_device(name: str, values: Sequence[Any]) -> tuple[tuple[Any, ...], device]:
    """Move zero-dimensional CPU tensors to the device of the others; returns all operands and the device."""
    place = check_one_device(name, [each._array for each in values if isinstance(each, Tensor)])
    if place is CPU:
        return tuple(values), CPU
    moved = (
        DIFF.move_to(each, place=place) if isinstance(each, Tensor) and each._array.__class__ is ndarray else each
        for each in values
    )
    return tuple(moved), place


def operator(
    name: str,
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    saves: Sequence[Any] = (),
    *,
    node: str | None = None,
    broadcasts: bool = False,
    view: bool = False,
    base: type[OpNode] = OpNode,
) -> Operator:
    """Define an operator and register it as `F.name` for use in derivatives. `node` is the name of its graph node.

    `broadcasts`: gradients are summed to the shapes of inputs that were broadcast. `view`: the result shares the input's memory.
    """
    title = node or "".join(part.capitalize() for part in name.strip("_").split("_")) + "Backward0"
    made = Operator(name, forward, backward, saves, title, broadcasts, view, base)
    add_to_both(name, forward, made)
    return made


def kernel(name: str, forward: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function without a derivative (comparisons, integer results) as `F.name` for use in derivatives."""

    def call(*inputs: Tensor | None, **kw: Any) -> Any:
        arrays = [None if each is None else each._array for each in inputs]
        place = CPU
        if any(array.__class__ is not ndarray and array is not None for array in arrays):
            inputs, place = on_one_device(name, inputs)
            for each in inputs:
                if each is not None and each.is_sparse:
                    refuse_sparse(name, each)
            arrays = [None if each is None else each._array for each in inputs]
        with around_operator("aten::" + name, inputs) if TRACING.on else NOWHERE, on_device(place):
            out = forward(*arrays, **kw)
        return tuple(wrap(as_array(each)) for each in out) if out.__class__ is tuple else wrap(as_array(out))

    add_to_both(name, forward, call)
    return call


__all__ = [
    "DIFF",
    "RAW",
    "RESULT",
    "Edge",
    "OpNode",
    "Operator",
    "check_one_device",
    "kernel",
    "load_sparse",
    "on_one_device",
    "operator",
    "raise_modified",
    "refuse_sparse",
]
