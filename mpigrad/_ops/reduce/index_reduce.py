"""Reductions of slices: index_reduce and renorm."""

from __future__ import annotations

from typing import Any

from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors
from .._define.composite import composite
from .._define.dims import wrap_dim
from .._define.inplace import in_place
from .._define.out import deliver
from ..elementwise.where import where
from ..index.scatter_reduce import scatter_reduce
from .norms import vector_norm

_WAYS = ("prod", "mean", "amax", "amin")


def _index_reduced(x: Tensor, index: Tensor, source: Tensor, *, dim: int, reduce: str, include_self: bool) -> Tensor:
    if not x.ndim:  # a single element, taken as a vector of one
        made = _index_reduced(
            x.reshape(1), index, source.reshape(-1), dim=dim, reduce=reduce, include_self=include_self
        )
        return made.reshape(())
    places = index.reshape([-1 if i == dim else 1 for i in range(max(x.ndim, 1))]).expand(source.shape)
    return scatter_reduce(x, dim, places, source, reduce, include_self=include_self)


INDEX_REDUCE = composite("index_reduce", _index_reduced, 3, node="IndexReduceBackward0")


def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True,
                 out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Combine the slices of `source` into the slices of a copy of `input` at the indices `index` of dimension `dim`.

    `reduce` is "prod", "mean", "amax" or "amin". `include_self=False` leaves the old slices out of the reduction.
    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.ones(2).index_reduce(0, mpigrad.tensor([0, 0]), mpigrad.tensor([2.0, 3.0]), "prod")
    tensor([6., 1.])
    """
    need_tensors("index_reduce", input=input, index=index, source=source)
    if reduce not in _WAYS:
        raise RuntimeError(f"reduce argument must be either prod, mean, amax or amin, got {reduce}.")
    at = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise RuntimeError("index_reduce_(): Index is supposed to be a vector, but got dim: " + str(index.ndim))
    if input.dtype is not source.dtype:
        raise RuntimeError("index_reduce_(): self and source expected to have the same dtype")
    return deliver(INDEX_REDUCE(input, index, source, dim=at, reduce=reduce, include_self=include_self), out)


def _renormed(x: Tensor, *, p: float, dim: int, maxnorm: float) -> Tensor:
    others = [i for i in range(x.ndim) if i != dim]
    length = vector_norm(x, p, others, keepdim=True)
    return x * where(length > maxnorm, maxnorm / (length + 1e-7), length * 0 + 1)


RENORM = composite("renorm", _renormed, 1, node="RenormBackward0")


def renorm(input: Tensor, p: Any, dim: int, maxnorm: Any, *, out: Tensor | None = None) -> Tensor:
    """Scale down each slice of dimension `dim` whose `p`-norm is larger than `maxnorm`, so that its norm becomes
    `maxnorm`. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.renorm(mpigrad.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    need_tensors("renorm", input=input)
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    return deliver(RENORM(input, p=p, dim=wrap_dim(dim, input.ndim), maxnorm=maxnorm), out)


method(index_reduce)
method(in_place(index_reduce), "index_reduce_")
method(renorm)
method(in_place(renorm), "renorm_")

__all__ = ["index_reduce", "renorm"]
