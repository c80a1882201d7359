"""Activation checkpointing: trades time for memory by recomputing saved tensors during the backward pass.

`checkpoint` runs the function once, with hooks that replace each saved tensor by an empty holder. When the backward pass unpacks
the first holder, the function runs again with the same arguments and random numbers, and the tensors that it saves fill the
holders in order. Both of PyTorch's variants (`use_reentrant`) are implemented this way.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from .. import random
from .._graph.grad_mode import enable_grad, is_grad_enabled
from .._tensor import Tensor
from ..autograd.graph import saved_tensors_hooks


class CheckpointError(RuntimeError):
    """Raised if the recomputation of a checkpointed function saves tensors of another number, shape, dtype or device than the
    first run.
    """


class _Enough(Exception):
    """Raised to end the recomputation early, when all holders are filled."""


class _Holder:
    """The placeholder of one saved tensor."""

    __slots__ = ("__weakref__", "value")

    def __init__(self) -> None:
        self.value: Tensor | None = None


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """The default `context_fn`: returns context managers for the first run and the recomputation that do nothing."""
    return nullcontext(), nullcontext()


class _Frame:
    """One checkpointed call: how to run it again, and the holders of its saved tensors."""

    def __init__(self, run: Callable[[], Any], context: Any, state: Tensor | None, early_stop: bool) -> None:
        self.run, self.context, self.state, self.early_stop = run, context, state, early_stop
        self.holders: list[weakref.ref[_Holder]] = []
        self.kinds: list[tuple[Any, ...]] = []

    def pack(self, tensor: Tensor) -> _Holder:
        holder = _Holder()
        # weak: the graph owns the holders, and those that it has freed need not be filled again
        self.holders.append(weakref.ref(holder))
        self.kinds.append((tensor.shape, tensor.dtype, tensor.device))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        if holder.value is None:
            self.compute_again()
        if holder.value is None:
            raise CheckpointError("mpigrad.utils.checkpoint: a tensor was saved in forward, but not when it ran again")
        return holder.value

    def compute_again(self) -> None:
        count = 0

        def fill(tensor: Tensor) -> Tensor:
            nonlocal count
            if count < len(self.holders):
                self.check(count, (tensor.shape, tensor.dtype, tensor.device))
                holder = self.holders[count]()
                if holder is not None:
                    # without its graph: only the elements are needed, and the graph of the recomputation can be freed
                    holder.value = tensor.detach()
            count += 1
            if self.early_stop and count == len(self.holders):
                # the rest of the function would save nothing that is needed
                raise _Enough
            return tensor

        with ExitStack() as stack:
            if self.state is not None:
                # the same random numbers as in the first run; the program's generator is restored afterwards
                stack.enter_context(random.fork_rng())
                random.set_rng_state(self.state)
            stack.enter_context(enable_grad())
            stack.enter_context(self.context)
            stack.enter_context(saved_tensors_hooks(fill, lambda tensor: tensor))
            try:
                self.run()
            except _Enough:
                return
        if count != len(self.holders):
            raise CheckpointError(
                "mpigrad.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\nNumber of tensors saved during "
                f"recomputation: {count}."
            )

    def check(self, number: int, kind: tuple[Any, ...]) -> None:
        if self.kinds[number] != kind:
            raise CheckpointError(
                "mpigrad.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                f"forward pass.\ntensor at position {number}:\nsaved metadata: {self.kinds[number]}\nrecomputed metadata: {kind}"
            )


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function(*args, **kwargs)` without keeping the tensors that its backward pass needs; that pass calls it
    again to recompute them.

    - `preserve_rng_state`: the second call gets the same random numbers.
    - `early_stop`: end the second call as soon as all tensors are there.
    - `determinism_check` is ignored: shapes, types and devices of the recomputed tensors are always compared (a
      CheckpointError if they differ).
    - `context_fn`: returns two context managers, for the first and the second call. `use_reentrant` and `debug` are
      accepted as in PyTorch and ignored.

    >>> import mpigrad
    >>> from mpigrad.utils.checkpoint import checkpoint
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> checkpoint(lambda x: (x * 3).exp().sin(), x, use_reentrant=False).sum().backward()
    """
    if use_reentrant is None:
        warnings.warn(
            "mpigrad.utils.checkpoint: the use_reentrant parameter should be passed explicitly; both values do the same here.",
            stacklevel=2,
        )
    if not is_grad_enabled():
        return function(*args, **kwargs)
    first, second = context_fn()
    state = random.get_rng_state() if preserve_rng_state else None
    frame = _Frame(lambda: function(*args, **kwargs), second, state, early_stop)
    with first, saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run a sequence of functions or modules on `input` in `segments` parts, each with `checkpoint` except for the
    last.

    `functions`: a list, or a `Sequential`. Other arguments are those of `checkpoint`.
    """
    steps = list(functions.children() if hasattr(functions, "children") else functions)
    size = len(steps) // segments
    for begin in range(0, size * (segments - 1), size) if size else ():
        input = checkpoint(_in_turn(steps[begin : begin + size]), input, use_reentrant=use_reentrant, **kwargs)
    return _in_turn(steps[size * (segments - 1) :])(input)


def _in_turn(steps: Iterable[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run


__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn"]
