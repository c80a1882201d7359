"""Collectives and messages that return new tensors and have gradients.

The functions of `torch.distributed.nn.functional`, and more: `scan`, and messages between two ranks (`send`, `isend`,
`join` ...). In all of them `group` is a `ProcessGroup`, by default the default group, whose ranks all call a collective;
`src` and `dst` are global ranks.
"""

from __future__ import annotations

from .._differentiable.messages import irecv, isend, join, recv, send, sendrecv, wait
from .._differentiable.movement import all_gather, all_to_all, all_to_all_single, broadcast, gather, scatter
from .._differentiable.reductions import all_reduce, reduce, reduce_scatter, scan

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "irecv", "isend", "join",
    "recv", "reduce", "reduce_scatter", "scan", "scatter", "send", "sendrecv", "wait",
]  # fmt: skip
