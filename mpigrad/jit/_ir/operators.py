"""Operators: the functions of the library, and the methods and properties of tensors, that a node of a graph may name.

Files name operators too, so these checks decide what a loaded program can run.
"""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from typing import Any

from mpigrad._graph.grad_mode import enable_grad, inference_mode, no_grad
from mpigrad._tensor import Tensor
from mpigrad.autograd.profiler import record_function
from mpigrad.ops import profiler

from .types import BOOL, DTYPE, INT, NONE, NUMBER, SIZES, TENSOR, Type, list_of, tuple_of

OPERATOR_MODULES = ("mpigrad", "mpigrad.nn.functional", "mpigrad.linalg", "mpigrad.sparse")
_DEFINED_IN = (
    "mpigrad._ops.", "mpigrad.nn.functional", "mpigrad.linalg", "mpigrad.sparse", "mpigrad.random", "mpigrad._graph.grad_mode",
    "mpigrad._array.dtype",
)  # fmt: skip
MODES = {"no_grad": no_grad, "enable_grad": enable_grad, "inference_mode": inference_mode}  # of `with` statements
BLOCKS = {**MODES, "record_function": record_function}  # those that take no argument, and one that takes a name
# Functions of the layers above: known by name here, imported when a graph that calls them is compiled.
DISTRIBUTED = {
    "rpc_async": "mpigrad.distributed.rpc", "rpc_sync": "mpigrad.distributed.rpc", "remote": "mpigrad.distributed.rpc",
    "get_gradients": "mpigrad.distributed.autograd", "backward": "mpigrad.distributed.autograd",
}  # fmt: skip
RPC_CALLS = ("rpc_async", "rpc_sync", "remote")
RUNS = {  # the function that a graph runs for each: RPC has separate ones for scripted code, also for two methods of RRefs
    **DISTRIBUTED, **dict.fromkeys((*RPC_CALLS, "local_value", "to_here"), "mpigrad.distributed.rpc._scripts"),
}  # fmt: skip
# Functions with arguments or results that cannot be values of a graph.
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
    """The result type of an operator, from its name and the types of its arguments (including self).

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
    found = _of_tensors(name)
    return not name.startswith("_") and isinstance(found, (property, type(inspect.getattr_static(Tensor, "_array"))))


@cache
def is_tensor_method(name: str) -> bool:
    """Whether a name is a method of tensors that scripted code may call."""
    return not _is_forbidden(name) and callable(_of_tensors(name))


def _of_tensors(name: str) -> Any:
    """What the class has under a name. Its module is imported first, as for any use of it."""
    getattr(Tensor, name, None)
    return inspect.getattr_static(Tensor, name, None)


def _is_forbidden(name: str) -> bool:
    return name in _NEVER or name.startswith("_")


def is_operator(obj: Any) -> bool:
    """Whether an object is a function of the library that can be a node."""
    home, name = str(getattr(obj, "__module__", "")), getattr(obj, "__name__", "")
    return (
        callable(obj)
        and not isinstance(obj, type)
        and not _is_forbidden(name)
        and (home == "mpigrad" or home.startswith(_DEFINED_IN))
    )


def operator_name(obj: Any) -> tuple[str, str]:
    """The name of an operator and its target, the path of its function."""
    name = obj.__name__
    for module in OPERATOR_MODULES:
        if getattr(importlib.import_module(module), name, None) is obj:
            return name, f"fn:{module}:{name}"
    for module in OPERATOR_MODULES:  # an alias, such as `abs` and `absolute`
        for other, found in vars(importlib.import_module(module)).items():
            if found is obj:
                return other, f"fn:{module}:{other}"
    return name, f"fn:{obj.__module__}:{name}"


def operator(module: str, name: str) -> Any:
    """The function `name` of the module `module`, which a node's target names; ValueError unless it is an operator."""
    found = getattr(importlib.import_module(module), name, None) if module in OPERATOR_MODULES else None
    if found is None or not is_operator(found):
        raise ValueError(f"{module}.{name} is not an operator that a graph may use")
    return found


def special_form(function: Any) -> Any:
    """Mark a function of `mpigrad.jit` with a special lowering."""
    function._jit_mark = "special"
    return function


def distributed(name: str) -> Any:
    """The function of RPC or distributed autograd that a target names."""
    return getattr(importlib.import_module(RUNS[name]), name)


def rref_files() -> Any:
    """The module that encodes RRefs in files; imported late, as it belongs to a layer above."""
    return importlib.import_module("mpigrad.distributed.rpc._rref.in_files")


def profiler_operator(name: str) -> Any:
    """One of `mpigrad.ops.profiler`; ValueError if there is no such operator."""
    found = vars(profiler).get(name)
    if not isinstance(found, staticmethod):
        raise ValueError(f"profiler::{name} is not an operator that a graph may use")
    return found.__func__
