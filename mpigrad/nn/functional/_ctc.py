"""`ctc_loss`: connectionist temporal classification, the loss of label sequences whose alignment with the input is unknown."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import host, move
from mpigrad._ops._define.arguments import need_tensors
from mpigrad._ops.nn.ctc import ctc

from ..._core.tensor import wrap
from ..._tensor import Tensor
from ._reduction import kind


def _lengths(name: str, value: Any, count: int, most: int | None) -> list[int]:
    found = [int(each) for each in (value.tolist() if isinstance(value, Tensor) else value)]
    if len(found) != count:
        raise RuntimeError(f"{name} must be of size batch_size")
    for number, each in enumerate(found):
        if most is not None and not 0 <= each <= most:
            raise RuntimeError(
                f"Expected {name} to have value at most {most}, but got value {each} (while checking arguments for "
                f"ctc_loss, sequence {number})"
            )
    return found


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: the negative log likelihood of label sequences, summed over all
    alignments with the input.

    - `log_probs`: log probabilities, (steps, batch, classes) or (steps, classes).
    - `targets`: class indices, (batch, longest target), or those of all sequences one after the other in one vector.
    - `input_lengths`, `target_lengths`: the lengths of each sequence's input and target, tensors or sequences of
      ints.
    - `blank`: the index of the class that stands for "no label".
    - `reduction`: "mean" (default) divides each loss by its target's length and takes the mean; "sum" or "none".
    - `zero_infinity`: set infinite losses (targets longer than their input) and their gradients to 0.

    >>> import mpigrad
    >>> log_p = mpigrad.zeros(2, 1, 2).log_softmax(2)
    >>> mpigrad.nn.functional.ctc_loss(log_p, mpigrad.tensor([[1]]), [2], [1])
    tensor(0.2877)
    """
    how = kind(reduction)
    need_tensors("ctc_loss", log_probs=log_probs, targets=targets)
    if log_probs.dim() == 2:
        found = ctc_loss(
            log_probs.unsqueeze(1), targets.reshape(1, -1), [int(input_lengths)], [int(target_lengths)], blank, how,
            zero_infinity,
        )  # fmt: skip
        return found.squeeze(0) if how == "none" else found
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    lengths = _lengths("input_lengths", input_lengths, batch, steps)
    wanted = targets._array.shape[1] if targets.dim() == 2 else None
    counts = _lengths("target_lengths", target_lengths, batch, wanted)
    made, _ = ctc(
        log_probs,
        targets=_split(host(targets._array), counts),
        input_lengths=lengths,
        blank=blank,
        zero_infinity=zero_infinity,
    )
    if how == "none":
        return made
    if how == "sum":
        return made.sum()
    lengths_or_one = np.maximum(np.array(counts), 1).astype(log_probs._array.dtype)
    return (made / wrap(move(lengths_or_one, made.device))).mean()


def _split(targets: Any, counts: list[int]) -> list[Any]:
    """The labels of each sequence, from the rows of a matrix or from one vector of all sequences."""
    if targets.ndim == 2:
        return [row[:count] for row, count in zip(targets, counts)]
    ends = np.cumsum(counts)
    return [targets[end - count : end] for end, count in zip(ends, counts)]


__all__ = ["ctc_loss"]
