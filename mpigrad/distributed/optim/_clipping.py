"""Clips the gradients of a context by their norm over all workers; not in PyTorch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._graph.grad_mode import no_grad
from ..._tensor import Tensor
from .. import rpc
from ..autograd import _retrieve_context, get_gradients
from ..rpc import RRef
from ._local import powers
from .optimizer import by_owner, gather_errors


def clip_grad_norm_(
    context_id: int,
    params_rref: Sequence[RRef],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> float:
    """Scale the gradients of `params_rref` on all workers so that the norm of all of them together is at most `max_norm`.

    Call it on one worker, between `backward` and `step`. An addition to PyTorch.

    Args:
        context_id: the context that has the gradients.
        params_rref: RRefs to the parameters, on any workers.
        max_norm: the largest norm that the gradients may have.
        norm_type: the p of the p-norm; `inf` means the largest absolute value.
        error_if_nonfinite: raise a RuntimeError if the norm is infinite or nan.

    Returns the norm before clipping, a float.

    >>> import mpigrad
    >>> import mpigrad.distributed.autograd as dist_autograd
    >>> import mpigrad.distributed.rpc as rpc
    >>> from mpigrad.distributed.optim import clip_grad_norm_
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> with dist_autograd.context() as context_id:
    ...     dist_autograd.backward(context_id, [rpc.rpc_sync("solo", mpigrad.mul, args=(x, mpigrad.tensor([3.0, 4.0]))).sum()])
    ...     norm = clip_grad_norm_(context_id, [rpc.RRef(x)], max_norm=1.0)
    ...     norm, dist_autograd.get_gradients(context_id)[x]
    (5.0, tensor([0.6000, 0.8000]))
    >>> rpc.shutdown()
    """
    owned = by_owner(params_rref)
    parts = _everywhere(owned, _norm_part, context_id, float(norm_type))
    total = max(parts, default=0.0) if norm_type == float("inf") else sum(parts) ** (1.0 / norm_type)
    if error_if_nonfinite and not math.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `params_rref` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    factor = max_norm / (total + 1e-6)  # as `nn.utils.clip_grad_norm_`: no division by zero
    if not factor >= 1.0:  # also if it is nan, as in one process
        _everywhere(owned, _scale, context_id, factor)
    return total


def _everywhere(owned: dict[Any, list[RRef]], function: Any, *args: Any) -> list[Any]:
    return gather_errors([rpc.rpc_async(owner, function, args=(rrefs, *args)) for owner, rrefs in owned.items()])


def _own(rrefs: list[RRef], context_id: int) -> list[Tensor]:
    grads = get_gradients(context_id)
    return [param for param in (rref.local_value() for rref in rrefs) if param in grads]


def _norm_part(rrefs: list[RRef], context_id: int, norm_type: float) -> float:
    grads = get_gradients(context_id)
    return powers([grads[param] for param in _own(rrefs, context_id)], norm_type)


def _scale(rrefs: list[RRef], context_id: int, factor: float) -> None:
    context = _retrieve_context(context_id)
    for param in _own(rrefs, context_id):
        with context.lock, no_grad():
            context.gradients[param] = context.gradients[param] * factor
