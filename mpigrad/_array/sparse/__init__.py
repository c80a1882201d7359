"""Sparse arrays: indices and values of the elements that are held, the counterpart of an array module's dense arrays.

Imports `_array` and `_kernels`. `_ops/sparse` makes operators of it, and RPC sends sparse gradients as such arrays.
"""
