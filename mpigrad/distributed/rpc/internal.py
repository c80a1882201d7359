"""The default pickler of RPC, with the interface that `use_rpc_pickler` expects, and names that ported programs import."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from mpigrad._core.rpc.payload import InternalPickler, internal_pickler
from mpigrad._tensor import Tensor

__all__ = ["PythonUDF", "RPCExecMode", "RemoteException", "deserialize", "serialize"]


class RPCExecMode(Enum):
    """The kinds of calls. The name of a call in a profiler's events begins with `rpc_` and the value, such as `rpc_sync`."""

    SYNC = "sync"
    ASYNC = "async"
    ASYNC_JIT = "async_jit"
    REMOTE = "remote"


class PythonUDF(NamedTuple):
    """A user function with its arguments, as PyTorch pickles a call."""

    func: Any
    args: Any
    kwargs: Any


class RemoteException(NamedTuple):
    """The message and type of an exception on another worker."""

    msg: str
    exception_type: type


_InternalRPCPickler = InternalPickler
_internal_rpc_pickler = internal_pickler


def serialize(obj: Any) -> tuple[bytes, list[Tensor]]:
    """Pickle an object with the default pickler: the pickle without its tensors, and the tensors."""
    return _internal_rpc_pickler.serialize(obj)


def deserialize(binary_data: bytes, tensor_table: list[Tensor]) -> Any:
    """Rebuild an object from what `serialize` returned."""
    return _internal_rpc_pickler.deserialize(binary_data, tensor_table)


def _build_rpc_profiling_key(exec_type: RPCExecMode, func_name: str, current_worker_name: str, dst_worker_name: str) -> str:
    """The name of a call in a profiler's events."""
    return f"rpc_{exec_type.value}#{func_name}({current_worker_name} -> {dst_worker_name})"
