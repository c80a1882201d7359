"""The Kullback-Leibler divergence: a table of formulas by pairs of distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._ops.elementwise.where import where
from .._tensor import Tensor
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .independent import Independent, sum_rightmost
from .normal import Normal
from .uniform import Uniform

Formula = Callable[[Any, Any], Tensor]
_TABLE: dict[tuple[type, type], Formula] = {}
_INF = float("inf")


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Decorator of a function `(p, q)`: the formula of `kl_divergence` for two classes of distributions and their
    subclasses.
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected a Distribution subclass but got {kind}")

    def decorator(fn: Formula) -> Formula:
        _TABLE[type_p, type_q] = fn
        return fn

    return decorator


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence KL(p || q), the mean of log p(x) - log q(x) for x drawn from `p`.

    NotImplementedError if no formula is registered for the two classes.

    >>> from mpigrad.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            found = _TABLE.get((a, b))
            if found is not None:
                return found(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Uniform, Uniform)
def _uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return where((q.low > p.low) | (q.high < p.high), _INF, found)


@register_kl(Normal, Uniform)
def _normal_uniform(p: Normal, q: Uniform) -> Tensor:
    return p.loc * 0 + q.low * 0 + _INF


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    spread = (math.sqrt(2 * math.pi) * q.scale / width).log()
    return spread + 0.5 * (width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)) / q.scale.pow(2)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    from ..nn.functional import softplus

    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones = where(q.probs == 0, _INF, ones)
    ones = where(p.probs == 0, 0.0, ones)
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros = where(q.probs == 1, _INF, zeros)
    zeros = where(p.probs == 1, 0.0, zeros)
    return ones + zeros


@register_kl(Categorical, Categorical)
def _categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    each = where(q.probs == 0, _INF, each)
    each = where(p.probs == 0, 0.0, each)
    return each.sum(-1)


@register_kl(Independent, Independent)
def _independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


__all__ = ["kl_divergence", "register_kl"]
