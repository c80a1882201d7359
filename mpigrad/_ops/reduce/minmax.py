"""Largest and smallest elements: max, min, amax, amin, argmax, argmin, aminmax, median."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad import return_types
from mpigrad._array.device import array_module, host
from mpigrad._kernels.reduction import max_reduce, min_reduce
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors, title
from .._define.dims import wrap_dim, wrap_dims
from .._define.guarded import guarded
from .._define.operator import RESULT, operator
from .._define.out import deliver
from ..elementwise.compare import plain
from ..elementwise.minmax import maximum, minimum


def _pick(x: Any, *, index: Any, dim: int, keepdim: bool) -> Any:
    if x.ndim == 0:
        return x.copy()
    xp = array_module(x)
    found = xp.take_along_axis(x, xp.expand_dims(index, dim), axis=dim)
    return found if keepdim else found.squeeze(dim)


def _unpick(g: Any, *, index: Any, dim: int, keepdim: bool, shape: tuple[int, ...]) -> Any:
    if not shape:
        return g
    xp = array_module(g)
    made = xp.zeros(shape, g.dtype)
    xp.put_along_axis(made, xp.expand_dims(index, dim), g if keepdim else xp.expand_dims(g, dim), axis=dim)
    return made


def _pick_backward(F: Any, node: Any, g: Any) -> Any:
    return F.unpick(g, shape=node.shapes[0], **node.kw)


def _unpick_backward(F: Any, node: Any, g: Any) -> Any:
    kw = node.kw
    return F.pick(g, index=kw["index"], dim=kw["dim"], keepdim=kw["keepdim"])


operator("pick", _pick, _pick_backward, node="GatherBackward0")
operator("unpick", _unpick, _unpick_backward, node="ScatterBackward0")
_PICKERS = {
    name: operator(f"{name}_dim", _pick, _pick_backward, node=f"{name.capitalize()}Backward{nr}")
    for name, nr in (("max", 0), ("min", 0), ("median", 1), ("nanmedian", 1), ("mode", 0))
}


def _even_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    """The gradient is divided equally among all elements that equal the result."""
    kw = {"shape": node.shapes[0], "dim": node.kw.get("dim"), "keepdim": node.kw.get("keepdim", False)}
    spread = F.spread(y, **kw)
    mask = (x == spread) | ((x != x) & (spread != spread))
    kind = getattr(g, "_array", g).dtype
    count = F.sum_dim(F.cast(mask, dtype=kind), dim=kw["dim"], keepdim=kw["keepdim"])
    return F.keep(F.spread(g / count, **kw), mask)


def _reduced(reduce: Any) -> Any:
    def forward(x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return x.copy() if x.ndim == 0 else reduce(x, axis=dim, keepdims=keepdim)

    return forward


def _middle(x: Any) -> Any:
    flat = x.reshape(-1)
    if x.dtype.kind in "fV" and bool(np.isnan(flat).any()):
        return flat[np.isnan(flat)][0]
    return array_module(x).sort(flat)[(flat.size - 1) // 2]


def _nan_middle(x: Any) -> Any:
    flat = x.reshape(-1)
    known = flat[~np.isnan(flat)] if x.dtype.kind in "fV" else flat
    return _middle(known if known.size else flat)


def _among_equals(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    """The gradient is divided equally among all elements that equal the result. If the result is nan, no element equals it,
    and the gradient is nan."""
    kw = {"shape": node.shapes[0], "dim": node.kw.get("dim"), "keepdim": node.kw.get("keepdim", False)}
    mask = x == F.spread(y, **kw)
    count = F.sum_dim(F.cast(mask, dtype=getattr(g, "_array", g).dtype), dim=kw["dim"], keepdim=kw["keepdim"])
    return F.keep(F.spread(g, **kw), mask) / F.spread(count, **kw)


def _both_backward(F: Any, node: Any, grads: Any, x: Any, low: Any, high: Any) -> Any:
    parts = [_among_equals(F, node, g, x, y) for g, y in zip(grads, (low, high)) if g is not None]
    return parts[0] + parts[1] if len(parts) == 2 else parts[0] if parts else None


_EVEN = {"saves": (0, RESULT)}
AMAX = operator("amax", _reduced(max_reduce), _among_equals, **_EVEN)  # type: ignore[arg-type]
AMIN = operator("amin", _reduced(min_reduce), _among_equals, **_EVEN)  # type: ignore[arg-type]
MAX_ALL = operator("max_all", _reduced(max_reduce), _even_backward, node="MaxBackward1", **_EVEN)  # type: ignore[arg-type]
MIN_ALL = operator("min_all", _reduced(min_reduce), _even_backward, node="MinBackward1", **_EVEN)  # type: ignore[arg-type]
MEDIAN_ALL = operator("median_all", _middle, _even_backward, node="MedianBackward0", **_EVEN)  # type: ignore[arg-type]
NANMEDIAN_ALL = operator("nanmedian_all", _nan_middle, _even_backward, node="NanmedianBackward0", **_EVEN)  # type: ignore[arg-type]


AMINMAX = operator(
    "aminmax",
    lambda x, **kw: (_reduced(min_reduce)(x, **kw), _reduced(max_reduce)(x, **kw)),
    _both_backward,
    saves=(0, -1, -2),
)
_KERNELS = {"amax": "max_values_cpu", "amin": "min_values_cpu", "max": "max_all", "min": "min_all"}


def _check(name: str, input: Any) -> None:
    need_tensors(name, input=input)
    if input._array.dtype.kind == "c":
        raise NotImplementedError(f"\"{_KERNELS.get(name, name)}\" not implemented for '{title(input._array)}'")


def _check_all(name: str, input: Tensor, error: type[Exception] = RuntimeError, advice: str = "") -> None:
    _check(name, input)
    if input._array.size == 0:
        raise error(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.{advice}")


_ADVICE = " Specify the reduction dim with the 'dim' argument."


def _check_dim(name: str, input: Tensor, dim: int) -> int:
    _check(name, input)
    place = wrap_dim(dim, input._array.ndim)
    if input._array.ndim and input._array.shape[place] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {place} to have non-zero size.")
    return place


def _with_index(name: str, input: Tensor, find: Any, dim: int, keepdim: bool, out: Any = None) -> Any:
    """Define a function that returns (values, indices) along a dimension; `find(array, axis)` computes the indices."""
    place = _check_dim(name, input, dim)
    x = input._array
    index = array_module(x).zeros((), "i8") if x.ndim == 0 else find(x, place)
    index = np.asarray(index) if isinstance(index, np.generic) else index
    values = _PICKERS[name](input, index=index, dim=place, keepdim=keepdim)
    shown = index.copy() if x.ndim == 0 or not keepdim else array_module(x).expand_dims(index, place)
    indices = plain(shown)
    if out is not None:
        values, indices = deliver(values, out[0]), deliver(indices, out[1])
    return getattr(return_types, name)(values, indices)


def _argmax(x: Any, axis: int | None) -> Any:
    return x.argmax(axis) if x.dtype.kind != "b" else x.astype("u1").argmax(axis)


def _argmin(x: Any, axis: int | None) -> Any:
    return x.argmin(axis) if x.dtype.kind != "b" else x.astype("u1").argmin(axis)


def _max_or_min(name: str, input: Tensor, args: tuple[Any, ...], kw: dict[str, Any], parts: tuple[Any, ...]) -> Any:
    """Implements the three forms of `max` and `min`: over all elements, along a dimension, of two tensors.

    `parts` has a function for each form.
    """
    whole, find, pair = parts
    out = kw.pop("out", None)
    dim = kw.pop("dim", args[0] if args and not isinstance(args[0], Tensor) else None)
    other = kw.pop("other", args[0] if args and isinstance(args[0], Tensor) else None)
    keepdim = kw.pop("keepdim", args[1] if len(args) > 1 else False)
    if kw:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kw))}'")
    if other is not None:
        return pair(input, other, out=out)
    if dim is None:
        _check_all(name, input, advice=_ADVICE)
        return deliver(whole(input), out)
    if not isinstance(dim, int):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: dim must be int, not {type(dim).__name__} (use "
            f"a{name} for several dimensions)"
        )
    return _with_index(name, input, find, dim, keepdim, out)


@guarded
def max(input: Tensor, *args: Any, **kw: Any) -> Any:
    """The largest element. There are three forms:

    - `max(x)`: of all elements; they share the gradient equally if several are largest.
    - `max(x, dim, keepdim=False)`: along a dimension, as the named tuple (values, indices).
    - `max(x, other)`: element by element, `maximum(x, other)`.

    >>> import mpigrad
    >>> mpigrad.max(mpigrad.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
    mpigrad.return_types.max(
    values=tensor([5., 3.]),
    indices=tensor([1, 0]))
    """
    return _max_or_min("max", input, args, kw, (MAX_ALL, _argmax, maximum))


@guarded
def min(input: Tensor, *args: Any, **kw: Any) -> Any:
    """The smallest element. There are three forms:

    - `min(x)`: of all elements; they share the gradient equally if several are smallest.
    - `min(x, dim, keepdim=False)`: along a dimension, as the named tuple (values, indices).
    - `min(x, other)`: element by element, `minimum(x, other)`.

    >>> import mpigrad
    >>> mpigrad.min(mpigrad.tensor([4.0, 2.0]))
    tensor(2.)
    """
    return _max_or_min("min", input, args, kw, (MIN_ALL, _argmin, minimum))


def _amax_or_amin(name: str, op: Any, input: Tensor, dim: Any, keepdim: bool, out: Tensor | None) -> Tensor:
    _check(name, input)
    dims = wrap_dims(dim, input._array.ndim)
    if dims is None:
        _check_all(name, input, advice=_ADVICE)
    else:
        for each in dims:
            _check_dim(name, input, each)
    return deliver(op(input, dim=dims, keepdim=keepdim), out)


def amax(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The largest element over dimensions; elements that are equal to it share the gradient equally.

    `dim`: a dimension, or a tuple of several; by default all. `keepdim`: keep them with length 1. `out`: a tensor to
    which the result is written.

    >>> import mpigrad
    >>> mpigrad.amax(mpigrad.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=(0, 1))
    tensor(5.)
    """
    return _amax_or_amin("amax", AMAX, input, dim, keepdim, out)


def amin(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The smallest element over dimensions; elements that are equal to it share the gradient equally.

    `dim`: a dimension, or a tuple of several; by default all. `keepdim`: keep them with length 1. `out`: a tensor to
    which the result is written.
    """
    return _amax_or_amin("amin", AMIN, input, dim, keepdim, out)


def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element, as the named tuple (min, max). `dim`: the dimension; by default all
    elements. `keepdim`: keep it with length 1.

    >>> import mpigrad
    >>> mpigrad.aminmax(mpigrad.tensor([3.0, 1.0])).max
    tensor(3.)
    """
    if dim is None:
        _check_all("aminmax", input, advice=_ADVICE)
    place = None if dim is None else (_check_dim("aminmax", input, dim),)
    return return_types.aminmax(*AMINMAX(input, dim=place, keepdim=keepdim))


def _arg(name: str, find: Any, input: Tensor, dim: int | None, keepdim: bool, out: Tensor | None) -> Tensor:
    _check(name, input)
    x = input._array
    if dim is None:
        _check_all(name, input, IndexError)
        made = np.asarray(find(x, None), "i8") if isinstance(x, np.ndarray) else find(x, None)
        return deliver(plain(made.reshape((1,) * x.ndim) if keepdim else made), out)
    place = _check_dim(name, input, dim)
    if x.ndim == 0:
        return deliver(plain(array_module(x).zeros((), "i8")), out)
    made = find(x, place)
    return deliver(plain(array_module(x).expand_dims(made, place) if keepdim else made), out)


@guarded
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index (int64) of the largest element: in the flattened tensor, or along `dim`. `keepdim`: keep `dim` with
    length 1. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.argmax(mpigrad.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
    tensor([1, 0])
    """
    return _arg("argmax", _argmax, input, dim, keepdim, out)


@guarded
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index (int64) of the smallest element: in the flattened tensor, or along `dim`. `keepdim`: keep `dim` with
    length 1. `out`: a tensor to which the result is written.
    """
    return _arg("argmin", _argmin, input, dim, keepdim, out)


def _median_index(x: Any, axis: int) -> Any:
    xp = array_module(x)
    order = xp.argsort(x, axis=axis, kind="stable")
    middle = order.take((x.shape[axis] - 1) // 2, axis=axis)
    if x.dtype.kind not in "fV":
        return middle
    unknown = np.isnan(x)
    return xp.where(unknown.any(axis=axis), unknown.argmax(axis=axis), middle)


def _nanmedian_index(x: Any, axis: int) -> Any:
    xp = array_module(x)
    order = xp.argsort(x, axis=axis, kind="stable")  # nan is sorted to the end
    known = (x == x).sum(axis=axis)
    place = xp.expand_dims(np.maximum(known - 1, 0) // 2, axis)
    return xp.take_along_axis(order, place, axis=axis).squeeze(axis)


def _mode_index(x: Any, axis: int) -> Any:
    """The last index of the most frequent value; if several are equally frequent, of the smallest one."""
    rows = np.moveaxis(host(x), axis, -1)
    made = np.empty(rows.shape[:-1], "i8")
    for place in np.ndindex(*rows.shape[:-1]):
        values, counts = np.unique(rows[place], return_counts=True)
        made[place] = np.flatnonzero(rows[place] == values[counts.argmax()])[-1]
    return array_module(x).asarray(made)


def _middle_of(name: str, op: Any, find: Any, input: Tensor, dim: int | None, keepdim: bool, out: Any) -> Any:
    if dim is not None:
        return _with_index(name, input, find, dim, keepdim, out)
    _check(name, input)
    if input._array.size == 0:
        return plain(np.full((), np.nan, input._array.dtype))
    return deliver(op(input), out)


@guarded
def median(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The median; of an even number of elements, the lower one of the two in the middle. nan if an element is nan.

    With `dim`, along that dimension as the named tuple (values, indices); `keepdim`: keep it with length 1. `out`: a tuple
    of tensors to which the results are written.

    >>> import mpigrad
    >>> mpigrad.median(mpigrad.tensor([3.0, 1.0, 2.0]))
    tensor(2.)
    """
    return _middle_of("median", MEDIAN_ALL, _median_index, input, dim, keepdim, out)


@guarded
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """`median` of the elements that are not nan. With `dim`, the named tuple (values, indices); `keepdim`: keep it
    with length 1.

    `out`: a tuple of tensors to which the results are written.
    """
    return _middle_of("nanmedian", NANMEDIAN_ALL, _nanmedian_index, input, dim, keepdim, out)


@guarded
def mode(input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The most frequent value along `dim` (of several the smallest), and the last index of it: the named tuple
    (values, indices).

    `keepdim`: keep `dim` with length 1. `out`: a tuple of tensors to which the results are written.

    >>> import mpigrad
    >>> mpigrad.mode(mpigrad.tensor([1, 2, 2])).values
    tensor(2)
    """
    return _with_index("mode", input, _mode_index, dim, keepdim, out)


for _fn in (max, min, amax, amin, aminmax, argmax, argmin, median, mode, nanmedian):
    method(_fn)

__all__ = ["amax", "amin", "aminmax", "argmax", "argmin", "max", "median", "min", "mode", "nanmedian"]
