"""Collectives that return new tensors instead of writing into their arguments. All are differentiable.

The functions have the names and arguments of `torch.distributed._functional_collectives`. `reduceOp` is the name of an
operation ("sum", "avg", "max", "min", "product"). `group` is a group (None: the default group), its name, or the list of
its ranks; all its ranks must call the function, which waits for the result, up to the group's timeout. `tag` is ignored.
Ranks such as `src` are group ranks, unlike those of `mpigrad.distributed.broadcast`, which are global ranks.
"""

from __future__ import annotations

from typing import Any

from mpigrad._ops.shape.joining import cat
from mpigrad._tensor import Tensor

from ._differentiable.members import member_of
from ._differentiable.movement import ALL_GATHER, ALL_TO_ALL_SINGLE, BROADCAST
from ._differentiable.reductions import all_reduced, reduce_scattered
from ._process_group.groups import ProcessGroup, registered
from ._process_group.reduce_op import ReduceOp

_NAMES = {each.name.lower(): each for each in ReduceOp}


def _group_of(group: Any) -> ProcessGroup:
    """Return the group for the argument `group` (see above); ValueError if there is none."""
    if group is None or isinstance(group, ProcessGroup):
        return member_of(group)
    if isinstance(group, (str, list)):
        for each in registered():
            if group in (each.group_name, each.ranks):
                return each
        raise ValueError(f"there is no process group with the name or ranks {group!r}; create it with new_group")
    raise ValueError(f"Unsupported group type: {type(group)}, {group}")


def _op_of(name: str) -> ReduceOp:
    found = _NAMES.get(name.lower())
    if found is None:
        raise ValueError(f"unknown reduceOp {name!r}; it is one of {', '.join(_NAMES)}")
    return found


def wait_tensor(tensor: Tensor) -> Tensor:
    """Return the tensor unchanged: the result of a collective of this module is complete when the function returns."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """Return, on every rank, a new tensor with the reduction of the tensors of all ranks.

    `reduceOp` is "sum", "avg", "max", "min" or "product". `group` is a process group (None: the default group), its name, or the
    list of its ranks; all of them must call this. `tag` is ignored.
    """
    return all_reduced(_op_of(reduceOp), _group_of(group), self)


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """Return, on every rank of `group`, a new tensor with the values of the tensor of `src`, a group rank.

    `group` and `tag` are those of `all_reduce`.
    """
    return BROADCAST(self, self.shape, root=src, group=_group_of(group))  # type: ignore[no-any-return]


def all_gather_single(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """Return, on every rank, the tensors of all ranks, concatenated along the dimension `gather_dim`.

    All tensors must have the same shape. `group` and `tag` are those of `all_reduce`.
    """
    found = _group_of(group)
    rows = ALL_GATHER(self, (found.size(), *self.shape), group=found)
    if gather_dim or not self.ndim:
        return cat(list(rows.unbind(0)), gather_dim) if self.ndim else rows
    return rows.reshape(rows.shape[0] * self.shape[0], *self.shape[1:])


def reduce_scatter_single(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """Reduce the tensors of all ranks, cut the result along `scatter_dim` into equal pieces, and return this rank's piece.

    AssertionError if the number of ranks does not divide that dimension. The other arguments are those of `all_reduce`.
    """
    found = _group_of(group)
    if self.shape[scatter_dim] % found.size():
        raise AssertionError(
            f"input dimension {scatter_dim} ({self.shape[scatter_dim]}) must be a multiple of group_size {found.size()}"
        )
    given = cat(list(self.tensor_split(found.size(), scatter_dim)), 0) if scatter_dim else self
    rows = given.reshape(found.size(), given.shape[0] // found.size(), *given.shape[1:])
    return reduce_scattered(_op_of(reduceOp), found, rows)


def all_to_all_single(
    self: Tensor, output_split_sizes: list[int] | None, input_split_sizes: list[int] | None, group: Any, tag: str = ""
) -> Tensor:
    """Send pieces of a tensor, along its first dimension, to all ranks; returns the pieces from all ranks, concatenated.

    `input_split_sizes` are the lengths of the pieces that this rank sends, by rank, `output_split_sizes` of those that it
    receives; None, for both, means equal pieces.
    """
    found = _group_of(group)
    if (output_split_sizes is None) != (input_split_sizes is None):
        raise AssertionError(
            "output_split_sizes and input_split_sizes must either be specified together or both set to None"
        )
    length = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    shape = (length, *self.shape[1:])
    return ALL_TO_ALL_SINGLE(  # type: ignore[no-any-return]
        self, shape, given=input_split_sizes, wanted=output_split_sizes, group=found
    )


# Other names of the same functions in PyTorch: these are always differentiable here.
all_gather_tensor = all_gather_single
all_gather_single_autograd = all_gather_tensor_autograd = all_gather_single
reduce_scatter_tensor = reduce_scatter_single
reduce_scatter_single_autograd = reduce_scatter_tensor_autograd = reduce_scatter_single
all_to_all_single_autograd = all_to_all_single
