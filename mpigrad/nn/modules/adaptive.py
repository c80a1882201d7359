"""`AdaptiveLogSoftmaxWithLoss`: a softmax over very many classes, of which few are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from mpigrad._ops.reduce.minmax import argmax
from mpigrad._ops.shape.joining import cat

from ..._tensor import Tensor
from .. import functional as F
from ._blank import blank
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax over very many classes, of which few are frequent. Classes must be numbered by decreasing frequency.

    - `cutoffs`: increasing class indices. Classes below the first have full layers; each interval between two cutoffs
      is a cluster of rarer classes with a smaller layer.
    - `div_value`: the inner size of cluster i (from 0) is in_features / div_value ** (i + 1). `head_bias`: the first
      layer has a bias.

    `forward(input, target)` takes (batch, in_features) and class indices (batch,), and returns the named tuple (output,
    loss): the log-probability of each target, and the mean of their negatives. `device`, `dtype`: those of the parameters.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10])(mpigrad.zeros(3, 16), mpigrad.tensor([0, 7, 19])).output.shape
    mpigrad.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if cutoffs != sorted(set(cutoffs)) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1 or any(
            int(each) != each for each in cutoffs
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                "between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*cutoffs, n_classes]
        self.shortlist_size, self.n_clusters = cutoffs[0], len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        where = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for number in range(self.n_clusters):
            hidden = int(in_features // div_value ** (number + 1))
            classes = self.cutoffs[number + 1] - self.cutoffs[number]
            self.tail.append(
                Sequential(Linear(in_features, hidden, bias=False, **where), Linear(hidden, classes, bias=False, **where))
            )

    def reset_parameters(self) -> None:
        """Set all parameters to new random values, as the constructor does."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster.children():
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        self._check(input_, target_)
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        head = F.log_softmax(self.head(input), dim=1)
        output = blank(target.shape[0], device=input.device, dtype=input.dtype).zero_()
        for number, low in enumerate([0, *self.cutoffs[:-1]]):
            rows = ((target >= low) & (target < self.cutoffs[number])).nonzero().squeeze(1)
            if not rows.numel():
                continue
            wanted = target.index_select(0, rows)
            if number == 0:
                found = head.index_select(0, rows).gather(1, wanted.unsqueeze(1)).squeeze(1)
            else:
                inside = F.log_softmax(self.tail[number - 1](input.index_select(0, rows)), dim=1)
                cluster = head.index_select(0, rows)[:, self.shortlist_size + number - 1]
                found = cluster + inside.gather(1, (wanted - low).unsqueeze(1)).squeeze(1)
            output = output.index_add(0, rows, found)
        output = output if batched else output.squeeze(0)
        return _ASMoutput(output, (-output).mean())

    def _check(self, input: Tensor, target: Tensor) -> None:
        if target.dim() not in (0, 1):
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1 and input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if target.dim() == 1 and input.dim() != 2:
            raise RuntimeError("1D target tensor expects 2D input tensors, but found inputs with size", input.shape)
        if target.dim() == 0 and input.dim() != 1:
            raise RuntimeError("0D target tensor expects 1D input tensors, but found inputs with size", input.shape)
        low, high = (int(target.min()), int(target.max())) if target.numel() else (0, 0)
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{low}, {high}] were found. "
            )

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes, (batch, n_classes), for `input` (batch, in_features)."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for number, cluster in enumerate(self.tail):
            place = self.shortlist_size + number
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, place : place + 1])
        return cat(parts, dim=1)

    def predict(self, input: Tensor) -> Tensor:
        """The index of the most likely class of each row of `input`, (batch,)."""
        return argmax(self.log_prob(input), dim=1)


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
