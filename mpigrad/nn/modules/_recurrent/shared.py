"""Common parts of recurrent layers: steps in either direction, sequences of different lengths, second derivatives.

A layer over a whole sequence is one operator: its forward runs all steps on arrays and keeps what its backward, also on
arrays, needs. When the backward itself is to be differentiated, the layer is run again from its inputs with ordinary
operators, step by step, and those are differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mpigrad._array.device import array_module, device_of, move
from mpigrad._ops._define.operator import Operator

from ...._graph.grad_mode import enable_grad
from ...._tensor import Tensor


class Steps:
    """The order of the steps. Step `t` reads state `t + before` and writes state `t + after`."""

    __slots__ = ("after", "before", "first", "last", "order")

    def __init__(self, count: int, reverse: bool) -> None:
        self.before, self.after = (1, 0) if reverse else (0, 1)
        self.order = range(count - 1, -1, -1) if reverse else range(count)
        self.first, self.last = (count, 0) if reverse else (0, count)

    def made(self, states: Any) -> Any:
        """The states that the steps compute, in the order of time."""
        return states[self.after :] if self.after else states[:-1]

    def started_from(self, states: Any) -> Any:
        """The states from which the steps start, in the order of time."""
        return states[self.before :] if self.before else states[:-1]


def layer(fused: Operator, states: int = 1) -> Callable[..., tuple[Tensor, ...]]:
    """Decorator: define one recurrent layer in one direction, over (steps, batch, features), as one operator.

    The function takes the input, the first states, two weights, and two biases or None; it returns all outputs, then
    the last states. `lengths`, an array of ints, says after how many steps each row ends; for the reverse direction,
    the caller reverses such rows first.
    """

    def run(*given: Any, reverse: bool = False, lengths: Any = None, **kind: Any) -> tuple[Tensor, ...]:
        return fused(*given, reverse=reverse, lengths=lengths, **kind)[: 1 + states]

    return run


def last_states(states: Any, steps: Steps, lengths: Any) -> Any:
    """The state after each row's last step."""
    if lengths is None:
        return states[steps.last].copy()
    return states[move(lengths, device_of(states)), array_module(states).arange(states.shape[1])]


def ending_rows(lengths: Any, count: int) -> list[Any]:
    """For each step, the rows whose last step it is; None if there are none."""
    rows: list[Any] = [None] * count
    for row, length in enumerate(lengths.tolist()):
        rows[length - 1] = [*(rows[length - 1] or ()), row]
    return rows


def start_gradient(given: Any, like: Any, lengths: Any) -> Any:
    """The gradient of the last state, with which the backward pass starts; zero if sequences have different lengths."""
    if given is None or lengths is not None:
        return array_module(like).zeros(like.shape, like.dtype)
    return given.copy()


def weight_gradients(gates: Any, inputs: Any, weight: Any, needs_input: bool) -> tuple[Any, Any]:
    """Gradients of a linear map of all steps at once: of its inputs (None if not needed), and of its weight."""
    rows = gates.reshape(-1, gates.shape[-1])
    flat = inputs.reshape(rows.shape[0], -1)
    return (rows @ weight).reshape(inputs.shape) if needs_input else None, rows.T @ flat


def column_sums(rows: Any) -> Any:
    """The sums of columns, by the method that is fastest for tall matrices."""
    return array_module(rows).ones(rows.shape[0], rows.dtype) @ rows


def through_steps(
    unfused: Callable[..., Sequence[Tensor]],
    inputs: Sequence[Tensor | None],
    grads: Sequence[Any],
    needs: Sequence[bool],
) -> tuple[Any, ...]:
    """Gradients that can be differentiated again: those of `unfused`, an equal computation with ordinary operators."""
    from ....autograd._backward import grad

    with enable_grad():
        own: list[Any] = [each.clone() if each is not None and needed else each for each, needed in zip(inputs, needs)]
        outs = unfused(*own)
        pairs = [(out, given) for out, given in zip(outs, grads) if given is not None]
        wanted = [each for each, needed in zip(own, needs) if needed]
        found = iter(
            grad([out for out, _ in pairs], wanted, [given for _, given in pairs], create_graph=True, allow_unused=True)
        )
    return tuple(next(found) if needed else None for needed in needs)


def last_rows(states: list[Tensor], stacked: Tensor, lengths: Any) -> Tensor:
    """The state after each row's last step, from the list of all states and the same stacked, computed with ordinary
    operators.
    """
    from ...._core.tensor import wrap

    if lengths is None:
        return states[-1]
    return stacked[wrap(lengths - 1), wrap(array_module(lengths).arange(len(lengths)))]
