"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor import Tensor
from ._settings import Group, check_settings, number
from ._updates import drift, next_step, scalar, zeros_like
from .optimizer import Optimizer


class ASGD(Optimizer):
    """Gradient descent that also keeps an average of each parameter over the steps, as `state[parameter]["ax"]`.

    The step length is lr / (1 + lambd * lr * n) ** alpha in step n; `lambd` also pulls parameters towards 0.
    Averaging begins after `t0` steps. `Optimizer` explains the other arguments.

    >>> import mpigrad
    >>> w = mpigrad.ones(2, requires_grad=True)
    >>> optimizer = mpigrad.optim.ASGD([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.6400, 0.6400], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_settings(lr=lr, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        lr = number(group["lr"])
        if not state:
            state.update(step=scalar(0), eta=scalar(lr), mu=scalar(1), ax=zeros_like(parameter))
        step = next_step(state)
        eta, mu = float(state["eta"]._array), float(state["mu"]._array)
        for p, g, average in self._blocks(parameter._array, grad, state["ax"]._array):
            g, room = self._gradient(p, g, group), self._room(p, 2)
            p *= 1 - group["lambd"] * eta
            np.multiply(g, eta, out=room)
            p -= room
            if mu == 1:
                average[...] = p
            else:
                drift(average, p, mu, room)
        state["eta"]._array[...] = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
        state["mu"]._array[...] = 1 / max(1, step - group["t0"])


__all__ = ["ASGD"]
