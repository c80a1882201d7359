"""Differences of neighbouring elements, and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors
from .._define.dims import size_from, wrap_dim
from .._define.guarded import guarded
from .._define.out import deliver
from .._define.unbroadcast import sum_to
from ..create.create import tensor
from ..shape.joining import cat

_WAYS = ("linear", "lower", "higher", "midpoint", "nearest")


def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *,
         out: Tensor | None = None) -> Tensor:  # fmt: skip
    """The differences of neighbouring elements, x[i + 1] - x[i], along `dim`, taken `n` times.

    `prepend`, `append`: tensors to join to the beginning and the end of `dim` first. `out`: a tensor to which the
    result is written.

    >>> import mpigrad
    >>> mpigrad.diff(mpigrad.tensor([1, 3, 2]))
    tensor([ 2, -1])
    """
    need_tensors("diff", input=input)
    if input._array.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    place = wrap_dim(dim, input._array.ndim)
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:
        return deliver(input.clone(), out)
    parts = [each for each in (prepend, input, append) if each is not None]
    found = cat(parts, place) if len(parts) > 1 else input
    for _ in range(n):
        length = max(found._array.shape[place] - 1, 0)
        first = found._array.shape[place] - length
        later, earlier = found.narrow(place, first, length), found.narrow(place, 0, length)
        found = later ^ earlier if found._array.dtype.kind == "b" else later - earlier
    return deliver(found, out)


@guarded
def quantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear",
             out: Tensor | None = None) -> Tensor:  # fmt: skip
    """The `q`-quantile of the elements: of all, or along `dim`. `keepdim`: keep `dim` with length 1.

    - `q`: a number between 0 and 1, or a vector of them, which adds a first dimension to the result.
    - `interpolation`: between neighbouring elements: "linear" (default), "lower", "higher", "midpoint" or "nearest".
      `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.quantile(mpigrad.tensor([0.0, 1.0, 2.0, 3.0]), 0.5)
    tensor(1.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, out)


@guarded
def nanquantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
                interpolation: str = "linear", out: Tensor | None = None) -> Tensor:  # fmt: skip
    """`quantile` of the elements that are not nan; the arguments are the same.

    >>> import mpigrad
    >>> mpigrad.nanquantile(mpigrad.tensor([float("nan"), 1.0, 2.0]), 0.5)
    tensor(1.5000)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, out)


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, out: Tensor | None
) -> Tensor:
    need_tensors(name, input=input)
    if input._array.size == 0:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if input._array.dtype not in (np.dtype("f4"), np.dtype("f8")):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if interpolation not in _WAYS:
        raise RuntimeError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    parts = q if isinstance(q, Tensor) else tensor(q, dtype=input.dtype, device=input.device)
    if not bool(((parts._array >= 0) & (parts._array <= 1)).all()):
        what = "q values must be in the range [0, 1]"
        raise RuntimeError(
            f"quantile() {what if isinstance(q, Tensor) else f'q must be in the range [0, 1] but got {q:g}'}"
        )
    return deliver(_along(input, parts, dim, keepdim, interpolation, skip=name == "nanquantile"), out)


def _along(input: Tensor, parts: Tensor, dim: int | None, keepdim: bool, way: str, skip: bool) -> Tensor:
    """Interpolate between the sorted elements on both sides of each rank; the dimension of `q` comes first in the result."""
    ndim = input._array.ndim
    row = input.reshape(-1) if dim is None else input.movedim(wrap_dim(dim, ndim), -1) if ndim else input.reshape(1)
    ordered, count = row.sort(-1).values, row._array.shape[-1]
    unknown = row.detach().isnan()
    if skip:  # nan is sorted to the end
        found = _counted(ordered, (~unknown._array).sum(-1, keepdims=True), parts, way)
        unknown = unknown.all(-1, keepdim=True)
    else:
        found = _counted(ordered, count, parts, way)
        unknown = unknown.any(-1, keepdim=True)
    found = found.masked_fill(unknown, float("nan"))
    found = found.movedim(-1, 0)
    if keepdim:
        if dim is None or not ndim:
            found = found.reshape(-1, *([1] * ndim))
        else:
            found = found.unsqueeze(wrap_dim(dim, ndim) + 1)
    return found if parts._array.ndim else found.squeeze(0)


def _counted(ordered: Tensor, count: Any, parts: Tensor, way: str) -> Tensor:
    """The quantiles of the first `count` elements of each sorted row; `parts` are the fractions, `way` the
    interpolation.
    """
    rank = np.maximum(count - 1, 0) * parts._array.reshape(-1).astype("f8")
    weight, low = _places(rank, way)
    high = np.minimum(low + (weight > 0), np.maximum(count - 1, 0))
    shape = (*ordered._array.shape[:-1], weight.shape[-1])
    first, second = (ordered.gather(-1, wrap(np.broadcast_to(at, shape).copy())) for at in (low, high))
    return first + (second - first) * wrap(weight.astype(ordered._array.dtype))


def _places(rank: np.ndarray, way: str) -> tuple[np.ndarray, np.ndarray]:
    """For each rank, the index of the element before it, and the fraction of the way to the next element."""
    if way == "nearest":
        rank = np.rint(rank)
    elif way in ("lower", "higher"):
        rank = np.floor(rank) if way == "lower" else np.ceil(rank)
    low = np.floor(rank)
    weight = rank - low
    return np.where(weight > 0, 0.5, 0.0) if way == "midpoint" else weight, low.astype("i8")


@method
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Sum over the dimensions that broadcasting from the shape `size` to this tensor's shape adds or stretches.

    >>> import mpigrad
    >>> mpigrad.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    shape = size_from("sum_to_size", size)
    mine = self._array.shape
    fits = len(shape) <= len(mine) and all(n in (1, m) for n, m in zip(shape[::-1], mine[::-1]))
    if not fits:
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(mine)}}}.")
    return self if shape == mine else sum_to(self, shape=shape)


method(diff)
method(quantile)
method(nanquantile)

__all__ = ["diff", "nanquantile", "quantile"]
