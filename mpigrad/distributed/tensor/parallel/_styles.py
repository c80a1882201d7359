"""Column- and row-wise parallel modules."""

from __future__ import annotations

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
from .._mappings import gathered, own_part, part_of, shared, total
from .._placements import Replicate, Shard


class ParallelStyle:
    """How a module is cut over the ranks of a mesh."""

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

    def _apply(self, module: Module, group: ProcessGroup) -> None:
        raise NotImplementedError


class ColwiseParallel(ParallelStyle):
    """Each rank has some of the outputs of a `Linear`, or some of the columns of an `Embedding`. Inputs are on every rank."""

    _default_input, _default_output = Replicate(), Shard(-1)

    def _apply(self, module: Module, group: ProcessGroup) -> None:
        if self.input_layouts != Replicate():
            raise ValueError("ColwiseParallel needs its input on every rank: input_layouts=Replicate()")
        if isinstance(module, Linear):
            length, kind = module.out_features, _column_linear
            _cut(module, "weight", 0, group)
            _cut(module, "bias", 0, group)
        else:
            length, kind = module.embedding_dim, _column_embedding  # type: ignore[assignment]
            _cut(module, "weight", 1, group)
        whole = length if self.output_layouts == Replicate() else None
        module.forward = partial(kind, module, group, whole)  # type: ignore[method-assign]


class RowwiseParallel(ParallelStyle):
    """Each rank has some of the inputs of a `Linear`, or some of the rows of an `Embedding`; the ranks' outputs are added."""

    _default_input, _default_output = Shard(-1), Replicate()

    def _apply(self, module: Module, group: ProcessGroup) -> None:
        if self.output_layouts != Replicate():
            raise ValueError("RowwiseParallel gives its output to every rank: output_layouts=Replicate()")
        if isinstance(module, Linear):
            _cut(module, "weight", 1, group)
            module.forward = partial(_row_linear, module, group, self.input_layouts == Replicate())  # type: ignore[method-assign]
        else:
            module._rows = part_of(module.num_embeddings, group.size(), group.rank())
            _cut(module, "weight", 0, group)
            module.forward = partial(_row_embedding, module, group)  # type: ignore[method-assign]


def _cut(module: Module, name: str, dim: int, group: ProcessGroup) -> None:
    """Replace a parameter by this rank's piece of it."""
    whole = getattr(module, name)
    if whole is None:
        return
    start, stop = part_of(whole.shape[dim], group.size(), group.rank())
    if start == stop:
        raise ValueError(f"a {name} of {whole.shape[dim]} along dimension {dim} cannot be cut into {group.size()} pieces")
    with no_grad():
        piece = whole.detach().narrow(dim, start, stop - start).clone()
    setattr(module, name, Parameter(piece, requires_grad=whole.requires_grad))


def _column_linear(module: Any, group: ProcessGroup, whole: int | None, x: Tensor) -> Tensor:
    out = F.linear(shared(x, group), module.weight, module.bias)
    return out if whole is None else gathered(out, group, whole)


def _row_linear(module: Any, group: ProcessGroup, cut: bool, x: Tensor) -> Tensor:
    out = total(F.linear(own_part(x, group) if cut else x, module.weight), group)
    return out if module.bias is None else out + module.bias


def _column_embedding(module: Any, group: ProcessGroup, whole: int | None, ids: Tensor) -> Tensor:
    out = F.embedding(ids, module.weight)
    return out if whole is None else gathered(out, group, whole)


def _row_embedding(module: Any, group: ProcessGroup, ids: Tensor) -> Tensor:
    start, stop = module._rows
    here = (ids >= start) & (ids < stop)
    found = F.embedding((ids - start) * here, module.weight)
    return total(found * here.unsqueeze(-1).to(found.dtype), group)


def parallelize_module(
    module: Module, device_mesh: Any = None, parallelize_plan: Any = None, *, src_data_rank: int | None = 0
) -> Module:
    """Cut a module over the ranks of a mesh of one dimension, in place.

    The plan is a style, or a dict from names of submodules (with wildcards: "layers.*.linear1") to styles. All ranks must have
    the same weights before; nothing is sent.

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
    group = device_mesh.get_group()
    plan = parallelize_plan if isinstance(parallelize_plan, dict) else {"": parallelize_plan}
    for pattern, style in plan.items():
        for each in _chosen(module, pattern):
            if not isinstance(each, (Linear, Embedding)):
                name = type(style).__name__
                raise NotImplementedError(f"{name} supports nn.Linear and nn.Embedding, got {type(each).__name__}")
            style._apply(each, group)
    return module


def _chosen(module: Module, pattern: str) -> list[Module]:
    """The submodules that a name of the plan stands for."""
    named = dict(module.named_modules())
    found = [each for name, each in named.items() if fnmatch(name, pattern) and name.count(".") == pattern.count(".")]
    if not found:
        raise ValueError(f"the plan names {pattern!r}, which is not a submodule: {sorted(named)}")
    return found
