"""`RemoteModule`, a module on another worker; and `functional`, collectives and messages with gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from mpigrad.autograd.function import Function

    from .._process_group.groups import group
    from .._process_group.reduce_op import ReduceOp
    from . import functional
    from ._remote_module import RemoteModule
    from .functional import (
        all_gather,
        all_reduce,
        all_to_all,
        all_to_all_single,
        broadcast,
        gather,
        reduce,
        reduce_scatter,
        scatter,
    )
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "Function", "ReduceOp", "RemoteModule", "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast",
    "functional", "gather", "group", "reduce", "reduce_scatter", "scatter",
]  # fmt: skip
