"""Rprop: a step size for each element, which grows while the gradient keeps its sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.tensor import wrap
from .._tensor import Tensor
from ._settings import Group, check_settings, number
from ._updates import begin, next_step
from .optimizer import Optimizer


class Rprop(Optimizer):
    """Resilient backpropagation: uses only the sign of the gradient, with a step size for each element, at first
    `lr`.

    `etas`: the factors of the step size when the sign changes and when it stays. `step_sizes`: its limits.
    `Optimizer` explains the other arguments.

    >>> import mpigrad
    >>> w = mpigrad.ones(2, requires_grad=True)
    >>> optimizer = mpigrad.optim.Rprop([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.7800, 0.7800], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        if not state:
            begin(state, parameter, "prev")
            state["step_size"] = wrap(np.full_like(parameter._array, number(group["lr"])))
        next_step(state)
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        for p, g, before, sizes in self._blocks(
            parameter._array, grad, state["prev"]._array, state["step_size"]._array
        ):
            if group["maximize"]:
                g = np.negative(g, out=self._room(g, 0))
            agree = np.multiply(g, before, out=self._room(p, 1))
            turned = agree < 0
            factor = self._room(p, 2)
            factor[...] = 1
            factor[agree > 0] = grow
            factor[turned] = shrink
            sizes *= factor
            np.clip(sizes, least, most, out=sizes)
            before[...] = g
            before[turned] = 0  # if the sign has changed, the element does not move, and the next sign counts as new
            np.sign(before, out=factor)
            factor *= sizes
            p -= factor


__all__ = ["Rprop"]
