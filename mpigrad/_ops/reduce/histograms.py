"""Histograms and conversions of indices: histogram, unravel_index, frexp, nonzero_static."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad import return_types
from mpigrad._array.device import array_module, guard
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors, title
from .._define.dims import size_from
from .._define.guarded import guarded
from .._define.operator import operator
from .._define.out import deliver
from ..index.masked import nonzero


@guarded
def histogram(input: Tensor, bins: Any, *, range: tuple[float, float] | None = None, weight: Tensor | None = None,
              density: bool = False) -> Any:  # fmt: skip
    """The named tuple (hist, bin_edges): the number of elements in each bin, and the edges of the bins.

    - `bins`: the number of equal bins in `range` (default: from the smallest to the largest element), or a vector of
      edges.
    - `weight`: sum these numbers, one for each element, instead of counting. `density`: scale so that the integral is
      1.

    >>> import mpigrad
    >>> mpigrad.histogram(mpigrad.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 2.0)).hist
    tensor([0., 3.])
    """
    need_tensors("histogram", input=input, weight=weight)
    x = input._array
    if x.dtype.kind not in "fV":
        raise RuntimeError(f"\"histogram_cpu\" not implemented for '{title(x)}'")
    if isinstance(bins, Tensor):
        edges: Any = bins._array
        if bins.ndim != 1 or not edges.size:
            raise RuntimeError("histogramdd(): bins tensor should have one dimension and at least one element")
    elif bins <= 0:
        raise RuntimeError(f"histogramdd(): bins must be > 0, but got {bins} for dimension 0")
    else:
        edges = bins
    if weight is not None and weight.shape != input.shape:
        raise RuntimeError(
            "histogramdd(): if weight tensor is provided it should have the same shape as the input tensor excluding its "
            f"innermost dimension, but got input with shape {list(input.shape)}, and weight with shape {list(weight.shape)}"
        )
    with guard(x):
        weights = None if weight is None else weight._array.ravel()
        hist, edges = array_module(x).histogram(x.ravel(), edges, range=range, weights=weights, density=density)
    return return_types.histogram(wrap(hist.astype(x.dtype)), wrap(edges.astype(x.dtype)))


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates of elements in a tensor of the shape `shape`, from their indices in the flattened tensor: a
    tuple of tensors.

    >>> import mpigrad
    >>> mpigrad.unravel_index(mpigrad.tensor(5), (2, 3))
    (tensor(1), tensor(2))
    """
    need_tensors("unravel_index", indices=indices)
    if indices._array.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    lengths = (shape,) if isinstance(shape, int) else size_from("unravel_index", (shape,))
    left, found = indices.long(), []
    for length in reversed(lengths):
        found.append(left % length)
        left = left // length
    return tuple(reversed(found))


def _two_to(exponent: Any, *, kind: Any) -> Any:
    return np.ldexp(kind.type(1), exponent)


operator("two_to", _two_to, lambda F, node, g: None, node="Exp2Backward0")
FREXP = operator(
    "frexp",
    lambda x, *, kind: tuple(np.frexp(x)),
    lambda F, node, g, exponent: g[0] / F.two_to(exponent, kind=node.kw["kind"]),
    saves=(-2,),
)


def frexp(input: Tensor, *, out: Any = None) -> Any:
    """Split each element into the named tuple (mantissa, exponent): element = mantissa * 2 ** exponent, with 0.5 <=
    |mantissa| < 1.

    `out` is ignored.

    >>> import mpigrad
    >>> mpigrad.frexp(mpigrad.tensor([3.0])).mantissa
    tensor([0.7500])
    """
    need_tensors("frexp", input=input)
    kind = input._array.dtype
    if kind.kind not in "fV":
        raise RuntimeError("mpigrad.frexp() only supports floating-point dtypes")
    return return_types.frexp(*FREXP(input, kind=kind))


@guarded
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None) -> Tensor:
    """The coordinates of the first `size` elements that are not zero, one in each row; if there are fewer, rows of
    `fill_value` follow. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.nonzero_static(mpigrad.tensor([0, 1]), size=2)
    tensor([[ 1],
            [-1]])
    """
    found = nonzero(input)._array[:size]
    made = array_module(found).full((size, found.shape[1]), fill_value, found.dtype)
    made[: len(found)] = found
    return deliver(wrap(made), out)


method(frexp)
method(histogram)
method(nonzero_static)

__all__ = ["frexp", "histogram", "nonzero_static", "unravel_index"]
