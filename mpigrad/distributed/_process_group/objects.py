"""Collectives on Python objects: the lengths of the pickles are exchanged first, then the pickles.

Arguments of all functions: `group` is a `ProcessGroup`, by default the default group; all its ranks must call the function, and
on other ranks a collective does nothing. `src` and `dst` are global ranks, `group_src` and `group_dst` the ranks in the group; a
call gives one of the two. A collective with neither uses global rank 0. Objects must be picklable.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from mpigrad import _cloud_pickle
from mpigrad._core.tensor import wrap

from . import collectives as c
from . import point_to_point as m
from .groups import ProcessGroup, resolve, root_of


def _dump(value: Any) -> np.ndarray:
    """Return the pickle of an object as an array of bytes; cloudpickle makes it for lambdas, local functions and the like."""
    try:
        data = pickle.dumps(value, 5)
    except Exception:
        data = _cloud_pickle.dumps(value)
    return np.frombuffer(data, np.uint8)


def _load(data: Any) -> Any:
    return pickle.loads(data.tobytes())


def _lengths(found: ProcessGroup, mine: int) -> list[int]:
    """Return the numbers `mine` of all ranks, in order: the lengths of their pickles."""
    made = wrap(np.empty(found.size(), np.int64))
    c.all_gather_into_tensor(made, wrap(np.array([mine], np.int64)), found)
    return made._array.tolist()


def _exchange(found: ProcessGroup, sent: list[np.ndarray], lengths: list[int]) -> list[np.ndarray]:
    """Send the i-th array of bytes to rank i; returns the arrays from all ranks, of which the i-th has `lengths[i]` bytes."""
    # all_to_all also for gather and scatter: pickles have different lengths, and those that are not needed have length 0
    parts = [wrap(np.empty(length, np.uint8)) for length in lengths]
    c.all_to_all(parts, [wrap(each) for each in sent], found)
    return [part._array for part in parts]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Collect the objects of all ranks in `object_list`, on every rank; its i-th element becomes the `obj` of rank i.

    All ranks of `group` (by default the default group) must call it; it waits for the result, and raises a RuntimeError
    after the group's timeout. Objects are pickled, so only use it between processes that trust each other.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> found = [None] * dist.get_world_size()
    >>> dist.all_gather_object(found, {"rank": dist.get_rank()})
    >>> found
    [{'rank': 0}]
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return
    data = _dump(obj)
    parts = _exchange(found, [data] * found.size(), _lengths(found, data.size))
    object_list[: found.size()] = [_load(part) for part in parts]


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Collect the objects of all ranks in the `object_gather_list` of rank `dst`.

    `dst` is a global rank, `group_dst` the rank in the group instead; global rank 0 if neither is given. The first elements
    of the list are replaced, one for each rank of the group. Other ranks need no list.

    All ranks of `group` (by default the default group) must call it; it waits for the result, and raises a RuntimeError
    after the group's timeout. Objects are pickled, so only use it between processes that trust each other.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> found = [None]
    >>> dist.gather_object("from 0", found, dst=0)
    >>> found
    ['from 0']
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return
    root = root_of(found, dst, group_dst, "dst")
    mine = found.rank() == root
    if mine and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    data = _dump(obj)
    lengths = _lengths(found, data.size)
    sent = [data if rank == root else data[:0] for rank in range(found.size())]
    parts = _exchange(found, sent, [length if mine else 0 for length in lengths])
    if mine and object_gather_list is not None:
        object_gather_list[: found.size()] = [_load(part) for part in parts]


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Copy the objects in the list of one rank into the lists of all ranks, in place.

    The sender is the global rank `src`, or the rank `group_src` of the group, by default global rank 0. RuntimeError if the lists
    have different lengths; `device` is ignored.

    All ranks of `group` (by default the default group) must call it; it waits for the result, and raises a RuntimeError
    after the group's timeout. Objects are pickled, so only use it between processes that trust each other.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> settings = [{"lr": 0.1}]
    >>> dist.broadcast_object_list(settings, src=0)
    >>> settings
    [{'lr': 0.1}]
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return
    root = root_of(found, src, group_src, "src")
    mine = found.rank() == root
    data = _dump(list(object_list)) if mine else None
    length = wrap(np.array([0 if data is None else data.size], np.int64))
    c.broadcast(length, group=found, group_src=root)
    buffer = wrap(np.empty(int(length._array[0]), np.uint8) if data is None else data)
    c.broadcast(buffer, group=found, group_src=root)
    if not mine:
        received = _load(buffer._array)
        if len(received) != len(object_list):
            raise RuntimeError(
                f"broadcast_object_list: rank {root} of the group sent {len(received)} objects, "
                f"this rank has room for {len(object_list)}"
            )
        object_list[:] = received


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Send to each rank one object of the input list of one rank.

    The sender is the global rank `src`, or the rank `group_src` of the group, by default global rank 0. Rank i of the group gets
    the i-th object of the sender's `scatter_object_input_list` as the first element of its `scatter_object_output_list`, which
    must not be empty.

    All ranks of `group` (by default the default group) must call it; it waits for the result, and raises a RuntimeError
    after the group's timeout. Objects are pickled, so only use it between processes that trust each other.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> mine = [None]
    >>> dist.scatter_object_list(mine, ["for 0"], src=0)
    >>> mine
    ['for 0']
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = root_of(found, src, group_src, "src")
    given: list[np.ndarray] = []
    if found.rank() == root:
        if scatter_object_input_list is None or len(scatter_object_input_list) != found.size():
            raise ValueError(f"scatter_object_input_list must have one object per rank of the group: {found.size()}")
        given = [_dump(each) for each in scatter_object_input_list]
    lengths = wrap(np.array([each.size for each in given] or [0] * found.size(), np.int64))
    c.broadcast(lengths, group=found, group_src=root)
    mine = int(lengths._array[found.rank()])
    sent = given or [np.empty(0, np.uint8)] * found.size()
    parts = _exchange(found, sent, [mine if rank == root else 0 for rank in range(found.size())])
    scatter_object_output_list[0] = _load(parts[root])


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send a list of objects, pickled, to the global rank `dst` (or the rank `group_dst` of the group), which calls
    `recv_object_list`.

    `device` and `use_batch` are accepted as in PyTorch and ignored.
    """
    data = _dump(list(object_list))
    m.send(wrap(np.array([data.size], np.int64)), dst, group, 0, group_dst)
    m.send(wrap(data), dst, group, 0, group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive what `send_object_list` sent, from the global rank `src` (or the rank `group_src` of the group); waits for it.

    The contents of `object_list` are replaced. With neither rank given, receive from any rank. Returns the sender's global
    rank. `device` and `use_batch` are ignored.
    """
    if resolve(group) is None:
        raise ValueError("Invalid process group specified")
    length = wrap(np.empty(1, np.int64))
    sender = m.recv(length, src, group, 0, group_src)  # the pickle must come from the same rank as its length
    buffer = wrap(np.empty(int(length._array[0]), np.uint8))
    m.recv(buffer, sender, group)
    object_list[:] = _load(buffer._array)
    return sender
