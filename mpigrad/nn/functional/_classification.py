"""Losses for classification: cross entropy, negative log likelihood, binary cross entropy."""

from __future__ import annotations

from typing import Any

from mpigrad._ops._define.arguments import need_tensors, title
from mpigrad._ops._define.guarded import guarded
from mpigrad._ops.nn import losses
from mpigrad._ops.nn.nll import likelihood, scale_of
from mpigrad._ops.shape.broadcasting import check_pair

from ..._core.tensor import wrap
from ..._tensor import Tensor
from ._reduction import kind, reduce_by


@guarded
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy between target classes and the softmax of `input`: -log(softmax(input)[target]).

    - `input`: unnormalised scores (logits), (batch, classes), (batch, classes, d1, ...) or (classes,).
    - `target`: class indices (int64), of the shape of `input` without the dimension of classes; or probabilities of
      all classes, of the shape of `input`. An IndexError is raised for indices out of range.
    - `weight`: a weight for each class, (classes,); "mean" then divides by the sum of the weights.
    - `ignore_index`: targets with this index add nothing to loss and gradient.
    - `label_smoothing`: between 0 and 1; this share of each target is spread equally over all classes.
    - `reduction`: "mean" (default) or "sum" of the losses of the batch, or "none", which returns them. `size_average`
      and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> scores = mpigrad.zeros(3, 4)
    >>> mpigrad.nn.functional.cross_entropy(scores, mpigrad.tensor([0, 1, 2]))
    tensor(1.3863)
    """
    how = kind(reduction, size_average, reduce)
    need_tensors("cross_entropy_loss", input=input, target=target, weight=weight)
    x, t = input._array, target._array
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    log_p = input.log_softmax(0 if x.ndim == 1 else 1)
    if x.shape == t.shape and x.ndim:
        return _from_probabilities(log_p, target, weight, how, label_smoothing, ignore_index)
    if label_smoothing:
        return _smoothed(log_p, target, weight, how, label_smoothing, ignore_index)
    return nll_loss(log_p, target, weight, ignore_index=ignore_index, reduction=how)


def _from_probabilities(
    log_p: Tensor, target: Tensor, weight: Tensor | None, how: str, smoothing: float, ignore_index: int
) -> Tensor:
    if target._array.dtype.kind not in "fV":
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {title(target._array)}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    axis = 0 if log_p.dim() == 1 else 1
    classes = log_p.shape[axis]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    loss = log_p * target
    if weight is not None:
        loss = loss * _per_class(weight, loss)
    if how == "none":
        return -loss.sum(axis)
    return -loss.sum() / (log_p._array.size // classes) if how == "mean" else -loss.sum()


def _smoothed(
    log_p: Tensor, target: Tensor, weight: Tensor | None, how: str, smoothing: float, ignore_index: int
) -> Tensor:
    axis = 0 if log_p.dim() == 1 else 1
    classes = log_p.shape[axis]
    nll = nll_loss(log_p, target, weight, ignore_index=ignore_index, reduction=how)
    spread = log_p if weight is None else log_p * _per_class(weight, log_p)
    smooth = -spread.sum(axis)
    ignored = target._array == ignore_index
    if ignored.any():
        smooth = smooth * wrap((~ignored).astype(log_p._array.dtype))
    if how == "mean":
        smooth = smooth.sum() / _total_weight(target._array, ignored, weight)
    elif how == "sum":
        smooth = smooth.sum()
    return nll * (1 - smoothing) + smooth * (smoothing / classes)


def _per_class(weight: Tensor, like: Tensor) -> Tensor:
    """The weights of the classes, shaped so that they broadcast along the dimension of classes."""
    return weight if like.dim() == 1 else weight.reshape((-1,) + (1,) * (like.dim() - 2))


def _total_weight(target: Any, ignored: Any, weight: Tensor | None) -> float:
    used = target[~ignored]
    return float(used.size if weight is None else weight._array[used].sum())


@guarded
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of the target classes: -input[target]. `cross_entropy` is `log_softmax` followed by
    this loss.

    - `input`: log probabilities, (batch, classes), (batch, classes, d1, ...) or (classes,).
    - `target`: class indices (int64), of the shape of `input` without the dimension of classes.
    - `weight`: a weight for each class, (classes,); "mean" then divides by the sum of the weights.
    - `ignore_index`: targets with this index add nothing to loss and gradient.
    - `reduction`: "mean" (default) or "sum" of the losses of the batch, or "none", which returns them. `size_average`
      and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> log_p = mpigrad.tensor([[-1.0, -2.0], [-3.0, -4.0]])
    >>> mpigrad.nn.functional.nll_loss(log_p, mpigrad.tensor([0, 1]))
    tensor(2.5000)
    """
    how = kind(reduction, size_average, reduce)
    need_tensors("nll_loss_nd", input=input, target=target, weight=weight)
    x, t = input._array, target._array
    _check_nll(x, t, weight)
    if x.ndim == 1:  # one element: its mean and sum are itself
        input, t, how = input.reshape(1, -1), t.reshape(1), "mean" if how == "mean" else "sum"
    safe, scale, how = scale_of(input._array, t, None if weight is None else weight._array, ignore_index, how)
    return likelihood(x.ndim if x.ndim > 1 else 2)(input, wrap(safe), wrap(scale), reduction=how)


def _check_nll(x: Any, t: Any, weight: Tensor | None) -> None:
    if x.ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {x.ndim})")
    if x.ndim == t.ndim == 1 and t.size != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {t.size}")
    if x.ndim != 1 and x.shape[0] != (t.shape[0] if t.ndim else 1):
        found = t.shape[0] if t.ndim else 1
        raise ValueError(f"Expected input batch_size ({x.shape[0]}) to match target batch_size ({found}).")
    if t.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {title(t)}")
    if x.ndim <= 2 and t.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if x.ndim > 2 and t.shape[1:] != x.shape[2:]:
        raise RuntimeError(f"size mismatch (got input: {list(x.shape)}, target: {list(t.shape)})")
    classes = x.shape[0] if x.ndim == 1 else x.shape[1]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )


@guarded
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross entropy -(target * log(input) + (1 - target) * log(1 - input)), with logarithms limited to at
    least -100.

    - `input`, `target`: probabilities between 0 and 1, of one shape; other inputs raise a RuntimeError.
    - `weight`: factors of the losses; broadcasts to `input`.
    - `reduction`: "mean" (default) or "sum" of the losses of all elements, or "none", which returns them.
      `size_average` and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> mpigrad.nn.functional.binary_cross_entropy(mpigrad.full((2,), 0.5), mpigrad.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    how = kind(reduction, size_average, reduce)
    need_tensors("binary_cross_entropy", input=input, target=target, weight=weight)
    x = input._array
    if target._array.shape != x.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if target._array.dtype != x.dtype:
        raise RuntimeError(f"Found dtype {title(target._array)} but expected {title(x)}")
    if x.size and not (x.min() >= 0 and x.max() <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    return losses.bce(input, target, weight, reduction=how)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The binary cross entropy between sigmoid(input) and `target`, computed without overflow.

    - `input`: logits (any real numbers); `target`: probabilities between 0 and 1, of the same shape.
    - `weight`: factors of the losses; broadcasts to `input`.
    - `pos_weight`: factors of the terms of positive targets; broadcasts to `input`, usually one for each class.
    - `reduction`: "mean" (default) or "sum" of the losses of all elements, or "none", which returns them.
      `size_average` and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> mpigrad.nn.functional.binary_cross_entropy_with_logits(mpigrad.zeros(2), mpigrad.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    how = kind(reduction, size_average, reduce)
    need_tensors("binary_cross_entropy_with_logits", input=input, target=target, weight=weight, pos_weight=pos_weight)
    if target._array.shape != input._array.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if target._array.dtype != input._array.dtype:
        target = target.to(input.dtype)
    return losses.bce_with_logits(input, target, weight, pos_weight, reduction=how)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross entropy of each class, averaged over the classes, for samples that can belong to several
    classes.

    - `input`: logits, (batch, classes) or (classes,); `target`: 0 or 1 for each of them.
    - `weight`: a factor for each class.
    - `reduction`: "mean" (default) or "sum" of the losses of the batch, or "none", which returns them. `size_average`
      and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> mpigrad.nn.functional.multilabel_soft_margin_loss(mpigrad.zeros(1, 2), mpigrad.ones(1, 2))
    tensor(0.6931)
    """
    how = kind(reduction, size_average, reduce)
    loss = losses.bce_with_logits(input, target, None, None, reduction="none")
    if weight is not None:
        loss = loss * weight
    return reduce_by(loss.sum(-1) / input.shape[-1], how)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The logistic loss log(1 + exp(-target * input)), for targets 1 and -1 of the shape of `input`.

    - `reduction`: "mean" (default) or "sum" of the losses of all elements, or "none", which returns them.
      `size_average` and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> mpigrad.nn.functional.soft_margin_loss(mpigrad.zeros(2), mpigrad.ones(2))
    tensor(0.6931)
    """
    need_tensors("soft_margin_loss", input=input, target=target)
    check_pair(input._array.shape, target._array.shape)
    return losses.soft_margin(input, target, reduction=kind(reduction, size_average, reduce))


__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "soft_margin_loss",
]
