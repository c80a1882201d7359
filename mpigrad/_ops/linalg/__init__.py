"""Operators of linear algebra: matrix products, einsum, inverses, factorizations, Fourier transforms.

Imports `_define`, `elementwise` and `shape`.
"""
