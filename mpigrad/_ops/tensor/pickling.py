"""Pickling and copying of tensors: tensors that share memory still do so afterwards; the graph is not kept."""

from __future__ import annotations

import copy
import weakref
from typing import Any

import numpy as np

from mpigrad._array.device import CPU, array_module, device, device_of, guard, host, move, pointer, resolve
from mpigrad._array.dtype import of_text, text_of
from mpigrad._array.sparse.array import SparseArray
from mpigrad._core.tensor import wrap, wrap_as
from mpigrad._tensor import Tensor, method


def memory_of(array: Any) -> tuple[Any, int]:
    """The memory block of an array, and the byte offset of the array in it."""
    root = array
    # NumPy's `base` may point to another view: follow it to the array that owns the memory
    while isinstance(root.base, type(array)) and not (root.base.dtype.hasobject or root.base.dtype.names):
        root = root.base
    if root is array or not root.flags.forc:
        return array, 0
    return root, pointer(array) - pointer(root)


def array_in(memory: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], kind: str) -> Any:
    """An array that is a view of `memory`, at this offset in bytes, with this shape, strides and element type."""
    if memory.shape == shape and memory.strides == strides and text_of(memory.dtype) == kind:
        return memory
    flat = memory.ravel(order="K").view(np.uint8)
    if isinstance(flat, np.ndarray):
        return np.ndarray(shape, of_text(kind), buffer=flat, offset=offset, strides=strides)
    item = of_text(kind).itemsize
    rest = flat[offset : offset + (flat.size - offset) // item * item].view(of_text(kind))
    return array_module(flat).lib.stride_tricks.as_strided(rest, shape, strides)


class DeviceMemory:
    """GPU memory in a pickle, as a NumPy array. One object per memory block, so that pickle stores each once."""

    __slots__ = ("__weakref__", "memory")
    _known: weakref.WeakValueDictionary[tuple[Any, ...], DeviceMemory] = weakref.WeakValueDictionary()

    @classmethod
    def of(cls, memory: Any) -> DeviceMemory:
        """The `DeviceMemory` that represents this memory block; the same object as long as there are references to it."""
        key = (device_of(memory), pointer(memory), memory.nbytes, text_of(memory.dtype), memory.shape, memory.strides)
        found = cls._known.get(key)
        if found is None:
            found = cls._known[key] = cls()
            found.memory = memory
        return found

    memory: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return host_memory, (host(self.memory),)


def host_memory(memory: np.ndarray) -> np.ndarray:
    """Called when a `DeviceMemory` is loaded; `on_place` moves it to a device."""
    return memory


_moved: dict[tuple[int, device], tuple[Any, Any]] = {}  # (id of a host's memory, place): (weak reference, its copy there)


def on_place(memory: Any, place: device) -> Any:
    """Copy host memory to a device; the copy is shared as long as the host memory exists."""
    if place is CPU:
        return memory
    key = id(memory), place
    found = _moved.get(key)
    if found is None or found[0]() is not memory:
        found = weakref.ref(memory, lambda _: _moved.pop(key, None)), move(memory, place)
        _moved[key] = found
    return found[1]


def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    array = self._array
    state = dict(self.__dict__)
    here = device_of(array)
    if self.is_sparse:
        parts = array if here is CPU else _device_parts(array)
        return rebuild_sparse, (type(self), parts, self._requires, state, str(here))
    memory, offset = memory_of(array)
    if not memory.flags.forc:
        with guard(array):
            memory = array = array.copy()
    place = (offset, array.shape, array.strides, text_of(array.dtype))
    kept = memory if here is CPU else DeviceMemory.of(memory)
    return rebuild, (type(self), kept, place, str(here), self._requires, state)


def rebuild(
    cls: type[Tensor], memory: Any, place: tuple[Any, ...], where: str, requires_grad: bool, state: dict[str, Any]
) -> Tensor:
    """Rebuild a tensor from the arguments of `__reduce_ex__`; `place` is the position of its elements in `memory`."""
    if isinstance(memory, DeviceMemory):  # copy.copy: nothing was pickled
        memory = memory.memory
    elif where != "cpu":
        memory = on_place(memory, resolve(device(where)))
    return finish(cls, array_in(memory, *place), requires_grad, state)


def _device_parts(array: SparseArray) -> tuple[Any, ...]:
    """The arguments of `SparseArray` for a sparse array on a GPU."""
    with guard(array.values):
        parts = [each if each.flags.forc else each.copy() for each in (array.indices, array.values)]
    return (*map(DeviceMemory.of, parts), array.shape, array.is_coalesced)


def rebuild_sparse(cls: type[Tensor], parts: Any, requires_grad: bool, state: dict[str, Any], where: str = "cpu") -> Tensor:
    """Rebuild a sparse tensor from a pickle or for `copy.copy`.

    `parts` is its `SparseArray` or, if it was on the GPU `where`, the tuple of `_device_parts`.
    """
    if where == "cpu":
        return finish(cls, parts, requires_grad, state)
    indices, values, shape, coalesced = parts
    if isinstance(indices, DeviceMemory):  # copy.copy: nothing was pickled
        indices, values = indices.memory, values.memory
    else:
        indices, values = (on_place(each, resolve(device(where))) for each in (indices, values))
    return finish(cls, SparseArray(indices, values, shape, coalesced), requires_grad, state)


def finish(cls: type[Tensor], array: Any, requires_grad: bool, state: dict[str, Any]) -> Tensor:
    """A leaf tensor of class `cls` around an array, with the attributes `state` that a user had set."""
    made = wrap(array) if cls is Tensor else wrap_as(cls, array)
    made._requires = requires_grad
    if state:
        made.__dict__.update(state)
    return made


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    found = memo.get(id(self))
    if found is not None:
        return found
    if self.grad_fn is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
            "moment.  If you "
            "were attempting to deepcopy a module, this may be because one of its attributes was computed from "
            "its parameters."
        )
    with guard(self._array):
        array = _copied(self._array, memo)
    made = finish(type(self), array, self._requires, copy.deepcopy(self.__dict__, memo))
    memo[id(self)] = made
    if self._grad is not None:
        made._grad = copy.deepcopy(self._grad, memo)
    return made


def _copied(array: Any, memo: dict[int, Any]) -> Any:
    """A copy of an array; copies of arrays that share memory share their memory, too."""
    if getattr(array, "is_sparse_array", False):
        return array.copy()
    memory, offset = memory_of(array)
    if not memory.flags.forc:
        return array.copy()
    # the memo contains the copy of each block, so two tensors that share memory share the copy, too
    return array_in(copy.deepcopy(memory, memo), offset, array.shape, array.strides, text_of(array.dtype))


method(_reduce, "__reduce_ex__")
method(_deepcopy, "__deepcopy__")

__all__: list[str] = []
