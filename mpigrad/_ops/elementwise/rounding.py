"""Rounding: floor, ceil, round, trunc, frac, and replacement of nan and inf."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors
from .._define.inplace import in_place
from .._define.operator import operator
from .._define.out import deliver
from .._define.unary import refuse_complex, refuse_kinds, unary


def _for_floats(ufunc: Any) -> Any:
    """Apply a rounding function to floats; integers are returned unchanged."""
    return lambda x: ufunc(x) if x.dtype.kind in "fV" else x.copy()


def _nothing(F: Any, node: Any, g: Any) -> Any:
    return g * 0


def _refuse(name: str) -> Any:
    bools, others = refuse_kinds("b", f"{name}_vml_cpu"), refuse_complex(f"{name} is not supported for complex inputs")

    def refuse(x: Tensor) -> None:
        bools(x)
        others(x)

    return refuse


floor = unary("floor", _for_floats(np.floor), _nothing, refuse=_refuse("floor"),
              doc="The largest integer that is not above each element.")  # fmt: skip
ceil = unary("ceil", _for_floats(np.ceil), _nothing, refuse=_refuse("ceil"),
             doc="The smallest integer that is not below each element.")  # fmt: skip
trunc = unary("trunc", _for_floats(np.trunc), _nothing, refuse=_refuse("trunc"),
              doc="Each element without its fraction.", aliases=("fix",))  # fmt: skip
fix = trunc
frac = unary("frac", lambda x: x - np.trunc(x), lambda F, node, g: g, refuse=refuse_kinds("biu", "frac_cpu"),
             doc="The fraction of each element, with its sign.")  # fmt: skip
_refuse_round = refuse_kinds("bc", "round_vml_cpu")
ROUND = operator("round", _for_floats(np.rint), _nothing, node="RoundBackward0")
ROUND_DECIMALS = operator("round_decimals", lambda x, *, decimals: _round(x, decimals), _nothing, node="RoundBackward1")


def _round(x: Any, decimals: int) -> Any:
    if x.dtype.kind not in "fV":
        return x.copy()
    scale = x.dtype.type(10.0 ** abs(decimals))
    return np.rint(x * scale) / scale if decimals >= 0 else np.rint(x / scale) * scale


def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Each element rounded to `decimals` digits after the point (negative: before it); halves go to the even
    neighbour. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.round(mpigrad.tensor([0.5, 1.5, 2.6]))
    tensor([0., 2., 3.])
    """
    need_tensors("round", input=input)
    _refuse_round(input)
    return deliver(ROUND(input) if decimals == 0 else ROUND_DECIMALS(input, decimals=decimals), out)


method(round)
method(in_place(round), "round_")


def _nan_to_num(x: Any, *, nan: Any, posinf: Any, neginf: Any) -> Any:
    if x.dtype.kind not in "fcV":
        return x.copy()
    return array_module(x).nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


NAN_TO_NUM = operator(
    "nan_to_num", _nan_to_num, lambda F, node, g, x: F.keep(g, F.isfinite(x)), saves=(0,), node="NanToNumBackward0"
)


def nan_to_num(input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None, *,
               out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Replace nan by `nan` (default 0), inf by `posinf` and -inf by `neginf` (default: the largest and smallest
    number of the type). `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.nan_to_num(mpigrad.tensor([float("nan"), 1.0]))
    tensor([0., 1.])
    """
    need_tensors("nan_to_num", input=input)
    return deliver(NAN_TO_NUM(input, nan=nan, posinf=posinf, neginf=neginf), out)


method(nan_to_num)
method(in_place(nan_to_num), "nan_to_num_")

__all__ = ["ceil", "fix", "floor", "frac", "nan_to_num", "round", "trunc"]
