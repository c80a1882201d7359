"""Parts of PyTorch's module of this name that programs import: `serialize` and `deserialize` use the pickler of RPC."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from mpigrad._core.rpc.payload import InternalPickler, internal_pickler
from mpigrad._tensor import Tensor

__all__ = ["PythonUDF", "RPCExecMode", "RemoteException", "deserialize", "serialize"]


class RPCExecMode(Enum):
    """The kinds of calls in a profiler's events, whose names are `rpc_` + the value + the function and the two workers.

    For example `rpc_sync#aten::add(worker0 -> worker1)`.
    """

    SYNC = "sync"
    ASYNC = "async"
    ASYNC_JIT = "async_jit"
    REMOTE = "remote"


class PythonUDF(NamedTuple):
    """A call of a user's function as one object: the function, its positional and its keyword arguments.

    Only here because programs written for PyTorch import it; mpigrad does not use it.
    """

    func: Any
    args: Any
    kwargs: Any


class RemoteException(NamedTuple):
    """The text and the type of an exception on another worker.

    Only here because programs written for PyTorch import it; mpigrad sends the exception object itself.
    """

    msg: str
    exception_type: type


_InternalRPCPickler = InternalPickler
_internal_rpc_pickler = internal_pickler


def serialize(obj: Any) -> tuple[bytes, list[Tensor]]:
    """Pickle `obj` as RPC does; returns the pickle, which does not contain the tensors, and the list of the tensors in `obj`."""
    return _internal_rpc_pickler.serialize(obj)


def deserialize(binary_data: bytes, tensor_table: list[Tensor]) -> Any:
    """Rebuild the object that `serialize` pickled, from its two results."""
    return _internal_rpc_pickler.deserialize(binary_data, tensor_table)


def _build_rpc_profiling_key(exec_type: RPCExecMode, func_name: str, current_worker_name: str, dst_worker_name: str) -> str:
    """Return the name of a call in a profiler's events.

    >>> _build_rpc_profiling_key(RPCExecMode.SYNC, "f", "worker0", "worker1")
    'rpc_sync#f(worker0 -> worker1)'
    """
    return f"rpc_{exec_type.value}#{func_name}({current_worker_name} -> {dst_worker_name})"
