"""Losses for regression: squared, absolute, Huber, and likelihoods of Poisson and normal distributions."""

from __future__ import annotations

import math
import warnings

from mpigrad._array.device import array_module
from mpigrad._ops._define.arguments import need_tensors
from mpigrad._ops._define.binary import check_shapes, common_dtype
from mpigrad._ops._define.guarded import guarded
from mpigrad._ops._define.unbroadcast import to_dtype
from mpigrad._ops.nn import losses

from ..._core.tensor import wrap
from ..._tensor import Tensor
from ._reduction import kind, reduce_by


def _pair(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Input and target, broadcast and converted to a common type; PyTorch's warning if their sizes differ."""
    need_tensors(name, input=input, target=target)
    if input._array.shape != target._array.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
        check_shapes(input._array, target._array)
    if input._array.dtype != target._array.dtype:
        wanted = common_dtype((input, target))
        return to_dtype(input, wanted), to_dtype(target, wanted)
    return input, target


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared difference of `input` and `target`, by default its mean. The two should have one shape; others
    broadcast, with a warning.

    - `weight`: factors of the squares, of the shape of `input`; "mean" then divides by their sum.
    - `reduction`: "mean" (default) or "sum" of the losses of all elements, or "none", which returns them.
      `size_average` and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> mpigrad.nn.functional.mse_loss(mpigrad.tensor([1.0, 3.0]), mpigrad.tensor([1.0, 1.0]))
    tensor(2.)
    """
    how = kind(reduction, size_average, reduce)
    x, y = _pair("mse_loss", input, target)
    if weight is None:
        return losses.mse(x, y, reduction=how)
    return _weighted(losses.mse(x, y, reduction="none"), weight, how)


def _weighted(values: Tensor, weight: Tensor, reduction: str) -> Tensor:
    if tuple(weight.shape) != tuple(values.shape):
        raise ValueError("Inputs and weights must have the same size.")
    found = values * weight
    if reduction == "mean":
        return found.sum() / weight.sum()
    return reduce_by(found, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute difference of `input` and `target`, by default its mean. The two should have one shape; others
    broadcast, with a warning.

    - `weight`: factors of the differences, of the shape of `input`; "mean" then divides by their sum.
    - `reduction`: "mean" (default) or "sum" of the losses of all elements, or "none", which returns them.
      `size_average` and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> mpigrad.nn.functional.l1_loss(mpigrad.tensor([1.0, 3.0]), mpigrad.tensor([1.0, 1.0]))
    tensor(1.)
    """
    how = kind(reduction, size_average, reduce)
    x, y = _pair("l1_loss", input, target)
    values = (x - y).abs()
    return reduce_by(values, how) if weight is None else _weighted(values, weight, how)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """A loss that is quadratic for small and linear for large differences d: d ** 2 / (2 beta) if |d| < `beta`,
    otherwise |d| - beta / 2.

    `beta=0` gives `l1_loss`. It is `huber_loss` divided by `beta`.

    - `reduction`: "mean" (default) or "sum" of the losses of all elements, or "none", which returns them.
      `size_average` and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> mpigrad.nn.functional.smooth_l1_loss(mpigrad.tensor([1.0, 3.0]), mpigrad.tensor([1.0, 1.0]))
    tensor(0.7500)
    """
    how = kind(reduction, size_average, reduce)
    if beta == 0.0:
        return l1_loss(input, target, reduction=how)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return losses.smooth_l1(*_pair("smooth_l1_loss", input, target), reduction=how, beta=beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """A loss that is quadratic for small and linear for large differences d: d ** 2 / 2 if |d| < `delta`, otherwise
    delta * (|d| - delta / 2).

    - `weight`: factors of the losses, of the shape of `input`.
    - `reduction`: "mean" (default) or "sum" of the losses of all elements, or "none", which returns them.

    >>> import mpigrad
    >>> mpigrad.nn.functional.huber_loss(mpigrad.tensor([1.0, 3.0]), mpigrad.tensor([1.0, 1.0]), delta=2.0)
    tensor(1.)
    """
    how = kind(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    x, y = _pair("huber_loss", input, target)
    if weight is None:
        return losses.huber(x, y, reduction=how, delta=delta)
    return _weighted(losses.huber(x, y, reduction="none", delta=delta), weight, how)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of `target` from the distribution whose logarithm is `input`: target *
    (log(target) - input).

    - `input`: log probabilities; `target`: probabilities of the same shape, with `log_target=True` their logarithms.
    - `reduction`: "mean" (default) over all elements, "batchmean" (the sum divided by the batch size, which is the
      divergence), "sum" or "none". `size_average` and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> p = mpigrad.tensor([[0.5, 0.5]])
    >>> mpigrad.nn.functional.kl_div(p.log(), p, reduction="batchmean")
    tensor(0.)
    """
    need_tensors("kl_div", input=input, target=target)
    if reduction == "batchmean":
        how = "sum"
    else:
        how = kind(reduction, size_average, reduce)
        if how == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size."
                "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
                stacklevel=2,
            )
    loss = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    reduced = reduce_by(loss, how)
    return reduced / input.shape[0] if reduction == "batchmean" and input.dim() != 0 else reduced


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of counts `target` under Poisson distributions, without the term log(target!).

    - `input`: the logarithms of the rates; with `log_input=False` the rates themselves, to which `eps` is added.
    - `full`: add Stirling's approximation of log(target!).
    - `reduction`: "mean" (default) or "sum" of the losses of all elements, or "none", which returns them.
      `size_average` and `reduce` are its deprecated forms.

    >>> import mpigrad
    >>> mpigrad.nn.functional.poisson_nll_loss(mpigrad.zeros(2), mpigrad.ones(2))
    tensor(1.)
    """
    how = kind(reduction, size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduce_by(loss, how)


@guarded
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log likelihood of `target` under normal distributions with means `input` and variances `var`,
    without the constant.

    - `var`: a number, or a tensor of the shape of `input` or with one variance for each row; at least `eps` is used.
      Negative variances raise a ValueError.
    - `full`: add the constant log(2 pi) / 2.
    - `reduction`: "mean" (default) or "sum" of the losses of all elements, or "none", which returns them.

    >>> import mpigrad
    >>> mpigrad.nn.functional.gaussian_nll_loss(mpigrad.zeros(2), mpigrad.ones(2), mpigrad.ones(2))
    tensor(0.5000)
    """
    spread = var if isinstance(var, Tensor) else wrap(array_module(input._array).full_like(input._array, var))
    if bool((spread._array < 0).any()):
        raise ValueError("var has negative entry/entries")
    if tuple(spread.shape) != tuple(input.shape):
        if tuple(input.shape[:-1]) == tuple(spread.shape):
            spread = spread.unsqueeze(-1)
        elif not (tuple(input.shape[:-1]) == tuple(spread.shape[:-1]) and spread.shape[-1] == 1):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    low = (spread.detach() < eps).to(spread.dtype)
    bounded = spread + (eps - spread.detach()) * low  # the value is clamped, but the gradient still reaches var, as in PyTorch
    loss = 0.5 * (bounded.log() + (input - target) ** 2 / bounded)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_by(loss, reduction)


__all__ = ["gaussian_nll_loss", "huber_loss", "kl_div", "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss"]
