"""Parts of a tensor as views: basic indexing (numbers, slices, None, ...), select, narrow, split and others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mpigrad._array.device import array_module
from mpigrad._core.tensor import wrap
from mpigrad._graph.namespace import add_to_both
from mpigrad._tensor import Tensor, method

from .._define.arguments import invalid_combination
from .._define.dims import as_int, wrap_dim
from .._define.operator import operator
from .._define.sizes import sizes_of
from .._define.views import view_operator

_ALL = slice(None)
Key = tuple[Any, ...]  # ints, slices, None and Ellipsis


def _take(x: Any, *, key: Key) -> Any:
    return x[key]


def _place(x: Any, *, shape: tuple[int, ...], key: Key) -> Any:
    """Zeros of a shape, with `x` at the elements that the key selects: the derivative of basic indexing."""
    made = array_module(x).zeros(shape, x.dtype)
    made[key] = x
    return made


def _take_backward(F: Any, node: Any, g: Any) -> Any:
    return F.place(g, shape=node.shapes[0], key=node.kw["key"])


# One operator under several names: a key of several steps is one node here, with PyTorch's name of the last step.
SELECT = view_operator("take_key", _take, _take_backward, "SelectBackward0")
SLICE = view_operator("take_slice", _take, _take_backward, "SliceBackward0")
UNSQUEEZE = view_operator("take_new", _take, _take_backward, "UnsqueezeBackward0")
ALIAS = view_operator("take_all", _take, _take_backward, "AliasBackward0")
operator("place", _place, lambda F, node, g: F.take_key(g, key=node.kw["key"]), node="SelectBackward1")


def _zeros(like: Any, *, shape: tuple[int, ...]) -> Any:
    return array_module(like).zeros(shape, like.dtype)


add_to_both("zeros_like_shaped", _zeros, lambda like, *, shape: wrap(_zeros(like._array, shape=shape)))


@method
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at position `index` of dimension `dim`, without that dimension; a view. Negative indices count from
    the end.

    >>> import mpigrad
    >>> mpigrad.tensor([[1, 2], [3, 4]]).select(1, 0)
    tensor([1, 3])
    """
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    at, index = wrap_dim(dim, len(shape)), as_int(index)
    if not -shape[at] <= index < shape[at]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {at}")
    return SELECT(input, key=(_ALL,) * at + (index, ...))


@method
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """The elements from `start` to `start + length - 1` of dimension `dim`; a view.

    >>> import mpigrad
    >>> mpigrad.tensor([1, 2, 3, 4]).narrow(0, 1, 2)
    tensor([2, 3])
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start._array.ndim or start._array.dtype.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    at, first, length = wrap_dim(dim, len(shape)), as_int(start), as_int(length)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -shape[at] <= first <= shape[at]:
        raise IndexError(
            f"start out of range (expected to be in range of [{-shape[at]}, {shape[at]}], but got {first})"
        )
    first += shape[at] if first < 0 else 0
    if first + length > shape[at]:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({shape[at]}).")
    return SLICE(input, key=(_ALL,) * at + (slice(first, first + length),))


def _unbind(x: Any, *, dim: int) -> Any:
    before = (_ALL,) * dim
    return tuple(x[(*before, i, ...)] for i in range(x.shape[dim]))


def _unbind_backward(F: Any, node: Any, g: Any) -> Any:
    return F.stack(*_filled(F, g, node), dim=node.kw["dim"])


def _filled(F: Any, g: Any, node: Any) -> list[Any]:
    """The gradients of several outputs, with zeros for those that are None."""
    some = next(each for each in g if each is not None)
    shapes = _part_shapes(node.shapes[0], node.kw)
    return [F.zeros_like_shaped(some, shape=shape) if each is None else each for each, shape in zip(g, shapes)]


def _part_shapes(shape: tuple[int, ...], kw: dict[str, Any]) -> list[tuple[int, ...]]:
    dim = kw["dim"]
    if "sizes" not in kw:
        return [(*shape[:dim], *shape[dim + 1 :])] * shape[dim]
    return [(*shape[:dim], size, *shape[dim + 1 :]) for size in kw["sizes"]]


def _split(x: Any, *, sizes: tuple[int, ...], dim: int) -> Any:
    before, made, at = (_ALL,) * dim, [], 0
    for size in sizes:
        made.append(x[(*before, slice(at, at + size))])
        at += size
    return tuple(made)


def _split_backward(F: Any, node: Any, g: Any) -> Any:
    return F.cat(*_filled(F, [g] if node.outputs == 1 else g, node), dim=node.kw["dim"])


def _unbind_one_backward(F: Any, node: Any, g: Any) -> Any:
    return _unbind_backward(F, node, [g] if node.outputs == 1 else g)


_UNBIND = operator("unbind", _unbind, _unbind_one_backward, node="UnbindBackward0", view=True)
_SPLIT = operator("split", _split, _split_backward, node="SplitBackward0", view=True)
_SPLIT_SIZES = operator("split_with_sizes", _split, _split_backward, node="SplitWithSizesBackward0", view=True)


@method
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """All slices along dimension `dim`, without that dimension, as a tuple of views.

    >>> import mpigrad
    >>> mpigrad.tensor([[1, 2], [3, 4]]).unbind()
    (tensor([1, 2]), tensor([3, 4]))
    """
    shape = input._array.shape
    if not shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    at = wrap_dim(dim, len(shape))
    return _UNBIND(input, dim=at) if shape[at] else ()


@method
def __iter__(self: Tensor) -> Iterator[Tensor]:
    if not self._array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self))


def _check_dims(name: str, input: Tensor) -> None:
    if not input._array.ndim:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")


def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Cut a tensor along `dim` into a tuple of views.

    `split_size_or_sections`: the length of each part (the last may be shorter), or a list of lengths.

    >>> import mpigrad
    >>> mpigrad.split(mpigrad.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    if isinstance(split_size_or_sections, (tuple, list)):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    _check_dims("split", tensor)
    size, at = as_int(split_size_or_sections), wrap_dim(dim, tensor._array.ndim)
    length = tensor._array.shape[at]
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and length:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
    sizes = tuple(min(size, length - start) for start in range(0, length, size or 1)) or (0,)
    return _SPLIT(tensor, sizes=sizes, dim=at)


def _split_method(self: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Cut this tensor along `dim` into parts of length `split_size` (the last may be shorter), or of a list of
    lengths: a tuple of views.
    """
    return split(self, split_size, dim)


method(_split_method, "split")


@method
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Cut a tensor along `dim` into parts of the lengths `split_sizes`: a tuple of views."""
    _check_dims("split", input)
    sizes, at = sizes_of((split_sizes,)), wrap_dim(dim, input._array.ndim)
    if any(size < 0 for size in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}"
        )
    if sum(sizes) != input._array.shape[at]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input._array.shape[at]} (input tensor's size at "
            f"dimension {at}), but got split_sizes={list(sizes)}"
        )
    return _SPLIT_SIZES(input, sizes=sizes, dim=at)


@method
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut a tensor along `dim` into at most `chunks` parts of equal length (the last may be shorter): a tuple of
    views.

    >>> import mpigrad
    >>> mpigrad.tensor([1, 2, 3]).chunk(2)
    (tensor([1, 2]), tensor([3]))
    """
    if not input._array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input._array.shape[wrap_dim(dim, input._array.ndim)]
    size = -(-length // chunks)
    return split(input, size, dim) if size else split_with_sizes(input, (0,) * chunks, dim)


@method
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """Cut a tensor along `dim` into a tuple of views.

    `indices_or_sections`: a number of parts of nearly equal length, or a list of the indices at which parts begin.

    >>> import mpigrad
    >>> mpigrad.tensor([1, 2, 3]).tensor_split(2)
    (tensor([1, 2]), tensor([3]))
    """
    indices_or_sections = _cuts("tensor_split", indices_or_sections, sections, indices)
    shape = input._array.shape
    if not shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    at = wrap_dim(dim, len(shape))
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections._array.tolist()
    if isinstance(indices_or_sections, (tuple, list)):
        edges = [0, *(as_int(each) for each in indices_or_sections), shape[at]]
    else:
        edges = _even_edges(as_int(indices_or_sections), shape[at])
    return tuple(SLICE(input, key=(_ALL,) * at + (slice(a, b),)) for a, b in zip(edges, edges[1:]))


def _cuts(name: str, either: Any, sections: Any, indices: Any) -> Any:
    """The one that was given of three arguments that say where to split: PyTorch's signatures have three names for
    it.
    """
    given = [each for each in (either, sections, indices) if each is not None]
    if len(given) != 1:
        accepted = ("Tensor input, int sections", "Tensor input, tuple of ints indices")
        raise invalid_combination(name, given, *accepted)
    return given[0]


def _even_edges(sections: int, length: int) -> list[int]:
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    small, larger = divmod(length, sections)
    return [i * small + min(i, larger) for i in range(sections + 1)]


def _split_along(name: str, input: Tensor, given: Any, dim: int, least: int) -> tuple[Tensor, ...]:
    ndim = input._array.ndim
    if ndim < least:
        raise RuntimeError(
            f"mpigrad.{name} requires a tensor with at least {least} dimension, but got a tensor with {ndim} dimensions!"
        )
    if isinstance(given, int) and (given <= 0 or input._array.shape[dim] % given):
        raise RuntimeError(
            f"mpigrad.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{input._array.shape[dim]} is not divisible by the split_size {given}!"
        )
    return tensor_split(input, given, dim)


@method
def hsplit(
    input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """Cut a tensor along dimension 1, a vector along dimension 0, into a tuple of views. The arguments are those of
    `tensor_split`.
    """
    given = _cuts("hsplit", indices_or_sections, sections, indices)
    return _split_along("hsplit", input, given, 0 if input._array.ndim == 1 else 1, 1)


@method
def vsplit(
    input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """Cut a tensor along dimension 0 into a tuple of views. The arguments are those of `tensor_split`."""
    given = _cuts("vsplit", indices_or_sections, sections, indices)
    return _split_along("vsplit", input, given, 0, 2)


@method
def dsplit(
    input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """Cut a tensor along dimension 2 into a tuple of views. The arguments are those of `tensor_split`."""
    given = _cuts("dsplit", indices_or_sections, sections, indices)
    return _split_along("dsplit", input, given, 2, 3)


__all__ = [
    "chunk", "dsplit", "hsplit", "narrow", "select", "split", "split_with_sizes", "tensor_split", "unbind", "vsplit",
]  # fmt: skip
