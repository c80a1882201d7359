"""Recurrent layers: `RNN`, `LSTM`, `GRU`, in several layers and both directions, over padded or packed sequences."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from mpigrad._array.device import array_module, device_of, move
from mpigrad._ops.shape.joining import cat, stack

from ..._core.tensor import wrap
from ..._tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ..utils.rnn import Layout, PackedSequence, warn_of_dropout
from ._blank import blank
from ._recurrent.gru import gru_layer
from ._recurrent.lstm import lstm_by_steps, lstm_layer
from ._recurrent.rnn import rnn_layer
from ._rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from .module import Module

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """Base class of recurrent layers: weights, shapes, and iteration over layers and directions."""

    two_states: ClassVar[bool] = False

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check_settings(dropout)
        self._flat_weights_names: list[str] = []
        self._make_weights({"device": device, "dtype": dtype})
        self.reset_parameters()

    def _check_settings(self, dropout: Any) -> None:
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        warn_of_dropout(dropout, self.num_layers)
        if not isinstance(self.hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(self.hidden_size).__name__}")
        if self.hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _out_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _make_weights(self, where: dict[str, Any]) -> None:
        rows = _GATES[self.mode] * self.hidden_size
        for layer in range(self.num_layers):
            columns = self.input_size if layer == 0 else self._out_size * self._directions
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, columns), "weight_hh": (rows, self._out_size)}
            if self.bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if self.proj_size:
                shapes["weight_hr"] = (self.proj_size, self.hidden_size)
            for direction in range(self._directions):
                for kind, shape in shapes.items():
                    name = f"{kind}_l{layer}{'_reverse' if direction else ''}"
                    setattr(self, name, Parameter(blank(*shape, **where)))
                    self._flat_weights_names.append(name)

    def reset_parameters(self) -> None:
        """Set all parameters to uniform random numbers between -1 / sqrt(hidden_size) and 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """No effect; it exists for programs that call it. (cuDNN needs the weights in one memory block, mpigrad does
        not.)
        """

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights as a list for each layer and direction: `weight_ih`, `weight_hh`, and if they exist `bias_ih`,
        `bias_hh`, `weight_hr`.
        """
        # 2 without biases, 4 with them, one more with a projection
        per = len(self._flat_weights_names) // (self.num_layers * self._directions)
        flat = self._flat_weights
        return [flat[i : i + per] for i in range(0, len(flat), per)]

    # -- shapes ------------------------------------------------------------------------------------------------------
    def _check_input(self, input: Tensor, packed: bool) -> None:
        weight = self._parameters[self._flat_weights_names[0]]
        if input.dtype is not weight.dtype:  # type: ignore[union-attr]
            kind, wanted = input.dtype, weight.dtype  # type: ignore[union-attr]
            raise ValueError(
                f"RNN input dtype ({kind}) does not match weight dtype ({wanted}). Convert input: input.to({wanted}), "
                f"or convert model: model.to({kind})"
            )
        if not packed and input.ndim not in (2, 3):
            noun = " tensor" if self.mode.startswith("RNN") else ""
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.ndim}D{noun} instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def _check_dimensions(self, states: tuple[Tensor, ...], batched: bool) -> None:
        wanted, kind = (3, "batched 3-D") if batched else (2, "unbatched 2-D")
        if all(state.ndim == wanted for state in states):
            return
        if self.two_states:
            found = ", ".join(f"{state.ndim}-D" for state in states)
            raise RuntimeError(f"For {kind} input, hx and cx should also be {wanted}-D but got ({found}) tensors")
        raise RuntimeError(f"For {kind} input, hx should also be {wanted}-D but got {states[0].ndim}-D tensor")

    def _check_sizes(self, states: tuple[Tensor, ...], batch: int) -> None:
        for place, state in enumerate(states):
            size = (self.num_layers * self._directions, batch, self.hidden_size if place else self._out_size)
            if tuple(state.shape) != size:
                which = f"hidden[{place}]" if self.two_states else "hidden"
                raise RuntimeError(f"Expected {which} size {size}, got {list(state.shape)}")

    def _initial(self, like: Tensor, batch: int) -> tuple[Tensor, ...]:
        xp, count = array_module(like._array), self.num_layers * self._directions
        made = [wrap(xp.zeros((count, batch, self._out_size), like._array.dtype))]
        if self.two_states:
            made.append(wrap(xp.zeros((count, batch, self.hidden_size), like._array.dtype)))
        return tuple(made)

    # -- running -----------------------------------------------------------------------------------------------------
    def forward(self, input: Any, hx: Any = None) -> Any:
        given = None if hx is None else (hx[0], hx[1]) if self.two_states else (hx,)
        if isinstance(input, PackedSequence):
            out, states = self._run_packed(input, given)
        else:
            out, states = self._run_padded(input, given)
        return out, states if self.two_states else states[0]

    def _run_padded(self, input: Tensor, given: tuple[Tensor, ...] | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        self._check_input(input, packed=False)
        batched = input.ndim == 3
        if given is not None:
            self._check_dimensions(given, batched)
            if not batched:
                given = tuple(state.unsqueeze(1) for state in given)
        if not batched:
            input = input.unsqueeze(1)
        elif self.batch_first:
            input = input.transpose(0, 1)
        if given is None:
            given = self._initial(input, input.shape[1])
        else:
            self._check_sizes(given, input.shape[1])
        out, states = self._run_layers(input, given, None)
        if not batched:
            return out.squeeze(1), tuple(state.squeeze(1) for state in states)
        return out.transpose(0, 1) if self.batch_first else out, states

    def _run_packed(self, input: PackedSequence, given: tuple[Tensor, ...] | None) -> tuple[Any, tuple[Tensor, ...]]:
        self._check_input(input.data, packed=True)
        layout = Layout(input.batch_sizes._array)
        if given is None:
            given = self._initial(input.data, layout.batch)
        else:
            self._check_sizes(given, layout.batch)
            # packed sequences are sorted by length; the states are in the user's order
            if input.sorted_indices is not None:
                given = tuple(state.index_select(1, input.sorted_indices) for state in given)
        out, states = self._run_layers(layout.pad(input.data), given, layout)
        if input.unsorted_indices is not None:
            states = tuple(state.index_select(1, input.unsorted_indices) for state in states)
        packed = PackedSequence(layout.pack(out), input.batch_sizes, input.sorted_indices, input.unsorted_indices)
        return packed, states

    def _run_layers(
        self, x: Tensor, given: tuple[Tensor, ...], layout: Layout | None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        weights, ends = self.all_weights, []
        for layer in range(self.num_layers):
            outs = []
            for direction in range(self._directions):
                place = layer * self._directions + direction
                start = tuple(state[place] for state in given)
                out, *end = self._run_direction(x, start, weights[place], bool(direction), layout)
                outs.append(out)
                ends.append(end)
            x = outs[0] if len(outs) == 1 else cat(outs, dim=2)
            if self.dropout and self.training and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, True)
        return x, tuple(each[0].unsqueeze(0) if len(each) == 1 else stack(list(each)) for each in zip(*ends))

    def _run_direction(
        self, x: Tensor, start: tuple[Tensor, ...], weights: list[Any], reverse: bool, layout: Layout | None
    ) -> Any:
        if not self.bias:
            weights = [*weights[:2], None, None, *weights[2:]]
        if layout is None:
            return self._layer(x, start, weights, reverse, None)
        lengths = move(np.ascontiguousarray(layout.lengths), device_of(x._array))
        if not reverse:
            return self._layer(x, start, weights, False, lengths)
        # each sequence is reversed within its own length, so that its padding stays at the end
        turned = layout.mirror()
        out, *ends = self._layer(x[turned], start, weights, False, lengths)
        return out[turned], *ends

    def _layer(self, x: Tensor, start: tuple[Tensor, ...], weights: list[Any], reverse: bool, lengths: Any) -> Any:
        if self.mode == "GRU":
            return gru_layer(x, start[0], *weights, reverse=reverse, lengths=lengths)
        if self.mode != "LSTM":
            return rnn_layer(x, start[0], *weights, reverse=reverse, lengths=lengths, relu=self.mode == "RNN_RELU")
        # the fused layer has no projection
        layer: Any = lstm_by_steps if self.proj_size else lstm_layer
        return layer(x, *start, *weights, reverse=reverse, lengths=lengths)

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size:
            shown += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            shown += f", num_layers={self.num_layers}"
        if self.bias is not True:
            shown += f", bias={self.bias}"
        if self.batch_first:
            shown += f", batch_first={self.batch_first}"
        if self.dropout:
            shown += f", dropout={self.dropout}"
        return shown + (f", bidirectional={self.bidirectional}" if self.bidirectional else "")


class RNN(RNNBase):
    """Recurrent layers: h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh) at each step t. `nonlinearity="relu"`
    replaces tanh.

    - `input_size`, `hidden_size`: the numbers of features of x and h. `num_layers`: layers, each of which reads the
      states of the one before.
    - `batch_first`: sequences are (batch, steps, features) instead of (steps, batch, features). `PackedSequence`s,
      and sequences without batch, are accepted as well.
    - `dropout`: between layers, in training. `bidirectional`: run each layer in both directions and join the states.

    `forward(input, hx=None)` returns (output, h_n): the states of the last layer at all steps, (steps, batch,
    directions * hidden_size), and the last state of each layer, (num_layers * directions, batch, hidden_size). `hx`
    has the first states, by default zeros.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> out, h = nn.RNN(10, 20, 2)(mpigrad.randn(5, 3, 10))
    >>> out.shape, h.shape
    (mpigrad.Size([5, 3, 20]), mpigrad.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + self.nonlinearity.upper(), *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory layers: recurrent layers with a state h and a cell c.

    With the gates i, f, o (sigmoids) and g (tanh) of linear maps of input and state: c_t = f * c_(t-1) + i * g, h_t =
    o * tanh(c_t).

    The arguments are those of `RNN`; `proj_size` > 0 projects h to this size after each step. `forward(input,
    hx=None)` returns (output, (h_n, c_n)), shaped as in `RNN`; `hx` is a pair of first states and cells.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> out, (h, c) = nn.LSTM(10, 20, 2)(mpigrad.randn(5, 3, 10))
    >>> out.shape, h.shape, c.shape
    (mpigrad.Size([5, 3, 20]), mpigrad.Size([2, 3, 20]), mpigrad.Size([2, 3, 20]))
    """

    two_states = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Layers of gated recurrent units. The arguments and results are those of `RNN`.

    With the gates r, z (sigmoids) of linear maps of input and state: n = tanh(W_in x_t + b_in + r * (W_hn h_(t-1) +
    b_hn)), h_t = (1 - z) * n + z * h_(t-1).

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> out, h = nn.GRU(10, 20)(mpigrad.randn(5, 3, 10))
    >>> out.shape, h.shape
    (mpigrad.Size([5, 3, 20]), mpigrad.Size([1, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]
