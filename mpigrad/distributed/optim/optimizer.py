"""`DistributedOptimizer`: one optimizer over parameters of many workers; each parameter is updated on its owner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .. import rpc
from ..rpc import RRef
from ._local import load_local, make_local, state_local, step_local


def gather_errors(futures: Sequence[Any]) -> list[Any]:
    """Wait for all futures and return their results; if some fail, raise the first error, with the others as notes."""
    results, errors = [], []
    for future in futures:
        try:
            results.append(future.wait())
        except Exception as error:
            errors.append(error)
    if not errors:
        return results
    first, *others = errors
    for other in others:
        _note(first, f"and on another worker: {type(other).__name__}: {other}")
    raise first


def on_owners(shares: list[RRef], function: Any, *args: Any) -> list[Any]:
    """Call `function(share, *args)` on the owners of all shares at the same time; returns the results. `shares` are RRefs."""
    return gather_errors([rpc.rpc_async(each.owner(), function, args=(each, *args)) for each in shares])


def by_worker(shares: list[RRef], values: list[Any]) -> dict[str, Any]:
    """Return a dict from the name of each share's owner to its value."""
    return {each.owner_name(): value for each, value in zip(shares, values)}


def load_states(what: str, shares: list[RRef], state_dict: dict[str, Any], function: Any, *args: Any) -> None:
    """Call `function(share, *args, state)` on the owner of every share, with the state in `state_dict` under its name.

    ValueError if the states are of other workers; `what` is the object that loads them, for the error.
    """
    names = [each.owner_name() for each in shares]
    if set(names) != set(state_dict):
        raise ValueError(f"load_state_dict: this {what} is on workers {sorted(names)}, the state on {sorted(state_dict)}")
    gather_errors(
        [rpc.rpc_async(each.owner(), function, args=(each, *args, state_dict[each.owner_name()])) for each in shares]
    )


def by_owner(rrefs: Iterable[RRef]) -> dict[Any, list[RRef]]:
    """Group RRefs by the worker that owns them; returns a dict by `WorkerInfo`."""
    found: dict[Any, list[RRef]] = {}
    for each in rrefs:
        found.setdefault(each.owner(), []).append(each)
    return found


def _note(error: Exception, text: str) -> None:
    """Add a note to an exception; Python 3.10 has no `add_note`."""
    error.__notes__ = [*getattr(error, "__notes__", ()), text]


class DistributedOptimizer:
    """One optimizer over parameters on many workers: each parameter is updated by the worker that owns it.

    Gradients come from a distributed autograd context, not from `.grad`. Only one worker, for example the trainer, creates
    the optimizer and calls `step`; the other workers need no call.

    Args:
        optimizer_class: an optimizer of `mpigrad.optim` or `torch.optim`.
        params_rref: RRefs to the parameters; an instance of `optimizer_class` is created on each owner, for the parameters
            there. The constructor waits for that.
        args, kwargs: further arguments of `optimizer_class`, such as `lr=0.1`.

    >>> import mpigrad
    >>> import mpigrad.distributed.autograd as dist_autograd
    >>> import mpigrad.distributed.rpc as rpc
    >>> from mpigrad.distributed.optim import DistributedOptimizer
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> weight = mpigrad.ones(2, requires_grad=True)
    >>> optimizer = DistributedOptimizer(mpigrad.optim.SGD, [rpc.RRef(weight)], lr=0.1)
    >>> with dist_autograd.context() as context_id:
    ...     loss = rpc.rpc_sync("solo", mpigrad.mul, args=(weight, 3)).sum()
    ...     dist_autograd.backward(context_id, [loss])
    ...     optimizer.step(context_id)
    >>> weight
    tensor([0.7000, 0.7000], requires_grad=True)
    >>> rpc.shutdown()
    """

    def __init__(self, optimizer_class: Any, params_rref: Sequence[RRef], *args: Any, **kwargs: Any) -> None:
        params = list(params_rref)  # may be empty, as in PyTorch
        for each in params:
            if not isinstance(each, RRef):
                raise TypeError(
                    f"DistributedOptimizer takes RRefs of parameters, got {type(each).__name__}; wrap it in rpc.RRef"
                )
        making = [
            rpc.rpc_async(owner, _make_rref, args=(optimizer_class, owned, args, kwargs))
            for owner, owned in by_owner(params).items()
        ]
        self.is_functional_optim = False
        self.remote_optimizers: list[RRef] = gather_errors(making)

    def step(self, context_id: int) -> None:
        """Update all parameters with their gradients in the context `context_id`, on all workers at the same time.

        Waits until all workers are done; if some failed, the first error is raised, with the others as its notes.
        RuntimeError for an unknown context.
        """
        from ..autograd import _is_valid_context

        _is_valid_context(context_id)  # raises here, before any worker has updated its parameters
        on_owners(self.remote_optimizers, step_local, context_id)

    def state_dict(self) -> dict[str, Any]:
        """Return the states of all workers' optimizers: a dict from worker name to `state_dict()`. An addition to PyTorch."""
        return by_worker(self.remote_optimizers, on_owners(self.remote_optimizers, state_local))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned, on all workers; ValueError if the names of the workers are not the same."""
        load_states("optimizer", self.remote_optimizers, state_dict, load_local)


def _make_rref(optim_cls: Any, params: list[RRef], args: tuple[Any, ...], kwargs: dict[str, Any]) -> RRef:
    """Create the optimizer for parameters of this worker, and return an RRef to it. Runs on the owner.

    Called by `rpc_async`, not by `remote`, whose errors would surface at the first step only.
    """
    return RRef(make_local(optim_cls, params, args, kwargs))
