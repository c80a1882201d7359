"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._tensor import Tensor
from ._settings import Group, check_betas, check_settings, number
from ._updates import decay_to_square, drift, next_step, scalar, zeros_like
from .optimizer import Optimizer


class NAdam(Optimizer):
    """Adam with Nesterov momentum: the momentum is applied one step ahead.

    `momentum_decay`: how fast the momentum grows to betas[0]. The other arguments are those of `Adam` and
    `Optimizer`.

    >>> import mpigrad
    >>> w = mpigrad.ones(2, requires_grad=True)
    >>> optimizer = mpigrad.optim.NAdam([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.8200, 0.8200], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(lr=lr, eps=eps)
        check_betas(betas)
        check_settings(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        if not state:
            state.update(step=scalar(0), mu_product=scalar(1))
            state.update(exp_avg=zeros_like(parameter), exp_avg_sq=zeros_like(parameter))
        step, lr = next_step(state), number(group["lr"])
        beta1, beta2 = group["betas"]
        now, then = (beta1 * (1 - 0.5 * 0.96 ** ((step + i) * group["momentum_decay"])) for i in (0, 1))
        state["mu_product"]._array *= now
        product = float(state["mu_product"]._array)
        of_gradient, of_mean = lr * (1 - now) / (1 - product), lr * then / (1 - product * then)
        arrays = (parameter._array, grad, state["exp_avg"]._array, state["exp_avg_sq"]._array)
        for p, g, mean, square in self._blocks(*arrays):
            g = self._decoupled(p, g, group, lr)
            room, step_of_gradient = self._room(p, 2), self._room(p, 3)
            drift(mean, g, 1 - beta1, room)
            decay_to_square(square, g, beta2, room)
            np.sqrt(square, out=room)
            room /= math.sqrt(1 - beta2**step)
            room += group["eps"]
            np.divide(g, room, out=step_of_gradient)
            step_of_gradient *= of_gradient
            np.divide(mean, room, out=room)
            room *= of_mean
            p -= step_of_gradient
            p -= room


__all__ = ["NAdam"]
