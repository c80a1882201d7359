"""`ColwiseParallel`, `RowwiseParallel` and `parallelize_module`: modules whose weights are cut over ranks."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch
from functools import partial
from typing import Any

from mpigrad._graph.grad_mode import no_grad
from mpigrad._tensor import Tensor
from mpigrad.nn import functional as F
from mpigrad.nn.modules.linear import Linear
from mpigrad.nn.modules.module import Module
from mpigrad.nn.modules.sparse import Embedding
from mpigrad.nn.parameter import Parameter

from ..._process_group.groups import ProcessGroup
from ..._process_group.states import copy_from
from .._mappings import gathered, own_part, part_of, shared, total
from .._placements import Replicate, Shard


class ParallelStyle:
    """How a module is cut over the ranks of a mesh.

    Args:
        input_layouts, output_layouts: whether the module's input and output are whole on every rank (`Replicate()`) or cut along
            their last dimension (`Shard(-1)`). The defaults are those of the subclass.
        use_local_output: must be True: outputs are plain tensors, since there are no `DTensor`s.
    """

    _default_input: Any
    _default_output: Any

    def __init__(self, *, input_layouts: Any = None, output_layouts: Any = None, use_local_output: bool = True) -> None:
        self.input_layouts = self._default_input if input_layouts is None else input_layouts
        self.output_layouts = self._default_output if output_layouts is None else output_layouts
        for each in (self.input_layouts, self.output_layouts):
            if each not in (Replicate(), Shard(-1)):
                raise ValueError(f"{type(self).__name__} supports the layouts Replicate() and Shard(-1), got {each}")
        if not use_local_output:
            raise ValueError("use_local_output=False gives DTensors, which are not offered")

    def _apply(self, module: Module, group: ProcessGroup, source: int | None) -> None:
        """Cut a module over the ranks of `group`, in place.

        `source` is the rank of the group whose weights are used; with None each rank uses its own.
        """
        raise NotImplementedError


class ColwiseParallel(ParallelStyle):
    """A style for `parallelize_module`: each rank has some of the outputs of a `Linear`, or some of the columns of an
    `Embedding`.

    Every rank needs the whole input. The output on a rank is its part of the columns; with `output_layouts=Replicate()`
    every rank gets all of them.
    """

    _default_input, _default_output = Replicate(), Shard(-1)

    def _apply(self, module: Module, group: ProcessGroup, source: int | None) -> None:
        if self.input_layouts != Replicate():
            raise ValueError("ColwiseParallel needs its input on every rank: input_layouts=Replicate()")
        if isinstance(module, Linear):
            length, kind = module.out_features, _column_linear
            _cut(module, {"weight": 0, "bias": 0}, group, source)
        else:
            length, kind = module.embedding_dim, _column_embedding  # type: ignore[assignment]
            _cut(module, {"weight": 1}, group, source)
        whole = length if self.output_layouts == Replicate() else None
        module.forward = partial(kind, module, group, whole)  # type: ignore[method-assign]


class RowwiseParallel(ParallelStyle):
    """A style for `parallelize_module`: each rank has some of the inputs of a `Linear`, or some of the rows of an `Embedding`.

    The input of a `Linear` is cut already, as `ColwiseParallel` leaves it; with `input_layouts=Replicate()` each rank takes its
    part of a whole input. The outputs of all ranks are added, and the sum is on every rank.
    """

    _default_input, _default_output = Shard(-1), Replicate()

    def _apply(self, module: Module, group: ProcessGroup, source: int | None) -> None:
        if self.output_layouts != Replicate():
            raise ValueError("RowwiseParallel gives its output to every rank: output_layouts=Replicate()")
        if isinstance(module, Linear):
            _cut(module, {"weight": 1, "bias": None}, group, source)
            module.forward = partial(_row_linear, module, group, self.input_layouts == Replicate())  # type: ignore[method-assign]
        else:
            if module.scale_grad_by_freq:
                raise NotImplementedError("RowwiseParallel does not support an Embedding with scale_grad_by_freq=True")
            module._rows = part_of(module.num_embeddings, group.size(), group.rank())
            _cut(module, {"weight": 0}, group, source)
            module.forward = partial(_row_embedding, module, group)  # type: ignore[method-assign]


def _cut(module: Any, dims: dict[str, int | None], group: ProcessGroup, source: int | None) -> None:
    """Replace parameters by this rank's pieces along the dimensions in `dims`, by name; None: the parameter stays whole."""
    if getattr(module, "max_norm", None) is not None:
        raise NotImplementedError("an Embedding with max_norm cannot be cut: it would change rows that other ranks have, too")
    whole = {name: each for name in dims if (each := getattr(module, name)) is not None}
    for name, each in whole.items():
        dim = dims[name]
        start, stop = (0, 1) if dim is None else part_of(each.shape[dim], group.size(), group.size() - 1)
        if start == stop:  # the last piece is the shortest one, so all ranks raise this
            raise ValueError(f"a {name} of {each.shape[dim]} along dimension {dim} cannot be cut into {group.size()} pieces")
    if source is not None:
        copy_from(source, list(whole.values()), group)
    for name, each in whole.items():
        dim = dims[name]
        if dim is not None:
            start, stop = part_of(each.shape[dim], group.size(), group.rank())
            with no_grad():
                piece = each.detach().narrow(dim, start, stop - start).clone()
            setattr(module, name, Parameter(piece, requires_grad=each.requires_grad))


def _column_linear(module: Any, group: ProcessGroup, whole: int | None, x: Tensor) -> Tensor:
    out = F.linear(shared(x, group), module.weight, module.bias)
    return out if whole is None else gathered(out, group, whole)


def _row_linear(module: Any, group: ProcessGroup, cut: bool, x: Tensor) -> Tensor:
    # The bias is added once, after the sum over the ranks.
    out = total(F.linear(own_part(x, group) if cut else x, module.weight), group)
    return out if module.bias is None else out + module.bias


def _column_embedding(module: Any, group: ProcessGroup, whole: int | None, ids: Tensor) -> Tensor:
    out = F.embedding(
        ids, module.weight, module.padding_idx, scale_grad_by_freq=module.scale_grad_by_freq, sparse=module.sparse
    )
    return out if whole is None else gathered(out, group, whole)


def _row_embedding(module: Any, group: ProcessGroup, ids: Tensor) -> Tensor:
    start, stop = module._rows
    # Rows of other ranks: row 0, replaced by zeros below. Indices that no rank has stay out of range, which is an error.
    elsewhere = (ids >= 0) & (ids < start) | (ids >= stop) & (ids < module.num_embeddings)
    padding = module.padding_idx
    own_padding = padding - start if padding is not None and start <= padding < stop else None
    found = F.embedding((ids - start).masked_fill(elsewhere, 0), module.weight, own_padding, sparse=module.sparse)
    return total(found.masked_fill(elsewhere.unsqueeze(-1), 0), group)


def parallelize_module(
    module: Module, device_mesh: Any = None, parallelize_plan: Any = None, *, src_data_rank: int | None = 0
) -> Module:
    """Cut a module over the ranks of a mesh of one dimension, in place; returns the module.

    Args:
        module: the same on all ranks, which call this together.
        device_mesh: a `DeviceMesh` of one dimension.
        parallelize_plan: a style (`ColwiseParallel()` ...) for the module itself, or a dict from names of submodules (with
            wildcards: "layers.*.linear1") to styles. A name that matches nothing gives a warning.
        src_data_rank: the rank of the mesh whose weights are cut and sent to the others; with None, each rank keeps its piece of
            its own weights, and nothing is sent.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> from mpigrad import nn
    >>> from mpigrad.distributed.device_mesh import init_device_mesh
    >>> from mpigrad.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    >>> dist.init_process_group("mpi")
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    >>> plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    >>> tuple(parallelize_module(model, init_device_mesh("cpu", (1,)), plan)(mpigrad.ones(2, 4)).shape)
    (2, 4)
    >>> dist.destroy_process_group()
    """
    if device_mesh is None:
        raise RuntimeError("No device mesh is currently active!")
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so this parallelize_module call "
            "will do nothing.",
            stacklevel=2,
        )
    elif isinstance(parallelize_plan, dict):
        for path, style in parallelize_plan.items():
            for each in _chosen(module, path):
                parallelize_module(each, device_mesh, style, src_data_rank=src_data_rank)
    elif not isinstance(parallelize_plan, ParallelStyle):
        raise TypeError(
            f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} found!"
        )
    elif isinstance(module, (Linear, Embedding)):
        parallelize_plan._apply(module, device_mesh.get_group(), src_data_rank)
    else:
        name = type(parallelize_plan).__name__
        raise NotImplementedError(f"{name} supports nn.Linear and nn.Embedding, got {type(module).__name__}")
    return module


def _chosen(module: Module, path: str) -> list[Module]:
    """Return the submodules whose path matches; a wildcard stands for names between two dots, and "" for the module itself."""
    found = [module]
    for name in path.split(".") if path else ():
        above, found = found, [each for one in found for child, each in one.named_children() if fnmatch(child, name)]
        if not found:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching token '{name}' in module "
                f"{above[0]}, skipping this plan entry.",
                stacklevel=3,
            )
            break
    return found
