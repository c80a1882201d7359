"""Multi-head attention."""

from __future__ import annotations

import math
from typing import Any

from ..._tensor import Tensor, wrap
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._blank import blank
from .linear import Linear
from .module import Module


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` under the name that PyTorch shows for the output projection."""


class MultiheadAttention(Module):
    """Attention of several heads, each over its share of the embedding.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> attention = nn.MultiheadAttention(8, 2)
    >>> x = mpigrad.randn(5, 3, 8)
    >>> out, weights = attention(x, x, x)
    >>> out.shape, weights.shape
    (mpigrad.Size([5, 3, 8]), mpigrad.Size([3, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        if embed_dim % num_heads != 0:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self._make_projections(where)
        self.register_parameter("in_proj_bias", Parameter(blank(3 * embed_dim, **where)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **where)
        self.bias_k = Parameter(blank(1, 1, embed_dim, **where)) if add_bias_kv else None
        self.bias_v = Parameter(blank(1, 1, embed_dim, **where)) if add_bias_kv else None
        self._reset_parameters()

    def _make_projections(self, where: dict[str, Any]) -> None:
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(blank(3 * self.embed_dim, self.embed_dim, **where))
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
            return
        self.q_proj_weight = Parameter(blank(self.embed_dim, self.embed_dim, **where))
        self.k_proj_weight = Parameter(blank(self.embed_dim, self.kdim, **where))
        self.v_proj_weight = Parameter(blank(self.embed_dim, self.vdim, **where))
        self.register_parameter("in_proj_weight", None)

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        if query.ndim not in (2, 3):
            raise AssertionError(
                f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
            )
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        batched = query.ndim == 3
        same = query is key and key is value
        if not batched:
            query, key, value = (each.unsqueeze(1) for each in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif self.batch_first:
            query, key, value = (each.transpose(0, 1) for each in (query, key, value))
        if same:
            key = value = query
        out, found = self._attend(query, key, value, key_padding_mask, attn_mask)
        weights = None if not need_weights else found.mean(dim=1) if average_attn_weights else found
        if not batched:
            return out.squeeze(1), None if weights is None else weights.squeeze(0)
        return (out.transpose(0, 1) if self.batch_first else out), weights

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if query.shape[-1] != self.embed_dim:
            raise AssertionError(f"was expecting embedding dimension of {self.embed_dim}, but got {query.shape[-1]}")
        if self.in_proj_weight is not None and query is key and key is value:
            return F.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, dim=-1)
        packed = self.in_proj_weight
        weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight) if packed is None else packed.chunk(3)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = (F.linear(*each) for each in zip((query, key, value), weights, biases))
        return q, k, v

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        q, k, v = self._project(query, key, value)
        length, batch, _ = q.shape
        mask = _as_float(mask, q)
        if mask is not None:
            mask = self._mask_per_head(mask, batch, length, k.shape[0])
        if padding is not None:
            if tuple(padding.shape) != (batch, k.shape[0]):
                raise AssertionError(
                    f"expecting key_padding_mask shape of {(batch, k.shape[0])}, but got {padding.shape}"
                )
            hidden = _as_float(padding, q).reshape(batch, 1, 1, k.shape[0])
            mask = hidden if mask is None else mask + hidden
        if self.bias_k is not None and self.bias_v is not None:
            k, v = _longer(k, self.bias_k.expand(1, batch, -1)), _longer(v, self.bias_v.expand(1, batch, -1))
            mask = _wider(mask)
        if self.add_zero_attn:
            empty = wrap(k._array[:1] * 0)
            k, v, mask = _longer(k, empty), _longer(v, empty), _wider(mask)
        q, k, v = (self._heads(each) for each in (q, k, v))
        scores = (q * (1.0 / math.sqrt(self.head_dim))) @ k.transpose(-2, -1)
        weights = F.softmax(scores if mask is None else scores + mask, dim=-1)
        if self.dropout > 0.0 and self.training:
            weights = F.dropout(weights, p=self.dropout)
        mixed = (weights @ v).permute(2, 0, 1, 3).reshape(length, batch, self.embed_dim)
        return self.out_proj(mixed), weights

    def _heads(self, x: Tensor) -> Tensor:
        """(length, batch, embedding) to (batch, head, length, share)."""
        return x.reshape(x.shape[0], x.shape[1], self.num_heads, self.head_dim).permute(1, 2, 0, 3)

    def _mask_per_head(self, mask: Tensor, batch: int, length: int, source: int) -> Tensor:
        shape = tuple(mask.shape)
        if mask.ndim == 2:
            if shape != (length, source):
                raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {(length, source)}.")
            return mask.reshape(1, 1, length, source)
        if mask.ndim == 3:
            if shape != (batch * self.num_heads, length, source):
                raise RuntimeError(
                    f"The shape of the 3D attn_mask is {mask.shape}, but should be "
                    f"{(batch * self.num_heads, length, source)}."
                )
            return mask.reshape(batch, self.num_heads, length, source)
        raise RuntimeError(f"attn_mask's dimension {mask.ndim} is not supported")


def _as_float(mask: Tensor | None, like: Tensor) -> Any:
    """A mask to add to scores: -inf where a bool mask is True."""
    if mask is None or mask._array.dtype.kind == "f":
        return mask
    if mask._array.dtype.kind != "b":
        raise AssertionError("only bool and floating types of attn_mask are supported")
    made = mask._array.astype(like._array.dtype)
    made[mask._array] = -math.inf
    return wrap(made)


def _longer(x: Tensor, row: Tensor) -> Tensor:
    from ..._ops.joining import cat

    return cat([x, row], dim=0)


def _wider(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else F.pad(mask, (0, 1))


__all__ = ["MultiheadAttention", "NonDynamicallyQuantizableLinear"]
