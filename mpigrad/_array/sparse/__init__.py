"""Sparse arrays in coordinate format, the counterpart of NumPy's and CuPy's dense arrays.

Imports `_array` and `_kernels`. `_ops/sparse` builds operators on it, and RPC sends sparse gradients as such arrays.
"""
