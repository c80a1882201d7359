"""`GradBucket`: the argument of a communication hook of `DistributedDataParallel`."""

from __future__ import annotations

from collections.abc import Sequence

from mpigrad._tensor import Tensor


class GradBucket:
    """The gradients of some parameters, one after the other in one flat tensor."""

    def __init__(self, index: int, buffer: Tensor, gradients: Sequence[Tensor], parameters: Sequence[Tensor], last: bool) -> None:
        self._index, self._buffer, self._last = index, buffer, last
        self._gradients, self._parameters = list(gradients), list(parameters)

    def index(self) -> int:
        """The index of the bucket in the order in which buckets are reduced."""
        return self._index

    def buffer(self) -> Tensor:
        """The flat tensor."""
        return self._buffer

    def gradients(self) -> list[Tensor]:
        """Views of the flat tensor, one for each parameter."""
        return list(self._gradients)

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Whether this is the last bucket of the pass."""
        return self._last

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the flat tensor."""
        self._buffer = buffer
