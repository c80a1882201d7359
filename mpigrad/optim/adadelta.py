"""Adadelta: steps are scaled by the running root mean square of earlier steps, divided by that of the gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor import Tensor
from ._settings import Group, check_settings, number
from ._updates import begin, decay_to_square, next_step
from .optimizer import Optimizer


class Adadelta(Optimizer):
    """Steps scaled by the running root mean square of earlier steps, divided by that of the gradient.

    `rho`: the decay of both running means (0.9). `eps` is added before the roots. `Optimizer` explains the other
    arguments.

    >>> import mpigrad
    >>> w = mpigrad.ones(2, requires_grad=True)
    >>> optimizer = mpigrad.optim.Adadelta([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.9994, 0.9994], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_settings(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        if not state:
            begin(state, parameter, "square_avg", "acc_delta")
        next_step(state)
        lr, rho, eps = number(group["lr"]), group["rho"], group["eps"]
        arrays = (parameter._array, grad, state["square_avg"]._array, state["acc_delta"]._array)
        for p, g, square, steps in self._blocks(*arrays):
            g, room, change = self._gradient(p, g, group), self._room(p, 2), self._room(p, 3)
            decay_to_square(square, g, rho, room)
            np.add(square, eps, out=room)
            np.sqrt(room, out=room)
            np.add(steps, eps, out=change)
            np.sqrt(change, out=change)
            change /= room
            change *= g
            decay_to_square(steps, change, rho, room)
            change *= lr
            p -= change


__all__ = ["Adadelta"]
