"""GRU layers: one operator for a whole sequence, with its backward written out."""

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

GATES = 3  # reset, update, new: the order of the gates in the rows of the weights


def _exponents(w: Any) -> Any:
    """A weight or bias for each gate, scaled by -1 for the reset and update gates, so that each of them is `1 / (1 +
    exp(result))`.
    """
    scale = array_module(w).full((GATES, 1, 1), -1, w.dtype)
    scale[2] = 1
    return w.reshape(GATES, w.shape[0] // GATES, -1) * scale


def _forward(
    x: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, *, reverse: bool, lengths: Any
) -> tuple[Any, ...]:
    xp = array_module(x)
    count, batch, _ = x.shape
    width, steps = h0.shape[1], Steps(count, reverse)
    from_input = _exponents(w_ih).transpose(0, 2, 1)
    from_state = _exponents(w_hh).transpose(0, 2, 1)
    gates = np.matmul(x.reshape(count * batch, -1), from_input).reshape(GATES, count, batch, width)
    if b_ih is not None:
        gates += _exponents(b_ih).transpose(0, 2, 1)[:, None]
        bias = _exponents(b_hh).transpose(0, 2, 1)
    hs = xp.empty((count + 1, batch, width), x.dtype)
    inner = xp.empty((count, batch, width), x.dtype)  # the part that the reset gate multiplies
    hs[steps.first] = h0
    room = xp.empty((GATES, batch, width), x.dtype)
    with np.errstate(over="ignore"):  # exp may overflow: the gate is 0 then
        for t in steps.order:
            gate, h = gates[:, t], hs[t + steps.before]
            np.matmul(h, from_state, out=room)
            if b_ih is not None:
                room += bias
            inner[t] = room[2]
            both, new = room[:2], gate[2]
            both += gate[:2]
            np.exp(both, out=both)
            both += 1
            np.divide(1, both, out=gate[:2])
            np.multiply(gate[0], inner[t], out=room[2])
            new += room[2]
            np.tanh(new, out=new)
            made = hs[t + steps.after]
            np.subtract(h, new, out=made)
            made *= gate[1]
            made += new
    return steps.made(hs), last_states(hs, steps, lengths), gates, inner, hs


def _step_back(of_input: Any, of_state: Any, dh: Any, gate: Any, inner: Any, before: Any, u: Any) -> None:
    """Gradients of one step's gates with respect to input and state; `dh` becomes the part of the previous
    state's gradient that does not pass through the gates."""
    r, z, n = gate
    np.multiply(dh, z, out=u)  # the direct part of the previous state
    dh -= u
    slope = of_input[:, 2]
    np.multiply(n, n, out=slope)
    np.subtract(1, slope, out=slope)
    slope *= dh
    np.multiply(slope, r, out=of_state[:, 2])
    dz = of_input[:, 1]
    np.subtract(before, n, out=dz)
    dz *= dh
    dz *= z
    of_state[:, 1] = dz
    dr = of_input[:, 0]
    np.subtract(1, r, out=dr)
    dr *= of_state[:, 2]
    dr *= inner
    of_state[:, 0] = dr
    dh[...] = u


def _backward(F: Any, node: Any, g: Any, *saved: Any) -> tuple[Any, ...]:
    x, h0, w_ih, w_hh, b_ih, b_hh, _, gates, inner, hs = saved
    if F is not RAW:
        inputs = (x, h0, w_ih, w_hh, b_ih, b_hh)
        return through_steps(lambda *given: gru_by_steps(*given, **node.kw), inputs, g, node.needs)
    xp = array_module(x)
    _, count, batch, width = gates.shape
    lengths, steps = node.kw["lengths"], Steps(count, node.kw["reverse"])
    of_out, of_h = g[:2]
    ends = None if lengths is None else ending_rows(lengths, count)
    dh = start_gradient(of_h, h0, lengths)
    of_input, of_state = (xp.empty((count, batch, GATES, width), x.dtype) for _ in range(2))
    u = xp.empty_like(dh)
    for t in reversed(steps.order):
        if of_out is not None:
            dh += of_out[t]
        if ends is not None and ends[t] is not None and of_h is not None:
            dh[ends[t]] += of_h[ends[t]]
        _step_back(of_input[t], of_state[t], dh, gates[:, t], inner[t], hs[t + steps.before], u)
        dh += np.matmul(of_state[t].reshape(batch, -1), w_hh, out=u)
    needs = node.needs
    of_input, of_state = of_input.reshape(count, batch, -1), of_state.reshape(count, batch, -1)
    dx, dw_ih = weight_gradients(of_input, x, w_ih, needs[0])
    _, dw_hh = weight_gradients(of_state, steps.started_from(hs), w_hh, False)
    db_ih = column_sums(of_input.reshape(count * batch, -1)) if needs[4] else None
    db_hh = column_sums(of_state.reshape(count * batch, -1)) if needs[5] else None
    return dx, dh, dw_ih, dw_hh, db_ih, db_hh


gru_operator = operator("gru_layer", _forward, _backward, (*range(6), -1, -3, -4, -5), node="StackBackward0")
gru_layer = layer(gru_operator)


def gru_by_steps(
    x: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any, *, reverse: bool = False, lengths: Any = None
) -> tuple[Tensor, Tensor]:
    """`gru_layer`, computed with ordinary operators, step by step, so that it can be differentiated twice."""
    from mpigrad._ops.shape.joining import stack

    from_input = x @ w_ih.transpose(0, 1)
    if b_ih is not None:
        from_input = from_input + b_ih
    across, hs = w_hh.transpose(0, 1), []
    for t in Steps(x._array.shape[0], reverse).order:
        from_state = h @ across if b_hh is None else h @ across + b_hh
        (xr, xz, xn), (hr, hz, hn) = from_input[t].chunk(GATES, 1), from_state.chunk(GATES, 1)
        new = (xn + (xr + hr).sigmoid() * hn).tanh()
        h = new + (xz + hz).sigmoid() * (h - new)
        hs.append(h)
    out = stack(hs[::-1] if reverse else hs)
    return out, last_rows(hs, out, lengths)
