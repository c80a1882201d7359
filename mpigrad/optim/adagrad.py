"""Adagrad: the gradient is divided by the root of the sum of all squared gradients so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.tensor import wrap
from .._kernels import steps
from .._tensor import Tensor
from ._real import real_view
from ._rows import read, rows_of, write
from ._settings import Group, check_settings, number
from ._updates import next_step, scalar
from .optimizer import Optimizer


class Adagrad(Optimizer):
    """Steps along the gradient, divided by the root of the sum of all its squares so far, element by element.

    `lr_decay`: step n uses lr / (1 + (n - 1) * lr_decay). `initial_accumulator_value`: the first value of the sums.
    `eps` is added to the root. `Optimizer` explains the other arguments.

    >>> import mpigrad
    >>> w = mpigrad.ones(2, requires_grad=True)
    >>> optimizer = mpigrad.optim.Adagrad([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.8331, 0.8331], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_settings(
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                self._prepare(parameter, self.state[parameter], group)

    def _prepare(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        state["step"] = scalar(0)
        state["sum"] = wrap(np.empty_like(parameter._array))
        real_view(state["sum"]._array)[...] = group["initial_accumulator_value"]

    def _size(self, parameter: Tensor, state: dict[str, Any], group: Group) -> float:
        if not state:
            self._prepare(parameter, state, group)
        return number(group["lr"]) / (1 + (next_step(state) - 1) * group["lr_decay"])

    _kernel = steps.ADAGRAD

    def _settings(self, parameter: Tensor, state: dict[str, Any], group: Group) -> tuple[Any, ...]:
        """Increase the step count and return the settings of the step."""
        return self._size(parameter, state, group), group["eps"], group["weight_decay"], group["maximize"]

    def _roles(self, state: dict[str, Any]) -> list[Tensor]:
        return [state["sum"]]

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        size, eps = self._size(parameter, state, group), group["eps"]
        for p, g, total in self._blocks(parameter._array, grad, state["sum"]._array):
            steps.adagrad(p, g, total, self._room, size, eps, group["weight_decay"], group["maximize"])

    def _sparse(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        size = self._size(parameter, state, group)
        size = size if group["maximize"] else -size
        array, total = parameter._array, state["sum"]._array
        for rows, values in rows_of(grad):
            sums = read(total, rows)
            sums += values * values
            write(total, rows, sums)
            change = np.sqrt(sums, out=sums)
            change += group["eps"]
            np.divide(values, change, out=change)
            change *= size
            change += read(array, rows)
            write(array, rows, change)


__all__ = ["Adagrad"]
