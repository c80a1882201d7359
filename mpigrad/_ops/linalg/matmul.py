"""Products of matrices and vectors: mm, bmm, mv, dot, matmul and their derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._graph.namespace import add_to_both
from mpigrad._tensor import Tensor, method

from .._define.arguments import c_name, refuse_non_tensors, title
from .._define.binary import check_shapes
from .._define.foreign import leave_to
from .._define.operator import operator
from .._define.out import deliver
from ..elementwise.arithmetic import conj

F16 = np.dtype("f2")


def product(a: Any, b: Any) -> Any:
    """The matrix product of arrays; half precision, which BLAS does not have, is computed in single precision."""
    if a.dtype is F16:
        return np.matmul(a.astype("f4"), b.astype("f4")).astype(F16)
    return np.matmul(a, b)


def transpose_raw(x: Any) -> Any:
    """An array with its last two dimensions swapped, without a copy."""
    return x.swapaxes(-1, -2)


mt = operator("mt", transpose_raw, lambda F, node, g: F.mt(g), node="TransposeBackward0", view=True)


def adjoint_of(F: Any, x: Any) -> Any:
    """The conjugate transpose, for arrays (`F` is RAW) and for tensors."""
    return F.mt(F.conj(x))


def _mm_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    return (
        None if b is None else F.mm(g, adjoint_of(F, b)),
        None if a is None else F.mm_from_left(a, g, columns=node.kw.get("columns", False)),
    )


def from_left_raw(a: Any, g: Any, *, columns: bool = False) -> Any:
    """The gradient of the second factor, a^H g. If the factor is a transposed view, the result is column-major, so that
    transposing it needs no copy.
    """
    a = a.conj() if a.dtype.kind == "c" else a
    return transpose_raw(product(transpose_raw(g), a)) if columns else product(transpose_raw(a), g)


def _from_left(a: Tensor, g: Tensor, *, columns: bool = False) -> Tensor:
    # the memory order is of no importance here: this runs only when gradients are differentiated again
    return mm_op(mt(conj(a)), g)


def _mm_forward(a: Any, b: Any, *, columns: bool = False) -> Any:
    return product(a, b)


def _bmm_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    return (
        None if b is None else F.bmm(g, adjoint_of(F, b)),
        None if a is None else F.bmm(adjoint_of(F, a), g),
    )


def _mv_backward(F: Any, node: Any, g: Any, a: Any, v: Any) -> Any:
    return (
        None if v is None else F.outer(g, F.conj(v)),
        None if a is None else F.mv(adjoint_of(F, a), g),
    )


def _vm_backward(F: Any, node: Any, g: Any, v: Any, b: Any) -> Any:
    return (
        None if b is None else F.mv(F.conj(b), g),
        None if v is None else F.outer(F.conj(v), g),
    )


def _dot_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    return None if b is None else g * F.conj(b), None if a is None else g * F.conj(a)


def _vdot_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    return None if b is None else F.conj(g) * b, None if a is None else g * a


def _outer_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    return (
        None if b is None else F.mv(g, F.conj(b)),
        None if a is None else F.vm(F.conj(a), g),
    )


def count_rows(shape: tuple[int, ...]) -> int:
    """The number of vectors along the last dimension of an array of this shape."""
    return math.prod(shape[:-1])


def _matmul_forward(a: Any, b: Any, *, columns: bool = False) -> Any:
    if b.ndim == 2 and a.ndim > 2:  # one large product instead of many small ones
        return product(a.reshape(count_rows(a.shape), a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[1])
    return product(a, b)


def _matmul_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    (p, q), into_a, into_b = node.shapes, None, None
    if b is not None:
        into_a = F.sum_to(F.matmul_nd(g, adjoint_of(F, b)), shape=p)
    if a is not None:
        if len(q) == 2:
            # one large product over all rows of the batch, which also sums over the batch
            rows = a.reshape(count_rows(p), p[-1]), g.reshape(count_rows(p), q[-1])
            into_b = F.mm_from_left(*rows, columns=node.kw.get("columns", False))
        else:
            into_b = F.sum_to(F.matmul_nd(adjoint_of(F, a), g), shape=q)
    return into_a, into_b


def _matvec_backward(F: Any, node: Any, g: Any, a: Any, v: Any) -> Any:
    (p, (k,)), rows = node.shapes, count_rows(node.shapes[0])
    return (
        None if v is None else g.reshape(*p[:-1], 1) * F.conj(v),
        None if a is None else F.mv(adjoint_of(F, a.reshape(rows, k)), g.reshape(rows)),
    )


def _vecmat_backward(F: Any, node: Any, g: Any, v: Any, b: Any) -> Any:
    (k,), q = node.shapes
    into_v = into_b = None
    if b is not None:
        columns = F.matmul_nd(F.conj(b), g.reshape(*q[:-2], q[-1], 1))
        into_v = F.sum_to(columns, shape=(k, 1)).reshape(k)
    if v is not None:
        into_b = F.conj(v).reshape(k, 1) * g.reshape(*q[:-2], 1, q[-1])
    return into_v, into_b


EITHER = ((0, 1), (1, 0))  # each factor is saved if the other needs a gradient
mm_op = operator("mm", _mm_forward, _mm_backward, EITHER, node="MmBackward0")
bmm_op = operator("bmm", product, _bmm_backward, EITHER, node="BmmBackward0")
mv_op = operator("mv", product, _mv_backward, EITHER, node="MvBackward0")
vm_op = operator("vm", product, _vm_backward, EITHER, node="SqueezeBackward4")
dot_op = operator("dot", product, _dot_backward, EITHER, node="DotBackward0")
vdot_op = operator("vdot", np.vdot, _vdot_backward, EITHER, node="VdotBackward0")
outer_op = operator("outer", lambda a, b: a[:, None] * b, _outer_backward, EITHER, node="MulBackward0")
matmul_op = operator("matmul_nd", _matmul_forward, _matmul_backward, EITHER, node="UnsafeViewBackward0")
matvec_op = operator(
    "matvec_nd",
    lambda a, v: product(a.reshape(count_rows(a.shape), a.shape[-1]), v).reshape(a.shape[:-1]),
    _matvec_backward,
    EITHER,
    node="UnsafeViewBackward0",
)
vecmat_op = operator("vecmat_nd", product, _vecmat_backward, EITHER, node="UnsafeViewBackward0")
add_to_both("mm_from_left", from_left_raw, _from_left)


def check_numeric(name: str, array: Any) -> None:
    """Raise PyTorch's error for booleans, which have no products."""
    if array.dtype.kind == "b":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")


@method
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices, (n, m) and (m, p). `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.mm(mpigrad.eye(2), mpigrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [3., 4.]])
    """
    try:
        a, b = input._array, mat2._array
    except AttributeError:
        refuse_non_tensors("mm", input=input, mat2=mat2)
    if a.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if b.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    check_matrices(a, b)
    result = mm_op(input, mat2)
    return result if out is None else deliver(result, out)


def check_matrices(a: Any, b: Any) -> None:
    """Raise PyTorch's error if two matrices cannot be multiplied."""
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {c_name(a)} != {c_name(b)}")
    check_numeric("addmm_impl_cpu_", a)


@method
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix products of two batches, pair by pair: (batch, n, m) and (batch, m, p) give (batch, n, p). `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.bmm(mpigrad.ones(5, 2, 3), mpigrad.ones(5, 3, 4)).shape
    mpigrad.Size([5, 2, 4])
    """
    try:
        a, b = input._array, mat2._array
    except AttributeError:
        refuse_non_tensors("bmm", input=input, mat2=mat2)
    check_batches(a, b)
    return deliver(bmm_op(input, mat2), out)


def check_batches(a: Any, b: Any) -> None:
    """Raise PyTorch's error if two batches of matrices cannot be multiplied pair by pair."""
    for name, array in (("batch1", a), ("batch2", b)):
        if array.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if b.shape[0] != a.shape[0] or b.shape[1] != a.shape[2]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
            f"[{b.shape[0]}, {b.shape[1]}]."
        )
    check_same_scalar(a, b)
    check_numeric("baddbmm", a)


def check_same_scalar(a: Any, b: Any) -> None:
    """Raise PyTorch's error for factors of different element types."""
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected scalar type {title(a)} but found {title(b)}")


@method
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix (n, m) and a vector (m,): (n,). `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.mv(mpigrad.ones(2, 3), mpigrad.ones(3))
    tensor([3., 3.])
    """
    try:
        a, v = input._array, vec._array
    except AttributeError:
        refuse_non_tensors("mv", input=input, vec=vec)
    if a.ndim != 2 or v.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {a.ndim}, {v.ndim}")
    if a.shape[1] != v.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({a.shape[0]}), mat ({a.shape[0]}x{a.shape[1]}), vec ({v.shape[0]})"
        )
    if a.dtype != v.dtype:
        kinds = f"{title(v)}, {title(a)}, and {title(v)}"
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {kinds}")
    return deliver(mv_op(input, vec), out)


def _check_vectors(name: str, a: Any, b: Any) -> None:
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        raise RuntimeError(f"{name} : expected both vectors to have same dtype, but found {title(a)} and {title(b)}")
    if a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the same number of "
            f"elements, but got {a.size} and {b.size} elements respectively"
        )


@method
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors of the same length: a zero-dimensional tensor. `out`: a tensor to which the
    result is written.

    >>> import mpigrad
    >>> mpigrad.dot(mpigrad.tensor([1.0, 2.0]), mpigrad.tensor([3.0, 4.0]))
    tensor(11.)
    """
    try:
        _check_vectors("dot", input._array, tensor._array)
    except AttributeError:
        refuse_non_tensors("dot", input=input, tensor=tensor)
    return deliver(dot_op(input, tensor), out)


@method
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors of the same length, the first one conjugated: a zero-dimensional tensor.
    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.vdot(mpigrad.tensor([1.0, 2.0]), mpigrad.tensor([3.0, 4.0]))
    tensor(11.)
    """
    try:
        _check_vectors("vdot", input._array, other._array)
    except AttributeError:
        refuse_non_tensors("vdot", input=input, other=other)
    return deliver(vdot_op(input, other), out)


@method
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product, Python's `@`: of vectors, matrices, or batches of matrices, which are broadcast.

    Two vectors give their inner product; a vector with a matrix is a row on the left, a column on the right. `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.matmul(mpigrad.ones(7, 2, 3), mpigrad.ones(3)).shape
    mpigrad.Size([7, 2])
    """
    try:
        a, b = input._array, other._array
    except AttributeError:
        refuse_non_tensors("matmul", input=input, other=other)
    if a.ndim == 2 and b.ndim == 2:
        check_matrices(a, b)
        result = mm_op(input, other)
    elif a.ndim <= 2 and b.ndim <= 2:
        result = _with_vectors(input, other)
    else:
        result = _with_batches(input, other)
    return result if out is None else deliver(result, out)


def _with_vectors(input: Tensor, other: Tensor) -> Tensor:
    a, b = input._array, other._array
    if a.ndim == 0 or b.ndim == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D")
    if b.ndim == 1:
        return dot(input, other) if a.ndim == 1 else mv(input, other)
    check_matrices(a[None], b)
    return vm_op(input, other)


def _with_batches(input: Tensor, other: Tensor) -> Tensor:
    a, b = input._array, other._array
    if a.ndim == 0 or b.ndim == 0:
        return _with_vectors(input, other)
    if a.ndim == 1:
        check_nd(a[None], b)
        return vecmat_op(input, other)
    if b.ndim == 1:
        if a.shape[-1] != b.shape[0]:
            rows = count_rows(a.shape)
            raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{a.shape[-1]}), vec ({b.shape[0]})")
        check_same_scalar(a, b)
        return matvec_op(input, other)
    check_nd(a, b)
    return matmul_op(input, other)


def check_nd(a: Any, b: Any) -> None:
    """Raise PyTorch's error if batches of matrices cannot be multiplied."""
    if b.ndim == 2 and a.shape[-1] != b.shape[0]:
        check_matrices(_blank(count_rows(a.shape), a.shape[-1]), b)
    check_same_scalar(a, b)
    check_numeric("baddbmm", a)
    if a.shape[:-2] != b.shape[:-2]:
        check_shapes(_blank(*a.shape[:-2]), _blank(*b.shape[:-2]))
    if a.shape[-1] != b.shape[-2]:
        if a.ndim == 2:
            check_matrices(_blank(count_rows(transpose_raw(b).shape), b.shape[-2]), transpose_raw(a))
        count = int(np.prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2])))
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {a.shape[-1]}] but got: "
            f"[{count}, {b.shape[-2]}]."
        )


def _blank(*shape: int) -> Any:
    """An array of a given shape that uses no memory, for functions that take the shape for an error message from an array."""
    return np.broadcast_to(False, shape)


def _at(self: Tensor, other: Any) -> Any:
    return matmul(self, other) if isinstance(other, Tensor) else leave_to(other)


method(_at, "__matmul__")

__all__ = ["bmm", "dot", "matmul", "mm", "mv", "vdot"]
