"""Pickling for RPC: any Python object <-> a pickle with its arrays, tensors and RRefs taken out.

While pickling, each array, tensor and RRef is put into a table and the pickle holds its index. The tables travel beside
the pickle: arrays as raw bytes, RRefs as whatever the RRef hook makes of them *after* pickling has succeeded, so that a
failed attempt leaves no fork behind. Plain pickle goes first; cloudpickle takes over for what it cannot do (closures,
lambdas, local classes).
"""

from __future__ import annotations

import io
import pickle
import threading
from typing import Any

import numpy as np

from mpigrad._array.device import CPU, device, device_of
from mpigrad._cloud_pickle import reduced_by_name
from mpigrad._core.tensor import wrap, wrap_as
from mpigrad._tensor import Tensor
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._transport.device.send import DevicePacker

from .arrays import ARRAY, TENSOR, TENSOR_GRAD, ReceivedValues, describe_moving, put, put_buffer, sendable


class Tables:
    """What one pickle refers to: values in the order of their indices, and how they go onto the wire."""

    __slots__ = ("data", "departures", "follow", "layout", "moves_all", "rrefs", "seen", "sparse", "tensors", "to")

    def __init__(self, to: Any = None) -> None:
        self.to = to  # agent, rank, "Request" or "Response": where device arrays go
        self.departures: DevicePacker | None = None
        self.moves_all = to is not None and to[0] is not None and to[0].moves_host_tensors
        self.layout: list[bytes] = []
        self.data: list[bytes] = []
        self.follow: list[Any] = []
        self.tensors: list[Tensor] = []
        self.sparse: list[Tensor] = []  # after the others: the receiver makes them while unpickling
        self.rrefs: list[Any] = []
        self.seen = 0

    def add(self, kind: int, array: Any) -> int:
        put(kind, array, self.layout, self.data, self.follow)
        self.seen += 1
        return self.seen - 1

    def add_routed(self, kind: int, array: Any) -> int:
        """Add an array that goes where the device map says."""
        agent, dst, what = self.to
        source = device_of(array)
        return self.add_for(kind, array, source, agent.route(dst, what).target(source))

    def add_for(self, kind: int, array: Any, source: device, target: device) -> int:
        """Add an array that shall arrive on `target`."""
        if source is CPU and target is CPU:
            return self.add(kind, array)
        if self.departures is None:
            self.departures = DevicePacker()
        number, offset = self.departures.add(array, target)
        self.layout.append(describe_moving(kind, array, source, target, number, offset))
        self.seen += 1
        return self.seen - 1

    def followers(self) -> list[Any]:
        """What follows the frame: large arrays of the host, then device transfers."""
        return self.follow if self.departures is None else self.follow + self.departures.seal()

    def add_buffer(self, buffer: pickle.PickleBuffer) -> bool:
        """The pickler's buffer_callback: False keeps the buffer out of the pickle."""
        try:
            raw = buffer.raw()
        except BufferError:  # not contiguous
            return True
        put_buffer(raw, self.layout, self.data, self.follow)
        self.seen += 1
        return False


class _Reduce:
    """The `reducer_override` that both picklers share."""

    tables: Tables

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind is np.ndarray:
            if sendable(obj):
                return _slot, (self.tables.add(ARRAY, obj),)
            return NotImplemented
        if isinstance(obj, Tensor):
            return self._reduce_tensor(obj)
        hook = extensions.rref_hook
        if hook is not None and kind in hook.types:
            self.tables.rrefs.append(obj)
            return _rref, (len(self.tables.rrefs) - 1,)
        if kind.__module__ == "cupy":
            return _reduce_cupy(self.tables, obj)
        special = getattr(kind, "_reduce_in_rpc", None)  # objects that only calls may carry
        return self._other(obj) if special is None else special(obj)

    def _reduce_tensor(self, tensor: Tensor) -> Any:
        array = tensor._array
        tables = self.tables
        kind = TENSOR_GRAD if tensor._requires else TENSOR
        if sendable(array) and not tables.moves_all:
            index = tables.add(kind, array)
        elif sendable(array) or _on_gpu(array):
            index = tables.add_routed(kind, array)
        else:
            return _reduce_special(tables, tensor)
        tables.tensors.append(tensor)
        if type(tensor) is Tensor:
            return _slot, (index,)
        return _as_subclass, (type(tensor), index, tensor.__dict__ or None)

    def _other(self, obj: Any) -> Any:
        return NotImplemented


class _Plain(_Reduce, pickle.Pickler):
    """The standard pickler with tables."""


def _reduce_special(tables: Tables, tensor: Tensor) -> Any:
    """Sparse tensors as their two arrays; anything else as its own pickle."""
    array = tensor._array
    if getattr(array, "is_sparse_array", False):
        slots = tables.add_routed(ARRAY, array.indices), tables.add_routed(ARRAY, array.values)
        tables.sparse.append(tensor)
        return _sparse, (type(array), *slots, tuple(array.shape), bool(array.is_coalesced), tensor._requires)
    return NotImplemented


def _on_gpu(array: Any) -> bool:
    return type(array).__module__ == "cupy"


def _reduce_cupy(tables: Tables, obj: Any) -> Any:
    if type(obj).__name__ == "ndarray":
        return _slot, (tables.add_routed(ARRAY, obj),)
    return NotImplemented


_cloud_class: Any = None


def _cloud() -> Any:
    """cloudpickle's pickler with tables, imported when first needed."""
    global _cloud_class
    if _cloud_class is None:
        import cloudpickle

        class Cloud(_Reduce, cloudpickle.Pickler):
            def _other(self, obj: Any) -> Any:
                found = reduced_by_name(obj)
                return cloudpickle.Pickler.reducer_override(self, obj) if found is NotImplemented else found

        _cloud_class = Cloud
    return _cloud_class


def dumps(obj: Any, to: Any = None) -> tuple[bytes, Tables]:
    """Pickle `obj`; the error of plain pickle is raised when cloudpickle cannot do it either."""
    try:
        return _dump(_Plain, obj, to)
    except Exception as plain_error:
        try:
            return _dump(_cloud(), obj, to)
        except Exception:
            raise plain_error from None


def _dump(cls: Any, obj: Any, to: Any) -> tuple[bytes, Tables]:
    file = io.BytesIO()
    tables = Tables(to)
    pickler = cls(file, protocol=5, buffer_callback=tables.add_buffer)
    pickler.tables = tables
    pickler.dump(obj)
    return file.getvalue(), tables


class _Loading(threading.local):
    values: list[Any] | tuple[Any, ...] = ()
    rrefs: list[Any] | tuple[Any, ...] = ()
    tensors: list[Tensor] | None = None


_loading = _Loading()


def loads(data: Any, values: list[Any], buffers: list[Any], rrefs: list[Any], tensors: list[Tensor]) -> Any:
    """Unpickle with the tables that came with it. Sparse tensors and subclasses take their place in `tensors`.
    """
    loading = _loading
    outer = loading.values, loading.rrefs, loading.tensors
    loading.values, loading.rrefs, loading.tensors = values, rrefs, tensors
    try:
        return pickle.loads(data, buffers=buffers)
    finally:
        loading.values, loading.rrefs, loading.tensors = outer


def _slot(index: int) -> Any:
    return _loading.values[index]


def _rref(index: int) -> Any:
    return _loading.rrefs[index]


def _as_subclass(cls: type[Tensor], index: int, attributes: dict[str, Any] | None) -> Any:
    plain = _loading.values[index]
    made = wrap_as(cls, plain._array)
    made._requires = plain._requires
    if attributes:
        made.__dict__.update(attributes)
    tensors = _loading.tensors
    if tensors is not None:
        tensors[next(i for i, t in enumerate(tensors) if t is plain)] = made
    return made


def _sparse(cls: Any, indices: int, values: int, shape: tuple[int, ...], coalesced: bool, requires: bool) -> Any:
    table = _loading.values
    made = wrap(cls(table[indices], table[values], shape, coalesced))
    made._requires = requires
    tensors = _loading.tensors
    if tensors is not None:
        if type(table) is ReceivedValues and type(tensors) is ReceivedValues and values in table.origins:
            tensors.origins[len(tensors)] = table.origins[values]
        tensors.append(made)
    return made


class _Apart(pickle.Pickler):
    """A pickler that takes only tensors out."""

    table: list[Tensor]

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            self.table.append(obj)
            return _slot, (len(self.table) - 1,)
        return NotImplemented


def tensors_apart(obj: Any) -> tuple[bytes, list[Tensor]]:
    """The pickle of `obj` without its tensors, and these; for `use_rpc_pickler`."""
    file = io.BytesIO()
    pickler = _Apart(file, 5)
    pickler.table = []
    pickler.dump(obj)
    return file.getvalue(), pickler.table


class InternalPickler:
    """The default pickler, in the shape that `use_rpc_pickler` expects: objects <-> bytes and the tensors in them.

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


internal_pickler = InternalPickler()
