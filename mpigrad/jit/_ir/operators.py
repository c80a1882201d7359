"""Which names of Tensor scripted code may use, and what those operators give that give more than one tensor."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from mpigrad._tensor import Tensor

from .types import BOOL, DTYPE, INT, NONE, NUMBER, SIZES, TENSOR, Type, list_of, tuple_of

# Names that would leave the graph: they take or give Python objects that are no values of it.
_NEVER = {
    "numpy", "register_hook", "register_post_accumulate_grad_hook", "tolist", "apply_", "map_", "map2_", "share_memory_",
    "save", "load", "set_printoptions", "from_numpy", "frombuffer", "as_tensor_function", "storage", "untyped_storage",
}  # fmt: skip
_TWO, _THREE, _MANY = tuple_of(TENSOR, TENSOR), tuple_of(TENSOR, TENSOR, TENSOR), list_of(TENSOR)

_RESULTS: dict[str, Type] = {
    **dict.fromkeys(("dim", "ndimension", "numel", "nelement", "element_size", "storage_offset", "get_device"), INT),
    **dict.fromkeys(
        ("is_floating_point", "is_complex", "is_contiguous", "is_nonzero", "equal", "allclose", "is_tensor", "is_same_size",
         "is_signed", "is_grad_enabled", "is_inference", "is_coalesced", "can_cast"), BOOL),
    **dict.fromkeys(("sort", "topk", "kthvalue", "mode", "cummax", "cummin", "std_mean", "var_mean", "aminmax", "frexp",
                     "slogdet", "qr", "eigh", "eig", "lu_factor", "max_pool2d_with_indices"), _TWO),
    **dict.fromkeys(("svd",), _THREE),
    **dict.fromkeys(("split", "chunk", "unbind", "tensor_split", "meshgrid", "broadcast_tensors", "hsplit", "vsplit",
                     "dsplit", "split_with_sizes", "atleast_list"), _MANY),
    "item": NUMBER, "backward": NONE, "manual_seed": NONE, "get_default_dtype": DTYPE, "promote_types": DTYPE,
    "result_type": DTYPE,
}  # fmt: skip


def result_of(name: str, args: list[Type], keywords: dict[str, Any]) -> Type:
    """The type of what an operator gives, from its name and the types of its arguments (self included).

    `keywords` maps names to (type, constant value or Ellipsis).
    """
    if name in ("size", "stride"):
        return INT if len(args) > 1 or "dim" in keywords else SIZES
    if name in ("max", "min", "median", "nanmedian"):
        by_dim = "dim" in keywords or len(args) > 1 and args[1] in (INT, BOOL)
        return _TWO if by_dim else TENSOR
    if name in ("unique", "unique_consecutive"):
        extras = sum(keywords.get(each, (None, False))[1] is True for each in ("return_inverse", "return_counts"))
        return Type("Tuple", (TENSOR,) * (1 + extras)) if extras else TENSOR
    if name == "nonzero" and keywords.get("as_tuple", (None, False))[1] is True or name == "where" and len(args) == 1:
        return _MANY
    return _RESULTS.get(name, TENSOR)


@cache
def is_tensor_attribute(name: str) -> bool:
    """Whether a name is a property of tensors."""
    found = inspect.getattr_static(Tensor, name, None)
    return not name.startswith("_") and isinstance(found, (property, *(_slot_types())))


def _slot_types() -> tuple[type, ...]:
    return (type(inspect.getattr_static(Tensor, "_array")),)


@cache
def is_tensor_method(name: str) -> bool:
    """Whether a name is a method of tensors that scripted code may call."""
    return not name.startswith("_") and name not in _NEVER and callable(inspect.getattr_static(Tensor, name, None))


def is_forbidden(name: str) -> bool:
    """Whether a function of the library must stay outside scripted code."""
    return name in _NEVER or name.startswith("_")
