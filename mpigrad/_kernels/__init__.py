"""Array programs for both devices: GPU kernels with their NumPy counterparts, and functions that neither NumPy nor CuPy has.

Functions of arrays, not of tensors: nothing here records or differentiates. `_ops` makes operators of them. Imports `_array`.
"""
