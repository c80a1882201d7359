"""Adam for sparse gradients: only the rows with values change, in the parameter and in the state."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._tensor import Tensor
from ._rows import read, rows_of, write
from ._settings import Group, check_betas, check_settings, number
from ._updates import next_step, zeros_like
from .optimizer import Optimizer


class SparseAdam(Optimizer):
    """Adam that updates only the rows for which a sparse gradient has values, for example of `nn.Embedding(...,
    sparse=True)`.

    Dense gradients raise a RuntimeError. The arguments are those of `Adam` and `Optimizer`.

    >>> import mpigrad
    >>> table = mpigrad.nn.Embedding.from_pretrained(mpigrad.ones(3, 1), freeze=False, sparse=True)
    >>> optimizer = mpigrad.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(mpigrad.tensor([1])).sum().backward()
    >>> optimizer.step()
    >>> [[round(x, 4) for x in row] for row in table.weight.tolist()]
    [[1.0], [0.9], [1.0]]
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_settings(lr=lr, eps=eps)
        if number(lr) == 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if eps == 0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        placed = [([i, j], each) for i, group in enumerate(self.param_groups) for j, each in enumerate(group["params"])]
        sparse = [place for place, each in placed if each.is_sparse]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")

    def _dense(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")

    def _sparse(self, parameter: Tensor, grad: Any, state: dict[str, Any], group: Group) -> None:
        if not state:
            state["step"] = 0
            state["exp_avg"], state["exp_avg_sq"] = zeros_like(parameter), zeros_like(parameter)
        step = next_step(state)
        beta1, beta2 = group["betas"]
        size = number(group["lr"]) * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        array, means, squares = parameter._array, state["exp_avg"]._array, state["exp_avg_sq"]._array
        for rows, values in rows_of(grad):
            if group["maximize"]:
                values = -values
            mean, square = read(means, rows), read(squares, rows)
            mean += (values - mean) * (1 - beta1)
            square += (values * values - square) * (1 - beta2)
            write(means, rows, mean)
            write(squares, rows, square)
            change = np.sqrt(square, out=square)
            change += group["eps"]
            np.divide(mean, change, out=change)
            change *= -size
            change += read(array, rows)
            write(array, rows, change)


__all__ = ["SparseAdam"]
