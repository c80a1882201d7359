"""Kernels: CUDA kernels with their NumPy counterparts, and functions that neither NumPy nor CuPy has.

They work on arrays, not on tensors, and record nothing. `_ops` builds operators on them. Imports `_array`. Functions
named `_..._backward` take `g`, the gradient of the result, and return that of the inputs; `kind` is an element type.
"""
