"""Indexing: `x[...]` read and assigned, with numbers, slices, None, ..., masks, index arrays and any mix of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._device import array_module, host
from .._graph.grad_mode import MODE
from .._tensor import Tensor, counter, method, wrap
from ._arguments import title
from ._define import operator
from ._inplace import change, check_writable
from ._scatter import add_at
from .slicing import ALIAS, SELECT, SLICE, UNSQUEEZE
from .viewing import ViewOperator

ndarray = np.ndarray
_ALL = slice(None)
_INT64 = np.dtype(np.int64)
_BASIC = (int, slice, type(None), type(Ellipsis))
Key = tuple[Any, ...]


def _index(x: Any, *, key: Key) -> Any:
    return x[key]


def _spread_index(x: Any, *, shape: tuple[int, ...], key: Key) -> Any:
    """Zeros of a shape, with `x` added where the key points."""
    made = array_module(x).zeros(shape, x.dtype)
    add_at(made, key, x)
    return made


INDEX = operator(
    "index",
    _index,
    lambda F, node, g: F.spread_index(g, shape=node.shapes[0], key=node.kw["key"]),
    node="IndexBackward0",
)
operator("spread_index", _spread_index, lambda F, node, g: F.index(g, key=node.kw["key"]), node="IndexPutBackward0")


def _put(x: Any, value: Any, *, key: Key, accumulate: bool) -> Any:
    made = x.copy()
    if accumulate:
        add_at(made, key, value)
    else:
        made[key] = value
    return made


def _zero_at(x: Any, *, key: Key) -> Any:
    made = x.copy()
    made[key] = 0
    return made


def _put_backward(F: Any, node: Any, g: Any) -> Any:
    key = node.kw["key"]
    kept = g if node.kw["accumulate"] or not node.needs[0] else F.zero_at(g, key=key)
    return kept, F.sum_to(F.index(g, key=key), shape=node.shapes[1]) if node.needs[1] else None


operator("zero_at", _zero_at, lambda F, node, g: F.zero_at(g, key=node.kw["key"]), node="IndexPutBackward0")
PUT = operator("index_put", _put, _put_backward, node="IndexPutBackward0")


# -- understanding keys ------------------------------------------------------------------------------------------------
def as_tuple(key: Any) -> Key:
    """A key as a tuple of single indices; lists that hold anything but numbers count as tuples, as in PyTorch."""
    if isinstance(key, tuple):
        return key
    if isinstance(key, list) and len(key) < 32 and any(_is_index(each) for each in key):
        return tuple(key)
    return (key,)


def _is_index(each: Any) -> bool:
    return each is None or each is Ellipsis or isinstance(each, (slice, list, tuple, Tensor, ndarray))


def _normal(each: Any) -> Any:
    """One index: an int, a slice, None, Ellipsis, or an array of integers or bools."""
    if each.__class__ in _BASIC:
        if each.__class__ is slice and each.step is not None and each.step <= 0:
            raise ValueError("step must be greater than zero")
        return each
    if isinstance(each, (bool, np.bool_)):
        return np.asarray(each)
    if isinstance(each, Tensor):
        each = each._array
    elif isinstance(each, (list, tuple, range)):
        each = _from_list(each)
    if isinstance(each, np.integer) or hasattr(each, "ndim") and each.ndim == 0 and each.dtype.kind in "iu":
        return int(each)
    if not hasattr(each, "dtype") or not hasattr(each, "ndim"):
        return _other(each)
    if each.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return each != 0 if each.dtype == np.uint8 else each


def _other(each: Any) -> int:
    if hasattr(each, "__index__"):
        return each.__index__()
    if isinstance(each, str):
        raise TypeError("new(): invalid data type 'str'")
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        f"(got {type(each).__name__})"
    )


def _from_list(given: Sequence[Any]) -> Any:
    if len(given) == 0:
        return np.empty(0, np.int64)
    return np.asarray([_plain(each) for each in given])


def _plain(each: Any) -> Any:
    if isinstance(each, Tensor):
        return host(each._array).tolist()
    return [_plain(one) for one in each] if isinstance(each, (list, tuple)) else each


def split_key(array: Any, key: Key) -> tuple[Key, dict[int, Any]]:
    """A key as a basic one, and the index arrays by the dimension of its result to which they apply."""
    items = [_normal(each) for each in key]
    used = sum(_dims_used(each) for each in items)
    if used > array.ndim:
        if array.ndim == 0 and len(items) == 1 and items[0].__class__ is int:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                "convert a "
                "0-dim tensor to a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {array.ndim}")
    basic: list[Any] = []
    arrays: dict[int, Any] = {}
    at = 0  # dimension of the result of the basic key
    gap: int | None = array.ndim - used
    for each in items:
        if each is Ellipsis:
            basic += [_ALL] * (gap or 0)
            at, gap = at + (gap or 0), None
        elif each.__class__ is int:
            basic.append(each)
        elif each is None or each.__class__ is slice:
            basic.append(each)
            at += 1
        else:
            at += _add_arrays(array, each, basic, arrays, at)
    return tuple(basic), arrays


def _dims_used(each: Any) -> int:
    if each is None or each is Ellipsis:
        return 0
    return each.ndim if hasattr(each, "ndim") and each.dtype.kind == "b" else 1


def _add_arrays(array: Any, each: Any, basic: list[Any], arrays: dict[int, Any], at: int) -> int:
    """Add an index array, or a mask as the arrays of its places; gives the number of dimensions it covers."""
    if each.dtype.kind != "b":
        basic.append(_ALL)
        arrays[at] = each
        return 1
    if each.ndim == 0:
        basic.append(None)
        arrays[at] = np.zeros(int(each), np.int64)
        return 1
    start = sum(1 for one in basic if one is not None)
    for i, length in enumerate(each.shape):
        if array.shape[start + i] != length:
            raise IndexError(
                f"The shape of the mask {list(each.shape)} at index {i} does not match the shape of the indexed tensor "
                f"{list(array.shape)} at index {start + i}"
            )
    for i, places in enumerate(each.nonzero()):
        basic.append(_ALL)
        arrays[at + i] = places
    return each.ndim


def _step(key: Key) -> ViewOperator | None:
    """The operator whose node a basic key gets: that of its last step; None for `:` and `...` only."""
    for each in reversed(key):
        if each is None:
            return UNSQUEEZE
        if each.__class__ is int:
            return SELECT
        if each is not Ellipsis and each != _ALL:
            return SLICE
    return None


def _take(tensor: Tensor, key: Key) -> Tensor:
    """Apply a basic key; a view always."""
    step = _step(key) or (SLICE if len(key) == 1 and key[0] is not Ellipsis else ALIAS)
    if Ellipsis not in key:
        key = (*key, ...)
    try:
        return step(tensor, key=key)
    except IndexError as error:
        raise _as_pytorch(error, tensor._array) from None


def _as_pytorch(error: IndexError, array: Any) -> IndexError:
    text = str(error)
    if "broadcast" in text:
        shapes = text.rpartition("shapes ")[2].strip().replace(") (", "), (").replace(",)", ")")
        return IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + shapes.replace("(", "[").replace(")", "]").replace(",", ", ").replace(",  ", ", ")
        )
    if text.startswith("too many indices"):
        return IndexError(f"too many indices for tensor of dimension {array.ndim}")
    return IndexError(text.replace("axis", "dimension"))


def _array_key(arrays: dict[int, Any], recorded: bool) -> Key:
    """Index arrays as a key; copies if a node will need them when they may have changed."""
    last = max(arrays)
    key = tuple(arrays.get(i, _ALL) for i in range(last + 1))
    return tuple(each.copy() if each.__class__ is not slice else each for each in key) if recorded else key


def index(tensor: Tensor, key: Key) -> Tensor:
    """Apply a key of index arrays (and full slices)."""
    try:
        return INDEX(tensor, key=key)
    except IndexError as error:
        raise _as_pytorch(error, tensor._array) from None


# -- reading -----------------------------------------------------------------------------------------------------------
def _getitem(self: Tensor, key: Any) -> Tensor:
    kind = key.__class__
    if kind is int:
        array = self._array
        if array.ndim:
            try:
                return SELECT(self, key=(key, ...))
            except IndexError as error:
                raise _as_pytorch(error, array) from None
    elif kind is slice and key.step is None and self._array.ndim:
        return SLICE(self, key=(key,))
    elif kind is tuple:
        if _is_basic(key) and self._array.ndim >= len(key):
            return _take(self, key)
    elif kind is Tensor:
        places = key._array
        if places.dtype is _INT64 and places.ndim and self._array.__class__ is ndarray and self._array.ndim:
            return index(self, (places.copy() if self._requires and MODE.enabled else places,))
    if self.is_sparse:
        return self.to_dense()[key]
    basic, arrays = split_key(self._array, as_tuple(key))
    if not arrays:
        return _take(self, basic or (...,))
    part = self if _step(basic) is None else _take(self, basic)
    return index(part, _array_key(arrays, self._requires and MODE.enabled))


def _is_basic(key: Key) -> bool:
    for each in key:
        kind = each.__class__
        if kind is slice:
            if each.step is not None and each.step <= 0:
                raise ValueError("step must be greater than zero")
        elif kind is not int and each is not None and each is not Ellipsis:
            return False
    return key.count(Ellipsis) < 2 if Ellipsis in key else True


# -- assigning ---------------------------------------------------------------------------------------------------------
def _setitem(self: Tensor, key: Any, value: Any) -> None:
    if _quickly_set(self, key, value):
        return
    source = _assigned(self, value)
    if self.is_sparse:
        raise RuntimeError("a sparse tensor cannot be assigned to: use to_dense() first")
    basic, arrays = split_key(self._array, as_tuple(key))
    if not arrays:
        _assign(self, basic, source)
        return
    part = self if _step(basic) is None else _take(self, basic)
    put_(part, _array_key(arrays, MODE.enabled), source, accumulate=False, number=not isinstance(value, Tensor))


def _quickly_set(self: Tensor, key: Any, value: Any) -> bool:
    """Assign where nothing is recorded and nothing needs converting; gives whether that was so."""
    array, kind = self._array, key.__class__
    if array.__class__ is not ndarray or MODE.inference or self._extra is not None and self._extra.inference:
        return False
    if kind is tuple:
        if len(key) > array.ndim or not _is_basic(key):
            return False
    elif kind is not int and (kind is not slice or key.step is not None) or not array.ndim:
        return False
    number = value.__class__ is float or value.__class__ is int
    if not number and value.__class__ is not Tensor:
        return False
    if MODE.enabled and (self._requires or not number and value._requires):
        return False
    try:
        part = array[key] if kind is slice else array[(*key, ...) if kind is tuple and Ellipsis not in key else key]
    except IndexError as error:
        raise _as_pytorch(error, array) from None
    same = number or value._array.shape == part.shape and value._array.dtype is array.dtype
    if part.__class__ is not ndarray or not same:
        return False
    check_writable(part)
    part[...] = value if number else value._array
    counter(self)[0] += 1
    return True


def _assigned(self: Tensor, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return wrap(array_module(self._array).asarray(value))
    raise TypeError(f"can't assign a {_type_name(value)} to a mpigrad.{title(self._array)}Tensor")


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _assign(self: Tensor, key: Key, source: Tensor) -> None:
    """Copy `source` into the part of `self` at a basic key."""
    recorded = MODE.enabled and (self._requires or source._requires)
    if recorded or MODE.inference or (self._extra is not None and self._extra.inference):
        part = (
            self
            if _step(key) is None and self._view is None and self._grad_fn is not None
            else _take(self, key or (...,))
        )
        _check_assigned(part._array.shape, source._array.shape)
        part.copy_(_without_leading(source, part._array.ndim))
        return
    try:
        part = self._array[(*key, ...)] if Ellipsis not in key else self._array[key]
    except IndexError as error:
        raise _as_pytorch(error, self._array) from None
    _check_assigned(part.shape, source._array.shape)
    check_writable(part)
    values = source._array
    part[...] = values.real if values.dtype.kind == "c" and part.dtype.kind != "c" else values
    counter(self)[0] += 1


def _without_leading(source: Tensor, ndim: int) -> Tensor:
    extra = source._array.ndim - ndim
    return source.reshape(source._array.shape[extra:]) if extra > 0 else source


def _check_assigned(into: tuple[int, ...], shape: tuple[int, ...]) -> None:
    trimmed = shape
    while len(trimmed) > len(into) and trimmed[0] == 1:
        trimmed = trimmed[1:]
    for back, (m, n) in enumerate(zip(into[::-1], trimmed[::-1]), start=1):
        if m != n and n != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({m}) must match the existing size ({n}) at non-singleton dimension "
                f"{len(into) - back}.  Target sizes: {list(into)}.  Tensor sizes: {list(shape)}"
            )
    if len(trimmed) > len(into):
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(into)}) must be greater or equal to the number of "
            "dimensions in the "
            f"tensor ({len(trimmed)})"
        )


def put_(tensor: Tensor, key: Key, source: Tensor, accumulate: bool, number: bool) -> Tensor:
    """Assign (or add) at index arrays, in place."""
    source = fit_source(tensor, key, source, number)
    return change(tensor, lambda old: PUT(old, source, key=key, accumulate=accumulate))


def fit_source(tensor: Tensor, key: Key, source: Tensor, number: bool) -> Tensor:
    """Check what is to be assigned at index arrays. A Python `number` takes the tensor's type; a tensor must have
    it."""
    array, values = tensor._array, source._array
    if values.dtype != array.dtype:
        if not number:
            raise RuntimeError(
                f"Index put requires the source and destination dtypes match, got {title(array)} for the "
                "destination and "
                f"{title(values)} for the source."
            )
        source = wrap(values.astype(array.dtype))
    return _without_leading(source, _check_put(array, key, values.shape))


def _check_put(array: Any, key: Key, shape: tuple[int, ...]) -> int:
    """Refuse indices outside the tensor and values that do not fit; gives the number of dimensions indexed at once."""
    for dim, each in enumerate(key):
        if each.__class__ is not slice and each.size:
            low, high = int(each.min()), int(each.max())
            if low < -array.shape[dim] or high >= array.shape[dim]:
                wrong = high if high >= array.shape[dim] else low
                raise IndexError(f"index {wrong} is out of bounds for dimension {dim} with size {array.shape[dim]}")
    found = [each.shape for each in key if each.__class__ is not slice]
    try:
        spread = np.broadcast_shapes(*found)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(str(list(each)) for each in found)
        ) from None
    into = _result_shape(array.shape, key, spread)
    if len(shape) > len(into) and set(shape[: len(shape) - len(into)]) == {1}:
        shape = shape[len(shape) - len(into) :]
    if len(shape) > len(into) or any(n not in (m, 1) for m, n in zip(into[::-1], shape[::-1])):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing result of "
            f"shape {list(into)}"
        )
    return len(into)


def _result_shape(shape: tuple[int, ...], key: Key, spread: tuple[int, ...]) -> tuple[int, ...]:
    dims = [dim for dim, each in enumerate(key) if each.__class__ is not slice]
    rest = [length for dim, length in enumerate(shape) if dim not in dims]
    at = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    return (*rest[:at], *spread, *rest[at:])


method(_getitem, "__getitem__")
method(_setitem, "__setitem__")

__all__: list[str] = []
