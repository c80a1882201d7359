"""PyTorch's tensors. Loaded when an object of torch is first sent or received; everything here may import torch.

A received tensor is no leaf, as in PyTorch: its node is called RecvRpcBackward, and users may change it in place. The node
belongs to the framework's graph and knows mpigrad's recv function, where gradients leave for another worker.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .._array.device import cupy
from .._array.sparse.array import SparseArray
from ._adapters import TensorAdapter, register_adapter

# Element types that NumPy does not have, sent as integers of the same size.
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_UNKNOWN = "bfloat16 complex32 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
_AS_BITS: dict[torch.dtype, torch.dtype] = {
    found: _BITS[found.itemsize] for name in _UNKNOWN.split() if (found := getattr(torch, name, None)) is not None
}
_DTYPES = {str(dtype).removeprefix("torch.").encode(): dtype for dtype in _AS_BITS}
_NAMES: dict[torch.dtype, bytes | None] = {dtype: name for name, dtype in _DTYPES.items()}
_NAMES.update(dict.fromkeys((torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4)))
_PARAMETER = b"!"  # first byte of the description of a Parameter
_RECOPY_MIN, _RECOPY_MULTIPLE = 8 * 1024, 2  # as for mpigrad's tensors: a view of much larger memory is copied first


class TorchAdapter(TensorAdapter):
    """The adapter of `torch.Tensor` and its subclasses."""

    name = "torch"

    # -- payloads ------------------------------------------------------------------------------------------------------
    def array_of(self, tensor: Any) -> Any:
        if tensor.layout is not torch.strided:
            return _sparse_array(self, tensor)
        plain = tensor.detach()
        if plain.is_conj() or plain.is_neg():
            plain = plain.resolve_conj().resolve_neg()
        bits = _AS_BITS.get(plain.dtype)
        if bits is not None:
            plain = plain.view(bits)
        if not plain.is_cpu:
            return _gpu_array(plain)
        if not plain.is_contiguous() and _wastes(plain):
            plain = plain.clone()
        try:
            return plain.numpy()
        except (TypeError, RuntimeError) as error:
            raise TypeError(
                f"a torch tensor of dtype {tensor.dtype} and type {type(tensor).__name__} cannot be sent by RPC: {error}"
            ) from None

    def describe(self, tensor: Any) -> bytes | None:
        name = _NAMES.get(tensor.dtype, b"")
        kind, layout = type(tensor), tensor.layout
        if name is None or layout is not torch.strided and layout is not torch.sparse_coo:
            return None
        if kind is torch.Tensor:
            return name
        return _PARAMETER + name if kind is torch.nn.Parameter and not tensor.__dict__ else None

    def make(self, array: Any, description: bytes, requires_grad: bool) -> Any:
        if type(array) is np.ndarray:
            made = torch.from_numpy(array)
        elif type(array) is SparseArray:
            made = _sparse_tensor(self, array, description)
            description = description[:1] if description[:1] == _PARAMETER else b""
        else:
            made = torch.from_dlpack(array)
        if description:
            if description[:1] == _PARAMETER:
                made.__class__ = torch.nn.Parameter
                description = description[1:]
            if description:
                dtype = _DTYPES.get(description)
                if dtype is None:
                    raise ValueError(f"malformed message: a torch tensor of the element type {description!r}")
                made = _viewed(made, dtype)
        return made.requires_grad_() if requires_grad else made

    def reduce(self, obj: Any) -> Any:
        if not isinstance(obj, torch.Tensor):
            return _reduce_script(obj)
        if obj.is_quantized:
            raise TypeError(
                f"a quantized torch tensor ({obj.dtype}) cannot be sent by RPC: send x.int_repr() with its scale and zero point, "
                "or x.dequantize()"
            )
        if obj.layout in _COMPRESSED:
            return _reduce_compressed(obj)
        if type(obj) is torch.Tensor:
            return NotImplemented
        return _as_subclass, (type(obj), obj.as_subclass(torch.Tensor), obj.__dict__ or None)

    # -- graphs --------------------------------------------------------------------------------------------------------
    def requires_grad(self, tensor: Any) -> bool:
        return bool(tensor.requires_grad)


def _wastes(tensor: Any) -> bool:
    """Whether the memory below a tensor is so much larger than the tensor that PyTorch would copy it before sending."""
    size = tensor.untyped_storage().nbytes()
    return bool(size >= _RECOPY_MIN and size >= _RECOPY_MULTIPLE * tensor.nbytes)


def _viewed(tensor: Any, dtype: torch.dtype) -> Any:
    """The tensor with another element type of the same size; not a view, so that users may change it in place."""
    kind = type(tensor)
    with torch.no_grad():
        made = torch.empty(0, dtype=dtype, device=tensor.device).set_(
            tensor.view(dtype).untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride()
        )
    made.__class__ = kind
    return made


def _as_subclass(cls: type, plain: Any, attributes: dict[str, Any] | None) -> Any:
    plain.__class__ = cls
    if attributes:
        plain.__dict__.update(attributes)
    return plain


def _gpu_array(tensor: Any) -> Any:
    if tensor.device.type != "cuda":
        raise TypeError(f"a torch tensor on {tensor.device} cannot be sent by RPC: move it to the CPU with x.cpu()")
    return cupy().from_dlpack(tensor)


# -- sparse tensors ----------------------------------------------------------------------------------------------------
_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def _sparse_array(adapter: TorchAdapter, tensor: Any) -> Any:
    if tensor.layout is not torch.sparse_coo:
        raise TypeError(f"a torch tensor of layout {tensor.layout} cannot be sent by RPC: convert it with x.to_dense()")
    plain = tensor.detach()
    indices, values = plain._indices(), plain._values()
    return SparseArray(adapter.array_of(indices), adapter.array_of(values), tuple(plain.shape), plain.is_coalesced())


def _sparse_tensor(adapter: TorchAdapter, array: Any, description: bytes) -> Any:
    indices = adapter.make(array.indices, b"", False)
    values = adapter.make(array.values, description.removeprefix(_PARAMETER), False)
    return torch.sparse_coo_tensor(
        indices, values, tuple(array.shape), check_invariants=True, is_coalesced=bool(array.is_coalesced)
    )


def _reduce_compressed(tensor: Any) -> Any:
    plain = tensor.detach()
    rows = plain.layout in (torch.sparse_csr, torch.sparse_bsr)
    parts = (plain.crow_indices(), plain.col_indices()) if rows else (plain.ccol_indices(), plain.row_indices())
    name = str(plain.layout).removeprefix("torch.")
    return _compressed, (*parts, plain.values(), tuple(plain.shape), name, tensor.requires_grad)


def _compressed(outer: Any, inner: Any, values: Any, shape: tuple[int, ...], layout: str, requires_grad: bool) -> Any:
    made = torch.sparse_compressed_tensor(outer, inner, values, shape, layout=getattr(torch, layout), check_invariants=True)
    return made.requires_grad_() if requires_grad else made


def _reduce_script(obj: Any) -> Any:
    return NotImplemented


ADAPTER = TorchAdapter()
register_adapter(torch.Tensor, ADAPTER)
