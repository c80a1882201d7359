"""LSTM layers: one operator for a whole sequence, with its backward written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._ops._define.operator import operator

from ...._graph.namespace import RAW
from ...._tensor import Tensor
from .shared import Steps, ending_rows, last_rows, last_states, layer, start_gradient, through_steps

GATES = 4  # input, forget, cell, output: the order of the gates in the rows of the weights
CELL = 2


def _joined(w_hh: Any, w_ih: Any, b_ih: Any, b_hh: Any) -> Any:
    """All weights as one matrix, which multiplies columns that contain a state, an input and a one.

    The weights are scaled so that every gate is `1 / (1 + exp(result))`; for the cell, tanh(x) = 2 s(2x) - 1 with the
    sigmoid s.
    """
    parts = [w_hh, w_ih] if b_ih is None else [w_hh, w_ih, (b_ih + b_hh)[:, None]]
    joined = array_module(w_hh).concatenate(parts, axis=1)
    by_gate = joined.reshape(GATES, -1)
    # The sign and the factor 2 are put into the weights once, instead of into every step.
    np.negative(by_gate, out=by_gate)
    by_gate[CELL] *= 2
    return joined


def _columns(x: Any, h0: Any, steps: Steps, bias: bool) -> Any:
    """The columns that the weights multiply in each step: space for the state before it, its input, and a one."""
    count, batch, features = x.shape
    width = h0.shape[1]
    made = array_module(x).empty((count + 1, width + features + bias, batch), x.dtype)
    made[steps.first, :width] = h0.T
    made[steps.before : steps.before + count, width : width + features] = x.transpose(0, 2, 1)
    if bias:
        made[:, -1] = 1
    return made


def _forward(
    x: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, *, reverse: bool, lengths: Any
) -> tuple[Any, ...]:
    """Run all steps. Arrays are stored by columns, (features, batch), so that the gates of a step are one matrix product and each
    gate is contiguous.
    """
    xp = array_module(x)
    count, batch, _ = x.shape
    width, steps = h0.shape[1], Steps(count, reverse)
    weights, columns = _joined(w_hh, w_ih, b_ih, b_hh), _columns(x, h0, steps, b_ih is not None)
    gates = xp.empty((count, GATES, width, batch), x.dtype)
    flat = gates.reshape(count, GATES * width, batch)
    cs, squashed = xp.empty((count + 1, width, batch), x.dtype), xp.empty((count, width, batch), x.dtype)
    cs[steps.first] = c0.T
    room, c = xp.empty((width, batch), x.dtype), cs[steps.first]
    matmul, multiply, one = np.matmul, np.multiply, x.dtype.type(1)
    with np.errstate(over="ignore"):  # exp may overflow: the gate is 0 then
        for t in steps.order:
            gate, now = flat[t], squashed[t]
            # one product for all gates, the input, the state and the bias
            matmul(weights, columns[t + steps.before], out=gate)
            np.exp(gate, out=gate)
            gate += one
            np.divide(one, gate, out=gate)
            i, f, g, o = gates[t]
            # tanh(x) = 2 s(2x) - 1; the weights contain the inner 2
            g += g
            g -= one
            before, c = c, cs[t + steps.after]
            multiply(f, before, out=c)
            multiply(i, g, out=room)
            c += room
            np.tanh(c, out=now)
            # the new state is written to where the next step reads it
            multiply(o, now, out=columns[t + steps.after, :width])
    hs = columns[:, :width].transpose(0, 2, 1)
    ends = last_states(hs, steps, lengths), last_states(cs.transpose(0, 2, 1), steps, lengths)
    return xp.ascontiguousarray(steps.made(hs)), *(xp.ascontiguousarray(end) for end in ends), gates, squashed, columns, cs


def _step_back(into: Any, dh: Any, dc: Any, gate: Any, squashed: Any, before: Any, u: Any, v: Any) -> None:
    """Write the gradients of one step's gates, before their activations, to `into`; `dc` becomes the gradient of the previous
    cell. Written with as few products as possible: s(1 - s) for a sigmoid s, 1 - t^2 for a tanh t.
    """
    i, f, g, o = gate
    of_i, of_f, of_g, of_o = into
    multiply, subtract = np.multiply, np.subtract
    multiply(dh, o, out=u)
    multiply(u, squashed, out=v)
    dc += u
    multiply(v, squashed, out=u)
    dc -= u
    multiply(v, o, out=u)
    subtract(v, u, out=of_o)
    multiply(dc, i, out=u)
    multiply(u, g, out=v)
    multiply(v, i, out=of_i)
    subtract(v, of_i, out=of_i)
    v *= g
    subtract(u, v, out=of_g)
    dc *= f
    multiply(dc, before, out=u)
    multiply(u, f, out=v)
    subtract(u, v, out=of_f)


def _backward(F: Any, node: Any, g: Any, *saved: Any) -> tuple[Any, ...]:
    x, h0, c0, w_ih, w_hh, b_ih, b_hh, _, gates, squashed, columns, cs = saved
    if F is not RAW:
        inputs = (x, h0, c0, w_ih, w_hh, b_ih, b_hh)
        return through_steps(lambda *given: lstm_by_steps(*given, **node.kw), inputs, g, node.needs)
    count, _, width, batch = gates.shape
    steps = Steps(count, node.kw["reverse"])
    of_gates, dh, dc = _back(g[:3], gates, squashed, cs, w_hh, steps, node.kw["lengths"])
    # all steps together: one large product each for the gradients of input and weights
    flat = of_gates.reshape(count, GATES * width, batch).transpose(1, 0, 2).reshape(GATES * width, count * batch)
    dx = (flat.T @ w_ih).reshape(x.shape) if node.needs[0] else None
    of_weights = flat @ steps.started_from(columns).transpose(0, 2, 1).reshape(count * batch, -1)
    features = x.shape[2]
    dw_hh, dw_ih = of_weights[:, :width].copy(), of_weights[:, width : width + features].copy()
    db = of_weights[:, -1].copy() if node.needs[5] or node.needs[6] else None
    return dx, dh.T.copy(), dc.T.copy(), dw_ih, dw_hh, db, db


def _back(
    given: Any, gates: Any, squashed: Any, cs: Any, w_hh: Any, steps: Steps, lengths: Any
) -> tuple[Any, Any, Any]:
    """The backward pass over all steps: the gradients of the gates before their activations, and of the first state and cell."""
    xp = array_module(gates)
    of_out, of_h, of_c = (None if each is None else xp.ascontiguousarray(each.swapaxes(-1, -2)) for each in given)
    ends = None if lengths is None else ending_rows(lengths, len(gates))
    dh, dc = start_gradient(of_h, cs[0], lengths), start_gradient(of_c, cs[0], lengths)
    of_gates = xp.empty(gates.shape, gates.dtype)
    u, v = xp.empty_like(dc), xp.empty_like(dc)
    across = w_hh.T
    for t in reversed(steps.order):
        if of_out is not None:
            dh += of_out[t]
        if ends is not None and ends[t] is not None:
            if of_h is not None:
                dh[:, ends[t]] += of_h[:, ends[t]]
            if of_c is not None:
                dc[:, ends[t]] += of_c[:, ends[t]]
        _step_back(of_gates[t], dh, dc, gates[t], squashed[t], cs[t + steps.before], u, v)
        np.matmul(across, of_gates[t].reshape(-1, dh.shape[1]), out=dh)
    return of_gates, dh, dc


lstm_operator = operator(
    # saves the seven inputs, and outputs 0 and 3 to 6 (-1 is output 0)
    "lstm_layer", _forward, _backward, (*range(7), -1, -4, -5, -6, -7), node="MkldnnRnnLayerBackward0"
)
lstm_layer = layer(lstm_operator, states=2)


def lstm_by_steps(
    x: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any, w_hr: Tensor | None = None, *,
    reverse: bool = False, lengths: Any = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`lstm_layer`, computed with ordinary operators, step by step, so that it can be differentiated twice; `w_hr` projects the
    state after each step.
    """
    from mpigrad._ops.shape.joining import stack

    from_input = x @ w_ih.transpose(0, 1)
    if b_ih is not None:
        from_input = from_input + (b_ih + b_hh)
    across = w_hh.transpose(0, 1)
    hs, cs = [], []
    for t in Steps(x._array.shape[0], reverse).order:
        i, f, g, o = (from_input[t] + h @ across).chunk(GATES, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        h = h if w_hr is None else h @ w_hr.transpose(0, 1)
        hs.append(h)
        cs.append(c)
    out = stack(hs[::-1] if reverse else hs)
    return out, last_rows(hs, out, lengths), c if lengths is None else last_rows(cs, stack(cs), lengths)
