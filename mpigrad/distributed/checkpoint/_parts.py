"""The parts of a checkpoint: named objects, each on one worker or, in *shares*, on several.

A part is a module, an optimizer or anything else with a state. Three kinds have shares on several workers: a
`DistributedOptimizer` (each share steps some of the parameters), a `DistributedScheduler` (all shares have the same state), and
`Sharded` (each share holds a slice of every tensor).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .. import rpc
from ..optim import DistributedOptimizer, DistributedScheduler
from ..rpc import RRef

Dims = int | Mapping[str, int | None]


class Sharded:
    """For `checkpoint.save` and `load`: modules on several workers that together are one module, each with a slice of its
    tensors.

    A checkpoint of one number of slices can be loaded into any other number.

    Args:
        shares: the modules (or RRefs to them) with the slices, in order.
        dim: the dimension along which tensors are cut, or a dict with the dimension of each tensor by name. A tensor without
            this dimension, or without an entry, is not cut: it is the same in all shares.

    >>> import os, tempfile
    >>> import mpigrad.distributed.checkpoint as checkpoint
    >>> import mpigrad.distributed.rpc as rpc
    >>> from mpigrad import nn
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> slices = [rpc.remote("solo", nn.Embedding, args=(rows, 16)) for rows in (600, 400)]    # usually one on each worker
    >>> path = os.path.join(tempfile.mkdtemp(), "checkpoint")
    >>> checkpoint.save(path, {"table": checkpoint.Sharded(slices)})
    >>> whole = nn.Embedding(1000, 16)
    >>> checkpoint.load(path, {"table": whole})    # loaded into another number of slices
    >>> del slices
    >>> rpc.shutdown()
    """

    def __init__(self, shares: Sequence[Any], dim: Dims = 0) -> None:
        self.shares, self.dim = list(shares), dim
        if not self.shares:
            raise ValueError("checkpoint.Sharded needs at least one share")


class Slice(NamedTuple):
    """The position of a slice in the whole tensor, along the dimension that is cut."""

    start: int
    length: int
    total: int


class Share(NamedTuple):
    """One share of a part: the name of the part, the number of the share, and an RRef to its object.

    For a `Sharded`, also how its tensors are cut.
    """

    part: str
    number: int
    of: int  # number of shares
    rref: RRef
    dim: Dims | None
    slices: dict[str, Slice] | None = None  # by tensor

    def dim_of(self, key: str, ndim: int) -> int | None:
        """Return the dimension along which the tensor called `key`, with `ndim` dimensions, is cut; None if it is not cut."""
        if self.dim is None:
            return None
        if isinstance(self.dim, int):
            return self.dim if -ndim <= self.dim < ndim else None
        return self.dim.get(key)

    def state(self) -> Any:
        """Return the object (module, optimizer, ...) whose `state_dict` is saved. Runs on the share's worker."""
        value = self.rref.local_value()  # a `LocalOptimizer` for a `DistributedOptimizer`; its optimizer has the state
        return getattr(value, "optim", value) if not hasattr(value, "state_dict") else value

    def lengths(self) -> dict[str, int]:
        """Return the length of each slice, by name of the tensor. Runs on the share's worker."""
        found = {}
        for key, value in self.state().state_dict().items():
            dim = self.dim_of(key, getattr(value, "ndim", 0))
            if dim is not None:
                found[key] = value.shape[dim]
        return found


def _rref(value: Any, name: str) -> RRef:
    """Return an RRef to a part, given as a remote module, an RRef or a local object; TypeError for anything else."""
    if isinstance(value, RRef):
        return value
    if hasattr(value, "get_module_rref"):
        return value.get_module_rref()
    if hasattr(value, "state_dict") and hasattr(value, "load_state_dict"):
        return RRef(value)
    raise TypeError(f"checkpoint: {name!r} must be a module, an optimizer, or an RRef of one, not {type(value).__name__}")


def _rrefs(value: Any, name: str) -> list[RRef]:
    if isinstance(value, DistributedOptimizer):
        return value.remote_optimizers
    if isinstance(value, DistributedScheduler):
        return value.remote_schedulers
    return [_rref(each, name) for each in value.shares] if isinstance(value, Sharded) else [_rref(value, name)]


def by_worker(parts: Mapping[str, Any]) -> dict[str, list[Share]]:
    """Return the shares of all parts, by the name of the worker that has them."""
    found: dict[str, list[Share]] = {}
    for name, value in parts.items():
        rrefs, dim = _rrefs(value, name), value.dim if isinstance(value, Sharded) else None
        for number, rref in enumerate(rrefs):
            found.setdefault(rref.owner_name(), []).append(Share(name, number, len(rrefs), rref, dim))
    return found


def lengths(shares: list[Share]) -> list[dict[str, int]]:
    """Return the lengths of the slices of each of this worker's shares. Runs on each worker."""
    return [each.lengths() for each in shares]


def with_slices(shares: dict[str, list[Share]], timeout: float) -> dict[str, list[Share]]:
    """Return the shares with the positions of their slices, if they are cut; asks all workers for the lengths."""
    cut = {worker: [each for each in own if each.dim is not None] for worker, own in shares.items()}
    asked = {worker: rpc.rpc_async(worker, lengths, args=(own,), timeout=timeout) for worker, own in cut.items() if own}
    measured = {
        (share.part, share.number): found for worker, future in asked.items() for share, found in zip(cut[worker], future.wait())
    }

    def placed(share: Share) -> Share:
        if share.dim is None:
            return share
        own = [measured[share.part, number] for number in range(share.of)]
        slices = {
            key: Slice(sum(each.get(key, 0) for each in own[: share.number]), length, sum(each.get(key, 0) for each in own))
            for key, length in own[share.number].items()
        }
        return share._replace(slices=slices)

    return {worker: [placed(each) for each in own] for worker, own in shares.items()}
