"""Reordering dimensions: transpose, permute, movedim, T and others. Results are always views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpigrad._tensor import Tensor, method

from .._define.dims import wrap_dim
from .._define.inplace import reshape_in_place
from .._define.sizes import sizes_of
from .._define.views import view_operator


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


def _transposed(x: Any) -> Any:
    return x.T


_SWAP = view_operator("swap_dims", _swap, _swap_back, "TransposeBackward0")
_SWAP_ = view_operator("swap_dims_", _swap, _swap_back, "TransposeBackward1")
_T = view_operator("t", _transposed, lambda F, node, g: F.t(g), "TBackward0")
_T_ = view_operator("t_", _transposed, lambda F, node, g: F.t(g), "TBackward1")
_PERMUTE = view_operator(
    "permute", _permute, lambda F, node, g: F.permute(g, dims=_inverse(node.kw["dims"])), "PermuteBackward0"
)


def _pair(input: Tensor, dim0: int, dim1: int) -> dict[str, int]:
    ndim = input._array.ndim
    first, second = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return {"dim0": first, "dim1": second}


@method
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap the dimensions `dim0` and `dim1`; a view.

    >>> import mpigrad
    >>> mpigrad.ones(2, 3).transpose(0, 1).shape
    mpigrad.Size([3, 2])
    """
    return _SWAP(input, **_pair(input, dim0, dim1))


@method
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap the dimensions `dim0` and `dim1` of this tensor, in place; returns the tensor."""
    kw = _pair(self, dim0, dim1)
    return reshape_in_place(self, _SWAP_, _SWAP, kw, kw)


@method
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two dimensions; another name of `transpose`."""
    return transpose(input, axis0, axis1)


def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions; another name of `transpose`."""
    return transpose(input, dim0, dim1)


method(swapdims)


def _swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two dimensions, in place."""
    return transpose_(self, axis0, axis1)


method(_swapaxes_, "swapaxes_")
method(transpose_, "swapdims_")


def _check_t(name: str, input: Tensor) -> None:
    if input._array.ndim > 2:
        raise RuntimeError(f"{name}() expects a tensor with <= 2 dimensions, but self is {input._array.ndim}D")


@method
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix, as a view; tensors with fewer dimensions are returned unchanged."""
    _check_t("t", input)
    return _T(input)


@method
def t_(self: Tensor) -> Tensor:
    """Transpose this matrix in place, and return it."""
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
    """The conjugate of the tensor with its last two dimensions swapped.

    >>> import mpigrad
    >>> mpigrad.adjoint(mpigrad.tensor([[1j, 2]]))
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    if input._array.ndim < 2:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input._array.ndim}-D tensor."
        )
    return _conjugate(_matrix_transpose(input))


method(property(_reversed), "T")
method(property(_matrix_transpose), "mT")
method(property(_hermitian), "H")
method(property(adjoint), "mH")


def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Reorder the dimensions: dimension i of the result is dimension `dims[i]` of `input`; a view.

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
    """Reorder the dimensions: `x.permute(2, 0, 1)` or `x.permute((2, 0, 1))`; a view."""
    return permute(self, sizes_of(dims))


method(_permute_method, "permute")


@method
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Move the dimensions `source` to the positions `destination` (ints, or one for each); the others keep their
    order. A view.

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
    "adjoint", "moveaxis", "movedim", "permute", "swapaxes", "swapdims", "t", "transpose",
]  # fmt: skip
