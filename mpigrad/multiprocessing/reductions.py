"""How tensors and Python's shared objects are sent to processes of this host.

Tensors in shared memory are sent as references. Other tensors are moved to shared memory if they are arguments of a new process,
as in PyTorch; those sent through a queue or a pipe later are copied. Python pickles its queues, locks, pipes and proxies only
while it spawns a process, so `dumps_for_ranks` imitates that, and Python's `resource_sharer` serves their open files.
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
    """Imitates a process that is being spawned, while arguments of ranks are pickled."""

    def __init__(self) -> None:
        self.files = 0

    def duplicate_for_child(self, handle: int) -> int:
        self.files += 1
        return handle

    def DupFd(self, handle: int) -> Any:
        return resource_sharer.DupFd(handle)


def dumps_for_ranks(obj: Any, by_value: bool) -> tuple[bytes, bool]:
    """Pickle for ranks, with the program's functions `by_value` or by name; also returns whether only one rank can load it."""
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
    """How to pickle a tensor for a process of this host: as a reference to shared memory, or as a copy."""
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
    # a file descriptor can be sent once, to one process; a reference can be opened by all ranks
    where = block.reference() if isinstance(spawned, _Ranks) else (DupFd(block.handle), block.size_of_data)
    return rebuild_tensor, (type(tensor), where, place, tensor._requires, dict(tensor.__dict__))


def rebuild_tensor(cls: type[Tensor], where: Any, place: tuple[Any, ...], requires_grad: bool, state: dict[str, Any]) -> Tensor:
    """Make the tensor that `reduce_tensor` has described, in the receiving process."""
    block = attach(where) if isinstance(where, Reference) else block_of_handle(where[0].detach(), where[1])
    return finish(cls, array_in(block.memory(), *place), requires_grad, state)


def init_reductions() -> None:
    """Tell Python's multiprocessing how to send tensors to other processes; called when `mpigrad.multiprocessing` is imported.

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
    """All objects in containers and attributes of an object, each once, in an order that is the same on all ranks."""
    seen: dict[int, Any] = {}
    left = [obj]
    while left:
        obj = left.pop()
        if id(obj) not in seen:
            seen[id(obj)] = obj
            yield obj
            # reversed, as the stack returns the last one first: depth first, in the order of the containers
            left += reversed(list(_inside(obj)))


def shared_blocks(obj: Any) -> list[SharedBlock]:
    """The memory blocks of all shared tensors inside an object, each once."""
    blocks = (block_of(each) for each in reachable(obj) if isinstance(each, Tensor) and not each.is_sparse)
    return list(dict.fromkeys(block for block in blocks if block is not None))


def of_python(obj: Any) -> Any:
    """The first of Python's queues, locks, pipes and proxies inside an object, or None."""
    return next((each for each in reachable(obj) if isinstance(each, PYTHONS)), None)
