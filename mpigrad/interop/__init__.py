"""Tensors of other frameworks in RPC and distributed autograd.

Tensors of PyTorch and arrays of JAX need no set-up: a process that has imported torch or jax can pass them to calls and get them
back, like mpigrad's own tensors. Other frameworks are added with `register_adapter`, which takes the class of their tensors and a
`TensorAdapter`.
"""

from __future__ import annotations

from ._adapters import Graph, Received, TensorAdapter, adapter_of, register_adapter

__all__ = ["Graph", "Received", "TensorAdapter", "adapter_of", "register_adapter"]
