"""RMSprop: steps divided by a running root mean square of the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor import Tensor
from ._settings import Group, check_settings, number
from ._updates import begin, decay_to_square, drift, next_step
from .optimizer import Optimizer


class RMSprop(Optimizer):
    """Steps along the gradient, divided by its running root mean square, element by element.

    `alpha`: the decay of the running mean. `momentum`: of the steps. `centered`: divide by the running standard
    deviation. `eps` is added to the root. `Optimizer` explains the other arguments.

    >>> import mpigrad
    >>> w = mpigrad.ones(2, requires_grad=True)
    >>> optimizer = mpigrad.optim.RMSprop([w], lr=0.01)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.8329, 0.8329], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        if not state:
            optional = (("momentum_buffer", group["momentum"] > 0), ("grad_avg", group["centered"]))
            begin(state, parameter, "square_avg", *(name for name, wanted in optional if wanted))
        next_step(state)
        extra = [state[name]._array for name in ("grad_avg", "momentum_buffer") if name in state]
        lr, alpha, momentum = number(group["lr"]), group["alpha"], group["momentum"]
        for p, g, square, *more in self._blocks(parameter._array, grad, state["square_avg"]._array, *extra):
            g, room = self._gradient(p, g, group), self._room(p, 2)
            decay_to_square(square, g, alpha, room)
            if group["centered"]:
                mean = more[0]
                drift(mean, g, 1 - alpha, room)
                np.multiply(mean, mean, out=room)
                np.subtract(square, room, out=room)
                np.sqrt(room, out=room)
            else:
                np.sqrt(square, out=room)
            room += group["eps"]
            np.divide(g, room, out=room)
            if momentum > 0:
                buffer = more[-1]
                buffer *= momentum
                buffer += room
                np.multiply(buffer, lr, out=room)
            else:
                room *= lr
            p -= room


__all__ = ["RMSprop"]
