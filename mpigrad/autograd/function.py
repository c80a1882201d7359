"""`Function`: custom operations with user-defined derivatives. The context of a call is its graph node."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core.node import Node
from .._core.tensor import wrap
from .._graph.grad_mode import MODE, TRACING
from .._graph.tracing import around_operator, note_recorded
from .._tensor import Tensor
from ._context import BackwardCFunction, FunctionCtx
from ._outputs import wrap_outputs

_OLD_STYLE = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
    "with static forward method: decorate forward and backward with @staticmethod and call apply on the class."
)


class Function:
    """Base class of custom operations with a derivative: define `forward` and `backward` as static methods and call
    `apply`.

    >>> import mpigrad
    >>> class Cube(mpigrad.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         x, = ctx.saved_tensors
    ...         return 3 * x * x * grad
    >>> x = mpigrad.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False
    _backward_cls: type[BackwardCFunction]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        body = {"_forward_cls": cls, "__module__": __name__}
        cls._backward_cls = type(cls.__name__ + "Backward", (BackwardCFunction,), body)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(_OLD_STYLE)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: `forward(ctx, *args)`, or `forward(*args)` together with `setup_context`. Operations
        in it are not recorded.
        """
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save in `ctx` what `backward` needs; called after a `forward` that has no argument `ctx`, with its inputs
        and its output.
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return one gradient for each argument of `forward` (None where there is none); `grad_outputs` has one for
        each output.
        """
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """PyTorch's forward-mode derivative. It is never called: mpigrad does not support forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """PyTorch's rule for batches. It is never called: `mpigrad.vmap` runs a function on one slice after the
        other.
        """
        raise NotImplementedError("To use autograd.Function with vmap, you must define the vmap staticmethod.")

    @classmethod
    def _gradient_function(cls) -> Callable[..., Any]:
        """The implementation: `vjp` if it is overridden, else `backward`; RuntimeError if both are."""
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return cls.vjp

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` with these arguments and return its outputs; if gradients are needed, record a node that runs
        `backward`.
        """
        if TRACING.on:
            with around_operator(cls.__name__, args):
                return _apply(cls, args, kwargs)
        return _apply(cls, args, kwargs)


def _apply(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    separate = cls.setup_context is not Function.setup_context
    # without `__init__`: `_begin` sets all fields
    ctx = Node.__new__(cls._backward_cls)
    if separate:
        args = _bound(cls.forward, args, kwargs, defaults=True)
    elif kwargs:
        args = _bound(cls.forward, (ctx, *args), kwargs, defaults=False)[1:]
    recorded = ctx._begin(args)
    before = MODE.enabled
    MODE.enabled = False
    try:
        if separate:
            out = cls.forward(*args)
            cls.setup_context(ctx, args, out)
        else:
            out = cls.forward(ctx, *args)
    finally:
        MODE.enabled = before
    made = wrap_outputs(ctx, args, out, recorded)
    if recorded and TRACING.on:
        note_recorded(ctx)
    return made


def _bound(forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any], defaults: bool) -> tuple[Any, ...]:
    """Bind keyword arguments to the positions of `forward`'s parameters, as gradients are positional."""
    import inspect

    bound = inspect.signature(forward).bind(*args, **kwargs)
    if defaults:
        bound.apply_defaults()
    return bound.args


class Error(BackwardCFunction):
    """The node at which `once_differentiable` cuts the graph: raises if a gradient reaches it."""

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a `backward` whose result must not be differentiated again: doing so then raises an error."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        recording, MODE.enabled = MODE.enabled, False
        try:
            out = fn(ctx, *args)
        finally:
            MODE.enabled = recording
        # first derivatives stay usable: the error is raised only if a gradient flows back through them
        wants = any(isinstance(each, Tensor) and each.requires_grad for each in args)
        return out if not (recording and wants) else _cut(out, args)

    return wrapper


def _cut(out: Any, args: tuple[Any, ...]) -> Any:
    outs = out if isinstance(out, tuple) else (out,)
    node = Node.__new__(Error)
    node._begin(args)
    node._made((None,) * len(outs))
    cut = tuple(_hang(each, node, nr) if isinstance(each, Tensor) else each for nr, each in enumerate(outs))
    return cut if isinstance(out, tuple) else cut[0]


def _hang(tensor: Tensor, node: Any, nr: int) -> Tensor:
    made = wrap(tensor._array)
    made._grad_fn, made._nr, made._requires = node, nr, True
    return made


class InplaceFunction(Function):
    """PyTorch's legacy base class of Functions with an argument `inplace`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
