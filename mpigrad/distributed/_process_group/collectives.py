"""Collectives on tensors: barrier, broadcast, reduce, gather, scatter and all-to-all, on MPI's non-blocking collectives.

Arguments of all functions: `group` is a `ProcessGroup`, by default the default group; all its ranks must call the function, and
on other ranks it does nothing. `src` and `dst` are global ranks, `group_src` and `group_dst` the ranks in the group; a call gives
one of the two (`gather` and `scatter` with neither use global rank 0). With `async_op` a function returns a `Work` at once, and
its result is there when `Work.wait` returns; otherwise it waits, and returns None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from mpigrad._array.device import guard, is_loaded
from mpigrad._settings import are_deterministic_algorithms_enabled
from mpigrad._tensor import Tensor

from .. import _mpi
from .._mpi import mpi_turn
from .agreement import agree, seconds_to_agree
from .buffers import (
    arrived,
    as_bytes,
    check_list,
    check_tensor,
    in_pieces,
    incoming,
    joined,
    may_share,
    outgoing,
    same_shape,
    same_type,
    settle,
    space,
    stacked,
    typed,
)
from .finish_on_streams import finish_on_streams
from .groups import ProcessGroup, place_of, resolve, root_of
from .on_one_host import RingSum, suits
from .reduce_op import ReduceOp, operation
from .work import Work, run_to_end


def _start(
    name: str, found: ProcessGroup, begin: Callable[[], Any], finish: Callable[[], Any] | None, keep: Any, async_op: bool,
    gives: Sequence[Tensor] = (), timeout: timedelta | None = None, alike: Any = None,
) -> Work | None:  # fmt: skip
    """Start an operation of the group `found`, and wait for it unless `async_op`; returns a `Work` or None.

    Args:
        name: of the operation, for error messages.
        begin: starts it and returns an MPI request.
        finish: copies the results into tensors; None if that is not needed.
        keep: the buffers that MPI uses meanwhile.
        gives: the tensors with the result.
        timeout: by default that of the group.
        alike: what must be the same on all ranks, for the check in `agreement.py`; None for messages between two ranks.
    """
    if alike is not None and (seconds := seconds_to_agree(found)) is not None:
        agree(found, _described(name, *alike), seconds)
    settle(keep)  # after the check, during which the GPU could compute
    if not async_op:
        run_to_end(name, found, begin, keep, timeout)
        if finish is not None:
            finish()
        return None
    with mpi_turn():
        request = found.begin(name, begin)

    def ended(_: Work) -> list[Tensor]:
        if finish is not None:
            finish()
        return list(gives)

    work = Work(name, request, ended, (timeout or found.timeout).total_seconds(), keep)
    if is_loaded():
        finish_on_streams(work)
    return work


def _described(name: str, tensor: Any = None, *rest: Any) -> str:
    """Return the description of a collective for `agree`. `tensor` may be a dtype, if shapes may differ between ranks."""
    if tensor is None:
        return name
    kind = f"a {tensor.dtype} of shape {list(tensor.shape)}" if hasattr(tensor, "shape") else str(tensor)
    return ", ".join([f"{name} of {kind}", *map(str, rest)])


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None) -> Work | None:
    """Wait until all ranks of the group have called this; with `async_op`, return a `Work` at once, whose `wait` does that.

    A RuntimeError is raised after `timeout` (a `timedelta`, by default that of the group). `device_ids` is ignored.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.barrier()
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return None
    return _start("barrier", found, found.comm.Ibarrier, None, None, async_op, timeout=timeout, alike=())


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Copy the `tensor` of one rank into the `tensor` of every rank.

    The sender is the global rank `src`, or the rank `group_src` of the group. All tensors have the same shape and type.

    All ranks of `group` (by default the default group) must call it. It waits for the result, and raises a RuntimeError
    after the group's timeout; with `async_op` it returns a `Work` at once, whose `wait` does that.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> x = mpigrad.ones(2)
    >>> dist.broadcast(x, src=0)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return None
    root = place_of(found, src, group_src, "src")
    mine = found.rank() == root
    buffer = outgoing(tensor) if mine else incoming(tensor)
    return _start(
        "broadcast", found, lambda: found.comm.Ibcast(as_bytes(buffer), root),
        None if mine else lambda: arrived(tensor, buffer), buffer, async_op, [tensor], alike=(tensor, f"root {root}"),
    )  # fmt: skip


# types without a portable MPI reduction are converted for the reduction
_REDUCIBLE = "fdFDbBhHiIlLqQ"  # NumPy's codes of the element types that every MPI can reduce
_WIDER: dict[str, Any] = {"float16": np.dtype("f4"), "bfloat16": np.dtype("f4"), "bool": np.dtype("u1")}


def _for_reduction(tensor: Tensor) -> Any:
    """Return the tensor's elements in contiguous memory, in a type that MPI can reduce."""
    array = outgoing(tensor)
    if array.dtype.char in _REDUCIBLE:
        return array
    with guard(array):
        return array.astype(_WIDER.get(array.dtype.name, array.dtype), copy=False)


def _needs_order(op: ReduceOp, kind: Any) -> bool:
    """Return whether the terms of a reduction must be combined in the order of ranks.

    They must if `use_deterministic_algorithms` is on and the result, on elements of type `kind`, depends on the order.
    """
    return are_deterministic_algorithms_enabled() and kind.kind in "fc" and op in _ORDERED


_ORDERED = (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT)


def _ordered_reduction(
    name: str, found: ProcessGroup, output: Tensor, given: Any, op: ReduceOp, async_op: bool, *root: int
) -> Work | None:
    """Reduce as `_reduction` does, but in the order of ranks: the result has the same bits in every run.

    It gathers the terms of all ranks and combines them itself.
    """
    mine, size, comm = not root or root[0] == found.rank(), found.size(), found.comm  # `mine`: this rank gets a result
    scattered = given.size != output._array.size or name == "reduce_scatter"
    given = given.reshape(size, -1) if scattered else given.reshape(1, -1)
    rows: Any = space((size, given.shape[1]), given.dtype, given) if mine else None

    def begin() -> Any:
        if root:
            return comm.Igather(as_bytes(given), None if rows is None else as_bytes(rows), root[0])
        return (comm.Ialltoall if scattered else comm.Iallgather)(as_bytes(given), as_bytes(rows))

    def finish() -> None:
        with guard(rows):
            made = rows[0].copy()
            for row in rows[1:]:
                if op is ReduceOp.PRODUCT:
                    made *= row
                else:
                    made += row
            if op is ReduceOp.AVG:
                made /= size
            arrived(output, made.reshape(output._array.shape).astype(output._array.dtype, copy=False))

    operation(op, output._array.dtype)  # raises the errors of types that have no such reduction
    return _start(
        name, found, begin, finish if mine else None, (given, rows), async_op, [output],
        alike=(output, op.name, *(f"root {rank}" for rank in root)),
    )  # fmt: skip


def _reduction(
    name: str, found: ProcessGroup, output: Tensor, given: Any, op: ReduceOp, begin: Callable[..., Any], async_op: bool,
    *root: int,
) -> Work | None:  # fmt: skip
    """Start a reduction of the arrays `given` of all ranks, with the result in `output`; with a root, only on that rank.

    `begin(given, result, operation, *root)` starts it and returns an MPI request. The memory of `output` is used if it is
    contiguous and has the type of `given`; if it is the memory of `given` as well, MPI reduces in place.
    """
    if _needs_order(op, given.dtype):
        return _ordered_reduction(name, found, output, given, op, async_op, *root)
    mine = not root or root[0] == found.rank()
    kind = output._array.dtype
    how = operation(op, kind)
    made: Any
    own = incoming(output) if mine and kind == given.dtype else None
    in_place = own is not None and own is given
    # MPI forbids that input and output overlap unless they are the same.
    if own is None or own is not output._array or not in_place and may_share(own, given):
        made, in_place = space(output._array.shape, given.dtype, given) if mine else None, False
    else:
        made = own

    around = name == "all_reduce" and suits(found, given, op)  # by messages around a ring, which is faster within a host

    def finish() -> None:
        with guard(made):
            if op is ReduceOp.AVG and not around:
                made[...] /= found.size()
            arrived(output, made.astype(kind, copy=False))

    def start() -> Any:
        if around:
            return RingSum(found, given, made, op is ReduceOp.AVG)
        return begin(_mpi.mpi().IN_PLACE if in_place else typed(given), typed(made) if mine else None, how, *root)

    return _start(
        name, found, start, finish if mine else None, (given, made), async_op, [output],
        alike=(output, op.name, *(f"root {rank}" for rank in root)),
    )  # fmt: skip


def all_reduce_dense(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """`all_reduce` for dense tensors."""
    if (found := resolve(group)) is None:
        return None
    return _reduction("all_reduce", found, tensor, _for_reduction(tensor), op, found.comm.Iallreduce, async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce the tensors of all ranks, element by element; one rank gets the result in its `tensor`.

    `op` is a `ReduceOp`. The result is on the global rank `dst`, or the rank `group_dst` of the group; tensors of other
    ranks are not changed.

    All ranks of `group` (by default the default group) must call it. It waits for the result, and raises a RuntimeError
    after the group's timeout; with `async_op` it returns a `Work` at once, whose `wait` does that.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> x = mpigrad.ones(2)
    >>> dist.reduce(x, dst=0, op=dist.ReduceOp.MAX)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return None
    root = place_of(found, dst, group_dst, "dst")
    return _reduction("reduce", found, tensor, _for_reduction(tensor), op, found.comm.Ireduce, async_op, root)


def _rows(size: int, like: Any) -> Any:
    return space((size, *like.shape), like.dtype, like)


def _into_list(tensors: Sequence[Tensor], rows: Any) -> None:
    for tensor, row in zip(tensors, rows):
        arrived(tensor, row)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Collect the tensors of all ranks in `tensor_list`, on every rank.

    `tensor_list` has one tensor for each rank, which is overwritten: `tensor_list[i]` must have the shape of the `tensor` of rank
    i. The shapes of different ranks may differ.

    All ranks of `group` (by default the default group) must call it. It waits for the result, and raises a RuntimeError
    after the group's timeout; with `async_op` it returns a `Work` at once, whose `wait` does that.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> made = [mpigrad.zeros(2)]
    >>> dist.all_gather(made, mpigrad.ones(2))
    >>> made
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return None
    check_list(tensor_list, found.size(), "tensor_list")
    check_tensor(tensor)
    # the shapes of other ranks differ, but that of this rank fits: meant so, and no mistake that `same_shape` should report
    if any(each.shape != tensor.shape for each in tensor_list) and tensor_list[found.rank()].shape == tensor.shape:
        return _all_gather_uneven(tensor_list, tensor, found, async_op)
    same_shape(tensor_list, tensor, "all_gather")
    given = outgoing(tensor)
    rows = _rows(found.size(), given)
    return _start(
        "all_gather", found, lambda: found.comm.Iallgather(as_bytes(given), as_bytes(rows)),
        lambda: _into_list(tensor_list, rows), (given, rows), async_op, tensor_list, alike=(tensor,),
    )  # fmt: skip


def _all_gather_uneven(tensors: list[Tensor], tensor: Tensor, found: ProcessGroup, async_op: bool) -> Work | None:
    """`all_gather` for tensors of different shapes."""
    same_type(tensors, tensor)
    given, counts = outgoing(tensor), [each._array.nbytes for each in tensors]
    made = space((sum(counts),), np.uint8, given)
    return _start(
        "all_gather", found, lambda: found.comm.Iallgatherv(as_bytes(given), in_pieces(made, counts)),
        lambda: _cut_up(made, tensors), (given, made), async_op, tensors, alike=(tensor.dtype,),
    )  # fmt: skip


def _cut_up(buffer: Any, tensors: Sequence[Tensor]) -> None:
    """Copy a buffer of bytes into tensors, one after the other."""
    start = 0
    for tensor in tensors:
        array = tensor._array
        with guard(buffer):
            part = buffer[start : start + array.nbytes].copy().view(array.dtype)
        start += array.nbytes
        arrived(tensor, part)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Collect the `input_tensor` of all ranks in one tensor, one after the other along its first dimension, on every rank.

    `output_tensor` has as many elements as all inputs together, or a ValueError is raised.

    All ranks of `group` (by default the default group) must call it. It waits for the result, and raises a RuntimeError
    after the group's timeout; with `async_op` it returns a `Work` at once, whose `wait` does that.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> made = mpigrad.zeros(2)
    >>> dist.all_gather_into_tensor(made, mpigrad.ones(2))
    >>> made
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return None
    same_type([output_tensor], input_tensor)
    if output_tensor.numel() != input_tensor.numel() * found.size():
        raise ValueError(
            f"output tensor size must be equal to world_size times input tensor size: {output_tensor.numel()} elements for "
            f"{found.size()} x {input_tensor.numel()}"
        )
    given, made = outgoing(input_tensor), incoming(output_tensor)
    return _start(
        "all_gather_into_tensor", found, lambda: found.comm.Iallgather(as_bytes(given), as_bytes(made)),
        lambda: arrived(output_tensor, made), (given, made), async_op, [output_tensor], alike=(input_tensor,),
    )  # fmt: skip


all_gather_single = all_gather_into_tensor


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Collect the tensors of all ranks in the `gather_list` of one rank.

    That rank is the global rank `dst`, or the rank `group_dst` of the group, by default global rank 0. It passes a list with one
    tensor for each rank, which is overwritten; the other ranks pass None.

    All ranks of `group` (by default the default group) must call it. It waits for the result, and raises a RuntimeError
    after the group's timeout; with `async_op` it returns a `Work` at once, whose `wait` does that.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> made = [mpigrad.zeros(2)]
    >>> dist.gather(mpigrad.ones(2), made, dst=0)
    >>> made
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return None
    root = root_of(found, dst, group_dst, "dst")
    given, into = outgoing(tensor), _list_at_root("gather", "destination", found, root, gather_list, tensor)
    rows = _rows(found.size(), given) if into else None
    return _start(
        "gather", found, lambda: found.comm.Igather(as_bytes(given), None if rows is None else as_bytes(rows), root),
        None if rows is None else lambda: _into_list(into, rows), (given, rows), async_op, into,
        alike=(tensor, f"root {root}"),
    )  # fmt: skip


def _list_at_root(
    name: str, role: str, found: ProcessGroup, root: int, tensors: list[Tensor] | None, like: Tensor
) -> list[Tensor]:
    """Check the list of tensors that only the root may pass; returns it, or an empty list on other ranks.

    It must have one tensor for each rank, of the shape and type of `like`. `name` is the operation, `role` what the root
    is in it.
    """
    if found.rank() == root:
        if not tensors:
            raise ValueError(f"Argument ``{name}_list`` must be specified on {role} rank.")
        check_list(tensors, found.size(), f"{name}_list")
        same_shape(tensors, like, name)
    elif tensors:
        raise ValueError(f"Argument ``{name}_list`` must NOT be specified on non-{role} ranks.")
    return tensors or []


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Send to each rank one tensor of the `scatter_list` of one rank.

    The sender is the global rank `src`, or the rank `group_src` of the group, by default global rank 0. Rank i of the group gets
    `scatter_list[i]` in its `tensor`. Ranks other than the sender pass no list.

    All ranks of `group` (by default the default group) must call it. It waits for the result, and raises a RuntimeError
    after the group's timeout; with `async_op` it returns a `Work` at once, whose `wait` does that.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> made = mpigrad.zeros(2)
    >>> dist.scatter(made, [mpigrad.ones(2)], src=0)
    >>> made
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return None
    root = root_of(found, src, group_src, "src")
    given = _list_at_root("scatter", "source", found, root, scatter_list, tensor)
    rows, made = stacked([outgoing(each) for each in given]) if given else None, incoming(tensor)
    return _start(
        "scatter", found, lambda: found.comm.Iscatter(None if rows is None else as_bytes(rows), as_bytes(made), root),
        lambda: arrived(tensor, made), (rows, made), async_op, [tensor], alike=(tensor, f"root {root}"),
    )  # fmt: skip


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce the i-th tensors in the `input_list`s of all ranks; rank i of the group gets that result in `output`.

    Each list has one tensor for each rank. `op` is a `ReduceOp`.

    All ranks of `group` (by default the default group) must call it. It waits for the result, and raises a RuntimeError
    after the group's timeout; with `async_op` it returns a `Work` at once, whose `wait` does that.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> made = mpigrad.zeros(2)
    >>> dist.reduce_scatter(made, [mpigrad.ones(2)])
    >>> made
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return None
    check_list(input_list, found.size(), "input_list")
    same_shape(input_list, output, "reduce_scatter")
    given, begin = stacked([_for_reduction(each) for each in input_list]), found.comm.Ireduce_scatter_block
    return _reduction("reduce_scatter", found, output, given, op, begin, async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce the `input` tensors of all ranks; rank i of the group gets the i-th part of the result in `output`.

    `reduce_scatter_single` and `reduce_scatter_tensor` are two names of this function.

    The parts are equal, along the first dimension: `input` has as many elements as all outputs together, or a ValueError is
    raised. `op` is a `ReduceOp`.

    All ranks of `group` (by default the default group) must call it. It waits for the result, and raises a RuntimeError
    after the group's timeout; with `async_op` it returns a `Work` at once, whose `wait` does that.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> made = mpigrad.zeros(2)
    >>> dist.reduce_scatter_tensor(made, mpigrad.ones(2))
    >>> made
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return None
    same_type([output], input)
    if input.numel() != output.numel() * found.size():
        raise ValueError(
            f"input tensor must be the same size as output size times world size: {input.numel()} elements for "
            f"{found.size()} x {output.numel()}"
        )
    begin = found.comm.Ireduce_scatter_block
    return _reduction("reduce_scatter", found, output, _for_reduction(input), op, begin, async_op)


reduce_scatter_single = reduce_scatter_tensor


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Send `input_tensor_list[i]` to rank i and receive `output_tensor_list[i]` from it; shapes may differ by rank.

    All ranks of `group` (by default the default group) must call it. It waits for the result, and raises a RuntimeError
    after the group's timeout; with `async_op` it returns a `Work` at once, whose `wait` does that.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> made = [mpigrad.zeros(2)]
    >>> dist.all_to_all(made, [mpigrad.ones(2)])
    >>> made
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return None
    check_list(output_tensor_list, found.size(), "output_tensor_list")
    check_list(input_tensor_list, found.size(), "input_tensor_list")
    same_type([*output_tensor_list, *input_tensor_list], input_tensor_list[0])
    sent, back = [outgoing(each) for each in input_tensor_list], [each._array for each in output_tensor_list]
    given = joined(sent)
    made = space((sum(each.nbytes for each in back),), np.uint8, back[0])
    counts, places = [each.nbytes for each in sent], [each.nbytes for each in back]
    return _start(
        "all_to_all", found, lambda: found.comm.Ialltoallv(in_pieces(given, counts), in_pieces(made, places)),
        lambda: _cut_up(made, output_tensor_list), (given, made), async_op, output_tensor_list,
        alike=(input_tensor_list[0].dtype,),
    )  # fmt: skip


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send the i-th piece of `input` to rank i of the group; the piece from rank i becomes the i-th piece of `output`.

    Pieces are along the first dimension. `input_split_sizes` and `output_split_sizes` are their lengths, by rank; without
    them they are equal. RuntimeError if the lengths do not fit the tensor.

    All ranks of `group` (by default the default group) must call it. It waits for the result, and raises a RuntimeError
    after the group's timeout; with `async_op` it returns a `Work` at once, whose `wait` does that.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> made = mpigrad.zeros(2)
    >>> dist.all_to_all_single(made, mpigrad.ones(2))
    >>> made
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    if (found := resolve(group)) is None:
        return None
    same_type([output], input)
    given, made = outgoing(input), incoming(output)
    if may_share(given, made):
        made = space(output._array.shape, made.dtype, made)
    counts, places = (
        bytes_of_pieces(each, sizes, found.size(), what)
        for each, sizes, what in ((given, input_split_sizes, "input"), (made, output_split_sizes, "output"))
    )
    return _start(
        "all_to_all", found, lambda: found.comm.Ialltoallv(in_pieces(given, counts), in_pieces(made, places)),
        lambda: arrived(output, made), (given, made), async_op, [output], alike=(input.dtype,),
    )  # fmt: skip


def bytes_of_pieces(array: Any, sizes: Sequence[int] | None, ranks: int, what: str) -> list[int]:
    """Return the sizes in bytes of the pieces of an array for `ranks` ranks, along its first dimension.

    `sizes` are their lengths, or None for equal pieces; RuntimeError if they do not fit. `what` is "input" or "output".
    """
    length = array.shape[0] if array.ndim else 0
    if not sizes:
        if length % ranks:
            raise RuntimeError(
                f"Tensor's dim 0 does not divide equally across group size: {what} has {length} for {ranks} ranks"
            )
        return [array.nbytes // ranks] * ranks
    if len(sizes) != ranks:
        raise RuntimeError(
            f"Number of tensor splits not equal to group size: {what}_split_sizes {sizes} for {ranks} ranks"
        )
    if sum(sizes) != length:
        raise RuntimeError(f"Split sizes doesn't match total dim 0 size: {what}_split_sizes {sizes} for {length}")
    return [size * array.nbytes // length if length else 0 for size in sizes]
