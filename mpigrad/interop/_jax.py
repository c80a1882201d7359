"""JAX's arrays in calls. Loaded when one is first sent or received; everything here may import jax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from ._adapters import TensorAdapter, register_adapter

# Element types that messages do not have, sent as bytes; all of them have one byte.
_NARROW = {
    name.encode(): np.dtype(getattr(ml_dtypes, name))
    for name in dir(ml_dtypes)
    if name.startswith(("float8", "float4", "float6", "int4", "uint4", "int2", "uint2")) and hasattr(jnp, name)
}


class JaxAdapter(TensorAdapter):
    """The adapter of `jax.Array`. Arrays have no gradients; use `mpigrad.interop.jax.stage` for functions that need them."""

    name = "jax"

    def array_of(self, tensor: Any) -> Any:
        if not tensor.is_fully_addressable:
            raise TypeError("a jax.Array with shards in other processes cannot be sent by RPC: send its addressable_shards")
        array = np.asarray(tensor)
        return array.view(np.uint8) if array.dtype.name.encode() in _NARROW else array

    def describe(self, tensor: Any) -> bytes:
        name = tensor.dtype.name.encode()
        return name if name in _NARROW else b""

    def make(self, array: Any, description: bytes, requires_grad: bool) -> Any:
        if description:
            kind = _NARROW.get(description)
            if kind is None:
                raise ValueError(f"malformed message: a jax.Array of the element type {description!r}")
            array = array.view(kind)
        return jnp.asarray(array)


ADAPTER = JaxAdapter()
register_adapter(type(jnp.zeros(0)), ADAPTER)
register_adapter(jax.Array, ADAPTER)
