"""Adam, and AdamW, which decays weights apart from the gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._tensor import Tensor
from .optimizer import (
    Group,
    Optimizer,
    check_betas,
    check_settings,
    decay_to_square,
    drift,
    new_step,
    next_step,
    number,
    zeros_like,
)


class Adam(Optimizer):
    """Steps along a running mean of the gradient, divided by a running root mean square of it."""

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
        check_settings(lr=lr, eps=eps)
        check_betas(betas)
        check_settings(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        if not state:
            state["step"] = new_step()
            state["exp_avg"], state["exp_avg_sq"] = zeros_like(parameter), zeros_like(parameter)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(parameter)
        step, lr = next_step(state), number(group["lr"])
        beta1, beta2 = number(group["betas"][0]), number(group["betas"][1])
        size, spread = lr / (1 - beta1**step), math.sqrt(1 - beta2**step)
        arrays = [parameter._array, grad, state["exp_avg"]._array, state["exp_avg_sq"]._array]
        if group["amsgrad"]:
            arrays.append(state["max_exp_avg_sq"]._array)
        decoupled = group["decoupled_weight_decay"]
        for p, g, mean, square, *largest in self._blocks(*arrays):
            if decoupled:
                p *= 1 - lr * group["weight_decay"]
                g = np.negative(g, out=self._room(g, 0)) if group["maximize"] else g
            else:
                g = self._gradient(p, g, group)
            room = self._room(p, 2)
            drift(mean, g, 1 - beta1, room)
            decay_to_square(square, g, beta2, room)
            if largest:
                square = np.maximum(largest[0], square, out=largest[0])
            np.sqrt(square, out=room)
            room /= spread
            room += group["eps"]
            np.divide(mean, room, out=room)
            room *= size
            p -= room

    def _sparse(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")


class AdamW(Adam):
    """Adam with weight decay apart from the gradient."""

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
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


__all__ = ["Adam", "AdamW"]
