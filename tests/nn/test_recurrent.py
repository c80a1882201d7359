"""Recurrent layers: one operator for a sequence against steps with ordinary operators, numerical gradients, packing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad import nn
from mpigrad.autograd import gradcheck, gradgradcheck
from mpigrad.nn.modules._recurrent.gru import gru_by_steps, gru_layer
from mpigrad.nn.modules._recurrent.lstm import lstm_by_steps, lstm_layer
from mpigrad.nn.modules._recurrent.rnn import rnn_by_steps, rnn_layer
from mpigrad.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, unpack_sequence

LAYERS = {
    "lstm": (lstm_layer, lstm_by_steps, 4, 2, {}),
    "gru": (gru_layer, gru_by_steps, 3, 1, {}),
    "tanh": (rnn_layer, rnn_by_steps, 1, 1, {"relu": False}),
    "relu": (rnn_layer, rnn_by_steps, 1, 1, {"relu": True}),
}


def inputs(gates: int, states: int, bias: bool = True, steps: int = 4, batch: int = 3) -> list[Any]:
    random = np.random.default_rng(3)
    leaf = lambda *shape: mpigrad.tensor(random.standard_normal(shape) * 0.7, requires_grad=True)
    made = [leaf(steps, batch, 2), *(leaf(batch, 3) for _ in range(states)), leaf(gates * 3, 2), leaf(gates * 3, 3)]
    return made + [leaf(gates * 3) if bias else None for _ in range(2)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("reverse", "lengths"), [(False, None), (True, None), (False, [4, 2, 1])])
@pytest.mark.parametrize("name", LAYERS)
def test_fused_equals_steps(name: str, reverse: bool, bias: bool, lengths: list[int] | None) -> None:
    fused, by_steps, gates, states, extra = LAYERS[name]
    given = inputs(gates, states, bias)
    wanted = [each for each in given if each is not None]
    ends = None if lengths is None else np.asarray(lengths)
    results = []
    for layer in (fused, by_steps):
        outs = layer(*given, reverse=reverse, lengths=ends, **extra)
        total = sum((out * out).sum() * (place + 1) for place, out in enumerate(outs))
        results.append([out.detach() for out in outs] + list(mpigrad.autograd.grad(total, wanted)))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["lstm", "gru", "tanh"])
def test_numerical_gradients(name: str) -> None:
    fused, _, gates, states, extra = LAYERS[name]
    given = inputs(gates, states, steps=2, batch=2)
    assert gradcheck(lambda *each: fused(*each, **extra), given)
    assert gradgradcheck(lambda *each: fused(*each, **extra)[0], given)


def test_one_state_for_both_of_an_lstm_is_counted_once_for_each() -> None:
    x, h, _, *weights = inputs(4, 2)
    (first,) = mpigrad.autograd.grad(lstm_layer(x, h, h, *weights)[0].sum(), h, create_graph=True)
    (again,) = mpigrad.autograd.grad(lstm_layer(x, h, h, *weights)[0].sum(), h)
    np.testing.assert_allclose(first.detach().numpy(), again.numpy(), rtol=1e-10)


def test_changing_the_output_in_place_is_noticed() -> None:
    out, _ = nn.GRU(2, 3)(mpigrad.randn(4, 2, 2))
    out += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences_are_run_as_if_each_alone(kind: Any, bidirectional: bool) -> None:
    mpigrad.manual_seed(1)
    layer = kind(3, 4, 2, bidirectional=bidirectional)
    items = [mpigrad.randn(length, 3) for length in (2, 5, 3, 1)]
    out, states = layer(pack_sequence(items, enforce_sorted=False))
    states = states if isinstance(states, tuple) else (states,)
    for place, (item, got) in enumerate(zip(items, unpack_sequence(out))):
        alone, ends = layer(item)
        np.testing.assert_allclose(got.detach().numpy(), alone.detach().numpy(), atol=1e-6)
        for state, end in zip(states, ends if isinstance(ends, tuple) else (ends,)):
            np.testing.assert_allclose(state[:, place].detach().numpy(), end.detach().numpy(), atol=1e-6)


def test_packing_and_padding_are_inverse() -> None:
    x = mpigrad.arange(24.0).reshape(4, 3, 2)
    packed = pack_padded_sequence(x, [2, 4, 3], enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 3, 2, 1]
    padded, lengths = pad_packed_sequence(packed, padding_value=-1)
    assert lengths.tolist() == [2, 4, 3]
    for row, length in enumerate(lengths.tolist()):
        np.testing.assert_array_equal(padded.numpy()[:length, row], x.numpy()[:length, row])
        assert (padded.numpy()[length:, row] == -1).all()


def test_packing_unsorted_sequences_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match="enforce_sorted=False"):
        pack_padded_sequence(mpigrad.zeros(3, 2, 1), [1, 3])


def test_cells_are_single_steps() -> None:
    mpigrad.manual_seed(2)
    layer, cell = nn.LSTM(3, 4), nn.LSTMCell(3, 4)
    cell.load_state_dict({name: layer.state_dict()[name + "_l0"] for name in cell.state_dict()})
    x = mpigrad.randn(5, 2, 3)
    out, (h, c) = layer(x)
    state = None
    for step in range(5):
        state = cell(x[step], state)
        np.testing.assert_allclose(state[0].detach().numpy(), out[step].detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(state[1].detach().numpy(), c[0].detach().numpy(), atol=1e-6)


def test_gates_far_from_zero_do_not_overflow() -> None:
    layer = nn.LSTM(1, 2)
    out, _ = layer(mpigrad.full((3, 1, 1), 1e5))
    out.sum().backward()
    assert np.isfinite(out.detach().numpy()).all() and all(
        np.isfinite(p.grad.numpy()).all() for p in layer.parameters()
    )
