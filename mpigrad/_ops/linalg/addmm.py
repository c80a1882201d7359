"""Matrix products that are added to another tensor: addmm, addmv, addr, addbmm, baddbmm."""

from __future__ import annotations

from typing import Any

from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors, title
from .._define.inplace import in_place
from .._define.operator import operator
from .._define.out import deliver
from .matmul import adjoint_of, check_batches, check_matrices, check_numeric, product


def _sum(c: Any, found: Any, beta: Any, alpha: Any) -> Any:
    """`beta * c + alpha * found`, computed in the memory of `found`, which nothing else uses."""
    if alpha != 1:
        found *= found.dtype.type(alpha)
    if beta == 1:
        found += c
    elif beta != 0:  # with 0, even nan in c is ignored
        found += c * c.dtype.type(beta)
    return found


def _addmm_forward(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1, columns: bool = False) -> Any:
    return _sum(c, product(a, b), beta, alpha)


def _scaled(g: Any, factor: Any) -> Any:
    return g if factor == 1 else g * factor


def _addmm_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    kw = node.kw
    into_c = F.sum_to(_scaled(g, kw.get("beta", 1)), shape=node.shapes[0]) if node.edges[0] is not None else None
    g = _scaled(g, kw.get("alpha", 1))
    return (
        into_c,
        None if b is None else F.mm(g, adjoint_of(F, b)),
        None if a is None else F.mm_from_left(a, g, columns=kw.get("columns", False)),
    )


def _addmv_backward(F: Any, node: Any, g: Any, a: Any, v: Any) -> Any:
    into_c = F.sum_to(_scaled(g, node.kw.get("beta", 1)), shape=node.shapes[0]) if node.needs[0] else None
    g = _scaled(g, node.kw.get("alpha", 1))
    return (
        into_c,
        None if v is None else F.outer(g, F.conj(v)),
        None if a is None else F.mv(adjoint_of(F, a), g),
    )


def _addr_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    into_c = F.sum_to(_scaled(g, node.kw.get("beta", 1)), shape=node.shapes[0]) if node.needs[0] else None
    g = _scaled(g, node.kw.get("alpha", 1))
    return (
        into_c,
        None if b is None else F.mv(g, F.conj(b)),
        None if a is None else F.vm(F.conj(a), g),
    )


def _baddbmm_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    into_c = F.sum_to(_scaled(g, node.kw.get("beta", 1)), shape=node.shapes[0]) if node.needs[0] else None
    g = _scaled(g, node.kw.get("alpha", 1))
    return (
        into_c,
        None if b is None else F.bmm(g, adjoint_of(F, b)),
        None if a is None else F.bmm(adjoint_of(F, a), g),
    )


def _addbmm_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    into_c = F.sum_to(_scaled(g, node.kw.get("beta", 1)), shape=node.shapes[0]) if node.needs[0] else None
    count = node.shapes[1][0]
    g = F.expand(_scaled(g, node.kw.get("alpha", 1)), shape=(count, *g.shape))
    return (
        into_c,
        None if b is None else F.bmm(g, adjoint_of(F, b)),
        None if a is None else F.bmm(adjoint_of(F, a), g),
    )


FACTORS = ((1, 2), (2, 1))
addmm_op = operator("addmm", _addmm_forward, _addmm_backward, FACTORS, node="AddmmBackward0")
addmv_op = operator(
    "addmv", lambda c, a, v, *, beta, alpha: _sum(c, product(a, v), beta, alpha), _addmv_backward, FACTORS
)
addr_op = operator(
    "addr", lambda c, a, b, *, beta, alpha: _sum(c, a[:, None] * b, beta, alpha), _addr_backward, FACTORS
)
baddbmm_op = operator(
    "baddbmm", lambda c, a, b, *, beta, alpha: _sum(c, product(a, b), beta, alpha), _baddbmm_backward, FACTORS
)
addbmm_op = operator(
    "addbmm",
    lambda c, a, b, *, beta, alpha: _sum(c, product(a, b).sum(axis=0, dtype=c.dtype), beta, alpha),
    _addbmm_backward,
    FACTORS,
)


def check_expands(c: Any, shape: tuple[int, ...]) -> None:
    """Raise PyTorch's error if an array cannot be broadcast to the shape of the product to which it is added."""
    if c.ndim > len(shape):
        raise RuntimeError(
            f"expand(mpigrad.{title(c)}Tensor{{{list(c.shape)}}}, size={list(shape)}): the number of sizes provided "
            f"({len(shape)}) must be greater or equal to the number of dimensions in the tensor ({c.ndim})"
        )
    for back, length in enumerate(reversed(c.shape), start=1):
        if length not in (1, shape[-back]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[-back]}) must match the existing size ({length}) at "
                f"non-singleton dimension {len(shape) - back}.  Target sizes: {list(shape)}.  Tensor sizes: "
                f"{list(c.shape)}"
            )


def check_addmm(c: Any, a: Any, b: Any) -> None:
    """Raise PyTorch's error for arguments of addmm with wrong shapes or types."""
    for name, array in (("mat1", a), ("mat2", b)):
        if array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {array.ndim}-D tensor")
    for name, array in (("self", c), ("mat1", a)):
        if array.dtype != b.dtype:
            raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {title(array)} and {title(b)}")
    check_matrices(a, b)
    check_expands(c, (a.shape[0], b.shape[1]))


@method
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` for matrices; `input` is broadcast to the product. `out`: a tensor to
    which the result is written.

    >>> import mpigrad
    >>> mpigrad.addmm(mpigrad.ones(2), mpigrad.ones(2, 3), mpigrad.ones(3, 2))
    tensor([[4., 4.],
            [4., 4.]])
    """
    need_tensors("addmm", input=input, mat1=mat1, mat2=mat2)
    check_addmm(input._array, mat1._array, mat2._array)
    return deliver(addmm_op(input, mat1, mat2, beta=beta, alpha=alpha), out)


@method
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * (mat @ vec)` for a matrix and a vector. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.addmv(mpigrad.ones(2), mpigrad.ones(2, 3), mpigrad.ones(3))
    tensor([4., 4.])
    """
    need_tensors("addmv", input=input, mat=mat, vec=vec)
    c, a, v = input._array, mat._array, vec._array
    if a.ndim != 2 or v.ndim != 1 or c.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {c.ndim}, {a.ndim}, {v.ndim}")
    if a.shape[1] != v.shape[0] or c.size not in (1, a.shape[0]):
        raise RuntimeError(f"size mismatch, got input ({c.size}), mat ({a.shape[0]}x{a.shape[1]}), vec ({v.shape[0]})")
    if not c.dtype == a.dtype == v.dtype:
        kinds = f"{title(c)}, {title(a)}, and {title(v)}"
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {kinds}")
    return deliver(addmv_op(input, mat, vec, beta=beta, alpha=alpha), out)


@method
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)` for two vectors. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.addr(mpigrad.zeros(2, 2), mpigrad.ones(2), mpigrad.ones(2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    need_tensors("addr", input=input, vec1=vec1, vec2=vec2)
    a, b = vec1._array, vec2._array
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"addr: Expected 1-D arguments vec1 and vec2, but got {a.ndim}-D and {b.ndim}-D")
    check_expands(input._array, (a.size, b.size))
    return deliver(addr_op(input, vec1, vec2, beta=beta, alpha=alpha), out)


@method
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * bmm(batch1, batch2)` for batches of matrices (batch, n, m) and (batch, m, p). `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.baddbmm(mpigrad.zeros(5, 2, 4), mpigrad.ones(5, 2, 3), mpigrad.ones(5, 3, 4)).shape
    mpigrad.Size([5, 2, 4])
    """
    need_tensors("baddbmm", input=input, batch1=batch1, batch2=batch2)
    a, b = batch1._array, batch2._array
    check_batches(a, b)
    check_expands(input._array, (a.shape[0], a.shape[1], b.shape[2]))
    _check_sum_type(input._array, a)
    return deliver(baddbmm_op(input, batch1, batch2, beta=beta, alpha=alpha), out)


@method
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * (sum of the matrix products batch1[i] @ batch2[i])`; `input` is a matrix. `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.addbmm(mpigrad.zeros(2, 4), mpigrad.ones(5, 2, 3), mpigrad.ones(5, 3, 4))[0, 0]
    tensor(15.)
    """
    need_tensors("addbmm", input=input, batch1=batch1, batch2=batch2)
    a, b = batch1._array, batch2._array
    check_batches(a, b)
    check_expands(input._array, (a.shape[1], b.shape[2]))
    _check_sum_type(input._array, a)
    return deliver(addbmm_op(input, batch1, batch2, beta=beta, alpha=alpha), out)


def _check_sum_type(c: Any, a: Any) -> None:
    check_numeric("baddbmm", a)
    if c.dtype != a.dtype:
        raise RuntimeError(f"Input dtypes must be the same, got: input {c_kind(c)}, batch1: {c_kind(a)}")


def c_kind(array: Any) -> str:
    """The name of an element type as the errors of this file spell it."""
    return title(array).lower()


for _fn in (addmm, addmv, addr, baddbmm, addbmm):
    method(in_place(_fn), _fn.__name__ + "_")

__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm"]
