"""Adam, and AdamW with decoupled weight decay."""

from __future__ import annotations

import math
from typing import Any

from .._kernels import steps
from .._tensor import Tensor
from ._settings import Group, check_betas, check_settings, check_tensors, number
from ._updates import begin, next_step
from .optimizer import Optimizer


class Adam(Optimizer):
    """Steps along a running mean of the gradient, divided by its running root mean square, element by element.

    - `betas`: the decays of the running means of gradient and square. `eps` is added to the root.
    - `amsgrad`: divide by the largest root so far. `decoupled_weight_decay`: apply weight decay as `AdamW` does.

    `Optimizer` explains the other arguments.

    >>> import mpigrad
    >>> w = mpigrad.ones(2, requires_grad=True)
    >>> optimizer = mpigrad.optim.Adam([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.8004, 0.8004], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_tensors(lr, betas, foreach, capturable)
        check_settings(lr=lr, eps=eps)
        check_betas(betas)
        check_settings(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    _kernel = steps.ADAM

    def _settings(self, parameter: Tensor, state: dict[str, Any], group: Group) -> tuple[Any, ...]:
        """Increase the step count and return the settings of the step."""
        if not state:
            begin(state, parameter, "exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else []))
        step, lr, (beta1, beta2) = next_step(state), group["lr"], group["betas"]
        if not lr.__class__ is beta1.__class__ is beta2.__class__ is float:
            lr, beta1, beta2 = number(lr), number(beta1), number(beta2)
        # bias correction: the averages start at zero
        size, spread, decay = lr / (1 - beta1**step), math.sqrt(1 - beta2**step), group["weight_decay"]
        decoupled = group["decoupled_weight_decay"]
        return lr, beta1, beta2, group["eps"], decay, size, spread, decoupled, group["amsgrad"], group["maximize"]

    def _roles(self, state: dict[str, Any]) -> list[Tensor]:
        return [state[name] for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if name in state]

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        settings = self._settings(parameter, state, group)
        arrays = [parameter._array, grad, state["exp_avg"]._array, state["exp_avg_sq"]._array]
        if group["amsgrad"]:
            arrays.append(state["max_exp_avg_sq"]._array)
        for p, g, mean, square, *largest in self._blocks(*arrays):
            steps.adam(p, g, mean, square, largest[0] if largest else None, self._room, *settings)

    def _sparse(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")


class AdamW(Adam):
    """Adam with decoupled weight decay: each step first multiplies the parameter by 1 - lr * weight_decay.

    (`Adam` adds weight_decay times the parameter to the gradient instead.) The arguments are those of `Adam`.

    >>> import mpigrad
    >>> w = mpigrad.ones(2, requires_grad=True)
    >>> optimizer = mpigrad.optim.AdamW([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.7985, 0.7985], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip


__all__ = ["Adam", "AdamW"]
