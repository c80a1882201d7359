"""Distances and similarities of vectors."""

from __future__ import annotations

from mpigrad._array.device import array_module
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor

from .._define.arguments import need_tensors
from .._define.guarded import guarded
from .._define.operator import operator
from ..shape.broadcasting import broadcast_tensors

# Node names are PyTorch's; the computation is done by other operators.
_as_cdist = operator("cdist_forward", lambda x: x.copy(), lambda F, node, g: g, node="CdistBackward0")
_as_pdist = operator("pdist_forward", lambda x: x.copy(), lambda F, node, g: g, node="PdistBackward0")


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The `p`-norm of x1 - x2 + eps along the last dimension, row by row. `keepdim`: keep that dimension with length
    1.

    >>> import mpigrad
    >>> mpigrad.nn.functional.pairwise_distance(mpigrad.tensor([[3.0, 4.0]]), mpigrad.zeros(1, 2), eps=0.0)
    tensor([5.])
    """
    need_tensors("pairwise_distance", x1=x1, x2=x2)
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along `dim`: their inner product divided by the product of their norms,
    each at least `eps`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.cosine_similarity(mpigrad.ones(2), mpigrad.tensor([1.0, 0.0]), dim=0)
    tensor(0.7071)
    """
    need_tensors("cosine_similarity", x1=x1, x2=x2)
    if x1._array.shape != x2._array.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    first = x1 / x1.norm(2, dim, keepdim=True).clamp_min(eps)
    second = x2 / x2.norm(2, dim, keepdim=True).clamp_min(eps)
    return (first * second).sum(dim)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The `p`-norm distance of every row of `x1` (..., n, features) from every row of `x2` (..., m, features): (...,
    n, m).

    `compute_mode` has no effect on the result.

    >>> import mpigrad
    >>> mpigrad.cdist(mpigrad.tensor([[3.0, 4.0]]), mpigrad.zeros(2, 2))
    tensor([[5., 5.]])
    """
    need_tensors("cdist", x1=x1, x2=x2)
    for name, each in (("X1", x1), ("X2", x2)):
        if each.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {each.dim()}D")
        if each._array.dtype.kind not in "fV":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {each.dtype.name}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    return _as_cdist((x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1))


@guarded
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The `p`-norm distances of all pairs of different rows of a matrix, each pair once: a vector, in the order (0,
    1), (0, 2), ...

    >>> import mpigrad
    >>> mpigrad.nn.functional.pdist(mpigrad.tensor([[0.0], [1.0], [3.0]]))
    tensor([1., 3., 2.])
    """
    need_tensors("pdist", input=input)
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    rows, columns = array_module(input._array).triu_indices(input.shape[0], 1)
    return _as_pdist((input[wrap(rows)] - input[wrap(columns)]).norm(p, -1))


__all__ = ["cdist", "cosine_similarity", "pairwise_distance", "pdist"]
