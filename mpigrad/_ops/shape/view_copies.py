"""Variants of view operators that return copies, and predicates that are always False here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpigrad._graph.namespace import DIFF
from mpigrad._tensor import Tensor, method

from .._define.dims import wrap_dim
from .._define.inplace import in_place
from .._define.out import deliver
from ..elementwise.arithmetic import conj
from .slicing import chunk, narrow, split


def _copying(name: str) -> Callable[..., Any]:
    def call(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Any:
        made = getattr(input, name)(*args, **kwargs)
        if isinstance(made, (tuple, list)):
            return tuple(each.clone() for each in made)
        return deliver(made.clone(), out)

    call.__name__ = call.__qualname__ = name + "_copy"
    rest = "the arguments are the same"
    if name in ("split", "unbind"):
        call.__doc__ = f"The results of `{name}` as a tuple of copies, not views; {rest}, `out` is ignored."
    else:
        call.__doc__ = f"The result of `{name}` as a copy, not a view; {rest}. `out`: a tensor to which it is written."
    return call


_NAMES = (
    "as_strided", "detach", "diagonal", "expand", "permute", "select", "split", "squeeze", "t",
    "transpose", "unbind", "unfold", "unsqueeze", "view",
)  # fmt: skip
(
    as_strided_copy, detach_copy, diagonal_copy, expand_copy, permute_copy, select_copy, split_copy,
    squeeze_copy, t_copy, transpose_copy, unbind_copy, unfold_copy, unsqueeze_copy, view_copy,
) = (_copying(_name) for _name in _NAMES)  # fmt: skip


def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None) -> Tensor:
    """The elements from `start` to `start + length - 1` of dimension `dim`, as a copy; `narrow` gives a view. `out`:
    a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.narrow_copy(mpigrad.arange(4), 0, 1, 2)
    tensor([1, 2])
    """
    if input.is_sparse:
        return deliver(_narrow_sparse(input, dim, start, length), out)
    return deliver(narrow(input, dim, start, length).clone(), out)


def _narrow_sparse(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    at = wrap_dim(dim, input.ndim)
    whole = input._array.shape[at]
    if start < 0 or length < 0 or start + length > whole:
        raise RuntimeError(
            f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {whole})."
        )
    return DIFF.narrow_copy(input, dim=at, start=start, length=length)


def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of the tensor. `out`: a tensor to which the result is written."""
    return deliver(input.clone(), out)


def split_with_sizes_copy(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut a tensor along `dim` into parts of the lengths `split_sizes`, as copies; `split_with_sizes` gives views.

    >>> import mpigrad
    >>> mpigrad.split_with_sizes_copy(mpigrad.arange(3), (1, 2))
    (tensor([0]), tensor([1, 2]))
    """
    return tuple(each.clone() for each in split(input, list(split_sizes), dim))


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: mpigrad computes conjugates at once, PyTorch may defer them."""
    return input


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: mpigrad computes negatives at once, PyTorch may defer them."""
    return input


def is_conj(input: Tensor) -> bool:
    """Whether a conjugation is deferred: always False."""
    return False


def is_neg(input: Tensor) -> bool:
    """Whether a negation is deferred: always False."""
    return False


def is_distributed(input: Tensor) -> bool:
    """Whether one tensor is spread over several processes: always False."""
    return False


def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate of each element, as a new tensor. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.conj_physical(mpigrad.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return deliver(conj(input), out)


def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """`chunk` whose results may be changed in place, as in PyTorch."""
    return tuple(each.clone() for each in chunk(input, chunks, dim))


def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> Any:
    """`split` whose results may be changed in place, as in PyTorch."""
    return tuple(each.clone() for each in split(input, split_size, dim))


def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> Any:
    """`split_with_sizes` whose results may be changed in place, as in PyTorch."""
    return tuple(each.clone() for each in split(input, list(split_sizes), dim))


for _fn in (narrow_copy, is_distributed, unsafe_chunk, unsafe_split, unsafe_split_with_sizes):
    method(_fn)
method(in_place(conj_physical), "conj_physical_")

__all__ = [
    "alias_copy", "as_strided_copy", "conj_physical", "detach_copy", "diagonal_copy", "expand_copy", "is_conj", "is_distributed",
    "is_neg", "narrow_copy", "permute_copy", "resolve_conj", "resolve_neg", "select_copy", "split_copy",
    "split_with_sizes_copy", "squeeze_copy", "t_copy", "transpose_copy", "unbind_copy", "unfold_copy", "unsafe_chunk",
    "unsafe_split", "unsafe_split_with_sizes", "unsqueeze_copy", "view_copy",
]  # fmt: skip
