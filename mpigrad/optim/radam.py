"""RAdam: Adam that divides by the root mean square only once its variance is small enough."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._tensor import Tensor
from ._settings import Group, check_betas, check_settings, number
from ._updates import begin, decay_to_square, drift, next_step
from .optimizer import Optimizer


def _trust(step: int, beta2: float) -> float | None:
    """The rectification factor of the step; None while the variance of the divisor is not tractable."""
    most = 2 / (1 - beta2) - 1
    length = most - 2 * step * beta2**step / (1 - beta2**step)
    if length <= 5.0:
        return None
    return math.sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))


class RAdam(Optimizer):
    """Rectified Adam: Adam whose first steps do not divide by the root mean square of the gradient.

    A few gradients do not determine the root mean square well. With the default betas, the first five steps are plain
    steps with momentum; later ones divide by it, and are multiplied by a factor that approaches 1. The arguments are
    those of `Adam` and `Optimizer`.

    >>> import mpigrad
    >>> w = mpigrad.ones(2, requires_grad=True)
    >>> optimizer = mpigrad.optim.RAdam([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.6211, 0.6211], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr, eps=eps)
        check_betas(betas)
        check_settings(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        if not state:
            begin(state, parameter, "exp_avg", "exp_avg_sq")
        step, lr = next_step(state), number(group["lr"])
        beta1, beta2 = group["betas"]
        size, trust = lr / (1 - beta1**step), _trust(step, beta2)
        arrays = (parameter._array, grad, state["exp_avg"]._array, state["exp_avg_sq"]._array)
        for p, g, mean, square in self._blocks(*arrays):
            g = self._decoupled(p, g, group, lr)
            room = self._room(p, 2)
            drift(mean, g, 1 - beta1, room)
            decay_to_square(square, g, beta2, room)
            if trust is None:
                np.multiply(mean, size, out=room)
            else:
                np.sqrt(square, out=room)
                room += group["eps"]
                np.divide(mean, room, out=room)
                room *= size * trust * math.sqrt(1 - beta2**step)
            p -= room


__all__ = ["RAdam"]
