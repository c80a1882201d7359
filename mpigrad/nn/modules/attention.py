"""Multi-head attention."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._blank import blank
from .linear import Linear
from .module import Module


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` under the name that PyTorch has for the output projection of `MultiheadAttention`."""


class MultiheadAttention(Module):
    """Multi-head attention: project queries, keys and values, attend in `num_heads` heads, and project the joined
    results.

    - `embed_dim`: the size of the embedding; must be divisible by `num_heads`. `kdim`, `vdim`: sizes of keys and
      values (default: `embed_dim`).
    - `dropout`: of the attention weights, in training. `bias`: of the projections.
    - `add_bias_kv`: add a learned key and value; `add_zero_attn`: add a key and value of zeros.
    - `batch_first`: tensors are (batch, length, embed_dim) instead of (length, batch, embed_dim). Without batch:
      (length, embed_dim).

    `forward(query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
    is_causal=False)` returns (output, weights); see `nn.functional.multi_head_attention_forward` for masks and weights.
    `device`, `dtype`: those of the parameters.

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
        turned = self.batch_first and query.dim() == 3
        if turned:
            same = query is key and key is value
            query, key, value = (each.transpose(0, 1) if each.dim() == 3 else each for each in (query, key, value))
            if same:  # if query, key and value are one tensor, it is projected only once
                key = value = query
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(0, 1) if turned else out), weights


__all__ = ["MultiheadAttention", "NonDynamicallyQuantizableLinear"]
