"""LSTM layers: one operator for a whole sequence, with its backward written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._device import array_module
from ...._graph.namespace import RAW
from ...._ops._define import operator
from ...._tensor import Tensor
from .shared import (
    Steps,
    column_sums,
    ending_rows,
    last_rows,
    last_states,
    start_gradient,
    through_steps,
    weight_gradients,
)

GATES = 4  # input, forget, cell, output: blocks of the weights' rows
CELL = 2


def _exponents(w: Any) -> Any:
    """A weight or bias by gate, scaled so that every gate is `1 / (1 + exp(.))`; the cell has tanh(x) = 2 s(2x) - 1."""
    scale = array_module(w).full((GATES, 1, 1), -1, w.dtype)
    scale[CELL] = -2
    return w.reshape(GATES, w.shape[0] // GATES, -1) * scale


def _bias(b_ih: Any, b_hh: Any) -> Any:
    return _exponents(b_ih + b_hh).transpose(0, 2, 1)


def _forward(
    x: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, *, reverse: bool, lengths: Any
) -> tuple[Any, ...]:
    xp = array_module(x)
    count, batch, _ = x.shape
    width, steps = h0.shape[1], Steps(count, reverse)
    from_input = _exponents(w_ih).transpose(0, 2, 1)
    from_state = _exponents(w_hh).transpose(0, 2, 1)
    gates = np.matmul(x.reshape(count * batch, -1), from_input).reshape(GATES, count, batch, width)
    bias = None if b_ih is None else _bias(b_ih, b_hh)
    hs, cs = (xp.empty((count + 1, batch, width), x.dtype) for _ in range(2))
    squashed = xp.empty((count, batch, width), x.dtype)  # tanh of the cells
    hs[steps.first], cs[steps.first] = h0, c0
    room, product = xp.empty((GATES, batch, width), x.dtype), xp.empty((batch, width), x.dtype)
    with np.errstate(over="ignore"):  # exp may overflow: the gate is 0 then
        for t in steps.order:
            gate = gates[:, t]
            np.matmul(hs[t + steps.before], from_state, out=room)
            room += gate
            if bias is not None:
                room += bias
            np.exp(room, out=room)
            room += 1
            np.divide(1, room, out=gate)
            i, f, g, o = gate
            g *= 2
            g -= 1
            c = cs[t + steps.after]
            np.multiply(f, cs[t + steps.before], out=c)
            np.multiply(i, g, out=product)
            c += product
            np.tanh(c, out=squashed[t])
            np.multiply(o, squashed[t], out=hs[t + steps.after])
    return steps.made(hs), last_states(hs, steps, lengths), last_states(cs, steps, lengths), gates, squashed, hs, cs


def _step_back(into: Any, dh: Any, dc: Any, gate: Any, squashed: Any, before: Any, u: Any, v: Any) -> None:
    """Gradients of one step's gates, before their functions, into `into`; `dc` becomes that of the cell before.
    Written as few products as possible: s(1 - s) of a sigmoid s, 1 - t^2 of a tanh t."""
    i, f, g, o = gate
    np.multiply(dh, o, out=u)
    np.multiply(u, squashed, out=v)
    dc += u
    np.multiply(v, squashed, out=u)
    dc -= u
    np.multiply(v, o, out=u)
    np.subtract(v, u, out=into[:, 3])
    np.multiply(dc, i, out=u)
    np.multiply(u, g, out=v)
    np.multiply(v, i, out=into[:, 0])
    np.subtract(v, into[:, 0], out=into[:, 0])
    v *= g
    np.subtract(u, v, out=into[:, 2])
    dc *= f
    np.multiply(dc, before, out=u)
    np.multiply(u, f, out=v)
    np.subtract(u, v, out=into[:, 1])


def _backward(F: Any, node: Any, g: Any, *saved: Any) -> tuple[Any, ...]:
    x, h0, c0, w_ih, w_hh, b_ih, b_hh, _, gates, squashed, hs, cs = saved
    if F is not RAW:
        inputs = (x, h0, c0, w_ih, w_hh, b_ih, b_hh)
        return through_steps(lambda *given: lstm_by_steps(*given, **node.kw), inputs, g, node.needs)
    xp = array_module(x)
    _, count, batch, width = gates.shape
    lengths, steps = node.kw["lengths"], Steps(count, node.kw["reverse"])
    of_out, of_h, of_c = g[:3]
    ends = None if lengths is None else ending_rows(lengths, count)
    dh, dc = start_gradient(of_h, h0, lengths), start_gradient(of_c, c0, lengths)
    of_gates = xp.empty((count, batch, GATES, width), x.dtype)
    u, v = xp.empty_like(dc), xp.empty_like(dc)
    for t in reversed(steps.order):
        if of_out is not None:
            dh += of_out[t]
        if ends is not None and ends[t] is not None:
            if of_h is not None:
                dh[ends[t]] += of_h[ends[t]]
            if of_c is not None:
                dc[ends[t]] += of_c[ends[t]]
        _step_back(of_gates[t], dh, dc, gates[:, t], squashed[t], cs[t + steps.before], u, v)
        np.matmul(of_gates[t].reshape(batch, -1), w_hh, out=dh)
    needs = node.needs
    of_gates = of_gates.reshape(count, batch, -1)
    dx, dw_ih = weight_gradients(of_gates, x, w_ih, needs[0])
    _, dw_hh = weight_gradients(of_gates, steps.started_from(hs), w_hh, False)
    db = column_sums(of_gates.reshape(count * batch, -1)) if needs[5] or needs[6] else None
    return dx, dh, dc, dw_ih, dw_hh, db, db


lstm_operator = operator(
    "lstm_layer", _forward, _backward, (*range(7), -1, -4, -5, -6, -7), node="MkldnnRnnLayerBackward0"
)


def lstm_layer(
    x: Tensor,
    h0: Tensor,
    c0: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
    *,
    reverse: bool = False,
    lengths: Any = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """One layer in one direction over `x` (steps, batch, features); gives all outputs, the last state and cell.
    `lengths`, an array of ints, says after how many steps each row ends; turning such rows is left to the caller."""
    out, h, c, *_ = lstm_operator(x, h0, c0, w_ih, w_hh, b_ih, b_hh, reverse=reverse, lengths=lengths)
    return out, h, c


def lstm_by_steps(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
    w_hr: Tensor | None = None,
    *,
    reverse: bool = False,
    lengths: Any = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The same as `lstm_layer` with ordinary operators; `w_hr` projects the state after each step."""
    from ...._ops.joining import stack

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
