"""The default pickler of RPC as two functions, and names that programs written for PyTorch import."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from mpigrad._core.rpc.payload import InternalPickler, internal_pickler
from mpigrad._tensor import Tensor

__all__ = ["PythonUDF", "RPCExecMode", "RemoteException", "deserialize", "serialize"]


class RPCExecMode(Enum):
    """The kinds of calls, as a profiler names them: the event of a call begins with `rpc_` and the value.

    Such as `rpc_sync#aten::add(worker0 -> worker1)`.
    """

    SYNC = "sync"
    ASYNC = "async"
    ASYNC_JIT = "async_jit"
    REMOTE = "remote"


class PythonUDF(NamedTuple):
    """A call of a user's function as one object: the function, its positional and its keyword arguments.

    A name of PyTorch's that programs import; calls of mpigrad do not use it.
    """

    func: Any
    args: Any
    kwargs: Any


class RemoteException(NamedTuple):
    """The text and the type of an exception on another worker.

    A name of PyTorch's that programs import; mpigrad sends exceptions themselves.
    """

    msg: str
    exception_type: type


_InternalRPCPickler = InternalPickler
_internal_rpc_pickler = internal_pickler


def serialize(obj: Any) -> tuple[bytes, list[Tensor]]:
    """Pickle an object with the default pickler; returns the pickle without its tensors, and the list of its tensors."""
    return _internal_rpc_pickler.serialize(obj)


def deserialize(binary_data: bytes, tensor_table: list[Tensor]) -> Any:
    """Rebuild an object from the pickle and the tensors that `serialize` returned."""
    return _internal_rpc_pickler.deserialize(binary_data, tensor_table)


def _build_rpc_profiling_key(exec_type: RPCExecMode, func_name: str, current_worker_name: str, dst_worker_name: str) -> str:
    """Return the name of a call in a profiler's events.

    >>> _build_rpc_profiling_key(RPCExecMode.SYNC, "f", "worker0", "worker1")
    'rpc_sync#f(worker0 -> worker1)'
    """
    return f"rpc_{exec_type.value}#{func_name}({current_worker_name} -> {dst_worker_name})"
