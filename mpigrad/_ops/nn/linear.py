"""`linear`: x W^T + b, computed as one matrix product and one in-place addition."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._graph.namespace import RAW
from mpigrad._tensor import Tensor

from .._define.arguments import need_tensors
from .._define.operator import OpNode, operator
from ..linalg.addmm import addmm_op, check_addmm
from ..linalg.matmul import check_matrices, check_nd, count_rows, matmul, matmul_op, mm_op


class _TransposedWeight(OpNode):
    """The transpose of a weight. A column-major gradient is passed on as its row-major base array."""

    __slots__ = ()

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return (untranspose(grad),) if F is RAW else OpNode.run(self, F, grad)


def untranspose(x: Any) -> Any:
    """The transpose of a matrix: if the matrix is itself the transposed view of a whole array, that array."""
    base = x.base
    if base.__class__ is np.ndarray and base.shape == x.shape[::-1] and base.strides == x.strides[::-1]:
        if base.base is None and base.dtype is x.dtype:
            return base
    return x.swapaxes(-1, -2) if x.ndim > 1 else x


weight_t = operator(
    "weight_t", lambda w: w.T, lambda F, node, g: F.weight_t(g), node="TBackward0", view=True, base=_TransposedWeight
)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A linear map of the last dimension: `input @ weight.T + bias`.

    `input` is (..., in), `weight` (out, in), `bias` (out,) or None; the result is (..., out).

    >>> import mpigrad
    >>> mpigrad.nn.functional.linear(mpigrad.ones(5, 3), mpigrad.ones(4, 3), mpigrad.ones(4))[0]
    tensor([4., 4., 4., 4.])
    """
    need_tensors("linear", input=input, weight=weight, bias=bias)
    x, w = input._array, weight._array
    if w.ndim != 2:
        found = matmul(input, weight_t(weight))
        return found if bias is None else found + bias
    turned = weight_t(weight)
    if bias is None:
        return _without_bias(input, turned)
    if x.ndim == 2:
        check_addmm(bias._array, x, turned._array)
        return addmm_op(bias, input, turned, columns=True)
    flat = input.reshape(count_rows(x.shape), x.shape[-1])
    check_addmm(bias._array, flat._array, turned._array)
    return addmm_op(bias, flat, turned, columns=True).view(*x.shape[:-1], w.shape[0])


def _without_bias(input: Tensor, turned: Tensor) -> Tensor:
    x, w = input._array, turned._array
    if x.ndim == 2:
        check_matrices(x, w)
        return mm_op(input, turned, columns=True)
    if x.ndim < 2:
        return matmul(input, turned)
    check_nd(x, w)
    return matmul_op(input, turned, columns=True)


__all__: list[str] = []
