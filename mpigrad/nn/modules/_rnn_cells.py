"""Recurrent cells: single steps of recurrent layers."""

from __future__ import annotations

import math
from typing import Any

from mpigrad._array.device import array_module

from ..._core.tensor import wrap
from ..._tensor import Tensor
from .. import init
from ..parameter import Parameter
from ._blank import blank
from ._recurrent.gru import gru_layer
from ._recurrent.lstm import lstm_layer
from ._recurrent.rnn import rnn_layer
from .module import Module


class RNNCellBase(Module):
    """Base class of recurrent cells: weights, biases and checks. Use `RNNCell`, `LSTMCell` or `GRUCell`."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(blank(rows, input_size, **where))
        self.weight_hh = Parameter(blank(rows, hidden_size, **where))
        self.register_parameter("bias_ih", Parameter(blank(rows, **where)) if bias else None)
        self.register_parameter("bias_hh", Parameter(blank(rows, **where)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all parameters to uniform random numbers between -1 / sqrt(hidden_size) and 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _prepare(self, input: Tensor, states: list[Tensor | None], names: list[str]) -> tuple[Tensor, list[Tensor]]:
        """The input as one step (1, batch, features), the states as (batch, width)."""
        if input.ndim not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        for state, name in zip(states, names):
            if state is not None and state.ndim not in (1, 2):
                raise ValueError(f"{self._get_name()}: Expected {name} to be 1D or 2D, got {state.ndim}D instead")
        if input.ndim == 1:
            input = input.unsqueeze(0)
            states = [None if state is None else state.unsqueeze(0) for state in states]
        batch = input.shape[0]
        if input.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[1]} expected {self.input_size}")
        made = [self._zeros(input) if state is None else state for state in states]
        for place, state in enumerate(made):
            if state.shape[0] != batch:
                raise RuntimeError(f"Input batch size {batch} doesn't match hidden{place} batch size {state.shape[0]}")
            if state.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{place} has inconsistent hidden_size: got {state.shape[1]}, expected {self.hidden_size}"
                )
        return input.unsqueeze(0), made

    def _zeros(self, input: Tensor) -> Tensor:
        array = input._array
        return wrap(array_module(array).zeros((array.shape[0], self.hidden_size), array.dtype))

    @property
    def _weights(self) -> tuple[Any, Any, Any, Any]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            shown += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            shown += f", nonlinearity={self.nonlinearity}"
        return shown


class RNNCell(RNNCellBase):
    """One step of an `RNN` layer: `forward(input, hx=None)` returns the new state, tanh(W_ih x + b_ih + W_hh h +
    b_hh).

    - `input`: (batch, input_size) or (input_size,); `hx` and the result: (batch, hidden_size) or (hidden_size,).
      Default: zeros.
    - `nonlinearity`: "tanh" (default) or "relu". `bias=False`: no `bias_ih` and `bias_hh`.
    - `device`, `dtype`: those of the parameters.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> nn.RNNCell(10, 20)(mpigrad.randn(3, 10)).shape
    mpigrad.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        x, (h,) = self._prepare(input, [hx], ["hidden"])
        _, h = rnn_layer(x, h, *self._weights, relu=self.nonlinearity == "relu")
        return h.squeeze(0) if input.ndim == 1 else h


class LSTMCell(RNNCellBase):
    """One step of an `LSTM` layer: `forward(input, hx=None)` returns (h, c), the new state and the new cell.

    `input` is (batch, input_size) or (input_size,); `hx` is (h, c), each (batch, hidden_size) or (hidden_size,), by default
    zeros. `device`, `dtype`: those of the parameters.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> h, c = nn.LSTMCell(10, 20)(mpigrad.randn(3, 10))
    >>> h.shape, c.shape
    (mpigrad.Size([3, 20]), mpigrad.Size([3, 20]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        given: Any = (None, None) if hx is None else hx
        x, (h, c) = self._prepare(input, [given[0], given[1]], ["hx[0]", "hx[1]"])
        _, h, c = lstm_layer(x, h, c, *self._weights)
        return (h.squeeze(0), c.squeeze(0)) if input.ndim == 1 else (h, c)


class GRUCell(RNNCellBase):
    """One step of a `GRU` layer: `forward(input, hx=None)` returns the new state.

    `input` is (batch, input_size) or (input_size,); `hx` and the result are (batch, hidden_size) or (hidden_size,).
    Default: zeros. `device`, `dtype`: those of the parameters.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> nn.GRUCell(10, 20)(mpigrad.randn(3, 10)).shape
    mpigrad.Size([3, 20])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        x, (h,) = self._prepare(input, [hx], ["hidden"])
        _, h = gru_layer(x, h, *self._weights)
        return h.squeeze(0) if input.ndim == 1 else h
