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

from mpigrad._tensor import Tensor, wrap, wrap_as

from . import _seams
from ._arrays import ARRAY, TENSOR, TENSOR_GRAD, put, put_buffer, sendable


class Tables:
    """What one pickle refers to: values in the order of their indices, and how they go onto the wire."""

    __slots__ = ("data", "follow", "layout", "rrefs", "seen", "sparse", "tensors")

    def __init__(self) -> None:
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
        hook = _seams.rref_hook
        if hook is not None and kind in hook.types:
            self.tables.rrefs.append(obj)
            return _rref, (len(self.tables.rrefs) - 1,)
        special = getattr(kind, "_reduce_in_rpc", None)  # objects that only calls may carry
        return self._other(obj) if special is None else special(obj)

    def _reduce_tensor(self, tensor: Tensor) -> Any:
        array = tensor._array
        tables = self.tables
        if not sendable(array):
            return _reduce_special(tables, tensor)
        tables.tensors.append(tensor)
        index = tables.add(TENSOR_GRAD if tensor._requires else TENSOR, array)
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
        tables.sparse.append(tensor)
        slots = tables.add(ARRAY, array.indices), tables.add(ARRAY, array.values)
        return _sparse, (type(array), *slots, tuple(array.shape), bool(array.is_coalesced), tensor._requires)
    return NotImplemented


_cloud_class: Any = None


def _cloud() -> Any:
    """cloudpickle's pickler with tables, imported when first needed."""
    global _cloud_class
    if _cloud_class is None:
        import cloudpickle

        class Cloud(_Reduce, cloudpickle.Pickler):
            def _other(self, obj: Any) -> Any:
                return cloudpickle.Pickler.reducer_override(self, obj)

        _cloud_class = Cloud
    return _cloud_class


def dumps(obj: Any) -> tuple[bytes, Tables]:
    """Pickle `obj`; the error of plain pickle is raised when cloudpickle cannot do it either."""
    try:
        return _dump(_Plain, obj)
    except Exception as plain_error:
        try:
            return _dump(_cloud(), obj)
        except Exception:
            raise plain_error from None


def _dump(cls: Any, obj: Any) -> tuple[bytes, Tables]:
    file = io.BytesIO()
    tables = Tables()
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
    if _loading.tensors is not None:
        _loading.tensors.append(made)
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
