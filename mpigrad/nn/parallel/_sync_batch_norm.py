"""`SyncBatchNorm`: batch normalisation over the batches of all ranks of a group."""

from __future__ import annotations

from typing import Any

from mpigrad._tensor import Tensor, counter
from mpigrad.distributed._differentiable.members import member_of
from mpigrad.distributed._differentiable.reductions import all_reduced
from mpigrad.distributed._process_group.groups import is_initialized
from mpigrad.distributed._process_group.reduce_op import ReduceOp

from ..modules.batchnorm import _BatchNorm
from ..modules.module import Module


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation that, in training, uses the mean and variance over the batches of all ranks of `process_group`.

    All ranks of the group (by default the default group) must run it in the same order; other arguments are those of
    `BatchNorm1d`.

    Ranks may have batches of different sizes. In evaluation, and on one rank, it is plain batch normalisation.

    >>> import mpigrad, mpigrad.distributed as dist
    >>> from mpigrad import nn
    >>> dist.init_process_group("mpi")
    >>> nn.SyncBatchNorm(1)(mpigrad.tensor([[1.0], [3.0]])).tolist()    # one rank
    [[-0.9999949932098389], [0.9999949932098389]]
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        whole = self.training or self.running_mean is None and self.running_var is None
        group = member_of(self.process_group) if whole and is_initialized() else None
        if group is None or group.size() == 1:
            return super().forward(input)
        if input.shape[1] != self.num_features:
            raise RuntimeError(f"running_mean should contain {input.shape[1]} elements not {self.num_features}")
        kind = input.dtype
        if kind.itemsize == 2:  # sums over all ranks do not fit into half precision
            input = input.float()
        factor = self._count_batch()
        dims, shape = (0, *range(2, input.ndim)), (1, -1) + (1,) * (input.ndim - 2)
        own = input.new_tensor([input.numel() // max(input.shape[1], 1)])
        count = all_reduced(ReduceOp.SUM, group, own)
        mean = all_reduced(ReduceOp.SUM, group, input.sum(dims)) / count
        centred = input - mean.reshape(shape)
        variance = all_reduced(ReduceOp.SUM, group, (centred * centred).sum(dims)) / count
        if self.training and self.track_running_stats:
            self._remember(mean, variance, float(count.item()), factor)
        made = centred * (variance + self.eps).rsqrt().reshape(shape)
        if self.weight is not None:
            made = made * self.weight.reshape(shape)
        if self.bias is not None:
            made = made + self.bias.reshape(shape)
        return made.to(kind)

    def _remember(self, mean: Tensor, variance: Tensor, count: float, factor: float) -> None:
        unbiased = variance._array * (count / max(count - 1, 1))
        for held, new in ((self.running_mean, mean._array), (self.running_var, unbiased)):
            held._array[...] = (1 - factor) * held._array + factor * new
            counter(held)[0] += 1

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Return the module with each batch normalisation in it replaced by a `SyncBatchNorm` with the same parameters and
        buffers.

        `process_group`: the group over which statistics are computed, by default all ranks.

        >>> from mpigrad import nn
        >>> nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(2)))
        Sequential(
          (0): SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
        )
        """
        made = module
        if isinstance(module, _BatchNorm):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group)
            made.weight, made.bias = module.weight, module.bias
            made.running_mean, made.running_var = module.running_mean, module.running_var
            made.num_batches_tracked, made.training = module.num_batches_tracked, module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
