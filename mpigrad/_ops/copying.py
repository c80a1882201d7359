"""Pickling and copying tensors: memory that several tensors share is kept shared, history is left behind."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .._device import CPU, device, device_of, host, move, resolve
from .._tensor import Tensor, method, wrap, wrap_as


def memory_of(array: Any) -> tuple[Any, int]:
    """The whole memory that an array is part of, and at which byte of it the array begins."""
    root = array
    while isinstance(root.base, np.ndarray) and not root.base.dtype.hasobject:
        root = root.base
    if root is array or not root.flags.forc:
        return array, 0
    return root, array.__array_interface__["data"][0] - root.__array_interface__["data"][0]


def array_in(memory: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], kind: str) -> Any:
    """An array inside the memory of another."""
    if memory.shape == shape and memory.strides == strides and memory.dtype.str == kind:
        return memory
    flat = memory.ravel(order="K").view(np.uint8)
    return np.ndarray(shape, np.dtype(kind), buffer=flat, offset=offset, strides=strides)


def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    array = self._array
    state = dict(self.__dict__)
    if self.is_sparse:
        return rebuild_sparse, (type(self), array, self._requires, state)
    here, array = device_of(array), host(array)
    memory, offset = memory_of(array)
    if not memory.flags.forc:
        memory = array = array.copy()
    place = (offset, array.shape, array.strides, array.dtype.str)
    return rebuild, (type(self), memory, place, str(here), self._requires, state)


def rebuild(
    cls: type[Tensor], memory: Any, place: tuple[Any, ...], where: str, requires_grad: bool, state: dict[str, Any]
) -> Tensor:
    """The tensor that `__reduce_ex__` took apart; `place` says where in `memory` its elements are."""
    array = array_in(memory, *place)
    if where != "cpu":
        array = move(array, resolve(device(where)))
    return finish(cls, array, requires_grad, state)


def rebuild_sparse(cls: type[Tensor], array: Any, requires_grad: bool, state: dict[str, Any]) -> Tensor:
    """A sparse tensor, from its array."""
    return finish(cls, array, requires_grad, state)


def finish(cls: type[Tensor], array: Any, requires_grad: bool, state: dict[str, Any]) -> Tensor:
    """A leaf around an array, with the attributes that users gave it."""
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
    made = finish(type(self), _copied(self._array, memo), self._requires, copy.deepcopy(self.__dict__, memo))
    memo[id(self)] = made
    if self._grad is not None:
        made._grad = copy.deepcopy(self._grad, memo)
    return made


def _copied(array: Any, memo: dict[int, Any]) -> Any:
    """A copy of an array; copies of arrays that share memory share theirs."""
    if device_of(array) != CPU or getattr(array, "is_sparse_array", False):
        return array.copy()
    memory, offset = memory_of(array)
    if not memory.flags.forc:
        return array.copy()
    return array_in(copy.deepcopy(memory, memo), offset, array.shape, array.strides, array.dtype.str)


method(_reduce, "__reduce_ex__")
method(_deepcopy, "__deepcopy__")

__all__: list[str] = []
