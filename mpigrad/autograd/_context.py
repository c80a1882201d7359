"""The context of a custom `Function`: holds what `forward` saves for `backward`, and is the graph node that runs `backward`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .._array.device import device_of, module_for, on_device
from .._core.engine import as_array, current_task
from .._core.node import Hooks, Node, edge_of, next_sequence
from .._core.tensor import wrap
from .._graph.grad_mode import MODE
from .._graph.namespace import RAW
from .._graph.saved import TWICE, Saved
from .._graph.waiting import settle
from .._tensor import Tensor

# set the slots directly: user classes may define attributes of these names
_set_edges, _set_hooks, _set_sequence = (Node.__dict__[name].__set__ for name in ("edges", "hooks", "_sequence"))
_RESERVED = frozenset({"_sequence", "edges", "hooks", "outputs", "release", "run"})


class FunctionCtx:
    """The `ctx` argument of a Function's `forward` and `backward`: what `forward` saves in it, `backward` finds
    there.
    """

    to_save: tuple[Any, ...] | None = None
    needs_input_grad: tuple[bool, ...]  # one per argument of forward
    materialize_grads: bool = True
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors (or None) for `backward`, which reads them from `ctx.saved_tensors`. Other values may be set
        as attributes.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Accepted for compatibility; forward-mode differentiation is not supported."""

    def mark_dirty(self, *args: Tensor) -> None:
        """Declare inputs that `forward` changed in place; `forward` must return them, too."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declare outputs that have no gradient, such as indices."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients reach `backward` as zeros (the default) or as None."""
        self.materialize_grads = value


class BackwardCFunction(Node, FunctionCtx):
    """The graph node of one call of a `Function`; it runs the `backward` of that class."""

    _forward_cls: Any
    _arguments: int  # number of arguments of forward
    _places: list[int]  # positions of the tensors among them
    _inputs: list[tuple[Any, Any, Any]]  # shape, type and device of these tensors
    _outputs: tuple[Any, ...]
    _saved: tuple[Saved | None, ...] | None = ()
    runs_on_none = True  # `backward` is called with zeros if it gets no gradient
    user_code = True

    def _begin(self, args: tuple[Any, ...]) -> bool:
        """Set up for a call with these arguments; returns whether to record it."""
        places = [place for place, each in enumerate(args) if isinstance(each, Tensor)]
        tensors = [args[place] for place in places]
        needs = tuple([isinstance(each, Tensor) and each._requires for each in args])
        recorded = MODE.enabled and True in needs
        _set_hooks(self, None)
        _set_sequence(self, next_sequence())
        _set_edges(self, tuple(map(edge_of, tensors)) if recorded else ())
        self.__dict__.update(
            needs_input_grad=needs,
            _arguments=len(args),
            _places=places,
            _inputs=[(each._array.shape, each._array.dtype, each.device) for each in tensors],
            _outputs=(),
        )
        return recorded

    def _made(self, metas: tuple[Any, ...]) -> None:
        """Save device, shape and type of each output; None for outputs that are not tensors."""
        self.__dict__.update(outputs=len(metas), _outputs=metas)

    __repr__ = object.__repr__  # includes the module, as in PyTorch

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _RESERVED and "_outputs" in self.__dict__ and not isinstance(value, Hooks):
            raise AttributeError(f"ctx.{name} is used by the engine; give the attribute another name")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in _RESERVED:
            raise AttributeError(f"ctx.{name} is used by the engine and cannot be deleted")
        object.__delattr__(self, name)

    # -- saved tensors -----------------------------------------------------------------------------------------------
    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors (and Nones) given to `save_for_backward`, as a tuple; RuntimeError if one was modified in place
        since.
        """
        if self._saved is None:
            raise RuntimeError(TWICE)
        return tuple(None if each is None else each.unpack(self) for each in self._saved)

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """Deprecated name of `saved_tensors`."""
        return self.saved_tensors

    def release(self) -> None:
        if self._saved:
            self._saved = None

    # -- the gradients -----------------------------------------------------------------------------------------------
    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        # user code may read `.grad`: add the gradients that are still collected for a joint launch (GPUs only)
        settle()
        given = grad if self.outputs != 1 else [grad]
        # no output has a gradient; `backward` is called nevertheless (`runs_on_none`)
        if grad is None:
            given = [None] * self.outputs
        out = self._forward_cls._gradient_function()(self, *map(self._incoming, given, self._outputs))
        results = self._checked_count(out if isinstance(out, tuple) else (out,))
        values = []
        for nr, (place, meta, edge) in enumerate(zip(self._places, self._inputs, self.edges)):
            value = self._outgoing(results[place], meta, nr, F)
            values.append(None if edge is None else value)
        # Local passes copy when they add to `.grad`; a distributed pass (it has a sink) keeps gradients and adds to
        # them in place.
        task = current_task() if F is RAW else None
        return tuple(values) if task is None or task.sink is None else tuple(_apart(values))

    def _incoming(self, value: Any, meta: Any) -> Tensor | None:
        """Convert an incoming gradient to the argument of `backward`; a missing one becomes zeros, or None after
        `set_materialize_grads(False)`.
        """
        if value is None:
            return _zeros(meta) if self.materialize_grads and meta is not None else None
        return value if isinstance(value, Tensor) else wrap(as_array(value))

    def _checked_count(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        expected = self._arguments
        # as in PyTorch, surplus Nones at the end are ignored
        if len(results) > expected and all(each is None for each in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(results)})"
            )
        for place, each in enumerate(results):
            if each is not None and place not in self._places:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different from None at position {place + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
        return results

    def _outgoing(self, grad: Any, meta: tuple[Any, Any, Any], nr: int, F: Any) -> Any:
        """Convert a gradient that `backward` returned for input `nr` to the shape and type of that input, which
        `meta` has.
        """
        if grad is None:
            return None
        if not isinstance(grad, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
        shape, kind, place = meta
        found = grad._array
        if not _reducible(found.shape, shape):
            raise RuntimeError(
                f"Function {self.name()} returned an invalid gradient at index {nr} - got {list(found.shape)} but "
                f"expected shape compatible with {list(shape)}"
            )
        if device_of(found) != place:
            raise RuntimeError(
                f"Function {self.name()} returned an invalid gradient at index {nr} - expected device {place} but got "
                f"{grad.device}"
            )
        if found.dtype.kind == "c" and kind.kind != "c":
            raise RuntimeError(
                f"Function {self.name()} returned an invalid gradient at index {nr} - a complex one, {grad.dtype}, for "
                f"a real input; take its real part"
            )
        value = found if F is RAW else grad
        if found.shape == shape and found.dtype == kind or getattr(found, "is_sparse_array", False):
            return value
        return F.conform(value, (shape, kind))


def _apart(values: list[Any]) -> list[Any]:
    """Copy a gradient that was returned for several inputs, because gradients in a context may be added to in place."""
    counts = Counter([id(each) for each in values if each is not None])
    return [each.copy() if counts[id(each)] > 1 else each for each in values]


def _zeros(meta: Any) -> Tensor:
    place, shape, kind = meta
    with on_device(place):
        return wrap(module_for(place).zeros(shape, kind))


def _reducible(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether a gradient of shape `found` can be summed to `wanted`."""
    if len(found) < len(wanted):
        return False
    tail = found[len(found) - len(wanted) :]
    return all(m == n or n == 1 for m, n in zip(tail, wanted))
