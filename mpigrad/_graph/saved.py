"""Saved tensors: kept for the backward pass together with their version, so that in-place changes are detected.

Also `saved_tensors_hooks`, which replace a saved tensor by what their pack hook returns. The hooks are thread-local.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import nullcontext
from typing import Any

from .._core.node import AccumulateGrad, Node, edge_of, short_name
from .._core.tensor import wrap
from .._tensor import Tensor, counter, extra
from .grad_mode import MODE
from .tracing import unwatch, watch

TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)
_TITLES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
}
_TITLES |= {"int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}


class _Packing(threading.local):
    """This thread's `saved_tensors_hooks`, the innermost last."""

    stack: tuple[Any, ...] = ()
    disabled: str | None = None  # the error text if hooks may not be set now


PACKING = _Packing()
_lock = threading.Lock()


class _Slow:
    """A watcher that records nothing. It only makes operators avoid their fast paths, which cannot call pack hooks."""

    # in all threads: hooks are thread-local, but watchers are global
    users = 0

    def operator(self, name: str, inputs: Any = ()) -> Any:
        return nullcontext()

    node = operator

    def recorded(self, node: Any) -> None:
        """Does nothing: this watcher records no nodes."""

    def ran(self, node: Any, results: Any, F: Any) -> None:
        """Does nothing: this watcher does not look at results."""


_SLOW = _Slow()


def hooks_entered(pack: Any, unpack: Any) -> None:
    """From now on, pack the tensors that this thread saves."""
    PACKING.stack = (*PACKING.stack, (pack, unpack))
    with _lock:
        _SLOW.users += 1
        if _SLOW.users == 1:
            watch(_SLOW)


def hooks_left() -> None:
    """End the innermost packing of this thread."""
    PACKING.stack = PACKING.stack[:-1]
    with _lock:
        _SLOW.users -= 1
        if _SLOW.users == 0:
            unwatch(_SLOW)


class Packed:
    """A saved tensor after the pack hook of `saved_tensors_hooks`: holds what the hook returned.

    Derivatives on arrays, which read only `_array`, can use it like the tensor: each access calls the unpack hook.
    """

    __slots__ = ("edge", "hook", "packed")
    _counter = None  # no version check: the pack hook keeps a copy or is responsible for changes

    def __init__(self, tensor: Tensor) -> None:
        pack, self.hook = PACKING.stack[-1]
        # the hook may return another tensor, or bytes: the position in the graph is kept here
        self.edge = edge_of(tensor)
        stack, PACKING.stack = PACKING.stack, ()  # operations inside the hook must not pack again
        before, MODE.enabled = MODE.enabled, False
        try:
            self.packed = pack(tensor)
        finally:
            MODE.enabled, PACKING.stack = before, stack

    @property
    def _array(self) -> Any:
        tensor = self.hook(self.packed)
        if not isinstance(tensor, Tensor):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got {type(tensor)}")
        return tensor._array

    def unpack(self) -> Tensor:
        """The unpacked tensor, connected to the graph as the original was."""
        made = wrap(self._array)
        if self.edge is None:
            return made
        node, made._nr = self.edge
        made._requires = True
        if isinstance(node, AccumulateGrad):
            extra(made).accumulate = weakref.ref(node)
        else:
            made._grad_fn = node
        return made


class Saved:
    """One tensor that a node keeps for its derivative, with its version.

    For outputs of the node it keeps an alias without `grad_fn`; the tensor itself would make a reference cycle.
    """

    __slots__ = ("output", "tensor", "version")

    def __init__(self, tensor: Tensor, output: int | None) -> None:
        self.output = output
        self.version = counter(tensor)[0]
        self.tensor: Any = tensor if output is None else _alias(tensor)
        if PACKING.stack:
            self.tensor = Packed(self.tensor)

    def unpack(self, node: Node) -> Tensor:
        """The saved tensor; RuntimeError if it was modified in place since."""
        tensor = self.tensor
        if type(tensor) is not Packed and counter(tensor)[0] != self.version:
            raise_modified(node, tensor, self.version, self.output)
        if self.output is not None:
            return as_output(tensor, node, self.output)
        return tensor.unpack() if type(tensor) is Packed else tensor


def _alias(tensor: Tensor) -> Tensor:
    made = wrap(tensor._array)
    made._counter = counter(tensor)
    return made


def as_output(alias: Tensor, node: Node, nr: int) -> Tensor:
    """Turn an alias of output `nr` of `node` into a tensor with that node as `grad_fn`."""
    made = wrap(alias._array)
    made._counter = alias._counter
    if alias._array.dtype.kind in "fcV":  # integer outputs, such as the indices of max, have no gradient
        made._grad_fn, made._nr, made._requires = node, nr, True
    return made


def raise_modified(node: Node, tensor: Tensor, version: int, output: int | None = None) -> None:
    """Raise PyTorch's error for a saved tensor that was modified in place."""
    if output is None:
        output = _output_number(node, tensor)
    # a saved output is an alias without `grad_fn`: its creator is the node itself
    made_by = node if output is not None else tensor.grad_fn
    title = _TITLES.get(tensor.dtype.name, tensor.dtype.name)
    nr = tensor._nr if output is None else output
    origin = "" if made_by is None else f", which is output {nr} of {short_name(made_by)},"
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[mpigrad.{title}Tensor {list(tensor.shape)}]{origin} is at version {tensor._version}; expected version "
        f"{version} instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
        "with mpigrad.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def _output_number(node: Any, tensor: Tensor) -> int | None:
    """The index of the node's output that a saved tensor is; None if it is an input."""
    saved = getattr(node, "saved", None)
    if type(saved) is not tuple:
        return None
    for place, each in zip(getattr(getattr(node, "operator", None), "places", ()), saved):
        if each is tensor and place < 0:
            return -1 - place
    return None
