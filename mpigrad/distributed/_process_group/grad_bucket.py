"""`GradBucket`: what `DistributedDataParallel` passes to a communication hook."""

from __future__ import annotations

from collections.abc import Sequence

from mpigrad._tensor import Tensor


class GradBucket:
    """Gradients of several parameters, one after the other in one flat tensor, which a communication hook averages.

    `DistributedDataParallel` creates it and passes it to the hook (`register_comm_hook`). Programs do not create one.
    """

    def __init__(self, index: int, buffer: Tensor, gradients: Sequence[Tensor], parameters: Sequence[Tensor], last: bool) -> None:
        self._index, self._buffer, self._last = index, buffer, last
        self._gradients, self._parameters, self._replaced = list(gradients), list(parameters), False

    def index(self) -> int:
        """Return the number of this bucket (a group of gradients), in the order in which buckets are averaged, from 0."""
        return self._index

    def buffer(self) -> Tensor:
        """Return the flat tensor that has all gradients of the bucket, one after the other."""
        return self._buffer

    def gradients(self) -> list[Tensor]:
        """Return the list of the gradients, which are views of the flat tensor, one for each parameter."""
        if self._replaced:
            pieces = self._buffer.split([each.numel() for each in self._gradients])
            return [piece.reshape(each.shape) for piece, each in zip(pieces, self._gradients)]
        return list(self._gradients)

    def parameters(self) -> list[Tensor]:
        """Return the list of the parameters whose gradients are in the bucket, in the order of the gradients."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Return whether this is the last bucket of the backward pass."""
        return self._last

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the flat tensor by another one of the same length, for example of float16, to send fewer bytes."""
        self._buffer, self._replaced = buffer, True
