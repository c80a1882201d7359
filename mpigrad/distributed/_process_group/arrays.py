"""Collectives on arrays that return new arrays, for the differentiable collectives and their gradients.

Small arrays on the host are passed to MPI directly: the general path, with tensors and a `Work`, takes ten times as long as MPI
itself. Ranks of a group may take different paths (a gradient may be contiguous on some of them only), so both paths start the
same operation of MPI with the same types. `found` is the group, and `root` a rank in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mpigrad._core.tensor import wrap
from mpigrad._settings import are_deterministic_algorithms_enabled

from .. import _mpi
from . import collectives as plain
from .agreement import seconds_to_agree
from .buffers import as_bytes, in_pieces
from .groups import ProcessGroup
from .reduce_op import ReduceOp
from .work import run_to_end

_SMALL = 1 << 16  # bytes; for larger arrays the time that the direct path saves does not matter
_FLOATS = "fdFD"  # MPI adds these in any order, so not if the same bits in every run were asked for


def _at_once(array: Any, found: ProcessGroup) -> bool:
    """Return whether the direct path will do: no check across ranks, copy, CUDA stream or error of dead ranks is needed."""
    return (
        array.__class__ is np.ndarray and array.nbytes < _SMALL and array.flags.c_contiguous and found.watch is None
        and seconds_to_agree(found) is None
    )  # fmt: skip


def _moved(name: str, found: ProcessGroup, start: Callable[..., Any], given: Any, made: Any, *root: int) -> Any:
    """Run an operation that moves bytes from `given` to `made`, which it returns.

    `start(given, made, *root)` starts it and returns an MPI request; None stands for a buffer that only the root has.
    """
    ends = [None if each is None else as_bytes(each) for each in (given, made)]
    run_to_end(name, found, lambda: start(*ends, *root), (given, made))
    return made


def _adds_at_once(array: Any, op: ReduceOp, found: ProcessGroup) -> bool:
    """Return whether the direct path will do for a reduction: a sum or average of floats, in any order."""
    return (
        (op is ReduceOp.SUM or op is ReduceOp.AVG) and _at_once(array, found) and array.dtype.char in _FLOATS
        and not are_deterministic_algorithms_enabled()
    )  # fmt: skip


def _added(
    name: str, found: ProcessGroup, start: Callable[..., Any], given: Any, made: Any, op: ReduceOp, *root: int
) -> Any:
    """Run an operation that adds the elements of `given` into `made`, and return `made`; `start` as in `_moved`."""
    run_to_end(name, found, lambda: start(given, made, _mpi.mpi().SUM, *root), (given, made))
    if op is ReduceOp.AVG and made is not None:
        made /= found.size()
    return made


def _empty(array: Any, shape: Sequence[int]) -> Any:
    """Return an uninitialised tensor of this shape, with the type and device of the array."""
    return wrap(array).new_empty(tuple(shape))


def all_reduced(array: Any, op: ReduceOp, found: ProcessGroup) -> Any:
    """Return the reduction of the arrays of all ranks."""
    if _adds_at_once(array, op, found):
        return _added("all_reduce", found, found.comm.Iallreduce, array, np.empty(array.shape, array.dtype), op)
    made = wrap(array.copy())
    plain.all_reduce_dense(made, op, found)
    return made._array


def reduced(array: Any, root: int, op: ReduceOp, found: ProcessGroup) -> Any:
    """Return, on the root, the reduction of the arrays of all ranks; on other ranks a copy of `array`."""
    if _adds_at_once(array, op, found):
        made = np.empty(array.shape, array.dtype) if found.rank() == root else None
        _added("reduce", found, found.comm.Ireduce, array, made, op, root)
        return array.copy() if made is None else made
    tensor = wrap(array.copy())
    plain.reduce(tensor, op=op, group=found, group_dst=root)
    return tensor._array


def reduce_scattered(array: Any, op: ReduceOp, found: ProcessGroup) -> Any:
    """Reduce the arrays of all ranks and return one row of the result: the one whose index is this rank."""
    if _adds_at_once(array, op, found):
        made: Any = np.empty(array.shape[1:], array.dtype)
        return _added("reduce_scatter", found, found.comm.Ireduce_scatter_block, array, made, op)
    tensor = _empty(array, array.shape[1:])
    plain.reduce_scatter_tensor(tensor, wrap(array), op, found)
    return tensor._array


def all_gathered(array: Any, found: ProcessGroup) -> Any:
    """Return an array whose rows are the arrays of all ranks."""
    if _at_once(array, found):
        made: Any = np.empty((found.size(), *array.shape), array.dtype)
        return _moved("all_gather", found, found.comm.Iallgather, array, made)
    tensor = _empty(array, (found.size(), *array.shape))
    plain.all_gather_into_tensor(tensor, wrap(array), found)
    return tensor._array


def broadcasted(array: Any, root: int, found: ProcessGroup) -> Any:
    """Return a copy of the root's array; on other ranks `array` only gives shape and type."""
    tensor = wrap(array.copy(order="C"))
    if _at_once(tensor._array, found):
        run_to_end("broadcast", found, lambda: found.comm.Ibcast(as_bytes(tensor._array), root), tensor._array)
    else:
        plain.broadcast(tensor, group=found, group_src=root)
    return tensor._array


def gathered(array: Any, root: int, found: ProcessGroup) -> Any:
    """Return, on the root, an array whose rows are the arrays of all ranks; on other ranks zeros of that shape."""
    mine, shape = found.rank() == root, (found.size(), *array.shape)
    if _at_once(array, found):
        made = np.empty(shape, array.dtype) if mine else None
        _moved("gather", found, found.comm.Igather, array, made, root)
        return np.zeros(shape, array.dtype) if made is None else made
    tensor = _empty(array, shape)
    plain.gather(wrap(array), list(tensor.unbind(0)) if mine else None, group=found, group_dst=root)
    return tensor._array if mine else tensor.zero_()._array


def scattered(rows: Any, root: int, found: ProcessGroup) -> Any:
    """Return one row of the root's array: the one whose index is this rank. On other ranks `rows` only gives shape and type."""
    mine = found.rank() == root
    if _at_once(rows, found):
        made: Any = np.empty(rows.shape[1:], rows.dtype)
        return _moved("scatter", found, found.comm.Iscatter, rows if mine else None, made, root)
    tensor = _empty(rows, rows.shape[1:])
    plain.scatter(tensor, list(wrap(rows).unbind(0)) if mine else None, group=found, group_src=root)
    return tensor._array


def exchanged(array: Any, given: Any, wanted: Any, shape: Sequence[int], found: ProcessGroup) -> Any:
    """Send a piece of the array to each rank; returns an array of `shape` with the pieces from all ranks.

    `given` and `wanted` are the lengths, along the first dimension, of the pieces that this rank sends and receives; None
    for equal ones.
    """
    if _at_once(array, found):
        made: Any = np.empty(shape, array.dtype)
        ends = (
            in_pieces(each, plain.bytes_of_pieces(each, sizes, found.size(), what))
            for each, sizes, what in ((array, given, "input"), (made, wanted, "output"))
        )
        run_to_end("all_to_all", found, lambda: found.comm.Ialltoallv(*ends), (array, made))
        return made
    tensor = _empty(array, shape)
    plain.all_to_all_single(tensor, wrap(array), wanted, given, found)
    return tensor._array
