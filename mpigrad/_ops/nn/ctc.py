"""Connectionist temporal classification: the likelihood of a target, summed over all its alignments with the input."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module, device_of, host, move

from .._define.operator import operator

LOWEST = -np.inf


def _add(*logs: Any) -> Any:
    """log(sum(exp(...))) without overflow, and without nan where all are minus infinity."""
    found = logs[0]
    for each in logs[1:]:
        found = np.logaddexp(found, each)
    return found


def _with_blanks(target: Any, blank: int) -> Any:
    """The target with blanks before, between and after its labels."""
    made = array_module(target).full(2 * target.shape[0] + 1, blank, dtype=np.int64)
    made[1::2] = target
    return made


def _skips(labels: Any, blank: int) -> Any:
    """Where an alignment may skip a blank: at labels that differ from the previous label."""
    made = array_module(labels).zeros(labels.shape[0], bool)
    made[2:] = (labels[2:] != blank) & (labels[2:] != labels[:-2])
    return made


def _moved(x: Any, by: int) -> Any:
    made = array_module(x).full(x.shape, LOWEST, dtype=x.dtype)
    made[by:] = x[: x.shape[0] - by]
    return made


def _prefixes(scores: Any, skips: Any) -> Any:
    """alpha[t, s]: the log likelihood of all alignments of the first s labels with the first t + 1 steps."""
    xp = array_module(scores)
    steps, states = scores.shape
    made = xp.full((steps, states), LOWEST, dtype=scores.dtype)
    made[0, :2] = scores[0, :2]
    for step in range(1, steps):
        before = made[step - 1]
        jump = xp.where(skips, _moved(before, 2), LOWEST) if states > 2 else LOWEST
        made[step] = _add(before, _moved(before, 1), jump) + scores[step]
    return made


def one(log_p: Any, target: Any, blank: int) -> tuple[Any, Any]:
    """The negative log likelihood of one target, and its gradient with respect to the unnormalised scores."""
    xp = array_module(log_p)
    labels = _with_blanks(target, blank)
    scores, skips = log_p[:, labels], _skips(labels, blank)
    alpha = _prefixes(scores, skips)
    ends = alpha[-1, -2:] if labels.shape[0] > 1 else alpha[-1, -1:]
    total = _add(*ends)
    reverse = labels[::-1]
    beta = _prefixes(scores[::-1, ::-1], _skips(reverse, blank))[::-1, ::-1]
    if total == LOWEST:
        return xp.asarray(np.inf, log_p.dtype), xp.full(log_p.shape, np.nan, dtype=log_p.dtype)
    visits = xp.exp(alpha + beta - scores - total)
    grad = xp.exp(log_p)
    for place in range(labels.shape[0]):
        grad[:, int(labels[place])] -= visits[:, place]
    return -total, grad


def _forward(given: Any, *, targets: Any, input_lengths: Any, blank: int, zero_infinity: bool) -> Any:
    """The loss of a batch. Computed on the host for all devices: its many small sequential steps would be slow on a GPU."""
    log_p, here = host(given), device_of(given)
    losses, grads = np.zeros(log_p.shape[1], log_p.dtype), np.zeros_like(log_p)
    for number, (target, length) in enumerate(zip(targets, input_lengths)):
        losses[number], grads[:length, number] = one(log_p[:length, number], target, blank)
        if zero_infinity and losses[number] == np.inf:
            losses[number], grads[:, number] = 0, 0
    return move(losses, here), move(grads, here)


def _backward(F: Any, node: Any, grads: Any, slopes: Any) -> Any:
    if grads[0] is None:
        return None
    return grads[0].reshape(1, node.shapes[0][1], 1) * F.ctc_slopes(slopes)


def _refuse_second(F: Any, node: Any, g: Any) -> Any:
    raise RuntimeError(
        "derivative for aten::_ctc_loss_backward is not implemented: ctc_loss can be differentiated once"
    )


operator("ctc_slopes", lambda x: x.copy(), _refuse_second, node="CtcLossBackwardBackward0")
ctc = operator("ctc_loss", _forward, _backward, saves=(-2,), node="CtcLossBackward0")

__all__: list[str] = []
