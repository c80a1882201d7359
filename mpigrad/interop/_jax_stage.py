"""The implementation of `mpigrad.interop.jax`; everything here may import jax."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._array.device import move
from .._core.tensor import wrap
from .._graph.grad_mode import is_grad_enabled
from .._tensor import Tensor
from ..autograd import Function
from ..distributed.autograd import get_gradients
from ..nn import Parameter


def stage(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The implementation of `mpigrad.interop.jax.stage`."""
    # The tree (the structure of the arguments) is static: `jit` compiles anew for another one. `chosen` are the places of the
    # leaves that get gradients.
    plain = jax.jit(lambda tree, leaves: _split(_called(fn, tree, leaves)), static_argnums=0)
    recorded = jax.jit(functools.partial(_with_derivative, fn), static_argnums=(0, 1))

    @functools.wraps(fn)
    def staged(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        chosen = tuple(at for at, each in enumerate(leaves) if isinstance(each, Tensor) and each.requires_grad)
        arrays = [_array(each) for each in leaves]
        if not chosen:
            results, rest = plain(tree, arrays)
            return _joined([_tensor(each) for each in results], rest)
        fixed = [each for at, each in enumerate(arrays) if at not in chosen]
        call = functools.partial(recorded, tree, chosen, [arrays[at] for at in chosen], fixed)
        again = functools.partial(_gradient_stage(fn, tree, chosen), fixed)
        made: list[Any] = []
        results = _Stage.apply(call, again, made, *(leaves[at] for at in chosen))
        return _joined(list(results), made[0])

    return staged


class _Stage(Function):
    """The graph node of one call of a stage."""

    @staticmethod
    def forward(ctx: Any, call: Callable[[], Any], again: Callable[..., Any], rest: list[Any], *inputs: Tensor) -> Any:
        results, ctx.derivative, others = call()
        ctx.again = again
        ctx.save_for_backward(*inputs)  # JAX may use their memory: an error if they change before backward
        rest.append(others)
        return tuple(_tensor(each) for each in results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        inputs = ctx.saved_tensors
        if is_grad_enabled():  # create_graph=True: the gradients are results of a stage, too
            return None, None, None, *ctx.again(list(inputs), list(grads))
        found = _derivative(ctx.derivative, [_array(each) for each in grads])
        return None, None, None, *(_tensor(grad, like=each) for grad, each in zip(found, inputs))


@jax.jit
def _derivative(derivative: Any, grads: list[Any]) -> Any:
    """Apply the derivative of a stage to gradients of its results, compiled; one compiled function serves all stages.
    """
    return _conjugated(derivative, grads)


def _conjugated(derivative: Any, grads: list[Any]) -> list[Any]:
    """Apply a derivative of JAX. The gradient of a complex number is the conjugate of JAX's, here and in PyTorch."""
    (found,) = derivative([jnp.conj(each) for each in grads])
    return [jnp.conj(each) for each in found]


def _called(fn: Callable[..., Any], tree: Any, leaves: list[Any]) -> Any:
    args, kwargs = jax.tree.unflatten(tree, leaves)
    return fn(*args, **kwargs)


def _with_derivative(fn: Callable[..., Any], tree: Any, chosen: tuple[int, ...], varied: list[Any], fixed: list[Any]) -> Any:
    """The results, the derivative, and the results without gradients (`_split`).

    The derivative is what `jax.vjp` returns: a function that is also a pytree (of the arrays that it needs), so `jit` can
    return it. `varied` are the leaves at the places `chosen`, `fixed` the others.
    """

    def of_varied(values: list[Any]) -> Any:
        leaves = list(fixed)
        for at, each in zip(chosen, values):
            leaves.insert(at, each)
        return _split(_called(fn, tree, leaves))

    return jax.vjp(of_varied, varied, has_aux=True)


@functools.lru_cache(256)
def _gradient_stage(fn: Callable[..., Any], tree: Any, chosen: tuple[int, ...]) -> Callable[..., Any]:
    """A stage that computes the gradients of another stage, so that these can be differentiated again."""

    def gradient(fixed: list[Any], varied: list[Any], grads: list[Any]) -> Any:
        _, derivative, _ = _with_derivative(fn, tree, chosen, varied, fixed)
        return _conjugated(derivative, grads)

    return stage(gradient)


@jax.tree_util.register_pytree_node_class
class _Place:
    """The place of an array that was taken out of a pytree; not None, which results may contain."""

    def tree_flatten(self) -> tuple[tuple[()], None]:
        return (), None

    @classmethod
    def tree_unflatten(cls, _: Any, __: Any) -> _Place:
        return cls()


def _split(result: Any) -> tuple[list[Any], Any]:
    """The arrays in a result that can have gradients, and the result with a `_Place` for each of them."""
    leaves, tree = jax.tree.flatten(result)
    leaves = [jnp.asarray(each) for each in leaves]
    smooth = [jnp.issubdtype(each.dtype, jnp.inexact) for each in leaves]
    rest = [_Place() if chosen else each for chosen, each in zip(smooth, leaves)]
    return [each for chosen, each in zip(smooth, leaves) if chosen], jax.tree.unflatten(tree, rest)


def _joined(smooth: list[Tensor], rest: Any) -> Any:
    """The result of a function: `rest`, in which each `_Place` is replaced by its tensor of `smooth`."""
    leaves, tree = jax.tree.flatten(rest, is_leaf=lambda each: isinstance(each, _Place))
    waiting = iter(smooth)
    return jax.tree.unflatten(tree, [next(waiting) if isinstance(each, _Place) else _tensor(each) for each in leaves])


def _array(value: Any) -> Any:
    """An argument converted for JAX."""
    if not isinstance(value, Tensor):
        return value
    array = value.detach()._array
    return jnp.asarray(array) if isinstance(array, np.ndarray) else jax.dlpack.from_dlpack(array)


def _tensor(array: Any, like: Tensor | None = None) -> Tensor:
    """Convert an array of JAX to a tensor with its own memory: JAX's arrays must not be written to."""
    found = np.array(array)
    if like is None:
        return wrap(found)
    return wrap(move(found.astype(like._array.dtype, copy=False), like.device))


# -- parameters ---------------------------------------------------------------------------------------------------------
def parameters(tree: Any) -> Any:
    return jax.tree.map(lambda each: Parameter(_tensor(each)), tree)


def arrays(tree: Any) -> Any:
    return jax.tree.map(lambda each: jnp.array(_array(each)), tree)


def gradients(tree: Any, context_id: int | None = None) -> Any:
    known = None if context_id is None else get_gradients(context_id)

    def of(tensor: Tensor) -> Any:
        found = tensor.grad if known is None else known.get(tensor)
        return jnp.zeros(tensor.shape, tensor._array.dtype) if found is None else jnp.array(_array(found))

    return jax.tree.map(of, tree)


def assign(tree: Any, values: Any) -> None:
    for parameter, value in zip(*(jax.tree.leaves(each) for each in (tree, values)), strict=True):
        parameter.data.copy_(_tensor(value))


__all__: list[str] = []
