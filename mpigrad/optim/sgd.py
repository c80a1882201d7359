"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.tensor import wrap
from .._kernels import steps
from .._tensor import Tensor
from ._rows import add_to_rows
from ._settings import Group, check_settings, number
from .optimizer import Optimizer


class SGD(Optimizer):
    """Stochastic gradient descent: parameter -= lr * gradient, with momentum if wanted.

    - `momentum`: steps go along a running sum of gradients, which is multiplied by this factor before each gradient is
      added. `dampening`: the gradient is multiplied by 1 - dampening before.
    - `nesterov`: apply the momentum one step ahead; needs `momentum` and no `dampening`.

    `Optimizer` explains the other arguments.

    >>> import mpigrad
    >>> w = mpigrad.tensor([1.0], requires_grad=True)
    >>> optimizer = mpigrad.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_settings(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    _kernel = steps.SGD

    def _settings(self, parameter: Tensor, state: dict[str, Any], group: Group) -> tuple[Any, ...]:
        """The settings of the kernel; the last tells whether this is the first step of the momentum buffer."""
        first = group["momentum"] != 0 and self._started(parameter, state)
        names = ("momentum", "dampening", "weight_decay", "nesterov", "maximize")
        return number(group["lr"]), *(group[name] for name in names), first

    def _roles(self, state: dict[str, Any]) -> list[Tensor]:
        return [state["momentum_buffer"]] if state else []

    def _started(self, parameter: Tensor, state: dict[str, Any]) -> bool:
        """Create the momentum buffer if there is none."""
        if state.get("momentum_buffer") is not None:
            return False
        state["momentum_buffer"] = wrap(np.empty_like(parameter._array))
        return True

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        lr, momentum = group["lr"], group["momentum"]
        decay, maximize = group["weight_decay"], group["maximize"]
        if lr.__class__ is not float:
            lr = number(lr)
        if momentum == 0:
            for p, g in self._blocks(parameter._array, grad):
                steps.descend(p, g, self._room, lr, decay, maximize)
            return
        first, dampening, nesterov = self._started(parameter, state), group["dampening"], group["nesterov"]
        for p, g, buffer in self._blocks(parameter._array, grad, state["momentum_buffer"]._array):
            steps.sgd(p, g, buffer, self._room, lr, momentum, dampening, decay, nesterov, maximize, first)

    def _sparse(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        momentum, lr = group["momentum"], number(group["lr"])
        if momentum != 0:
            grad = self._with_sparse_momentum(-grad if group["maximize"] else grad, state, group)
        add_to_rows(parameter._array, grad, lr if group["maximize"] and momentum == 0 else -lr)

    def _with_sparse_momentum(self, grad: Any, state: dict[str, Any], group: Group) -> Any:
        """The direction of a step with a sparse momentum buffer, which is coalesced each time so that it does not grow without
        limit.
        """
        held, momentum = state.get("momentum_buffer"), group["momentum"]
        made = grad.copy() if held is None else held._array * momentum + grad * (1 - group["dampening"])
        made = made.coalesce()
        state["momentum_buffer"] = wrap(made)
        return grad + made * momentum if group["nesterov"] else made


__all__ = ["SGD"]
