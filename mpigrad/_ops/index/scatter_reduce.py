"""Scatter with a reduction: sums, products, means, minima and maxima of all values for one element."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._core.engine import as_array
from mpigrad._core.tensor import wrap
from mpigrad._graph.namespace import add_to_both
from mpigrad._tensor import Tensor, method

from .._define.dims import wrap_dim
from .._define.guarded import guarded
from .._define.inplace import in_place
from .._define.operator import RESULT, operator
from .._define.out import deliver
from .add_at import combine_at
from .gather import check_along, grid

_UFUNCS = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _start(x: Any, reduce: str) -> Any:
    """The neutral value of a reduction ("sum": 0, ...) in the type of `x`, with which elements start if
    `include_self=False`.
    """
    if reduce == "prod":
        return 1
    if reduce in ("sum", "mean"):
        return 0
    if x.dtype.kind in "fV":
        return -np.inf if reduce == "amax" else np.inf
    info = np.iinfo(x.dtype) if x.dtype.kind != "b" else None
    return (reduce == "amin") if info is None else info.min if reduce == "amax" else info.max


def used_part(index: Any, src: Any) -> Any:
    """The elements of the source `src` that are used: it may be larger than the index in any dimension."""
    return src if index.shape == src.shape else src[tuple(slice(0, length) for length in index.shape)]


def back_to_source(F: Any, grad: Any, shape: tuple[int, ...]) -> Any:
    """Extend a gradient by zeros to `shape`, that of the source, for elements of it that were not used."""
    if tuple(grad.shape) == shape:
        return grad
    return F.place(grad, shape=shape, key=tuple(slice(0, length) for length in grad.shape))


def check_source(name: str, input: Tensor, dim: int, index: Tensor, src: Tensor) -> int:
    """Check the arguments of a scatter from a tensor; returns the dimension as a number from 0 on."""
    if src._array.dtype != input._array.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    at = wrap_dim(dim, input._array.ndim)
    shape, places, source = input._array.shape, index._array.shape, src._array.shape
    same = max(len(shape), 1) == max(len(places), 1) == max(len(source), 1)
    if not same:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    outside = any(n > m for i, (m, n) in enumerate(zip(shape, places)) if i != at)
    if index._array.size and (outside or any(n > m for m, n in zip(source, places))):
        raise RuntimeError(
            f"Expected index {list(places)} to be no larger than self {list(shape)} apart from dimension {at} "
            "and to be no "
            f"larger size than src {list(source)}"
        )
    return check_along(name, input, dim, index, sized=False)


def _reduce(x: Any, index: Any, src: Any, *, dim: int, reduce: str, include_self: bool) -> Any:
    xp = array_module(x)
    made = as_array(x).copy()
    if not index.size:
        return made
    target, places, source = _at_least_1d(made, index, src)
    key = grid(xp, places, dim)
    if not include_self:
        target[key] = _start(x, reduce)
    combine_at(_UFUNCS[reduce], target, key, used_part(places, source))
    if reduce == "mean":
        count = _count(x, index, dim, include_self)
        made = made / count if x.dtype.kind in "fcV" else made // count
        made = made.astype(x.dtype)
    return made


def _at_least_1d(*arrays: Any) -> list[Any]:
    return [each.reshape(-1) if each.ndim == 0 else each for each in arrays]


def _count(x: Any, index: Any, dim: int, include_self: bool) -> Any:
    """The number of values that are combined into each element, at least one; `include_self` counts its old value, too."""
    xp = array_module(x)
    made = xp.full(x.shape, int(include_self), np.int64)
    target, places = _at_least_1d(made, index)
    xp.add.at(target, grid(xp, places, dim), 1)
    return xp.maximum(made, 1)


def _raw(value: Any) -> Any:
    return value._array if isinstance(value, Tensor) else value


add_to_both("as_constant", lambda value, like: value, lambda value, like: wrap(value))


def _untouched(index: Any, x: Any, dim: int) -> Any:
    """1 for elements to which no index points, 0 for all others."""
    made = array_module(x).ones(x.shape, x.dtype)
    target, places = _at_least_1d(made, index)
    target[grid(array_module(x), places, dim)] = 0
    return made


def _backward(F: Any, node: Any, g: Any, x: Any, index: Any, src: Any, result: Any) -> Any:
    dim, reduce, include = node.kw["dim"], node.kw["reduce"], node.kw["include_self"]
    place, a, b = _raw(index), _raw(x), used_part(_raw(index), _raw(src))
    if reduce in ("sum", "mean"):
        if reduce == "mean":
            g = g / F.as_constant(_count(a, place, dim, include).astype(a.dtype), g)
        into_x, into_src = g, F.gather(g, index, dim=dim)
    elif reduce == "prod":
        into_x, into_src = _prod_backward(F, g, x, index, src, node)
    else:
        into_x, into_src = _extreme_backward(F, g, a, place, b, _raw(result), index, dim, include)
    if not include:
        into_x = into_x * F.as_constant(_untouched(place, a, dim), into_x)
    return into_x, None, back_to_source(F, into_src, node.shapes[2])


def _extreme_backward(
    F: Any, g: Any, a: Any, place: Any, b: Any, result: Any, index: Any, dim: int, include: bool
) -> Any:
    """The gradient of minima and maxima: shared equally by all values that equal the result.

    `a` and `b` are input and source, `place` the index tensor, `include` is `include_self`.
    """
    shape, lands = a.shape, place.shape
    a, place, b, result = _at_least_1d(a, place, b, result)
    key = grid(array_module(a), place, dim)
    won_self = (a == result).astype(a.dtype)
    if not include:
        won_self[key] = 0
    won = (b == result[key]).astype(a.dtype)
    ties = won_self.copy()
    array_module(a).add.at(ties, key, won)
    shared = g / F.as_constant(np.maximum(ties, 1).reshape(shape), g)
    untouched = _untouched(place, a, dim) if not include else 0
    kept = F.as_constant(np.maximum(won_self, untouched).reshape(shape), g)
    return shared * kept, F.gather(shared, index, dim=dim) * F.as_constant(won.reshape(lands), g)


def _prod_backward(F: Any, g: Any, x: Any, index: Any, src: Any, node: Any) -> Any:
    """The gradient of products: the product of the other values; zeros are counted separately."""
    kw, dim = node.kw, node.kw["dim"]
    shape, lands = _raw(x).shape, _raw(index).shape
    a, place, b = _at_least_1d(_raw(x), _raw(index), _raw(src))
    xp, key = array_module(a), grid(array_module(a), place, dim)
    zero_a, zero_b = (a == 0).astype(a.dtype), (b == 0).astype(a.dtype)
    used = zero_a.copy()
    if not kw["include_self"]:
        used[key] = 0
    xp.add.at(used, key, used_part(place, zero_b))
    safe_x = x + F.as_constant(zero_a.reshape(shape), x)
    safe_src = src + F.as_constant(zero_b.reshape(_raw(src).shape), src)
    rest = g * F.scatter_reduce(safe_x, index, safe_src, **kw)
    into_x = rest / safe_x * F.as_constant((used == zero_a).astype(a.dtype).reshape(shape), g)
    alone = (used[key] == used_part(place, zero_b)).astype(a.dtype).reshape(lands)
    cut = tuple(slice(0, length) for length in lands)
    return into_x, F.gather(rest, index, dim=dim) / F.take_key(safe_src, key=cut) * F.as_constant(alone, g)


_REDUCE = operator("scatter_reduce", _reduce, _backward, saves=(0, 1, 2, RESULT))


@method
@guarded
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Combine `src` into the elements of a copy of `input` that `index` gives (as in `scatter`), by `reduce`.

    `reduce` is "sum", "prod", "mean", "amax" or "amin". `include_self=False` leaves the old elements out of the
    reduction. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.zeros(2).scatter_reduce(0, mpigrad.tensor([0, 0]), mpigrad.tensor([1.0, 3.0]), "amax")
    tensor([3., 0.])
    """
    if reduce not in _UFUNCS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    at = check_source("scatter_reduce", input, dim, index, src)
    return deliver(_REDUCE(input, index, src, dim=at, reduce=reduce, include_self=include_self), out)


method(in_place(scatter_reduce), "scatter_reduce_")

__all__ = ["scatter_reduce"]
