"""Adamax: Adam with a running maximum of the gradient in place of the root mean square."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor import Tensor
from ._settings import Group, check_betas, check_settings, number
from ._updates import begin, drift, next_step
from .optimizer import Optimizer


class Adamax(Optimizer):
    """Steps along a running mean of the gradient, divided by a decaying maximum of its absolute value, element by
    element.

    `betas`: the decays of mean and maximum; `eps` is added to the absolute value. `Optimizer` explains the other
    arguments.

    >>> import mpigrad
    >>> w = mpigrad.ones(2, requires_grad=True)
    >>> optimizer = mpigrad.optim.Adamax([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.8052, 0.8052], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_settings(lr=lr, eps=eps)
        check_betas(betas)
        check_settings(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        if not state:
            begin(state, parameter, "exp_avg", "exp_inf")
        step = next_step(state)
        beta1, beta2 = group["betas"]
        size = number(group["lr"]) / (1 - beta1**step)
        arrays = (parameter._array, grad, state["exp_avg"]._array, state["exp_inf"]._array)
        for p, g, mean, largest in self._blocks(*arrays):
            g, room = self._gradient(p, g, group), self._room(p, 2)
            drift(mean, g, 1 - beta1, room)
            np.abs(g, out=room)
            room += group["eps"]
            largest *= beta2
            np.maximum(largest, room, out=largest)
            np.divide(mean, largest, out=room)
            room *= size
            p -= room


__all__ = ["Adamax"]
