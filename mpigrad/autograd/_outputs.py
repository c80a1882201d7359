"""Connects the outputs of a custom `Function` to the graph: new tensors, inputs returned unchanged, inputs changed in place."""

from __future__ import annotations

from typing import Any

from .._core.node import Node, forget_view, make_view, rebase
from .._core.tensor import wrap
from .._graph.saved import Saved
from .._tensor import Tensor, counter

_VIEW = (
    "Output {nr} of {name} is a view and {what} modified inplace. This view was created inside a custom Function (or "
    "because an input was returned as-is) and the autograd logic to handle view+inplace would override the custom "
    "backward associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You can "
    "fix this by cloning the output of the custom Function."
)
_NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
    "inplace must all be outputs of the Function."
)
_DIRTY_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor. You should either make sure the input is not a view (using .clone() for example) or make your "
    "Function only return one Tensor."
)


def wrap_outputs(ctx: Any, args: tuple[Any, ...], out: Any, recorded: bool) -> Any:
    """Connect the outputs of a Function's `forward` to the node `ctx` and return them, for the caller of `apply`."""
    outs = out if isinstance(out, tuple) else (out,)
    _check_saved(ctx)
    if ctx.dirty_tensors or ctx.non_differentiable:
        _check_marks(ctx, outs)
    # before saving: a tensor that `forward` changed and saved is saved in its new version
    for tensor in ctx.dirty_tensors:
        counter(tensor)[0] += 1
    if recorded:
        ctx._made(tuple(map(_meta, outs)))
        _save(ctx, outs)
    made = tuple(_wrap(ctx, args, outs, nr, recorded) for nr in range(len(outs)))
    ctx.__dict__.update(to_save=None, dirty_tensors=(), non_differentiable=())
    return made if isinstance(out, tuple) else made[0]


def _meta(out: Any) -> tuple[Any, Any, Any] | None:
    """Device, shape and type of an output, enough to create zeros for it; None if it is not a tensor."""
    return (out.device, out._array.shape, out._array.dtype) if isinstance(out, Tensor) else None


def _check_marks(ctx: Any, outs: tuple[Any, ...]) -> None:
    for place, each in enumerate(ctx.dirty_tensors):
        if not isinstance(each, Tensor):
            raise RuntimeError(
                f"mark_dirty can only accept variables, but argument {place} is of type {type(each).__name__}"
            )
        if not any(each is other for other in outs):
            raise RuntimeError(_NOT_RETURNED)
    for each in ctx.non_differentiable:
        if not isinstance(each, Tensor):
            raise RuntimeError(
                f"mark_non_differentiable only accepts variable arguments, but got {type(each).__name__}"
            )


def _check_saved(ctx: Any) -> None:
    for place, each in enumerate(ctx.to_save or ()):
        if each is not None and not isinstance(each, Tensor):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {place} is of type {type(each).__name__}"
            )


def _save(ctx: Any, outs: tuple[Any, ...]) -> None:
    ctx._saved = tuple(None if each is None else Saved(each, _number(ctx, outs, each)) for each in ctx.to_save or ())


def _number(ctx: Any, outs: tuple[Any, ...], tensor: Tensor) -> int | None:
    """The index of the output which a saved tensor is; None for inputs, even if they are returned unchanged."""
    made_here = not tensor._requires or tensor._view is not None and tensor._view.inherits
    if not made_here and not any(each is tensor for each in ctx.dirty_tensors):
        return None
    return next((nr for nr, out in enumerate(outs) if out is tensor), None)


def _wrap(ctx: Any, args: tuple[Any, ...], outs: tuple[Any, ...], nr: int, recorded: bool) -> Any:
    out = outs[nr]
    if not isinstance(out, Tensor):
        return out
    place = next((place for place, each in enumerate(args) if each is out), None)
    recorded = recorded and out._array.dtype.kind in "fcV" and not any(each is out for each in ctx.non_differentiable)
    if any(each is out for each in ctx.dirty_tensors):
        if recorded:
            _wrap_dirty(ctx, out, place, nr, len(outs))
        return out
    of = None if out._view is None else out._view.base
    # `forward` ran without recording, so its views are views without a graph; the Function's node takes their place
    if of is not None and place is None:
        forget_view(out)
    # An input was returned as it is: return a view of it, so that input and output have different `grad_fn`s.
    if place is not None:
        of, out = out, wrap(out._array[...])
    if recorded:
        out._grad_fn, out._nr, out._requires = ctx, nr, True
    if of is not None:
        text = _VIEW.format(nr=nr, name=ctx._forward_cls.__name__, what="{what}")
        make_view(out, of, (_Barrier(text), {}), text.format(what="is being"))
    return out


def _wrap_dirty(ctx: Any, out: Tensor, place: int | None, nr: int, count: int) -> None:
    view = out._view
    if view is None:
        if out._requires and out._grad_fn is None:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        out._grad_fn, out._nr, out._requires = ctx, nr, True
        return
    if count > 1:
        raise RuntimeError(_DIRTY_VIEW)
    if view.base._requires and view.base._grad_fn is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    assert place is not None
    # the base gets a CopySlices node, which expects the gradient of the changed view first
    rebase(out, _first(ctx, ctx._places.index(place)))


class _FirstInput(Node):
    """A wrapper of a Function's node with the gradient of the changed view first, where `CopySlices` expects it."""

    __slots__ = ("at", "inner")
    at: int
    inner: Any

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        outs = self.inner.run(F, grad)
        return outs[self.at], *outs[: self.at], *outs[self.at + 1 :]

    def release(self) -> None:
        self.inner.release()


def _first(ctx: Any, at: int) -> Node:
    node = _FirstInput()
    node.at, node.inner = at, ctx
    node.edges = (ctx.edges[at], *ctx.edges[:at], *ctx.edges[at + 1 :])
    return node


class _Barrier:
    """A step in a chain of views that must not be replayed, because the custom backward would be lost."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, value: Tensor, **kw: Any) -> Tensor:
        raise RuntimeError(self.text.format(what="its base or another view of its base has been"))

    forward = __call__
