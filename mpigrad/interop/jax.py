"""Functions of JAX as parts of distributed programs.

JAX records no graph while a program runs: it differentiates functions. So a function becomes a *stage*, one node of a graph:
its inputs and outputs are mpigrad's tensors, JAX computes it and its derivative (`jax.vjp`), compiled by `jax.jit` on the worker
where it runs. Stages of several workers, operators of mpigrad and models of torch can follow each other inside a context.

Importing this module does not import jax. Arrays of JAX can be arguments and results of calls without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def stage(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the JAX function `fn` as a function of mpigrad's tensors; gradients pass through it, in distributed
    contexts and locally.

    Arguments and results are pytrees (JAX's term: arrays in nested lists, tuples and dicts). Tensors among the
    arguments that require grad get gradients; everything else is a constant. The function is traced and compiled for
    each shape of its arguments, as by `jax.jit`. Results own their memory. JAX computes float64 in float32 unless
    `jax_enable_x64` is set; gradients have the type of their parameters in any case.

    >>> import jax.numpy as jnp, mpigrad  # doctest: +SKIP
    >>> from mpigrad.interop.jax import stage  # doctest: +SKIP
    >>> x = mpigrad.ones(2, requires_grad=True)  # doctest: +SKIP
    >>> stage(lambda x: jnp.sum(x**2))(x).backward()  # doctest: +SKIP
    >>> x.grad  # doctest: +SKIP
    tensor([2., 2.])
    """
    from . import _jax_stage

    return _jax_stage.stage(fn)


def parameters(tree: Any) -> Any:
    """A copy of a pytree in which each array is replaced by a `Parameter` of mpigrad, for stages and for mpigrad's optimizers.

    >>> from mpigrad.interop.jax import parameters  # doctest: +SKIP
    >>> params = parameters({"w": jnp.ones((3, 2)), "b": jnp.zeros(2)})  # doctest: +SKIP
    """
    from . import _jax_stage

    return _jax_stage.parameters(tree)


def arrays(tree: Any) -> Any:
    """A copy of a pytree in which mpigrad's tensors are replaced by JAX arrays with the same values."""
    from . import _jax_stage

    return _jax_stage.arrays(tree)


def gradients(tree: Any, context_id: int | None = None) -> Any:
    """A pytree like `tree` with the gradients of its tensors as JAX arrays, for optimizers of JAX.

    `context_id`: take the gradients from this distributed autograd context; by default they are taken from `.grad`. Tensors
    without a gradient get zeros.
    """
    from . import _jax_stage

    return _jax_stage.gradients(tree, context_id)


def assign(tree: Any, values: Any) -> None:
    """Write the arrays of the pytree `values` into the parameters of `tree`, which has the same structure, in place.

    For optimizers of JAX, such as optax, whose updates give new arrays.
    """
    from . import _jax_stage

    _jax_stage.assign(tree, values)


__all__ = ["arrays", "assign", "gradients", "parameters", "stage"]
