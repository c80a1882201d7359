"""`DistributedDataParallel` of a torch module: a torch module whose gradients are averaged by MPI.

Parameters and gradients are seen as tensors of mpigrad that share their memory. `TorchReducer` replaces what the reducer knows
about its framework: hooks of parameters, `.grad`, the graph, and leaves of distributed passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from mpigrad._core.autograd.guests import leaf_of
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor
from mpigrad.nn.parallel._data_parallel import DataParallel
from mpigrad.nn.parallel._reducer import Reducer, tensors_in

from ._adapters import adapter_of

_ADAPTER: Any = adapter_of(torch.Tensor)


def shared(tensor: Any) -> Tensor:
    """A tensor of mpigrad with the memory of a torch tensor."""
    if tensor.dtype is torch.bfloat16 or tensor.is_quantized:
        raise TypeError(f"DistributedDataParallel: MPI cannot sum torch tensors of {tensor.dtype}; convert the module to float32")
    return wrap(tensor.detach().numpy() if tensor.is_cpu and tensor.layout is torch.strided else _ADAPTER.array_of(tensor))


class TorchReducer(Reducer):
    """Averages gradients of torch parameters.

    The base class works on tensors of mpigrad that share the memory of torch's parameters (`shared`). `_theirs` and `_ours` map
    these two to each other, by their ids.
    """

    def __init__(self, named: Sequence[tuple[str, Any]], sparse: set[int], *options: Any) -> None:
        own = [(name, shared(each)) for name, each in named]
        self._theirs = {id(mine): each for (_, mine), (_, each) in zip(own, named)}
        self._ours = {id(each): mine for (_, mine), (_, each) in zip(own, named)}
        super().__init__(own, {id(self._ours[each]) for each in sparse if each in self._ours}, *options)

    def _hook_of(self, parameter: Tensor) -> Any:
        return self._theirs[id(parameter)].register_post_accumulate_grad_hook(lambda _: self._arrived(parameter))

    def _leaf_of(self, parameter: Tensor) -> Any:
        return leaf_of(_ADAPTER, self._theirs[id(parameter)])

    def _local_grad(self, parameter: Tensor) -> Tensor | None:
        grad = self._theirs[id(parameter)].grad
        return None if grad is None else shared(grad)

    def _grad_in_context(self, parameter: Tensor) -> Tensor | None:
        grad = self._context.gradients.get(self._theirs[id(parameter)])
        return None if grad is None else shared(grad)

    def _set_grad(self, parameter: Tensor, made: Any) -> None:
        theirs = self._theirs[id(parameter)]
        grad = _ADAPTER.make(made._array, b"", False)
        if self._context is None:
            theirs.grad = grad
        else:
            with self._context.lock:
                self._context.gradients[theirs] = grad

    def _used(self, outputs: Any) -> set[int]:
        nodes = [each.grad_fn for each in tensors_in(outputs, torch.Tensor) if each.grad_fn is not None]
        ends = _ADAPTER.graph_of(nodes).ends.values()
        return {id(self._ours[id(each)]) for each in ends if id(each) in self._ours}


class TorchDataParallel(DataParallel, torch.nn.Module):
    """A torch module on every rank, with averaged gradients; made by `mpigrad.nn.parallel.DistributedDataParallel`."""

    def __init__(self, module: Any, *args: Any, **kwargs: Any) -> None:
        if any(isinstance(each, torch.nn.parameter.UninitializedTensorMixin) for each in module.parameters()):
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy forward pass to "
                "correctly initialize the modules"
            )
        super().__init__(module, *args, **kwargs)

    @property
    def join_device(self) -> Any:
        """The device of the tensors with which `Join` counts active ranks."""
        return "cpu"

    def _own(self, tensor: Any) -> Tensor:
        return shared(tensor)

    def _recording(self) -> bool:
        return torch.is_grad_enabled()

    def _reducer(self, named: Sequence[tuple[str, Any]], *options: Any) -> Reducer:
        kinds = (torch.nn.Embedding, torch.nn.EmbeddingBag)
        sparse = {id(each.weight) for each in self.module.modules() if isinstance(each, kinds) and each.sparse}
        return TorchReducer(named, sparse, *options)
