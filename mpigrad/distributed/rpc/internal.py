"""The default pickler of RPC, in the shape that `use_rpc_pickler` expects, and names that ported programs import."""

from __future__ import annotations

from typing import Any, NamedTuple

from mpigrad._tensor import Tensor

from ._wire.pickling import loads, tensors_apart


class PythonUDF(NamedTuple):
    """A function and its arguments."""

    func: Any
    args: Any
    kwargs: Any


class RemoteException(NamedTuple):
    """What went wrong on another worker."""

    msg: str
    exception_type: type


class _InternalRPCPickler:
    """Objects <-> bytes and the tensors in them.

    >>> from mpigrad.distributed.rpc.internal import _internal_rpc_pickler
    >>> _internal_rpc_pickler.deserialize(*_internal_rpc_pickler.serialize([1, "a"]))
    [1, 'a']
    """

    def serialize(self, obj: Any) -> tuple[bytes, list[Tensor]]:
        """The pickle of `obj` without its tensors, and these."""
        return tensors_apart(obj)

    def deserialize(self, binary_data: bytes, tensor_table: list[Tensor]) -> Any:
        """The object again."""
        try:
            return loads(binary_data, list(tensor_table), [], [], [])
        except AttributeError as error:
            raise AttributeError(f"{error}. Default RPC pickler does not serialize function code.") from error


_internal_rpc_pickler = _InternalRPCPickler()


def serialize(obj: Any) -> tuple[bytes, list[Tensor]]:
    """Pickle with the default pickler."""
    return _internal_rpc_pickler.serialize(obj)


def deserialize(binary_data: bytes, tensor_table: list[Tensor]) -> Any:
    """Unpickle with the default pickler."""
    return _internal_rpc_pickler.deserialize(binary_data, tensor_table)
