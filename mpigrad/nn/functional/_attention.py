"""Attention: scaled dot-product attention, and multi-head attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._ops._define.arguments import need_tensors
from mpigrad._ops._define.guarded import guarded
from mpigrad._ops.nn.linear import linear
from mpigrad._ops.shape.joining import cat

from ..._core.tensor import wrap
from ..._tensor import Tensor
from ._attention_checks import check_masks, check_shapes
from ._dropout import dropout
from ._pad import pad


def _triangle(rows: int, columns: int, like: Tensor) -> Tensor:
    """The bias of causal attention, (rows, columns): 0 on and below the diagonal, minus infinity above."""
    xp = array_module(like._array)
    allowed = xp.tri(rows, columns, dtype=bool)
    return wrap(xp.where(allowed, 0.0, -np.inf).astype(like._array.dtype))


def _as_bias(mask: Tensor, like: Tensor) -> Tensor:
    """Convert a bool mask (True: may be attended to) to a term that is added to the scores; masks of floats are such
    terms already.
    """
    if mask._array.dtype.kind != "b":
        return mask
    xp = array_module(mask._array)
    return wrap(xp.where(mask._array, 0.0, -np.inf).astype(like._array.dtype))


@guarded
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Attention: softmax(query @ key^T * scale + mask) @ value, with the softmax over the positions of the keys.

    - `query` (..., L, E), `key` (..., S, E), `value` (..., S, V): L target and S source positions; the result is
      (..., L, V).
    - `attn_mask`: broadcasts to (..., L, S). bool: True where a query may attend to a key; float: added to the
      scores.
    - `is_causal`: query i attends to keys 0 to i only; cannot be combined with `attn_mask`.
    - `dropout_p`: the probability with which attention weights are set to zero. There is no training flag: pass 0 in
      evaluation.
    - `scale`: by default 1 / sqrt(E).
    - `enable_gqa`: `key` and `value` may have fewer heads (dimension -3) than `query`; they are repeated.

    >>> import mpigrad
    >>> x = mpigrad.ones(1, 2, 3)
    >>> mpigrad.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
    mpigrad.Size([1, 2, 3])
    """
    need_tensors("scaled_dot_product_attention", query=query, key=key, value=value, attn_mask=attn_mask)
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        repeats = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(repeats, -3), value.repeat_interleave(repeats, -3)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * factor) @ key.transpose(-2, -1)
    if is_causal:
        scores = scores + _triangle(query.shape[-2], key.shape[-2], query)
    elif attn_mask is not None:
        scores = scores + _as_bias(attn_mask, query)
    weights = _softmax_of_rows(scores)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return weights @ value


def _softmax_of_rows(scores: Tensor) -> Tensor:
    """softmax over the last dimension; as in PyTorch's attention, rows in which no position is allowed become 0."""
    blocked = (scores._array == -np.inf).all(axis=-1, keepdims=True)
    if not blocked.any():
        return scores.softmax(-1)
    return scores.masked_fill(wrap(blocked), 0.0).softmax(-1).masked_fill(wrap(blocked), 0.0)


def _project(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    in_weight: Tensor | None,
    in_bias: Tensor | None,
    separate: tuple[Tensor | None, Tensor | None, Tensor | None],
) -> list[Tensor]:
    size = query.shape[-1]
    if in_weight is not None:
        if query is key and key is value:
            together = linear(query, in_weight, in_bias)
            return list(together.split(size, -1))
        weights = in_weight.split(size, 0)
    else:
        weights = separate  # type: ignore[assignment]
    biases: Any = (None, None, None) if in_bias is None else in_bias.split(size, 0)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]


def _heads(x: Tensor, count: int) -> Tensor:
    """Split the last dimension into heads: from (length, batch, size) to (batch, heads, length, size / heads)."""
    length, batch, size = x.shape
    return x.reshape(length, batch, count, size // count).permute(1, 2, 0, 3)


def _canonical(mask: Tensor | None, like: Tensor) -> Tensor | None:
    """Convert a bool mask (True: may not be attended to) to a term that is added to the scores; None stays None."""
    if mask is None or mask._array.dtype.kind in "fV":
        return mask
    xp = array_module(mask._array)
    return wrap(xp.where(mask._array, -np.inf, 0.0).astype(like._array.dtype))


@guarded
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """The computation of `nn.MultiheadAttention`, with all its tensors as arguments; call the module instead where
    possible.

    - `query` (L, batch, E), `key` and `value` (S, batch, E), or the same without batch. E must equal
      `embed_dim_to_check`.
    - `in_proj_weight` (3 E, E), `in_proj_bias` (3 E,): project query, key and value; with `use_separate_proj_weight`,
      the weights are `q_proj_weight`, `k_proj_weight` and `v_proj_weight`.
    - `out_proj_weight` (E, E), `out_proj_bias` (E,): applied to the result.
    - `bias_k`, `bias_v` (1, 1, E): one more learned key and value; `add_zero_attn`: one more key and value of zeros.
    - `static_k`, `static_v` (batch * heads, S, E / heads): used in place of the projected keys and values.
    - `key_padding_mask` (batch, S), `attn_mask` (L, S) or (batch * heads, L, S): bool masks are True where a position
      is ignored, float masks are added to the scores. `is_causal` is a hint about `attn_mask`, and needs it.

    Returns (output, weights): output is (L, batch, E); weights is (batch, L, S), with `average_attn_weights=False`
    (batch, heads, L, S), and None without `need_weights`.
    """
    check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if query.dim() == 2:
        return _unbatched(locals())
    check_masks(query, key, value, key_padding_mask, attn_mask, num_heads, use_separate_proj_weight)
    _check_heads(query.shape[-1], embed_dim_to_check, num_heads, is_causal and attn_mask is None)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    shared = None if use_separate_proj_weight else in_proj_weight
    q, k, v = _project(query, key, value, shared, in_proj_bias, separate)
    k, v, more = _extended(k, v, bias_k, bias_v)
    q, k, v = (_heads(each, num_heads) for each in (q, k, v))
    k, v = (
        now if given is None else given.reshape(*now.shape[:2], -1, now.shape[3])
        for now, given in ((k, static_k), (v, static_v))
    )
    if add_zero_attn:
        k, v, more = pad(k, (0, 0, 0, 1)), pad(v, (0, 0, 0, 1)), more + 1
    masks = _canonical(attn_mask, query), _canonical(key_padding_mask, query)
    weights = _masked((q * (1.0 / math.sqrt(q.shape[-1]))) @ k.transpose(-2, -1), *masks, more).softmax(-1)
    if training and dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    made = linear((weights @ v).permute(2, 0, 1, 3).reshape(query.shape), out_proj_weight, out_proj_bias)
    if not need_weights:
        return made, None
    return made, weights.mean(1) if average_attn_weights else weights


def _check_heads(size: int, wanted: int, heads: int, hint_alone: bool) -> None:
    if size != wanted:
        raise AssertionError(f"was expecting embedding dimension of {wanted}, but got {size}")
    if size % heads:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {heads}")
    if hint_alone:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )


def _extended(k: Tensor, v: Tensor, bias_k: Tensor | None, bias_v: Tensor | None) -> tuple[Tensor, Tensor, int]:
    """Append the learned keys and values, if there are any; also returns the number of positions added."""
    if bias_k is None or bias_v is None:
        return k, v, 0
    batch = k.shape[1]
    return cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)]), 1


def _masked(scores: Tensor, mask: Tensor | None, padding: Tensor | None, more: int) -> Tensor:
    batch, heads = scores.shape[:2]
    if mask is not None:
        if mask.dim() == 3:
            mask = mask.reshape(batch, heads, *mask.shape[1:])
        scores = scores + (pad(mask, (0, more)) if more else mask)
    if padding is not None:
        wide = pad(padding, (0, more)) if more else padding
        scores = scores + wide.reshape(batch, 1, 1, wide.shape[-1])
    return scores


def _unbatched(given: dict[str, Any]) -> tuple[Tensor, Tensor | None]:
    batched = {id(given[name]): given[name].unsqueeze(1) for name in ("query", "key", "value")}
    for name in ("query", "key", "value"):  # if key and value are one tensor, it is projected only once
        given[name] = batched[id(given[name])]
    if given["key_padding_mask"] is not None:
        given["key_padding_mask"] = given["key_padding_mask"].unsqueeze(0)
    made, weights = multi_head_attention_forward(**given)
    return made.squeeze(1), None if weights is None else weights.squeeze(0)


__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]
