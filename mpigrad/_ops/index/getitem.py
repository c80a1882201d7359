"""Indexing: reading `x[...]` with numbers, slices, None, ..., masks, index arrays and any mix of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpigrad._array.device import CPU, array_module, device_of, guard, host, move
from mpigrad._graph.grad_mode import MODE
from mpigrad._tensor import Tensor, method

from .._define.operator import operator
from .._define.views import ViewOperator
from ..shape.slicing import ALIAS, SELECT, SLICE, UNSQUEEZE
from .add_at import add_at

ndarray = np.ndarray
_ALL = slice(None)
_INT64 = np.dtype(np.int64)
_BASIC = (int, slice, type(None), type(Ellipsis))
Key = tuple[Any, ...]


def _index(x: Any, *, key: Key) -> Any:
    return x[key]


def _spread_index(x: Any, *, shape: tuple[int, ...], key: Key) -> Any:
    """Zeros of a shape, to which `x` is added at the elements that the key selects: the derivative of `index`."""
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


# -- understanding keys ------------------------------------------------------------------------------------------------
def as_tuple(key: Any) -> Key:
    """A key as a tuple of single indices. As in PyTorch, a short list with a None, `...`, slice, sequence or tensor is one."""
    if isinstance(key, tuple):
        return key
    # the number 32 is PyTorch's, and NumPy's before
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
    elif hasattr(each, "__array__") and not isinstance(getattr(each, "dtype", None), np.dtype):  # a tensor of another library
        each = np.asarray(each)
    if isinstance(each, np.integer) or hasattr(each, "ndim") and each.ndim == 0 and each.dtype.kind in "iu":
        return int(each)
    if not hasattr(each, "dtype") or not hasattr(each, "ndim"):
        return _other(each)
    if each.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    # bytes are masks, as in PyTorch
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


def _placed(each: Any, array: Any) -> Any:
    """Move an index array `each` to the device of the indexed `array`; only CPU indices of GPU arrays are moved."""
    if each.__class__ is ndarray and array.__class__ is ndarray or not hasattr(each, "ndim"):
        return each
    here = device_of(array)
    if device_of(each) not in (CPU, here):
        raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({here})")
    return move(each, here)


def split_key(array: Any, key: Key) -> tuple[Key, dict[int, Any]]:
    """Split a key into a basic key and index arrays, by the dimension of the basic key's result."""
    with guard(array):
        return _split(array, [_placed(_normal(each), array) for each in key])


def _split(array: Any, items: list[Any]) -> tuple[Key, dict[int, Any]]:
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
    """Add an index array, or a mask as index arrays; returns the number of dimensions that it covers."""
    if each.dtype.kind != "b":
        basic.append(_ALL)
        arrays[at] = each
        return 1
    if each.ndim == 0:
        basic.append(None)
        # x[True] adds a dimension of length 1, x[False] one of length 0
        arrays[at] = array_module(array).zeros(int(each), np.int64)
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


def step_of(key: Key) -> ViewOperator | None:
    """The operator after which the node of a basic key is named: that of the key's last step; None if the key has only `:` and
    `...`.
    """
    for each in reversed(key):
        if each is None:
            return UNSQUEEZE
        if each.__class__ is int:
            return SELECT
        if each is not Ellipsis and each != _ALL:
            return SLICE
    return None


def take_basic(tensor: Tensor, key: Key) -> Tensor:
    """Apply a basic key (numbers, slices, None, `...`) as a sequence of view operators; always returns a view."""
    step = step_of(key) or ALIAS
    # with `...` NumPy returns an array even if all dimensions are indexed, not a scalar, which would be a copy
    if Ellipsis not in key:
        key = (*key, ...)
    try:
        return step(tensor, key=key)
    except IndexError as error:
        raise as_pytorch(error, tensor._array) from None


def as_pytorch(error: IndexError, array: Any) -> IndexError:
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


def array_key(arrays: dict[int, Any], recorded: bool) -> Key:
    """Index arrays by dimension, as a key; copied if a node saves them (`recorded`), as the user may change them."""
    last = max(arrays)
    key = tuple(arrays.get(i, _ALL) for i in range(last + 1))
    if not recorded:
        return key
    with guard(arrays[last]):
        return tuple(each.copy() if each.__class__ is not slice else each for each in key)


def index(tensor: Tensor, key: Key) -> Tensor:
    """Read elements of a tensor by a key of index arrays (and full slices); a copy."""
    try:
        return INDEX(tensor, key=key)
    except IndexError as error:
        raise as_pytorch(error, tensor._array) from None


# -- reading -----------------------------------------------------------------------------------------------------------
def _getitem(self: Tensor, key: Any) -> Tensor:
    # the common keys first: a number, a slice, a tuple of these, a vector of indices
    kind = key.__class__
    if kind is int:
        array = self._array
        if array.ndim:
            try:
                return SELECT(self, key=(key, ...))
            except IndexError as error:
                raise as_pytorch(error, array) from None
    elif kind is slice and key.step is None and self._array.ndim:
        return SLICE(self, key=(key,))
    elif kind is tuple:
        if is_basic(key) and self._array.ndim >= len(key):
            return take_basic(self, key)
    elif kind is Tensor or kind is list and _all_ints(key):
        places = key._array if kind is Tensor else np.asarray(key)
        if places.dtype is _INT64 and places.ndim and self._array.__class__ is places.__class__ is ndarray and self._array.ndim:
            return index(self, (places.copy() if self._requires and MODE.enabled else places,))
    if self.is_sparse:
        return SELECT(self, key=as_tuple(key))
    basic, arrays = split_key(self._array, as_tuple(key))
    if not arrays:
        return take_basic(self, basic)
    # first the basic part, as a view, then the index arrays, as a copy
    part = self if step_of(basic) is None else take_basic(self, basic)
    return index(part, array_key(arrays, self._requires and MODE.enabled))


def _all_ints(key: list[Any]) -> bool:
    for each in key:
        if each.__class__ is not int:
            return False
    return bool(key)


def is_basic(key: Key) -> bool:
    """Whether a key contains only numbers, slices, None and at most one ellipsis."""
    for each in key:
        kind = each.__class__
        if kind is slice:
            if each.step is not None and each.step <= 0:
                raise ValueError("step must be greater than zero")
        elif kind is not int and each is not None and each is not Ellipsis:
            return False
    return key.count(Ellipsis) < 2 if Ellipsis in key else True


method(_getitem, "__getitem__")

__all__: list[str] = []
