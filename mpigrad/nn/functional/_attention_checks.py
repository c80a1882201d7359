"""Checks of the arguments of multi-head attention, with PyTorch's error messages."""

from __future__ import annotations

from ..._tensor import Tensor

_KINDS = {2: "unbatched (2-D)", 3: "batched (3-D)"}


def check_shapes(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, heads: int
) -> None:
    """Raise PyTorch's AssertionError unless all arguments belong to one sequence, or all to a batch of sequences.

    `padding` is the key padding mask, `mask` the attention mask, `heads` the number of heads.
    """
    count = query.dim()
    if count not in _KINDS:
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {count}-D query tensor")
    start = f"For {_KINDS[count]} `query`, expected"
    if key.dim() != count or value.dim() != count:
        raise AssertionError(
            f"{start} `key` and `value` to be {count}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if padding is not None and padding.dim() != count - 1:
        raise AssertionError(
            f"{start} `key_padding_mask` to be `None` or {count - 1}-D but found {padding.dim()}-D tensor instead"
        )
    if mask is None:
        return
    if mask.dim() not in (2, 3):
        raise AssertionError(f"{start} `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead")
    if count == 2 and mask.dim() == 3:
        wanted = (heads, query.shape[0], key.shape[0])
        if tuple(mask.shape) != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {mask.shape}")


def check_masks(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    padding: Tensor | None,
    mask: Tensor | None,
    heads: int,
    separate: bool,
) -> None:
    """Raise PyTorch's error for masks, keys and values of a batch whose lengths or types do not match.

    `separate`: query, key and value have projections of their own, so that their sizes may differ.
    """
    (length, batch, _), far = query.shape, key.shape[0]
    for name, each in (("key_padding_mask", padding), ("attn_mask", mask)):
        if each is not None and each._array.dtype.kind not in "bfV":
            raise AssertionError(f"only bool and floating types of {name} are supported")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if mask is not None:
        wanted = (length, far) if mask.dim() == 2 else (batch * heads, length, far)
        if tuple(mask.shape) != wanted:
            raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}.")
    if padding is not None:
        for place, size in enumerate((batch, far)):
            if padding.shape[place] != size:
                raise AssertionError(
                    f"Expected key_padded_mask.shape[{place}] to be {size}, but got {padding.shape[place]}"
                )


__all__ = ["check_masks", "check_shapes"]
