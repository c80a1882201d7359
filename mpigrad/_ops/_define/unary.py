"""Defines elementwise operators of one operand: a fast path for float tensors, and a general path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mpigrad._array.dtype import get_default_dtype
from mpigrad._core.node import record_one
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._graph.namespace import RAW
from mpigrad._graph.saved import raise_modified
from mpigrad._tensor import Tensor, method

from .arguments import refuse_non_tensors, title
from .binary import F32, F64, PLAIN, ndarray
from .inplace import in_place
from .operator import RESULT, Operator, OpNode, operator
from .out import deliver

OPERATORS: dict[Callable[..., Tensor], Operator] = {}  # public function -> the function that it applies to float tensors
_SAVES: dict[str | None, tuple[int, ...]] = {None: (), "input": (0,), "result": (RESULT,)}


def unary(
    name: str,
    ufunc: Callable[..., Any],
    backward: Callable[..., Any],
    *,
    raw: Callable[[Any, Any], Any] | None = None,
    saves: str | None = None,
    node: str | None = None,
    to_float: bool = False,
    refuse: Callable[[Tensor], None] | None = None,
    doc: str,
    aliases: tuple[str, ...] = (),
    known_as: str | None = None,
    attach: bool = True,
) -> Callable[..., Tensor]:
    """Define an operator of one operand: returns the public function, and attaches it and its in-place variant to Tensor.

    `raw(g, saved)` is the derivative on arrays of real numbers, where it can be shorter than `backward`; `saves` is
    "input", "result" or None; `to_float` turns integers into the default float type first; `refuse` raises
    for tensors that the operator does not take; `known_as` is the name for derivatives where it differs;
    `attach=False` keeps it off Tensor."""
    # operators that save nothing have no field to shorten: the ordinary node is as small
    base = OpNode if saves is None else _light_node(backward, raw)
    made = operator(
        known_as or name, ufunc, backward, _SAVES[saves], node=node or f"{name.capitalize()}Backward0", base=base
    )
    public = _fast(made, _general(name, made, to_float, refuse))
    public.__name__ = public.__qualname__ = name
    types = "; integers and booleans give the default float type" if to_float else ""
    public.__doc__ = (
        f"{doc}\n\nThe result is a new tensor with the shape of `input`{types}. `out`: a tensor to which it is written instead."
    )
    public.__module__ = "mpigrad"
    OPERATORS[public] = made
    changing = in_place(public)
    for each in (name, *aliases) if attach else ():
        method(public, each)
        method(changing, each + "_")
    return public


class LightNode(OpNode):
    """A node of the fast path, which saves one object without a tuple: the input, or the array of the result.

    Of the input, `versions` has the version. An array has no version: the result's version counter is created before
    its elements can change, and from then on `saved` is a tuple as in other nodes.
    """

    __slots__ = ()
    multiplies = True

    def tensors(self) -> list[Tensor | None]:
        saved = self.saved
        if saved.__class__ is ndarray:
            self.counter_of(0)
        elif saved is not None and saved.__class__ is not tuple:
            return [self._unchanged()]
        return OpNode.tensors(self)

    def _unchanged(self) -> Tensor:
        tensor: Any = self.saved
        if tensor._version != self.versions:
            raise_modified(self, tensor, self.versions)  # type: ignore[arg-type]
        return tensor

    def counter_of(self, nr: int) -> list[Any]:
        """Create the version counter of the result, if the result is saved."""
        saved: Any = self.saved
        if saved.__class__ is ndarray:
            # From now on the result's elements may change, so the node must be able to notice it: store the result as
            # an alias with a counter, at version 0.
            alias = wrap(saved)
            alias._counter = [0]
            self.saved, self.versions = (alias,), (0,)
            return alias._counter
        kept = saved[0]._counter if saved.__class__ is tuple and saved and self.operator.places[0] < 0 else None
        return [0] if kept is None else kept

    def release(self) -> None:
        self.saved = None


def _light_node(backward: Callable[..., Any], raw: Callable[[Any, Any], Any] | None) -> type[LightNode]:
    """A base class of nodes with this derivative (`raw` on real arrays, see `unary`), for the fast path."""

    def run(self: Any, F: Any, grad: Any) -> tuple[Any, ...]:
        saved = self.saved
        # anything but one saved object on arrays takes the general way, which also raises the error for freed tensors
        if F is not RAW or saved.__class__ is tuple or saved is None:
            return (backward(F, self, grad, *self.tensors()),) if F is not RAW else OpNode.run(self, F, grad)
        if saved.__class__ is not ndarray:
            count = saved._counter
            if count is not None and count[0] != self.versions:
                raise_modified(self, saved, self.versions)
            saved = saved._array
        return (backward(RAW, self, grad, saved) if raw is None else raw(grad, saved),)

    return type("LightNode", (LightNode,), {"__slots__": (), "run": run})


def _general(
    name: str, made: Operator, to_float: bool, refuse: Callable[[Tensor], None] | None
) -> Callable[..., Tensor]:
    def general(input: Tensor, out: Tensor | None) -> Tensor:
        if not isinstance(input, Tensor):
            refuse_non_tensors(name, input=input)
        if refuse is not None:
            refuse(input)
        if to_float:
            input = as_float(input)
        result = made(input)
        return result if out is None else deliver(result, out)

    return general


def as_float(input: Tensor) -> Tensor:
    """The tensor itself, or integers and booleans as the default float type."""
    if input._array.dtype.kind in "fcV":
        return input
    return wrap(input._array.astype(get_default_dtype().numpy))


def _fast(made: Operator, general: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The public function: a fast path for dense float tensors on the CPU, and `general` for all others."""
    ufunc, node_type, place = made.forward, made.node_type, (*made.places, None)[0]
    no_kw: dict[str, Any] = {}

    def call(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        if input.__class__ not in PLAIN or TRACING.detour or out is not None:
            return general(input, out)
        x = input._array
        kind = x.__class__ is ndarray and x.dtype
        if kind is not F32 and kind is not F64:
            return general(input, out)
        y = ufunc(x)
        result = wrap(y if y.__class__ is ndarray else np.asarray(y))
        if input._requires and MODE.enabled:
            record_one(node_type, result, input, no_kw, None, place)
        return result

    return call


def refuse_complex(error: str) -> Callable[[Tensor], None]:
    """A check for `refuse`: raises PyTorch's error for complex tensors."""

    def refuse(input: Tensor) -> None:
        if input._array.dtype.kind == "c":
            raise NotImplementedError(error)

    return refuse


def refuse_kinds(kinds: str, kernel: str) -> Callable[[Tensor], None]:
    """A check for `refuse`: raises PyTorch's error for element types given by NumPy's letters ("b" booleans, "iu" integers, "c"
    complex).
    """
    def refuse(input: Tensor) -> None:
        if input._array.dtype.kind in kinds:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{title(input._array)}'")

    return refuse
