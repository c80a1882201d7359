"""How tensors and Python's own shared objects travel to processes of this host.

Tensors in shared memory travel as references. The others are shared first when a process is given them at its start, as PyTorch
does it; those that go through a queue or a pipe later are copied. Queues, locks, pipes and managers' proxies are Python's: it
pickles them only while it spawns a process, so `dumps_for_ranks` stands in for one, and their open files are served by Python's
`resource_sharer`.
"""

from __future__ import annotations

import io
import multiprocessing.context
from collections.abc import Callable, Iterator
from multiprocessing import resource_sharer
from multiprocessing.connection import Connection
from multiprocessing.managers import BaseManager, BaseProxy
from multiprocessing.queues import Queue, SimpleQueue
from multiprocessing.reduction import DupFd, ForkingPickler
from multiprocessing.sharedctypes import SynchronizedBase
from multiprocessing.synchronize import Barrier, Condition, Event, SemLock
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from mpigrad import _cloud_pickle
from mpigrad._array.shared import Reference, SharedBlock, attach, block_of_handle
from mpigrad._ops.tensor.pickling import array_in, finish, memory_of
from mpigrad._ops.tensor.sharing import block_of, share
from mpigrad._tensor import Tensor
from mpigrad.nn.parameter import Buffer, Parameter

PYTHONS = (
    Queue, SimpleQueue, SemLock, Condition, Event, Barrier, SynchronizedBase, Connection, BaseProxy, BaseManager,
)  # fmt: skip


class _Ranks:
    """Stands for the process that is being spawned while arguments of ranks are pickled."""

    def __init__(self) -> None:
        self.files = 0

    def duplicate_for_child(self, handle: int) -> int:
        self.files += 1
        return handle

    def DupFd(self, handle: int) -> Any:
        return resource_sharer.DupFd(handle)


def dumps_for_ranks(obj: Any, by_value: bool) -> tuple[bytes, bool]:
    """Pickle for ranks, with the program's own functions `by_value` or by name; and whether only one rank can load it."""
    ranks = _Ranks()
    multiprocessing.context.set_spawning_popen(ranks)  # type: ignore[attr-defined,arg-type]
    try:
        data = _cloud_pickle.dumps(obj, _extra_reducers()) if by_value else _dumps(obj)
    finally:
        multiprocessing.context.set_spawning_popen(None)  # type: ignore[attr-defined]
    return data, ranks.files > 0


def _extra_reducers() -> dict[type, Callable[..., Any]]:
    return ForkingPickler._extra_reducers  # type: ignore[attr-defined]


def _dumps(obj: Any) -> bytes:
    file = io.BytesIO()
    ForkingPickler(file, 5).dump(obj)
    return file.getvalue()


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """How a tensor travels: a reference to shared memory, or a copy."""
    if tensor._requires and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
            "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing "
            "(e.g., putting it on the queue)."
        )
    spawned = multiprocessing.context.get_spawning_popen()  # type: ignore[attr-defined]
    if tensor.is_sparse or tensor.is_cuda or spawned is None and block_of(tensor) is None:
        return tensor.__reduce_ex__(5)
    share([tensor])
    block = block_of(tensor)
    assert block is not None
    array = tensor._array
    place = (memory_of(array)[1], array.shape, array.strides, array.dtype.str)
    where = block.reference() if isinstance(spawned, _Ranks) else (DupFd(block.handle), block.size_of_data)
    return rebuild_tensor, (type(tensor), where, place, tensor._requires, dict(tensor.__dict__))


def rebuild_tensor(cls: type[Tensor], where: Any, place: tuple[Any, ...], requires_grad: bool, state: dict[str, Any]) -> Tensor:
    """The tensor that `reduce_tensor` has taken apart."""
    block = attach(where) if isinstance(where, Reference) else block_of_handle(where[0].detach(), where[1])
    return finish(cls, array_in(block.memory(), *place), requires_grad, state)


def init_reductions() -> None:
    """Let Python's processes and queues treat tensors so; importing `mpigrad.multiprocessing` does it.

    >>> import mpigrad.multiprocessing as mp
    >>> mp.init_reductions()
    """
    for cls in (Tensor, Parameter, Buffer):
        ForkingPickler.register(cls, reduce_tensor)


def _inside(obj: Any) -> Iterator[Any]:
    if isinstance(obj, dict):
        yield from obj.values()
    elif isinstance(obj, (list, tuple, set, frozenset)):
        yield from obj
    elif not isinstance(obj, (type, ModuleType, FunctionType, np.ndarray, str, bytes, int, float)):
        yield from getattr(obj, "__dict__", {}).values()


def reachable(obj: Any) -> Iterator[Any]:
    """Objects in containers and attributes below one, each once, in an order that is the same in all ranks of a program."""
    seen: dict[int, Any] = {}
    left = [obj]
    while left:
        obj = left.pop()
        if id(obj) not in seen:
            seen[id(obj)] = obj
            yield obj
            left += reversed(list(_inside(obj)))


def shared_blocks(obj: Any) -> list[SharedBlock]:
    """The blocks of all shared tensors below an object, each once."""
    blocks = (block_of(each) for each in reachable(obj) if isinstance(each, Tensor) and not each.is_sparse)
    return list(dict.fromkeys(block for block in blocks if block is not None))


def of_python(obj: Any) -> Any:
    """The first of Python's queues, locks, pipes and proxies below an object, or None."""
    return next((each for each in reachable(obj) if isinstance(each, PYTHONS)), None)
