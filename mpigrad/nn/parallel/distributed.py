"""`DistributedDataParallel`: the same module on every rank, each with a share of the data; gradients are averaged."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from mpigrad._graph.grad_mode import MODE
from mpigrad._tensor import Tensor

from ..modules.module import Module
from ..modules.sparse import Embedding, EmbeddingBag
from ..parameter import is_uninitialized
from ._data_parallel import DataParallel
from ._reducer import Reducer


class DistributedDataParallel(DataParallel, Module):
    """Wrap a module that is trained on all ranks of a group together; each rank has a copy of it and its own data.

    All ranks of the process group create it, and run forward and backward passes in the same order. At the start, parameters and
    buffers are copied from the first rank. A backward pass averages the gradients over the ranks while it runs, also inside a
    `dist_autograd` context. Before each forward pass, buffers are copied from the first rank.

    - `process_group`: the group, by default all ranks.
    - `bucket_cap_mb`: gradients are averaged in groups (buckets) of this size in MiB, by default 25; the first one has 1
      MiB.
    - `find_unused_parameters`: search the graph for parameters that get no gradient, after each forward pass; needed if
      there may be some. With `static_graph`, which promises that they are always the same ones, the search is done once.
    - `gradient_as_bucket_view`: `.grad` is a view of a bucket, which saves a copy and memory.

    Other arguments are PyTorch's. A module of torch gives a `torch.nn.Module` that works in the same way, with torch's
    tensors and gradients.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> from mpigrad import nn
    >>> dist.init_process_group("mpi")
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model(mpigrad.ones(3, 2)).sum().backward()    # gradients: averages over the ranks
    >>> model.module.weight.grad
    tensor([[3., 3.]])
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    >>> dist.destroy_process_group()
    """

    def __new__(cls, module: Any = None, *args: Any, **kwargs: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(module, torch.nn.Module):
            from mpigrad.interop._torch_parallel import TorchDataParallel

            return TorchDataParallel(module, *args, **kwargs)
        return super().__new__(cls)

    def _own(self, tensor: Tensor) -> Tensor:
        return tensor

    def _recording(self) -> bool:
        return MODE.enabled

    def _reducer(self, named: Sequence[tuple[str, Tensor]], *options: Any) -> Reducer:
        if any(is_uninitialized(each) for _, each in named):
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy forward pass to "
                "correctly initialize the modules"
            )
        return Reducer(named, _with_sparse_gradients(self.module), *options)

    def train(self, mode: bool = True) -> DistributedDataParallel:
        """Set the training mode (`mode=True`) or the evaluation mode of this module and of the wrapped one; returns this
        module.
        """
        super().train(mode)
        return self


def _with_sparse_gradients(module: Module) -> set[int]:
    return {id(each.weight) for each in module.modules() if isinstance(each, (Embedding, EmbeddingBag)) and each.sparse}
