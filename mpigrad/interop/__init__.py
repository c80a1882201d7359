"""Tensors of other frameworks in RPC and distributed autograd.

Tensors of PyTorch need no set-up: a process that has imported torch sends and receives them like mpigrad's own; so do arrays of
JAX in calls. Other frameworks are added with `register_adapter`, which takes the class of their tensors and a `TensorAdapter`.
"""

from __future__ import annotations

from ._adapters import Graph, Received, TensorAdapter, adapter_of, register_adapter

__all__ = ["Graph", "Received", "TensorAdapter", "adapter_of", "register_adapter"]
