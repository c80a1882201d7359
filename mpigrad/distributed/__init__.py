"""Distributed mpigrad: process groups, RPC and distributed autograd, on MPI. Importing it does not start MPI;
`init_process_group` and `rpc.init_rpc` do.

Terms (rank, process group, collective, ...) are explained in docs/glossary.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from . import algorithms, autograd, checkpoint, domain, nn, optim, pipelining, rpc, tensor
    from ._gpu.binding import bind_device
    from ._process_group.all_reduce import all_reduce
    from ._process_group.backend import (
        Backend,
        get_default_backend_for_device,
        is_backend_available,
        is_gloo_available,
        is_nccl_available,
        is_torchelastic_launched,
        is_ucc_available,
        is_xccl_available,
    )
    from ._process_group.collectives import (
        all_gather,
        all_gather_into_tensor,
        all_gather_single,
        all_to_all,
        all_to_all_single,
        barrier,
        broadcast,
        gather,
        reduce,
        reduce_scatter,
        reduce_scatter_single,
        reduce_scatter_tensor,
        scatter,
    )
    from ._process_group.grad_bucket import GradBucket
    from ._process_group.groups import (
        GroupMember,
        ProcessGroup,
        default_pg_timeout,
        destroy_process_group,
        get_backend,
        get_global_rank,
        get_group_rank,
        get_node_local_rank,
        get_process_group_ranks,
        get_rank,
        get_world_size,
        group,
        init_process_group,
        is_initialized,
        new_group,
    )
    from ._process_group.monitored import monitored_barrier
    from ._process_group.objects import (
        all_gather_object,
        broadcast_object_list,
        gather_object,
        recv_object_list,
        scatter_object_list,
        send_object_list,
    )
    from ._process_group.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
    from ._process_group.reduce_op import ReduceOp
    from ._process_group.subgroups import new_subgroups, new_subgroups_by_enumeration
    from ._process_group.survival import RankLostError
    from ._process_group.work import Work
    from .device_mesh import DeviceMesh, init_device_mesh
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "Backend", "GradBucket", "GroupMember", "P2POp", "ProcessGroup", "RankLostError", "ReduceOp", "Work", "all_gather",
    "all_gather_into_tensor", "all_gather_object", "all_gather_single", "all_reduce", "all_to_all", "all_to_all_single",
    "barrier", "batch_isend_irecv", "bind_device", "broadcast", "broadcast_object_list", "default_pg_timeout",
    "destroy_process_group", "gather", "gather_object", "get_backend", "get_default_backend_for_device",
    "get_global_rank", "get_group_rank", "get_node_local_rank", "get_process_group_ranks", "get_rank", "get_world_size",
    "group", "init_device_mesh", "init_process_group", "irecv", "is_available", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "isend", "monitored_barrier", "new_group", "new_subgroups", "new_subgroups_by_enumeration",
    "recv", "recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter",
    "scatter_object_list", "send", "send_object_list",
]  # fmt: skip


def is_available() -> bool:
    """Return whether process groups can be used in this process, that is, whether mpi4py is installed.

    >>> is_available()
    True
    """
    from . import _mpi

    return _mpi.available()


def is_mpi_available() -> bool:
    """Return whether the MPI backend, the only one, can be used: the same as `is_available`.

    >>> is_mpi_available()
    True
    """
    return is_available()
