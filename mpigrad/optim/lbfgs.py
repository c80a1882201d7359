"""L-BFGS: a quasi-Newton method with limited memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.tensor import wrap
from .._graph.grad_mode import enable_grad
from .._tensor import Tensor, counter
from ._line_search import Point, Search
from ._real import real_view
from ._settings import check_settings, number
from .optimizer import Closure, Optimizer


class LBFGS(Optimizer):
    """Limited-memory BFGS, a quasi-Newton method. `step` needs a closure, which it calls several times.

    - `max_iter`, `max_eval`: limits of iterations and of calls of the closure in one step (default: 1.25 * max_iter).
    - `tolerance_grad`, `tolerance_change`: stop when the gradient, or the change of parameters or loss, is smaller.
    - `history_size`: the number of earlier steps kept. `line_search_fn`: None (steps of length `lr`) or
      "strong_wolfe".

    All parameters are in one group and on one device.

    >>> import mpigrad
    >>> w = mpigrad.tensor([5.0], requires_grad=True)
    >>> optimizer = mpigrad.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure)
    >>> round(w.item(), 4)
    1.0
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_settings(lr=lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    # -- all parameters as one vector --------------------------------------------------------------------------------
    def _gradient_vector(self) -> Any:
        parts = []
        for parameter in self._params:
            held = parameter._grad
            if held is None:
                parts.append(np.zeros_like(real_view(parameter._array)).reshape(-1))
            else:
                array = held._array
                parts.append(real_view(array.to_dense() if held.is_sparse else array).reshape(-1))
        return np.concatenate(parts)

    def _set_vector(self, vector: Any) -> None:
        place = 0
        for parameter in self._params:
            array = real_view(parameter._array)
            array[...] = vector[place : place + array.size].reshape(array.shape)
            counter(parameter)[0] += 1
            place += array.size

    def _vector(self) -> Any:
        return np.concatenate([real_view(parameter._array).reshape(-1) for parameter in self._params])

    # -- reductions: of all ranks' parts where parameters are distributed (`mpigrad.distributed.domain.LBFGS`) -------
    def _dot(self, a: Any, b: Any) -> float:
        return float(a @ b)

    def _largest(self, vector: Any) -> float:
        return float(abs(vector).max())

    def _total(self, vector: Any) -> float:
        return float(abs(vector).sum())

    # -- steps -------------------------------------------------------------------------------------------------------
    def step(self, closure: Closure | None = None) -> Any:  # type: ignore[override]
        """Minimise for at most `max_iter` iterations; returns the loss at the start.

        `closure` clears the gradients, computes the loss, calls `backward` and returns the loss.
        """
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        group, state = self.param_groups[0], self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with enable_grad():
            first = closure()
        loss, grad = float(first), self._gradient_vector()
        state["func_evals"] += 1
        if self._largest(grad) <= group["tolerance_grad"]:
            return first
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(grad, state, group)
            before = loss
            state["prev_flat_grad"], state["prev_loss"] = wrap(grad), loss
            lr = number(group["lr"])
            # The first direction is the plain gradient, which has no scale yet.
            step = min(1.0, 1.0 / self._total(grad)) * lr if state["n_iter"] == 1 else lr
            slope = self._dot(grad, direction)
            state["d"], state["t"] = wrap(direction), step
            # not a descent direction
            if slope > -group["tolerance_change"]:
                break
            last = iteration == group["max_iter"]
            start = Point(0.0, loss, grad, slope)
            point, used = self._move(closure, direction, step, start, last, group)
            loss, grad, state["t"] = point.loss, point.grad, point.step
            evaluations += used
            state["func_evals"] += used
            if last or evaluations >= group["max_eval"] or self._largest(grad) <= group["tolerance_grad"]:
                break
            if (
                self._largest(direction * point.step) <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        return first

    def _move(
        self, closure: Closure, direction: Any, step: float, start: Point, last: bool, group: dict[str, Any]
    ) -> tuple[Point, int]:
        """Step along a direction, by a fixed length or by a line search; returns the new point and how often the
        closure was called.
        """
        origin = self._vector()

        def evaluate(length: float) -> Point:
            self._set_vector(origin + direction * length)
            with enable_grad():
                value = float(closure())
            found = self._gradient_vector()
            return Point(length, value, found, self._dot(found, direction))

        if group["line_search_fn"] is not None:
            if group["line_search_fn"] != "strong_wolfe":
                raise RuntimeError("only 'strong_wolfe' is supported")
            search = Search(evaluate, start, self._largest(direction), group["tolerance_change"])
            found = search.run(step)
            self._set_vector(origin + direction * found.step)
            return found, search.evaluations
        if last:  # the loss there is not used
            self._set_vector(origin + direction * step)
            return Point(step, start.loss, start.grad, start.slope), 0
        return evaluate(step), 1

    def _direction(self, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """The quasi-Newton direction from the stored steps."""
        if state["n_iter"] == 1:
            state["old_dirs"], state["old_stps"], state["ro"], state["H_diag"] = [], [], [], 1.0
            return -grad
        changes, steps, weights = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = grad - state["prev_flat_grad"]._array, state["d"]._array * state["t"]
        product = self._dot(change, step)
        # otherwise the update would make the approximation indefinite: skip it
        if product > 1e-10:
            for memory, new in ((changes, wrap(change)), (steps, wrap(step)), (weights, 1.0 / product)):
                if len(memory) == group["history_size"]:
                    memory.pop(0)
                memory.append(new)
            state["H_diag"] = product / self._dot(change, change)
        # the two-loop recursion: the product of the inverse Hessian's approximation and the gradient, without a
        # matrix
        q, shares = -grad, []
        for y, s, weight in zip(reversed(changes), reversed(steps), reversed(weights)):
            shares.append(self._dot(s._array, q) * weight)
            q = q - shares[-1] * y._array
        q = q * state["H_diag"]
        for y, s, weight, share in zip(changes, steps, weights, reversed(shares)):
            q = q + s._array * (share - self._dot(y._array, q) * weight)
        return q


__all__ = ["LBFGS"]
