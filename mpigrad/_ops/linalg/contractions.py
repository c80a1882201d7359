"""Products of other shapes: outer, inner, tensordot, kron, chain_matmul, cross, trace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mpigrad._array.device import array_module
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors
from .._define.binary import check_shapes, common_dtype
from .._define.guarded import guarded
from .._define.operator import operator
from .._define.out import deliver
from .._define.unbroadcast import to_dtype
from .matmul import EITHER, matmul, mm, outer_op


@method
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The outer product of two vectors: the matrix with input[i] * vec2[j] in row i and column j. `out`: a tensor to
    which the result is written.

    >>> import mpigrad
    >>> mpigrad.outer(mpigrad.tensor([1.0, 2.0]), mpigrad.tensor([1.0, 3.0]))
    tensor([[1., 3.],
            [2., 6.]])
    """
    need_tensors("outer", input=input, vec2=vec2)
    for name, each in (("self", input), ("vec2", vec2)):
        if each._array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {each._array.ndim}-D")
    kind = common_dtype((input, vec2))
    return deliver(outer_op(to_dtype(input, kind), to_dtype(vec2, kind)), out)


ger = outer
method(outer, "ger")


@method
@guarded
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of products over the last dimensions of both tensors, which must have the same length. `out`: a tensor
    to which the result is written.

    >>> import mpigrad
    >>> mpigrad.inner(mpigrad.tensor([1.0, 2.0]), mpigrad.tensor([3.0, 4.0]))
    tensor(11.)
    """
    need_tensors("inner", input=input, other=other)
    a, b = input._array, other._array
    if a.ndim == 0 or b.ndim == 0:
        return deliver(input * other, out)
    if a.shape[-1] != b.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(a.shape)} and {list(b.shape)}"
        )
    return deliver(tensordot(input, other, ([-1], [-1])), out)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The sum of products over several dimensions of both tensors.

    `dims`: a number n for the last n dimensions of `a` and the first n of `b`; or two lists, the dimensions of `a`
    and those of `b`. The result has the other dimensions of `a`, then those of `b`. `out`: a tensor to which the
    result is written.

    >>> import mpigrad
    >>> mpigrad.tensordot(mpigrad.ones(2, 3, 4), mpigrad.ones(3, 4, 5)).shape
    mpigrad.Size([2, 5])
    """
    need_tensors("tensordot", a=a, b=b)
    first, second = _dims(a, b, dims)
    # a dimension of length one is broadcast: it is multiplied by the sum over the other operand's
    for i, j in zip(first, second):
        if a._array.shape[i] != b._array.shape[j] == 1:
            a = a.sum(i, keepdim=True)
        elif b._array.shape[j] != a._array.shape[i] == 1:
            b = b.sum(j, keepdim=True)
    p, q = a._array.shape, b._array.shape
    for i, j in zip(first, second):
        if p[i] != q[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {p[i]} in dim {i} and second has size "
                f"{q[j]} in dim "
                f"{j}"
            )
    first, second = [i % a._array.ndim for i in first], [j % b._array.ndim for j in second]
    left = [i for i in range(a._array.ndim) if i not in first]
    right = [j for j in range(b._array.ndim) if j not in second]
    count = math.prod(p[i] for i in first)
    x = a.permute(left + first).reshape(math.prod(p[i] for i in left), count)
    y = b.permute(second + right).reshape(count, math.prod(q[j] for j in right))
    return deliver(mm(x, y).view([p[i] for i in left] + [q[j] for j in right]), out)


def _dims(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a._array.ndim, b._array.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(-dims, 0)), list(range(dims))
    first, second = (list(each) if isinstance(each, (list, tuple)) else [each] for each in dims)
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    return first, second


@method
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: `input` with each element replaced by its product with the whole of `other`. `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.kron(mpigrad.tensor([1.0, 2.0]), mpigrad.tensor([1.0, 3.0]))
    tensor([1., 3., 2., 6.])
    """
    need_tensors("kron", input=input, other=other)
    n = max(input._array.ndim, other._array.ndim)
    p = (1,) * (n - input._array.ndim) + input._array.shape
    q = (1,) * (n - other._array.ndim) + other._array.shape
    x = input.reshape([each for length in p for each in (length, 1)])
    y = other.reshape([each for length in q for each in (1, length)])
    return deliver((x * y).reshape([a * b for a, b in zip(p, q)]), out)


def multiply_chain(tensors: Sequence[Tensor]) -> Tensor:
    """The product of matrices, in the order that needs the fewest multiplications."""
    sizes = [each._array.shape[0] for each in tensors] + [tensors[-1]._array.shape[1]]
    n = len(tensors)
    cost: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(n)}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j] = min(
                (cost[i, k][0] + cost[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return tensors[i]
        k = cost[i, j][1]
        return mm(product(i, k), product(k + 1, j))

    return product(0, n - 1)


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that needs the fewest multiplications. `out`: a tensor to which
    the result is written.

    >>> import mpigrad
    >>> mpigrad.chain_matmul(mpigrad.ones(2, 3), mpigrad.ones(3, 4), mpigrad.ones(4, 5)).shape
    mpigrad.Size([2, 5])
    """
    for position, each in enumerate(matrices):
        if each._array.ndim != 2:
            raise RuntimeError(
                f"Tensor dimension is {each._array.ndim}, expected 2 instead (matrix {position} of chain_matmul)"
            )
    return deliver(matrices[0] if len(matrices) == 1 else multiply_chain(matrices), out)


def _cross_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    dim = node.kw["dim"]
    return (
        None if b is None else F.cross_product(F.conj(b), g, dim=dim),
        None if a is None else F.cross_product(g, F.conj(a), dim=dim),
    )


cross_op = operator(
    "cross_product",
    lambda a, b, *, dim: array_module(a).cross(a, b, axis=dim),
    _cross_backward,
    EITHER,
    node="LinalgCrossBackward0",
    broadcasts=True,
)


@method
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The vector product along `dim`, which has length 3; by default the first dimension of this length. `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.cross(mpigrad.tensor([1.0, 0.0, 0.0]), mpigrad.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    need_tensors("cross", input=input, other=other)
    if dim is None:
        found = [i for i, length in enumerate(input._array.shape) if length == 3]
        if not found:
            raise RuntimeError("no dimension of size 3 in input")
        dim = found[0]
    if input._array.shape[dim] != 3 or other._array.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input._array.shape[dim]} and "
            f"{other._array.shape[dim]}"
        )
    check_shapes(input._array, other._array)
    kind = common_dtype((input, other))
    back = dim % input._array.ndim - input._array.ndim  # counted from the end, so that broadcasting may add dimensions
    return deliver(cross_op(to_dtype(input, kind), to_dtype(other, kind), dim=back), out)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1^T W_k input2 + b_k for each output feature k.

    `input1` is (..., in1), `input2` (..., in2), `weight` (out, in1, in2), `bias` (out,) or None; the result is (...,
    out).

    >>> import mpigrad
    >>> F = mpigrad.nn.functional
    >>> F.bilinear(mpigrad.ones(5, 2), mpigrad.ones(5, 3), mpigrad.ones(4, 2, 3), mpigrad.ones(4))[0]
    tensor([7., 7., 7., 7.])
    """
    need_tensors("bilinear", input1=input1, input2=input2, weight=weight, bias=bias)
    p, q, w = input1._array.shape, input2._array.shape, weight._array.shape
    for place, (m, n) in enumerate(zip(p[:-1], q[:-1])):
        if m != n:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {place}: got {m} and {n}")
    for number, (shape, wanted) in enumerate(((p, w[1]), (q, w[2])), start=1):
        if shape[-1] != wanted:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {shape[-1]} but expected {wanted}"
            )
    x, y = input1.reshape(-1, p[-1]), input2.reshape(-1, q[-1])
    left = matmul(x, weight.permute(1, 0, 2).reshape(w[1], w[0] * w[2])).reshape(-1, w[0], w[2])
    made = matmul(left, y.unsqueeze(-1)).reshape([*p[:-1], w[0]])
    return made if bias is None else made + bias


__all__ = ["chain_matmul", "cross", "ger", "inner", "kron", "outer", "tensordot"]
