"""Plain recurrent layers (tanh or relu): one operator for a whole sequence, with its backward written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._ops._define.operator import operator

from ...._graph.namespace import RAW
from ...._tensor import Tensor
from .shared import (
    Steps,
    column_sums,
    ending_rows,
    last_rows,
    last_states,
    layer,
    start_gradient,
    through_steps,
    weight_gradients,
)


def _forward(
    x: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, *, relu: bool, reverse: bool, lengths: Any
) -> tuple[Any, ...]:
    xp = array_module(x)
    count, batch, _ = x.shape
    steps = Steps(count, reverse)
    sums = (x.reshape(count * batch, -1) @ w_ih.T).reshape(count, batch, -1)
    if b_ih is not None:
        sums += b_ih + b_hh
    hs = xp.empty((count + 1, batch, h0.shape[1]), x.dtype)
    hs[steps.first] = h0
    for t in steps.order:
        made = hs[t + steps.after]
        np.matmul(hs[t + steps.before], w_hh.T, out=made)
        made += sums[t]
        if relu:
            np.maximum(made, 0, out=made)
        else:
            np.tanh(made, out=made)
    return steps.made(hs), last_states(hs, steps, lengths), hs


def _backward(F: Any, node: Any, g: Any, *saved: Any) -> tuple[Any, ...]:
    x, h0, w_ih, w_hh, b_ih, b_hh, out, hs = saved
    if F is not RAW:
        inputs = (x, h0, w_ih, w_hh, b_ih, b_hh)
        return through_steps(lambda *given: rnn_by_steps(*given, **node.kw), inputs, g, node.needs)
    count, batch, width = out.shape
    lengths, steps = node.kw["lengths"], Steps(count, node.kw["reverse"])
    of_out, of_h = g[:2]
    ends = None if lengths is None else ending_rows(lengths, count)
    dh = start_gradient(of_h, h0, lengths)
    slopes = (out > 0).astype(out.dtype) if node.kw["relu"] else 1 - out * out
    for t in reversed(steps.order):
        if of_out is not None:
            dh += of_out[t]
        if ends is not None and ends[t] is not None and of_h is not None:
            dh[ends[t]] += of_h[ends[t]]
        slopes[t] *= dh
        np.matmul(slopes[t], w_hh, out=dh)
    needs = node.needs
    dx, dw_ih = weight_gradients(slopes, x, w_ih, needs[0])
    _, dw_hh = weight_gradients(slopes, steps.started_from(hs), w_hh, False)
    db = column_sums(slopes.reshape(count * batch, width)) if needs[4] or needs[5] else None
    return dx, dh, dw_ih, dw_hh, db, db


rnn_operator = operator("rnn_layer", _forward, _backward, (*range(6), -1, -3), node="StackBackward0")
rnn_layer = layer(rnn_operator)


def rnn_by_steps(
    x: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any, *, relu: bool, reverse: bool = False,
    lengths: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`rnn_layer`, computed with ordinary operators, step by step, so that it can be differentiated twice."""
    from mpigrad._ops.shape.joining import stack

    from_input = x @ w_ih.transpose(0, 1)
    if b_ih is not None:
        from_input = from_input + (b_ih + b_hh)
    across, hs = w_hh.transpose(0, 1), []
    for t in Steps(x._array.shape[0], reverse).order:
        total = from_input[t] + h @ across
        h = total.relu() if relu else total.tanh()
        hs.append(h)
    out = stack(hs[::-1] if reverse else hs)
    return out, last_rows(hs, out, lengths)
