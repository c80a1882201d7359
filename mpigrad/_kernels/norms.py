"""The joint norm of many arrays, and scaling them to a maximal norm: two launches, without a copy to the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array.device import array_module
from .kernel import THREADS, Kernel, either_of_many, launch, letters_of
from .table import tables

# how: 1 adds absolute values, 2 adds squares, 3 takes the largest absolute value, 4 adds powers
_POWERED = """
    if (how == 2) v = v * v;
    else if (how == 4) v = pow(v < 0 ? -v : v, order);
    else v = v < 0 ? -v : v;
    mine = how == 3 ? Largest::join(mine, v) : mine + v;
"""
NORM_PARTS = Kernel("norm_parts", "const __grid_constant__ Table table, double* parts, i64 how, double order", """
  __shared__ double shared[THREADS];
  Piece piece = piece_of_block(table);
  const T *x = ROLE(T, 0);
  double mine = 0;
  EACH_OF_PIECE(i, piece) {
    double v = (A)x[i];""" + _POWERED + """
  }
  mine = how == 3 ? joined<Largest>(mine, blockDim.x, shared) : joined<Sum>(mine, blockDim.x, shared);
  if (threadIdx.x == 0) parts[blockIdx.x] = mine;""", together=True)  # fmt: skip
NORM_OF_PARTS = Kernel("norm_of_parts", "const double* parts, T* made, i64 count, i64 how, double order", """
  __shared__ double shared[THREADS];
  double mine = 0;
  for (i64 i = threadIdx.x; i < count; i += blockDim.x) mine = how == 3 ? Largest::join(mine, parts[i]) : mine + parts[i];
  mine = how == 3 ? joined<Largest>(mine, blockDim.x, shared) : joined<Sum>(mine, blockDim.x, shared);
  if (how == 2) mine = sqrt(mine);
  if (how == 4) mine = pow(mine, 1 / order);
  if (threadIdx.x == 0) made[0] = (T)(A)mine;""", together=True)  # fmt: skip
SCALE_MANY = Kernel("scale_many", "const __grid_constant__ Table table, const N* norm, double most", """
  Piece piece = piece_of_block(table);
  T *x = ROLE(T, 0);
  double factor = most / ((double)norm[0] + 1e-6);
  if (!(factor >= 1))  // also true for nan, which makes the gradients nan, as in PyTorch
    EACH_OF_PIECE(i, piece) x[i] = (T)((A)x[i] * (A)(T)(A)factor);""", {"T": "efd", "N": "efd"})  # fmt: skip

_HOW = {1.0: 1, 2.0: 2, float("inf"): 3}


def norm(values: Any, order: float) -> float:
    """The norm of the elements of one array."""
    flat = values.reshape(-1)
    if order == 2:
        return float(flat @ flat) ** 0.5 if values.dtype != np.float16 else float(np.linalg.norm(flat.astype("f4")))
    if order == float("inf"):
        return float(abs(flat).max()) if flat.size else 0.0
    if order == 0:
        return float((flat != 0).sum())
    return float((abs(flat) ** order).sum()) ** (1.0 / order)


def _norm_of_many(arrays: Sequence[Any], order: float) -> Any:
    """The norm of several arrays together, as a zero-dimensional array of the first array's type."""
    total = norm(np.asarray([norm(each, order) for each in arrays]), order)
    return array_module(arrays[0]).asarray(total, dtype=arrays[0].dtype)


def _norm_on_device(arrays: Sequence[Any], order: float) -> Any:
    if order <= 0 or not all(each.dtype.kind == "f" for each in arrays):  # the counterpart handles these too
        return _norm_of_many(arrays, order)
    xp = array_module(arrays[0])
    how = _HOW.get(order, 4)
    kinds: dict[Any, list[Any]] = {}
    for each in arrays:
        kinds.setdefault(each.dtype, []).append((xp.ascontiguousarray(each),))
    work = [(letters_of(some[0][0]), *each) for some in kinds.values() for each in tables(some)]
    parts = xp.empty(sum(blocks for _, _, blocks in work), np.float64)
    begin = 0
    for letters, table, blocks in work:
        launch(xp, NORM_PARTS, letters, blocks, THREADS, table, parts[begin : begin + blocks], how, order)
        begin += blocks
    made = xp.empty((), arrays[0].dtype)
    launch(xp, NORM_OF_PARTS, letters_of(made), 1, THREADS, parts, made, parts.size, how, order)
    return made


def _scale_many(arrays: Sequence[Any], norm: Any, most: float) -> None:
    """Scale NumPy arrays down in place so that their joint norm, which is given, is at most `most`."""
    factor = float(most) / (float(norm) + 1e-6)
    if factor >= 1.0:  # a nan factor is applied, and makes the gradients nan as in PyTorch
        return
    for each in arrays:
        each *= each.dtype.type(factor)


def _scale_on_device(arrays: Sequence[Any], norm: Any, most: float) -> None:
    """Scale device arrays down in place so that their joint norm is at most `most`; the norm stays on the device."""
    kinds: dict[Any, list[Any]] = {}
    for each in arrays:
        if each.dtype.kind == "f" and (each.flags.c_contiguous or each.flags.f_contiguous):
            kinds.setdefault(each.dtype, []).append((each,))
        else:
            factor = float(most) / (norm.astype(np.float64) + 1e-6)
            each *= array_module(each).where(factor >= 1, 1, factor).astype(each.dtype)
    for some in kinds.values():
        letters = letters_of(some[0][0], norm)
        for table, blocks in tables(some):
            launch(array_module(norm), SCALE_MANY, letters, blocks, THREADS, table, norm, most)


norm_of_many = either_of_many(_norm_of_many, _norm_on_device)
scale_many = either_of_many(_scale_many, _scale_on_device)
