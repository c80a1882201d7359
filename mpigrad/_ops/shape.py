"""Changing shapes: reshape, view and relatives, dimensions added, removed and swapped. Views where possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._device import array_module
from .._dtype import dtype as Dtype
from .._graph.namespace import add_to_both
from .._tensor import Tensor, method
from ._define import operator
from ._dims import wrap_dim, wrap_dims
from ._inplace import reshape_in_place
from ._sizes import resolve, sizes_of
from .viewing import view_operator

_ALL = slice(None)


def _as(x: Any, *, shape: tuple[int, ...]) -> Any:
    return x.reshape(shape)


def _back_to_shape(F: Any, node: Any, g: Any) -> Any:
    return F.reshape(g, shape=node.shapes[0])


def _swap(x: Any, *, dim0: int, dim1: int) -> Any:
    return x.swapaxes(dim0, dim1) if x.ndim else x[...]


def _swap_back(F: Any, node: Any, g: Any) -> Any:
    return F.swap_dims(g, **node.kw)


def _permute(x: Any, *, dims: tuple[int, ...]) -> Any:
    return x.transpose(dims)


def _inverse(dims: Sequence[int]) -> tuple[int, ...]:
    back = [0] * len(dims)
    for place, dim in enumerate(dims):
        back[dim] = place
    return tuple(back)


def _insert(x: Any, *, dim: int) -> Any:
    return x[(_ALL,) * dim + (None,)]


def _remove(x: Any, *, dims: tuple[int, ...]) -> Any:
    return x.squeeze(dims)


def _transposed(x: Any) -> Any:
    return x.T


_VIEW = view_operator("view", _as, _back_to_shape, "ViewBackward0")
_ALIAS = view_operator("reshape_alias", _as, _back_to_shape, "ReshapeAliasBackward0")
_COPIED = operator("reshape_copied", _as, _back_to_shape, node="UnsafeViewBackward0")
_SWAP = view_operator("swap_dims", _swap, _swap_back, "TransposeBackward0")
_SWAP_ = view_operator("swap_dims_", _swap, _swap_back, "TransposeBackward1")
_T = view_operator("t", _transposed, lambda F, node, g: F.t(g), "TBackward0")
_T_ = view_operator("t_", _transposed, lambda F, node, g: F.t(g), "TBackward1")
_PERMUTE = view_operator(
    "permute", _permute, lambda F, node, g: F.permute(g, dims=_inverse(node.kw["dims"])), "PermuteBackward0"
)
_INSERT = view_operator(
    "insert_dim", _insert, lambda F, node, g: F.remove_dims(g, dims=(node.kw["dim"],)), "UnsqueezeBackward0"
)
_INSERT_ = view_operator(
    "insert_dim_", _insert, lambda F, node, g: F.remove_dims(g, dims=(node.kw["dim"],)), "UnsqueezeBackward1"
)
_SQUEEZE = [
    view_operator("remove_dims" + str(i or ""), _remove, _back_to_shape, f"SqueezeBackward{i}") for i in range(6)
]


def _reshape(input: Tensor, given: tuple[int, ...]) -> Tensor:
    array = input._array
    shape = resolve(given, array.size)
    if array.flags.c_contiguous:
        return _VIEW(input, shape=shape)
    if _fits(array, shape):
        return _ALIAS(input, shape=shape)
    return _COPIED(input, shape=shape)


def _fits(array: Any, shape: tuple[int, ...]) -> bool:
    """Whether the shape can be had without copying."""
    return array.size == 0 or array_module(array).may_share_memory(array.reshape(shape), array)


add_to_both("reshape", _as, lambda input, *, shape: _reshape(input, shape))


def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape; a view of `input` when its memory allows.

    >>> import mpigrad
    >>> mpigrad.reshape(mpigrad.tensor([1, 2, 3, 4]), (2, -1))
    tensor([[1, 2],
            [3, 4]])
    """
    return _reshape(input, sizes_of((shape,)))


def _reshape_method(self: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: `x.reshape(2, 3)` or `x.reshape((2, 3))`."""
    return _reshape(self, sizes_of(shape))


method(_reshape_method, "reshape")


@method
def view(self: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape; an error when that would need a copy."""
    if len(shape) == 1 and isinstance(shape[0], Dtype):
        return _view_as_type(self, shape[0])
    array = self._array
    sizes = resolve(sizes_of(shape), array.size)
    if not array.flags.c_contiguous and not _fits(array, sizes):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return _VIEW(self, shape=sizes)


def _retype(x: Any, *, dtype: Any) -> Any:
    return x.view(dtype)


_RETYPE = view_operator("retype", _retype, lambda F, node, g: None, "ViewBackward1")


def _view_as_type(self: Tensor, wanted: Dtype) -> Tensor:
    if self.dtype is wanted:
        return _VIEW(self, shape=self._array.shape)
    if wanted.itemsize != self.dtype.itemsize and (
        self._array.ndim == 0 or self._array.strides[-1] != self.dtype.itemsize
    ):
        raise RuntimeError(
            f"self.stride(-1) must be 1 to view {self.dtype} as {wanted} (different element sizes), but the "
            "tensor is not "
            "contiguous in its last dimension"
        )
    made = _RETYPE(self, dtype=wanted.numpy)
    made._grad_fn, made._requires = None, False
    return made


@method
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """View this tensor in the shape of `other`."""
    return self.view(other._array.shape)


@method
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Reshape this tensor to the shape of `other`."""
    return _reshape(self, other._array.shape)


@method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Make one dimension of those from `start_dim` to `end_dim`.

    >>> import mpigrad
    >>> mpigrad.ones(2, 3, 4).flatten(1).shape
    mpigrad.Size([2, 12])
    """
    shape = input._array.shape
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return _reshape(input, (1,))
    if start == end:
        return input
    count = 1
    for length in shape[start : end + 1]:
        count *= length
    return _reshape(input, (*shape[:start], count, *shape[end + 1 :]))


@method
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Make several dimensions of one."""
    shape = input._array.shape
    at, parts = wrap_dim(dim, len(shape)), sizes_of((sizes,))
    if not parts:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        inner = resolve(parts, shape[at])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of dim {at} ({shape[at]}) in "
            "the input "
            "tensor"
        ) from None
    return _reshape(input, (*shape[:at], *inner, *shape[at + 1 :]))


@method
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
    return _reshape(input, (-1,) if input._array.size else (0,))


def _removable(input: Tensor, dim: Any) -> tuple[int, ...]:
    shape = input._array.shape
    dims = range(len(shape)) if dim is None else wrap_dims(dim, len(shape)) or ()
    return tuple(i for i in dims if shape and shape[i] == 1)


def _squeeze_kind(dim: Any) -> int:
    return 0 if dim is None else 2 if isinstance(dim, (tuple, list)) else 1


@method
def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Drop dimensions of length 1: all, or those named.

    >>> import mpigrad
    >>> mpigrad.ones(1, 2, 1).squeeze(-1).shape
    mpigrad.Size([1, 2])
    """
    return _SQUEEZE[_squeeze_kind(dim)](input, dims=_removable(input, dim))


@method
def squeeze_(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Drop dimensions of length 1, in place."""
    undo = {"shape": self._array.shape}
    return reshape_in_place(self, _SQUEEZE[3 + _squeeze_kind(dim)], _VIEW, {"dims": _removable(self, dim)}, undo)


@method
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert a dimension of length 1.

    >>> import mpigrad
    >>> mpigrad.ones(2).unsqueeze(0).shape
    mpigrad.Size([1, 2])
    """
    return _INSERT(input, dim=wrap_dim(dim, input._array.ndim + 1))


@method
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Insert a dimension of length 1, in place."""
    at = wrap_dim(dim, self._array.ndim + 1)
    return reshape_in_place(self, _INSERT_, _SQUEEZE[1], {"dim": at}, {"dims": (at,)})


def _pair(input: Tensor, dim0: int, dim1: int) -> dict[str, int]:
    ndim = input._array.ndim
    first, second = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return {"dim0": first, "dim1": second}


@method
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions.

    >>> import mpigrad
    >>> mpigrad.ones(2, 3).transpose(0, 1).shape
    mpigrad.Size([3, 2])
    """
    return _SWAP(input, **_pair(input, dim0, dim1))


@method
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions, in place."""
    kw = _pair(self, dim0, dim1)
    return reshape_in_place(self, _SWAP_, _SWAP, kw, kw)


@method
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Another name of `transpose`."""
    return transpose(input, axis0, axis1)


def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Another name of `transpose`."""
    return transpose(input, dim0, dim1)


method(swapdims)
method(transpose_, "swapaxes_")
method(transpose_, "swapdims_")


def _check_t(name: str, input: Tensor) -> None:
    if input._array.ndim > 2:
        raise RuntimeError(f"{name}() expects a tensor with <= 2 dimensions, but self is {input._array.ndim}D")


@method
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; vectors and numbers stay as they are."""
    _check_t("t", input)
    return _T(input)


@method
def t_(self: Tensor) -> Tensor:
    """Transpose a matrix in place."""
    _check_t("t_", self)
    return reshape_in_place(self, _T_, _T, {}, {})


def _reversed(self: Tensor) -> Tensor:
    """All dimensions in reverse order."""
    return _PERMUTE(self, dims=tuple(range(self._array.ndim))[::-1])


def _matrix_transpose(self: Tensor) -> Tensor:
    """The last two dimensions swapped."""
    ndim = self._array.ndim
    if ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {ndim}-D tensor.")
    return _SWAP(self, dim0=ndim - 2, dim1=ndim - 1)


def _conjugate(tensor: Tensor) -> Tensor:
    return tensor.conj() if tensor._array.dtype.kind == "c" else tensor


def _hermitian(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    if self._array.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self._array.ndim}-D tensor.")
    return _conjugate(_matrix_transpose(self) if self._array.ndim else _PERMUTE(self, dims=()))


@method
def adjoint(input: Tensor) -> Tensor:
    """The conjugate of the tensor with its last two dimensions swapped."""
    if input._array.ndim < 2:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input._array.ndim}-D tensor."
        )
    return _conjugate(_matrix_transpose(input))


Tensor.T = property(_reversed)  # type: ignore[attr-defined]
Tensor.mT = property(_matrix_transpose)  # type: ignore[attr-defined]
Tensor.H = property(_hermitian)  # type: ignore[attr-defined]
Tensor.mH = property(adjoint)  # type: ignore[attr-defined]


def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Put the dimensions in another order.

    >>> import mpigrad
    >>> mpigrad.permute(mpigrad.ones(2, 3, 4), (2, 0, 1)).shape
    mpigrad.Size([4, 2, 3])
    """
    given, ndim = sizes_of((dims,)), input._array.ndim
    if len(given) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
            "desired ordering "
            f"of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(given)}"
        )
    order = tuple(wrap_dim(dim, ndim) for dim in given)
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _PERMUTE(input, dims=order)


def _permute_method(self: Tensor, *dims: Any) -> Tensor:
    """Put the dimensions in another order: `x.permute(2, 0, 1)` or `x.permute((2, 0, 1))`."""
    return permute(self, sizes_of(dims))


method(_permute_method, "permute")


@method
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Move dimensions to other places; the rest keep their order.

    >>> import mpigrad
    >>> mpigrad.movedim(mpigrad.ones(2, 3, 4), 0, 2).shape
    mpigrad.Size([3, 4, 2])
    """
    ndim = input._array.ndim
    sources, targets = sizes_of((source,)), sizes_of((destination,))
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(sources)} dims) should contain the same "
            "number of "
            f"dims as destination ({list(targets)} dims)"
        )
    come, go = [wrap_dim(dim, ndim) for dim in sources], [wrap_dim(dim, ndim) for dim in targets]
    for what, dims in (("source", come), ("destination", go)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(sources if what == 'source' else targets)})")
    rest = iter([dim for dim in range(ndim) if dim not in come])
    placed = dict(zip(go, come))
    return _PERMUTE(input, dims=tuple(placed[dim] if dim in placed else next(rest) for dim in range(ndim)))


method(movedim, "moveaxis")
moveaxis = movedim


__all__ = [
    "adjoint", "flatten", "moveaxis", "movedim", "permute", "ravel", "reshape", "squeeze", "swapaxes", "swapdims", "t",
    "transpose", "unflatten", "unsqueeze",
]  # fmt: skip
