"""Losses with margins: ranking, hinge, cosine, triplet and multi-class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpigrad._array.device import array_module
from mpigrad._ops._define.arguments import need_tensors, title
from mpigrad._ops._define.guarded import guarded
from mpigrad._ops._define.operator import operator
from mpigrad._ops.linalg.distances import cosine_similarity, pairwise_distance

from ..._core.tensor import wrap
from ..._tensor import Tensor
from ._reduction import kind, reduce_by

# Node names are PyTorch's; the computation is done by other operators.
_as_multi = operator("multi_margin_loss", lambda x: x.copy(), lambda F, node, g: g, node="MultiMarginLossBackward0")
_as_multilabel = operator(
    "multilabel_margin_loss", lambda x: x.copy(), lambda F, node, g: g, node="MultilabelMarginLossBackward0"
)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The loss that asks `input1` to be larger than `input2` where `target` is 1, and smaller where it is -1.

    It is max(0, -target * (input1 - input2) + margin) for each element; the three tensors have one shape.

    - `reduction`: "mean" (default) or "sum" of the losses of all elements, or "none", which returns them.
      `size_average` and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> mpigrad.nn.functional.margin_ranking_loss(mpigrad.ones(2), mpigrad.zeros(2), -mpigrad.ones(2))
    tensor(1.)
    """
    how = kind(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduce_by((-target * (input1 - input2) + margin).clamp_min(0), how)


@guarded
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """A loss on distances `input`: `input` where `target` is 1 (should be near), max(0, margin - input) where it is
    -1 (should be far).

    - `reduction`: "mean" (default) or "sum" of the losses of all elements, or "none", which returns them.
      `size_average` and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> mpigrad.nn.functional.hinge_embedding_loss(mpigrad.tensor([0.5, 0.5]), mpigrad.tensor([1.0, -1.0]))
    tensor(0.5000)
    """
    how = kind(reduction, size_average, reduce)
    need_tensors("hinge_embedding_loss", input=input, target=target)
    away = wrap((target._array != 1).astype(input._array.dtype))
    near = wrap((target._array != -1).astype(input._array.dtype))
    return reduce_by((margin - input).clamp_min(0) * away + input * near, how)


@guarded
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(input1, input2) where `target` is 1 (similar vectors), max(0, cos(input1, input2) - margin) where it is
    -1.

    `input1` and `input2` are (batch, features) or (features,), `target` is (batch,) or a single number.

    - `reduction`: "mean" (default) or "sum" of the losses of the batch, or "none", which returns them. `size_average`
      and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> x = mpigrad.ones(1, 2)
    >>> mpigrad.nn.functional.cosine_embedding_loss(x, x, mpigrad.ones(1)).round(decimals=4)
    tensor(0.)
    """
    how = kind(reduction, size_average, reduce)
    if target.dim() + 1 != input1.dim() or target.dim() + 1 != input2.dim():
        if target.dim() not in (0, 1):
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        sizes = f"input1: {list(input1.shape)}, input2: {list(input2.shape)}, target: {list(target.shape)}"
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found {sizes}"
        )
    cosine = cosine_similarity(input1, input2, dim=target.dim(), eps=1e-8)
    pairs = wrap((target._array == 1).astype(cosine._array.dtype))
    others = wrap((target._array == -1).astype(cosine._array.dtype))
    return reduce_by((1 - cosine) * pairs + (cosine - margin).clamp_min(0) * others, how)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin), for vectors along the last dimension.

    - `anchor`, `positive`, `negative`: (batch, features) or (features,). The distance is the `p`-norm of the
      difference plus `eps`.
    - `swap`: use distance(positive, negative) if it is smaller than distance(anchor, negative).
    - `reduction`: "mean" (default) or "sum" of the losses of the batch, or "none", which returns them. `size_average`
      and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> x = mpigrad.zeros(1, 2)
    >>> mpigrad.nn.functional.triplet_margin_loss(x, x, x)
    tensor(1.)
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        margin=margin,
        swap=swap,
        reduction=kind(reduction, size_average, reduce),
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with another distance: `distance_function(x, y)` returns one number for each row.

    The default is the Euclidean distance. `swap` and `reduction` are those of `triplet_margin_loss`.

    >>> import mpigrad
    >>> x = mpigrad.zeros(1, 2)
    >>> mpigrad.nn.functional.triplet_margin_with_distance_loss(x, x, x, margin=2.0)
    tensor(2.)
    """
    how = kind(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduce_by((near - far + margin).clamp_min(0), how)


@guarded
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The multi-class hinge loss: the sum over all wrong classes i of max(0, margin - input[target] + input[i]) ** p,
    divided by the number of classes.

    - `input`: scores, (batch, classes) or (classes,); `target`: class indices, (batch,) or a single one.
    - `p`: 1 or 2. `weight`: a factor for each class, that of the target is used.
    - `reduction`: "mean" (default) or "sum" of the losses of the batch, or "none", which returns them. `size_average`
      and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> mpigrad.nn.functional.multi_margin_loss(mpigrad.zeros(1, 4), mpigrad.tensor([1]))
    tensor(0.7500)
    """
    how = kind(reduction, size_average, reduce)
    need_tensors("multi_margin_loss", input=input, target=target)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    if input.dim() == 1:
        loss = multi_margin_loss(input.reshape(1, -1), target.reshape(1), p, margin, weight, reduction="none").reshape(
            ()
        )
        return reduce_by(loss, how)
    xp, t = array_module(target._array), target._array
    _check_classes(input, t)
    rows, classes = input.shape
    right = input.gather(1, wrap(t.reshape(-1, 1)))
    room = (margin - right + input).clamp_min(0)
    if p == 2:
        room = room * room
    if weight is not None:
        room = room * wrap(weight._array[t].reshape(-1, 1))
    others = wrap((t.reshape(-1, 1) != xp.arange(classes)).astype(input._array.dtype))
    return _as_multi(reduce_by((room * others).sum(1) / classes, how))


def _check_classes(input: Tensor, t: Any) -> None:
    if t.dtype.name != "int64":
        raise RuntimeError(f"expected scalar type Long but found {title(t)}")
    if t.shape != (input.shape[0],):
        raise RuntimeError(f"inconsistent target size, expected {input.shape[0]} but got {list(t.shape)}")
    if t.size and (t.min() < 0 or t.max() >= input.shape[1]):
        raise RuntimeError("target out of range")


@guarded
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The hinge loss for samples with several target classes.

    It is the sum over all target classes j and all other classes i of max(0, 1 - (input[j] - input[i])), divided by
    the number of classes.

    - `input`: scores, (batch, classes) or (classes,).
    - `target`: int64, of the shape of `input`; each row lists class indices and ends at its first -1.
    - `reduction`: "mean" (default) or "sum" of the losses of the batch, or "none", which returns them. `size_average`
      and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> mpigrad.nn.functional.multilabel_margin_loss(mpigrad.zeros(1, 4), mpigrad.tensor([[3, 0, -1, 1]]))
    tensor(1.)
    """
    how = kind(reduction, size_average, reduce)
    need_tensors("multilabel_margin_loss", input=input, target=target)
    if tuple(input.shape) != tuple(target.shape) or input.dim() not in (1, 2):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    if input.dim() == 1:
        return _as_multilabel(
            multilabel_margin_loss(input.reshape(1, -1), target.reshape(1, -1), reduction="sum")
        )  # with one row, the mean and the sum are equal
    xp, t = array_module(target._array), target._array
    classes = t.shape[1]
    listed = xp.cumsum(t < 0, axis=1) == 0
    wanted = xp.zeros((t.shape[0], classes), bool)
    rows = xp.broadcast_to(xp.arange(t.shape[0])[:, None], t.shape)
    wanted[rows[listed], t[listed]] = True
    right = input.gather(1, wrap(xp.where(listed, t, 0)))
    room = (1 - right.unsqueeze(2) + input.unsqueeze(1)).clamp_min(0)
    pairs = wrap((listed[:, :, None] & ~wanted[:, None, :]).astype(input._array.dtype))
    return _as_multilabel(reduce_by((room * pairs).sum((1, 2)) / classes, how))


__all__ = [
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
