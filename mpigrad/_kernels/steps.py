"""Steps of optimizers: SGD, Adam (AdamW) and Adagrad, on one array at a time or on many in one launch.

In all of them `p` is the parameter and `g` its gradient. The NumPy counterparts work in place without allocation: `room(like,
slot)` provides scratch arrays, whose content is lost when the same slot is used again. They take the same settings as their
kernels, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.device import array_module
from .._core import kernels
from .kernel import Kernel, launch, letters_of
from .table import tables

Room = Callable[[Any, int], Any]

_FOLLOWED = """
    A v = p[i], d = maximize ? -(A)g[i] : (A)g[i];
    if (decay != 0) d += v * (A)decay;
"""
SGD = Kernel(
    "sgd_step",
    "const __grid_constant__ Table table, double lr, double momentum, double dampening, double decay, i64 nesterov, "
    "i64 maximize, i64 first",
    """
  Piece piece = piece_of_block(table);
  T *p = ROLE(T, 0), *buffer = ROLE(T, 2);
  const T *g = ROLE(T, 1);
  EACH_OF_PIECE(i, piece) {"""
    + _FOLLOWED
    + """
    if (momentum != 0) {
      A held = first ? d : (A)buffer[i] * (A)momentum + d * (A)(1 - dampening);
      buffer[i] = (T)held;
      d = nesterov ? held * (A)momentum + d : held;
    }
    p[i] = (T)(v - d * (A)lr);
  }""",
)
ADAM = Kernel(
    "adam_step",
    "const __grid_constant__ Table table, double lr, double beta1, double beta2, double eps, double decay, double size, "
    "double spread, i64 decoupled, i64 amsgrad, i64 maximize",
    """
  Piece piece = piece_of_block(table);
  T *p = ROLE(T, 0), *mean = ROLE(T, 2), *square = ROLE(T, 3), *largest = ROLE(T, 4);
  const T *g = ROLE(T, 1);
  EACH_OF_PIECE(i, piece) {
    A v = p[i], d = maximize ? -(A)g[i] : (A)g[i];
    if (decoupled) v *= (A)(1 - lr * decay);
    else if (decay != 0) d += v * (A)decay;
    A m = mean[i], s = (A)square[i] * (A)beta2 + d * d * (A)(1 - beta2);
    m += (d - m) * (A)(1 - beta1);
    mean[i] = (T)m;
    square[i] = (T)s;
    if (amsgrad) {
      s = Largest::join((A)largest[i], s);
      largest[i] = (T)s;
    }
    p[i] = (T)(v - m / (sqrt(s) / (A)spread + (A)eps) * (A)size);
  }""",
)
ADAGRAD = Kernel(
    "adagrad_step",
    "const __grid_constant__ Table table, double size, double eps, double decay, i64 maximize",
    """
  Piece piece = piece_of_block(table);
  T *p = ROLE(T, 0), *total = ROLE(T, 2);
  const T *g = ROLE(T, 1);
  EACH_OF_PIECE(i, piece) {"""
    + _FOLLOWED
    + """
    A sum = (A)total[i] + d * d;
    total[i] = (T)sum;
    p[i] = (T)(v - d / (sqrt(sum) + (A)eps) * (A)size);
  }""",
)


def followed(p: Any, g: Any, decay: float, maximize: bool, room: Room, slot: int = 0) -> Any:
    """The gradient plus weight decay, negated if `maximize`; the given gradient is not modified."""
    if maximize:
        g = np.negative(g, out=room(g, slot))
    if decay != 0:
        made = room(p, slot + 1)
        np.multiply(p, decay, out=made)
        made += g
        return made
    return g


_SGD, _ADAM, _ADAGRAD = kernels.find("sgd_step"), kernels.find("adam_step"), kernels.find("adagrad_step")


def descend(p: Any, g: Any, room: Room, lr: float, decay: float, maximize: bool) -> None:
    """One step of SGD without momentum."""
    if kernels.run(_SGD, (p, g, None, None, None, p.size, lr, 0.0, 0.0, decay, False, maximize, False)):
        return
    made = room(p, 2)
    if maximize or decay != 0:
        g = followed(p, g, decay, maximize, room)
    np.multiply(g, lr, out=made)
    p -= made


def sgd(
    p: Any, g: Any, buffer: Any, room: Room, lr: float, momentum: float, dampening: float, decay: float,
    nesterov: bool, maximize: bool, first: bool,
) -> None:  # fmt: skip
    """One step of SGD; `buffer` (None without momentum) is filled on the first one."""
    if momentum == 0:
        descend(p, g, room, lr, decay, maximize)
        return
    if kernels.run(_SGD, (p, g, buffer, None, None, p.size, lr, momentum, dampening, decay, nesterov, maximize, first)):
        return
    made = room(p, 2)
    if maximize or decay != 0:
        g = followed(p, g, decay, maximize, room)
    if first:
        buffer[...] = g
    else:
        buffer *= momentum
        if dampening:
            np.multiply(g, 1 - dampening, out=made)
            buffer += made
        else:
            buffer += g
    if nesterov:
        np.multiply(buffer, momentum, out=made)
        made += g
        made *= lr
    else:
        np.multiply(buffer, lr, out=made)
    p -= made


def adam(
    p: Any, g: Any, mean: Any, square: Any, largest: Any, room: Room, lr: float, beta1: float, beta2: float,
    eps: float, decay: float, size: float, spread: float, decoupled: bool, amsgrad: bool, maximize: bool,
) -> None:  # fmt: skip
    """One step of Adam or (`decoupled`) AdamW; `largest` is used with `amsgrad` only."""
    numbers = p.size, lr, beta1, beta2, eps, decay, size, spread, decoupled, amsgrad, maximize
    if kernels.run(_ADAM, (p, g, mean, square, largest, *numbers)):
        return
    if decoupled:
        p *= 1 - lr * decay
        decay = 0
    made = room(p, 2)
    if maximize or decay != 0:
        g = followed(p, g, decay, maximize, room)
    np.subtract(g, mean, out=made)
    made *= 1 - beta1
    mean += made
    square *= beta2
    np.multiply(g, g, out=made)
    made *= 1 - beta2
    square += made
    if amsgrad:
        square = np.maximum(largest, square, out=largest)
    np.sqrt(square, out=made)
    made /= spread
    made += eps
    np.divide(mean, made, out=made)
    made *= size
    p -= made


def adagrad(
    p: Any, g: Any, total: Any, room: Room, size: float, eps: float, decay: float, maximize: bool
) -> None:
    """One step of Adagrad."""
    if kernels.run(_ADAGRAD, (p, g, total, None, None, p.size, size, eps, decay, maximize)):
        return
    made = room(p, 2)
    if maximize or decay != 0:
        g = followed(p, g, decay, maximize, room)
    np.multiply(g, g, out=made)
    total += made
    np.sqrt(total, out=made)
    made += eps
    np.divide(g, made, out=made)
    made *= size
    p -= made


def step_many(kernel: Kernel, many: Sequence[Sequence[Any]], *settings: Any) -> None:
    """One step for many parameters of one device, in one kernel launch.

    Each parameter is a list of arrays of one type, one for each role of the kernel; the settings are the kernel's
    numbers, in its order.
    """
    first = many[0][0]
    for table, blocks in tables(many):
        launch(array_module(first), kernel, letters_of(first), blocks, 256, table, *settings)
