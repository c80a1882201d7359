"""`LocalOptimizer`: one worker's share of a distributed optimizer; and the functions that run where the parameters are.

The gradients of a step come from its autograd context, not from `.grad`: several trainers may step at the same time, each
with its own context. A lock serialises their steps, on GPUs too; the parameters' `.grad` is restored after each step.
Parameters and optimizers may be PyTorch's, whose tensors also have `_grad`.
"""

from __future__ import annotations

from typing import Any

from ..._graph.grad_mode import no_grad
from ..._tensor import Tensor
from ..autograd import get_gradients
from ..rpc import RRef
from ._turns import Turns

_stepping = Turns()  # optimizers of one worker may share parameters


class LocalOptimizer:
    """An optimizer of the class `optim_cls` for parameters of this worker, given by RRefs; further arguments are its own."""

    def __init__(self, optim_cls: Any, local_params_rref: list[RRef], *args: Any, **kwargs: Any) -> None:
        self.params = [rref.local_value() for rref in local_params_rref]
        self.optim = optim_cls(self.params, *args, **kwargs)

    def step(self, context_id: int) -> None:
        """Update the parameters with their gradients in a context; parameters without a gradient there are left alone."""
        grads = get_gradients(context_id)
        with _stepping.taken(param.device for param in self.params if isinstance(param, Tensor)):
            before = [param._grad for param in self.params]
            try:
                for param in self.params:  # `_grad`, not `grad`, whose setter would check types and shapes again
                    param._grad = grads.get(param)
                self.optim.step()
            finally:
                for param, grad in zip(self.params, before):
                    param._grad = grad


def powers(grads: list[Any], norm_type: float) -> float:
    """Return the sum of |g|^p over all elements of the gradients, p being `norm_type`; the largest |g| if that is infinite."""
    with no_grad():
        found = [(grad.coalesce().values() if grad.is_sparse else grad).detach().abs().double() for grad in grads]
        if norm_type == float("inf"):
            return max((each.max().item() for each in found if each.numel()), default=0.0)
        return sum((each**norm_type).sum().item() for each in found)


def make_local(optim_cls: Any, params: list[RRef], args: tuple[Any, ...], kwargs: dict[str, Any]) -> LocalOptimizer:
    """Create the optimizer for parameters of this worker. Runs on their owner."""
    return LocalOptimizer(optim_cls, params, *args, **kwargs)


def step_local(local: RRef, context_id: int) -> None:
    """Update the parameters of this worker's optimizer with the gradients of a context. Runs on the owner."""
    local.local_value().step(context_id)


def state_local(local: RRef) -> Any:
    """Return the state of this worker's optimizer. Runs on the owner."""
    return local.local_value().optim.state_dict()


def load_local(local: RRef, state: Any) -> None:
    """Load a state into this worker's optimizer. Runs on the owner."""
    local.local_value().optim.load_state_dict(state)
